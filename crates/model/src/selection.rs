//! Which part of a run to analyse: one rank, one stage, the steady state.

use trace::RowRef;

use crate::Run;
use crate::stages::Stage;

/// What to analyse; everything by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this rank, if one file holds several.
    pub rank: Option<u32>,
    /// Only this stage.
    pub stage: Option<Stage>,
    /// Leaves out the steps before the run settled.
    pub skip_warm_up: bool,
}

/// Why the selection is empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingSelected {
    /// The trace has no GPU work at all.
    #[error("no GPU work in {files}")]
    NoGpuWork {
        /// The files, as the user named them.
        files: String,
    },
    /// No work in the requested stage.
    #[error("no GPU work in stage `{stage}`; stages in this run: {present}")]
    NotInStage {
        /// The requested stage.
        stage: &'static str,
        /// The stages in the trace.
        present: String,
    },
}

impl Run<'_> {
    /// Drops everything outside the selection; returns notes for the reader.
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
                0 => "no warm-up steps found: nothing left out".into(),
                steps => {
                    format!(
                        "left out {steps} warm-up steps with {} kernels and copies",
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
