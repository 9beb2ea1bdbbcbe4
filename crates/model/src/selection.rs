//! Which part of a run is looked at: one rank, one stage, the steady state.

use trace::RowRef;

use crate::Run;
use crate::stages::Stage;

/// What to look at; all of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this rank, where one file holds several.
    pub rank: Option<u32>,
    /// Only this stage.
    pub stage: Option<Stage>,
    /// Without the steps before the run settled.
    pub skip_warm_up: bool,
}

/// Why nothing is left to look at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingSelected {
    /// The trace has no GPU work at all.
    #[error("there is no GPU work in {files}")]
    NoGpuWork {
        /// The files, as the user named them.
        files: String,
    },
    /// None of the stage that was asked for.
    #[error("there is no GPU work of stage `{stage}`; the run has {present}")]
    NotInStage {
        /// Asked for.
        stage: &'static str,
        /// What there is.
        present: String,
    },
}

impl Run<'_> {
    /// Leaves out what was not asked for; gives remarks for the reader.
    pub fn select(&mut self, selection: &Selection) -> Result<Vec<String>, NothingSelected> {
        let mut notes = Vec::new();
        let files = self.trace.sources.iter().map(|source| format!("`{}`", source.path));
        let no_work = NothingSelected::NoGpuWork { files: files.collect::<Vec<_>>().join(", ") };
        if let Some(rank) = selection.rank {
            self.keep(|run, row| run.rank(row).is_none_or(|r| r == rank));
        }
        if self.rows.is_empty() {
            return Err(no_work);
        }
        if selection.skip_warm_up {
            let before = self.rows.len();
            self.keep(|run, row| !run.stages.is_warm_up(row));
            notes.push(match self.stages.warm_up_steps() {
                0 => "no step looks like warm-up: nothing is left out".into(),
                steps => {
                    format!(
                        "{steps} warm-up steps with {} pieces of GPU work left out",
                        before - self.rows.len()
                    )
                }
            });
        }
        if let Some(stage) = selection.stage {
            let present: Vec<&str> = Stage::ALL
                .into_iter()
                .filter(|&stage| self.rows.iter().any(|&row| self.stage(row) == stage))
                .map(Stage::name)
                .collect();
            self.keep(|run, row| stage.covers(run.stage(row)));
            if self.rows.is_empty() {
                return Err(NothingSelected::NotInStage { stage: stage.name(), present: present.join(", ") });
            }
        }
        Ok(notes)
    }

    fn keep(&mut self, wanted: impl Fn(&Self, RowRef) -> bool) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.retain(|&row| wanted(self, row));
        self.rows = rows;
    }
}
