//! A run: the trace with its classes, sites and stages, found once for every analysis that asks.

use trace::{MemoryCopies, RowRef, StrId, Table, Trace};

use crate::attribution::{Attribution, Error, Site, attribute};
use crate::classify::{Category, Class, Classes, Classifier};
use crate::stages::{Stage, StagePatterns, Stages};

/// A trace and what its rows mean.
pub struct Run<'a> {
    /// The run.
    pub trace: &'a Trace,
    /// Category and backend of every name.
    pub classes: Classes,
    /// Where GPU work comes from.
    pub attribution: Attribution,
    /// Which stage it belongs to.
    pub stages: Stages,
    /// Rows below this share of their stage's GPU time are left out.
    pub min_share_pct: f64,
    /// Every row of GPU work in time order: kernels, copies and fills.
    pub rows: Vec<RowRef>,
    /// What the caller knows of the program, which wins over what the trace shows.
    pub program: KnownProgram,
}

/// What a caller may know of the program that was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownProgram {
    /// `sglang`, `vllm` …
    pub framework: Option<&'static str>,
    /// Name of the model.
    pub model: Option<String>,
    /// Ranks that take part.
    pub ranks: Option<u64>,
}

impl<'a> Run<'a> {
    /// Classifies, attributes and stages a trace, with a capture or graph-off trace to locate replays by.
    pub fn new(
        trace: &'a Trace,
        mapping: Option<&Trace>,
        classifier: &Classifier,
        min_share_pct: f64,
    ) -> Result<Self, Error> {
        let attribution = attribute(trace, mapping)?;
        let stages = Stages::of(trace, Some(&attribution));
        let mut classes = Classes::of(trace, classifier);
        classes.refine(trace, &attribution);
        let (rows, program) = (in_time_order(trace), KnownProgram::default());
        Ok(Self { trace, classes, attribution, stages, min_share_pct, rows, program })
    }

    /// The same with stages told by patterns of the user's own, tried before the built-in ones.
    pub fn with_stage_patterns(mut self, patterns: &StagePatterns) -> Self {
        if !patterns.is_empty() {
            self.stages = Stages::with(self.trace, Some(&self.attribution), patterns);
        }
        self
    }

    /// (start, end) of a row.
    pub fn time(&self, row: RowRef) -> (i64, i64) {
        match row.get() {
            Some((Table::Kernels, i)) => (self.trace.kernels.start[i], self.trace.kernels.end[i]),
            Some((Table::MemoryCopies, i)) => (self.copies().start[i], self.copies().end[i]),
            _ => (0, 0),
        }
    }

    /// How long a row takes.
    pub fn duration(&self, row: RowRef) -> i64 {
        let (start, end) = self.time(row);
        end - start
    }

    /// Its name as the trace has it.
    pub fn name(&self, row: RowRef) -> StrId {
        match row.get() {
            Some((Table::Kernels, i)) => self.trace.kernels.name[i],
            Some((Table::MemoryCopies, i)) => self.copies().name[i],
            _ => StrId::EMPTY,
        }
    }

    /// The lane it runs on: (process, agent, queue, stream).
    pub fn lane(&self, row: RowRef) -> (u32, u32, u32, u32) {
        match row.get() {
            Some((Table::Kernels, i)) => {
                let k = &self.trace.kernels;
                (k.process[i].0, k.agent[i].0, k.queue[i].0, k.stream[i].0)
            }
            Some((Table::MemoryCopies, i)) => {
                let c = self.copies();
                let agent = if c.dst[i].is_some() { c.dst[i] } else { c.src[i] };
                (c.process[i].0, agent.0, c.queue[i].0, c.stream[i].0)
            }
            _ => (0, 0, 0, 0),
        }
    }

    /// Its category and backend.
    pub fn class(&self, row: RowRef) -> Option<&Class> {
        self.classes.at(self.trace, &self.attribution, row)
    }

    /// Its category.
    pub fn category(&self, row: RowRef) -> Category {
        self.class(row).map_or(Category::Other, |class| class.category)
    }

    /// Where it comes from.
    pub fn site(&self, row: RowRef) -> &Site {
        self.attribution.site(row)
    }

    /// Its stage.
    pub fn stage(&self, row: RowRef) -> Stage {
        self.stages.stage(row)
    }

    fn copies(&self) -> &MemoryCopies {
        &self.trace.memory_copies
    }
}

/// Kernels and copies merged by (start, end); both tables are sorted already.
fn in_time_order(trace: &Trace) -> Vec<RowRef> {
    let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
    let mut rows: Vec<RowRef> = (0..kernels.len()).map(RowRef::kernel).collect();
    rows.extend((0..copies.len()).map(|i| RowRef::new(Table::MemoryCopies, i)));
    rows.sort_by_key(|row| match row.get() {
        Some((Table::Kernels, i)) => (kernels.start[i], kernels.end[i]),
        Some((_, i)) => (copies.start[i], copies.end[i]),
        None => (0, 0),
    });
    rows
}
