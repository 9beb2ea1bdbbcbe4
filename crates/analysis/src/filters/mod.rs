//! Filters that mean the same to every command: a time window, kernels, categories, agents, streams, ranks,
//! processes, stages. They select the rows of one trace to keep.
//!
//! ```text
//! Filters ─ select(&Trace) ─► trace::Selection ─ Trace::restrict ─► the part, with its share in the health
//! ```
//!
//! Filters of different kinds must all hold; values of one kind are alternatives. A filter on GPU work
//! (kernel, category, agent, stream, stage) keeps all host rows, so launches and their context stay; a host
//! category keeps all GPU work. A value that matches nothing is an error that names existing values.

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
    /// A point in time.
    At(Moment),
    /// The only region or sample with this name: its start for the window's start, its end for the end.
    Marker(String),
}

/// What to look at; everything by default.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// Start of the window [default: start of the trace].
    pub start: Option<Edge>,
    /// End of the window [default: end of the trace].
    pub end: Option<Edge>,
    /// Whether rows that only overlap the window are kept.
    pub overlapping: bool,
    /// Kernels, copies and fills whose name matches: as recorded, demangled, or as shown in reports.
    pub kernel: Option<Regex>,
    /// Categories of kernels, or the source's own categories of host regions.
    pub categories: Vec<String>,
    /// Agents, by their number in `info`.
    pub agents: Vec<i64>,
    /// Streams.
    pub streams: Vec<i64>,
    /// Ranks.
    pub ranks: Vec<u32>,
    /// Process ids.
    pub pids: Vec<i64>,
    /// Serving stages.
    pub stages: Vec<Stage>,
    /// The user's own patterns for recognising stages.
    pub stage_patterns: StagePatterns,
}

impl Filters {
    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        !self.has_window()
            && !self.chooses_gpu_work()
            && self.categories.is_empty()
            && !self.chooses_process()
    }

    /// Whether there is a time window.
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

    /// What to read from a trace in addition to what the command needs. A window reads every table that has
    /// times, so that it means the same to every command.
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

    /// Keeps only the selected part of a finished trace and notes that in its health. The classifier is only
    /// created if categories are filtered.
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

    /// The selected rows of a finished trace; at least one.
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

    /// Each filter matches something on its own at this point, but together they may match nothing.
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

    /// The filters as text.
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

/// A regular expression for kernel names; the error is one line that says where it is wrong.
pub fn kernel_pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let shown = error.to_string();
        let mark = shown
            .lines()
            .find(|line| line.trim_start().starts_with('^') && line.trim().chars().all(|c| c == '^'));
        let reason = shown.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
        let reason = reason.trim_start_matches("error: ");
        // The error text is indented by four.
        match mark.and_then(|mark| mark.find('^')).and_then(|column| column.checked_sub(4)) {
            Some(column) => format!("{reason}, at character {}", column + 1),
            None => reason.to_string(),
        }
    })
}
