//! A run: the trace with its classes, sites and stages, computed once for all analyses.

use std::sync::Arc;

use trace::{MemoryCopies, RowRef, StrId, Table, Trace};

use crate::attribution::{Attribution, Error, Site, attribute};
use crate::calls::Calls;
use crate::classify::{Category, Class, Classes, Classifier};
use crate::recordings::Recordings;
use crate::stages::{Stage, StagePatterns, Stages};
use crate::work::GpuWork;

/// A trace and what its rows mean.
pub struct Run<'a> {
    /// The run.
    pub trace: &'a Trace,
    /// Category and backend of every name.
    pub classes: Classes,
    /// Where GPU work comes from.
    pub attribution: Attribution,
    /// Stage and step of GPU work.
    pub stages: Stages,
    /// What its calls do.
    pub calls: Calls,
    /// The recordings in the trace.
    pub recordings: Recordings,
    /// Rows below this share of their stage's GPU time are left out.
    pub min_share_pct: f64,
    /// All GPU work.
    pub work: Arc<GpuWork>,
    /// The selected rows of GPU work, in time order: kernels, copies and fills.
    pub rows: Vec<RowRef>,
    /// By row of `kernels` and of `memory_copies`: its index in `work`.
    places: [Vec<u32>; 2],
    /// What the caller knows about the program; overrides what the trace shows.
    pub program: KnownProgram,
}

/// What a caller may know about the traced program.
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
        let of_names = || {
            let (classes, recordings) = (Classes::of(trace, classifier), Recordings::of(trace));
            let (work, (questions, calls)) = rayon::join(
                || GpuWork::of(trace, &classes, &recordings),
                || (classes.questions(trace), Calls::of(trace)),
            );
            (classes, questions, calls, recordings, work)
        };
        let (attribution, ((mut classes, questions, calls, recordings, work), mut stages)) =
            rayon::join(|| attribute(trace, mapping), || rayon::join(of_names, || Stages::unlearned(trace)));
        let attribution = attribution?;
        rayon::join(
            || stages.learn(trace, Some(&attribution)),
            || classes.refine(trace, &attribution, &questions),
        );
        // Captures next to a run show where its kernels come from; their own work does not belong to the run.
        let counts = |place: &usize| recordings.counts(work.process(*place));
        let rows = (0..work.len()).filter(counts).map(|place| work.row_ref(place)).collect();
        let mut places = [vec![0; trace.kernels.len()], vec![0; trace.memory_copies.len()]];
        for (place, &row) in work.row.iter().enumerate() {
            places[usize::from(work.is_copy_row[place])][row as usize] = place as u32;
        }
        let program = KnownProgram::default();
        Ok(Self {
            trace,
            classes,
            attribution,
            stages,
            calls,
            recordings,
            work: Arc::new(work),
            min_share_pct,
            rows,
            places,
            program,
        })
    }

    /// Adds the user's own stage patterns, tried before the built-in ones.
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

    /// Its name in the trace.
    pub fn name(&self, row: RowRef) -> StrId {
        match row.get() {
            Some((Table::Kernels, i)) => self.trace.kernels.name[i],
            Some((Table::MemoryCopies, i)) => self.copies().name[i],
            _ => StrId::EMPTY,
        }
    }

    /// Its index in [`Run::work`].
    pub fn place(&self, row: RowRef) -> Option<usize> {
        let place = match row.get()? {
            (Table::Kernels, i) => self.places[0].get(i),
            (Table::MemoryCopies, i) => self.places[1].get(i),
            _ => None,
        };
        place.map(|&place| place as usize)
    }

    /// The call that launched it, as a row of `regions`: from a look-up, not a search of the links.
    pub fn launch_of(&self, row: RowRef) -> Option<usize> {
        self.work.launch_of(self.place(row)?)
    }

    /// The rank it belongs to, if known.
    pub fn rank(&self, row: RowRef) -> Option<u32> {
        self.trace.rank_of(self.work.process(self.place(row)?))
    }

    /// Its category and backend.
    pub fn class(&self, row: RowRef) -> Option<&Class> {
        self.classes.of_row(self.trace, row)
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
