//! Filters that mean the same to every command: a window of time, kernels, categories, agents, streams, ranks,
//! processes, stages. They become the rows of one trace to keep.
//!
//! ```text
//! Filters ─ select(&Trace) ─► trace::Selection ─ Trace::restrict ─► the part, with its share in the health
//! ```
//!
//! Filters of different kinds all have to hold; values of one kind are alternatives. A filter on GPU work
//! (kernel, category, agent, stream, stage) leaves host rows alone, so that launches and their surroundings stay;
//! a host category leaves GPU work alone. A value that matches nothing is an error that names what there is.

mod choices;
mod error;
mod frequent;
mod markers;
mod windows;

pub use error::FilterError;

use regex::Regex;
use trace::{Kept, Moment, Needs, Selection, Trace};

use model::classify::Classifier;
use model::stages::{Stage, StagePatterns};

/// One end of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// At a point in time.
    At(Moment),
    /// Where the one region or sample of this name starts (as the window's start) or ends (as its end).
    Marker(String),
}

/// What to look at; everything by default.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// Start of the window [default: of the trace].
    pub start: Option<Edge>,
    /// End of the window [default: of the trace].
    pub end: Option<Edge>,
    /// Whether rows that only touch the window belong to it.
    pub overlapping: bool,
    /// Kernels, copies and fills whose name matches, as the trace has it, demangled or as reports show it.
    pub kernel: Option<Regex>,
    /// Categories of kernels, or the source's own categories of host regions.
    pub categories: Vec<String>,
    /// Agents, as `info` numbers them.
    pub agents: Vec<i64>,
    /// Streams.
    pub streams: Vec<i64>,
    /// Ranks.
    pub ranks: Vec<u32>,
    /// Process ids.
    pub pids: Vec<i64>,
    /// Stages of serving.
    pub stages: Vec<Stage>,
    /// Patterns of the user's own that tell stages.
    pub stage_patterns: StagePatterns,
}

impl Filters {
    /// Whether everything is wanted.
    pub fn is_empty(&self) -> bool {
        !self.has_window()
            && !self.chooses_gpu_work()
            && self.categories.is_empty()
            && !self.chooses_process()
    }

    /// Whether only some time is wanted.
    pub fn has_window(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }

    fn chooses_process(&self) -> bool {
        !self.ranks.is_empty() || !self.pids.is_empty()
    }

    fn chooses_gpu_work(&self) -> bool {
        self.kernel.is_some()
            || !(self.agents.is_empty() && self.streams.is_empty() && self.stages.is_empty())
    }

    /// What a trace has to be read with, besides what is needed of the part. A window reads every table with a
    /// time, so that it means the same to every command.
    pub fn widen(&self, needs: &Needs) -> Needs {
        let window = self.has_window();
        let stage = !self.stages.is_empty();
        Needs {
            kernels: needs.kernels || !self.is_empty(),
            memory_copies: needs.memory_copies || !self.is_empty(),
            memory_allocations: needs.memory_allocations || window,
            regions: needs.regions || window || stage || !self.categories.is_empty(),
            samples: needs.samples || window,
            syncs: needs.syncs || window,
            links: needs.links || stage,
            ..needs.clone()
        }
    }

    /// Keeps the part of a finished trace that is wanted, and says in its health what that is. Rules for
    /// categories are made only when there is one.
    pub fn apply(
        &self,
        trace: &mut Trace,
        classifier: &dyn Fn() -> Classifier,
    ) -> Result<Option<Kept>, FilterError> {
        if self.is_empty() {
            return Ok(None);
        }
        let selection = self.select(trace, classifier)?;
        Ok(Some(trace.restrict(&selection)))
    }

    /// The rows of a finished trace that are wanted; at least one.
    pub fn select(
        &self,
        trace: &Trace,
        classifier: &dyn Fn() -> Classifier,
    ) -> Result<Selection, FilterError> {
        let processes = choices::processes(self, trace)?;
        let (windows, clocks) = windows::find(self, trace, &processes)?;
        let mut selection = Selection {
            label: self.label(clocks),
            windows,
            processes,
            agents: choices::agents(self, trace)?,
            streams: choices::streams(self, trace)?,
            ..Selection::default()
        };
        choices::names(self, trace, &mut selection)?;
        choices::categories(self, trace, classifier, &mut selection)?;
        choices::stages(self, trace, &mut selection)?;
        self.check_something_left(trace, &selection)?;
        Ok(selection)
    }

    /// Each filter alone matches something by now; together they may not.
    fn check_something_left(&self, trace: &Trace, selection: &Selection) -> Result<(), FilterError> {
        let gpu_work = (0..trace.kernels.len()).any(|row| selection.wants_kernel(trace, row))
            || (0..trace.memory_copies.len()).any(|row| selection.wants_copy(trace, row));
        let about_gpu = self.chooses_gpu_work() || !selection.kernels.is_all();
        if gpu_work || (!about_gpu && selection.wants_host_row(trace)) {
            return Ok(());
        }
        let inside_only = self.has_window() && !self.overlapping;
        Err(FilterError::NothingLeft { label: selection.label.clone(), inside_only, gpu: about_gpu })
    }

    /// What was asked for, in words.
    fn label(&self, clocks: usize) -> String {
        let mut parts = Vec::new();
        if self.has_window() {
            let shown = |edge: &Option<Edge>, whole: &str| match edge {
                None => whole.to_string(),
                Some(Edge::At(moment)) => moment.to_string(),
                Some(Edge::Marker(name)) => format!("`{name}`"),
            };
            let touching = if self.overlapping { " (with what overlaps it)" } else { "" };
            let each = if clocks > 1 { format!(" of each of {clocks} clocks") } else { String::new() };
            parts.push(format!(
                "window {}–{}{each}{touching}",
                shown(&self.start, "start"),
                shown(&self.end, "end")
            ));
        }
        parts.extend(self.kernel.as_ref().map(|kernel| format!("kernel `{kernel}`")));
        let stages: Vec<&str> = self.stages.iter().map(|stage| stage.name()).collect();
        let lists = [
            ("category", self.categories.join(" or ")),
            ("agent", alternatives(&self.agents)),
            ("stream", alternatives(&self.streams)),
            ("rank", alternatives(&self.ranks)),
            ("pid", alternatives(&self.pids)),
            ("stage", stages.join(" or ")),
        ];
        let given = lists.iter().filter(|(_, values)| !values.is_empty());
        parts.extend(given.map(|(name, values)| format!("{name} {values}")));
        parts.join(", ")
    }
}

fn alternatives(values: &[impl ToString]) -> String {
    values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" or ")
}

/// A regular expression for kernel names; the error is one line with the place.
pub fn kernel_pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let shown = error.to_string();
        let mark = shown
            .lines()
            .find(|line| line.trim_start().starts_with('^') && line.trim().chars().all(|c| c == '^'));
        let reason = shown.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
        let reason = reason.trim_start_matches("error: ");
        // The drawing is indented by four.
        match mark.and_then(|mark| mark.find('^')).and_then(|column| column.checked_sub(4)) {
            Some(column) => format!("{reason}, at character {}", column + 1),
            None => reason.to_string(),
        }
    })
}
