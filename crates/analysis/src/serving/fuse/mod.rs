//! Fusion: kernels that run one after another although a single kernel for them exists.
//!
//! ```text
//! rules/fusions.toml ─► sequences ─► matches (one scan per lane, most specific sequence first)
//!                                        └─► saving, regularity, confidence ─► opportunities ─► present
//! ```
//!
//! Only sequences that some program is known to run as one kernel are matched. Their kernels must be
//! neighbours on one stream, in order, in one stage and step, about once per layer; a kernel belongs to at
//! most one sequence. Main work (matrix products, attention, experts, collectives, convolutions) may be part
//! of a sequence, but its time never counts as a possible gain. A kernel that is fused already is in no
//! sequence and is reported as fused. Further preconditions (tokens of the step, kind of the model, a library
//! that is off) are in the catalogue; if the trace does not show them, they are assumed to hold.
//!
//! Confidence counts three facts: the sequence occurs once per layer (`regular`), its kernels are traced back
//! to an op or module (`located`), and the program's own framework is known to have the fused kernel on these
//! GPUs (`available`). Three facts make it `confirmed`, two `likely`, fewer `candidate`. Fusions for specific
//! models are skipped if the trace does not name the model.

mod catalogue;
mod lanes;
mod matching;
mod opportunity;
mod present;
mod propagated;
mod regular;
mod saving;
mod sizes;
mod steps;

pub use catalogue::FusionCatalogue;
pub use opportunity::{Confidence, FuseInstance, FuseOpportunity};

use trace::Map;

use self::catalogue::{FusedPath, Fusion, ModelKind, Per, Rocm};
use self::lanes::Lanes;
use self::matching::{Match, Taken, find};
use self::saving::{Saving, gaps, saving};
use self::sizes::Sizes;
use model::Run;
use model::classify::Platform;
use model::names::canonical;
use model::stages::Stage;

use crate::subject::Program;

/// Per-layer sequences that occur less regularly than this are chance neighbours.
const LEAST_REGULARITY: f64 = 0.5;

/// At or above this, a sequence counts as one per layer.
const REGULAR: f64 = 0.9;

/// What can be fused.
#[derive(Clone, Debug, Default)]
pub struct Fuse {
    /// Sorted by stage, then largest gain first.
    pub opportunities: Vec<FuseOpportunity>,
    /// What was left out, and what is fused already.
    pub notes: Vec<String>,
}

impl Fuse {
    /// Every instance of every opportunity.
    pub fn instances(&self) -> impl Iterator<Item = &FuseInstance> {
        self.opportunities.iter().flat_map(|one| &one.instances)
    }
}

/// One fusion in one stage.
struct StageFusion<'a> {
    stage: Stage,
    fusion: &'a Fusion,
    path: &'a FusedPath,
    confidence: Confidence,
    regularity: f64,
    matches: Vec<(Match, Saving)>,
}

impl StageFusion<'_> {
    fn sum(&self, of: impl Fn(&Saving) -> i64) -> i64 {
        self.matches.iter().map(|(_, saving)| of(saving)).sum()
    }

    fn related_ns(&self) -> i64 {
        self.sum(|saving| saving.related_ns)
    }
}

/// What can be fused according to the built-in catalogue.
pub fn fuse(context: &Run<'_>) -> Fuse {
    fuse_with(context, FusionCatalogue::built_in())
}

/// What can be fused according to a catalogue.
pub fn fuse_with(context: &Run<'_>, catalogue: &FusionCatalogue) -> Fuse {
    let search = Search {
        context,
        program: Program::of(context),
        lanes: Lanes::of(context, catalogue),
        helpers: catalogue.groups.iter().map(|group| group.helper).collect(),
    };
    let calls = regular::calls(&search.lanes);
    let mut sizes = Sizes::new(context);
    let mut taken: Taken = search.lanes.lanes.iter().map(|lane| vec![false; lane.len()]).collect();
    let mut left_out = LeftOut::default();
    let mut found = Vec::new();
    for fusion in &catalogue.fusions {
        let Some(path) = search.path(fusion) else {
            left_out.of_unknown_model += usize::from(search.is_for_unknown_model(fusion));
            continue;
        };
        let matches = find(&search.lanes, &search.helpers, &mut sizes, fusion, &mut taken);
        let (matches, unfit) = search.fitting(fusion, path, matches, &mut sizes);
        search.release(&unfit, &mut taken);
        for (stage, matches) in search.by_stage(matches) {
            let all: Vec<&Match> = matches.iter().collect();
            let regularity = regular::regularity(&search.lanes, &calls, stage, &all);
            if fusion.per == Per::Layer && regularity < LEAST_REGULARITY {
                left_out.irregular += matches.len();
                // Chance neighbours give their kernels back to other fusions.
                search.release(&matches, &mut taken);
                continue;
            }
            let confidence = search.confidence(fusion, path, regularity, &matches);
            let matches = search.savings(matches, &mut sizes);
            found.push(StageFusion { stage, fusion, path, confidence, regularity, matches });
        }
    }
    let active = search.active(catalogue);
    opportunity::told(&search, found, left_out, active)
}

/// How many matches were not shown, and why.
#[derive(Default)]
struct LeftOut {
    irregular: usize,
    small: usize,
    of_unknown_model: usize,
}

/// A fused kernel that runs already.
struct Active<'a> {
    fusion: &'a Fusion,
    stage: Stage,
    calls: usize,
}

struct Search<'a> {
    context: &'a Run<'a>,
    program: Program,
    lanes: Lanes,
    helpers: Vec<bool>,
}

impl Search<'_> {
    /// Where this program can get the fused kernel; `None` if it cannot be suggested.
    fn path<'f>(&self, fusion: &'f Fusion) -> Option<&'f FusedPath> {
        if self.program.has_fewer_ranks(fusion.min_ranks) || !self.program.model_is(&fusion.models) {
            return None;
        }
        let there = |path: &&FusedPath| {
            (self.program.platform == Platform::Cuda || path.rocm != Rocm::No) && self.is_for_program(path)
        };
        let mut paths = fusion.paths.iter().filter(there);
        match self.program.framework {
            None => paths.next(),
            Some(framework) => {
                let own = paths.clone().find(|path| path.framework == framework);
                own.or_else(|| paths.find(|path| path.framework == "any"))
            }
        }
    }

    /// Whether the preconditions of a path may hold for this program.
    fn is_for_program(&self, path: &FusedPath) -> bool {
        let kind = match path.model_kind {
            None => true,
            Some(ModelKind::VisionLanguage) => self.program.reads_images(),
            Some(ModelKind::Text) => !self.program.reads_images(),
        };
        kind && !path.turns_on.as_ref().is_some_and(|library| self.program.uses(library))
    }

    /// Splits matches by whether they meet the preconditions on tokens and steps.
    fn fitting(
        &self,
        fusion: &Fusion,
        path: &FusedPath,
        matches: Vec<Match>,
        sizes: &mut Sizes<'_>,
    ) -> (Vec<Match>, Vec<Match>) {
        let first = |found: &Match| &self.lanes.lanes[found.lane][found.places[0].0];
        let mut per_step: Map<Option<usize>, usize> = Map::default();
        for found in &matches {
            *per_step.entry(first(found).step).or_default() += 1;
        }
        matches.into_iter().partition(|found| {
            let item = first(found);
            let few =
                fusion.most_per_step.is_none_or(|most| per_step[&item.step] <= most || item.step.is_none());
            let short = path
                .max_tokens
                .is_none_or(|most| self.tokens(found, sizes).is_none_or(|tokens| tokens <= most));
            few && short
        })
    }

    /// Tokens that a match handles: from the shapes of its ops, otherwise from the name of its step.
    fn tokens(&self, found: &Match, sizes: &mut Sizes<'_>) -> Option<u64> {
        let items = &self.lanes.lanes[found.lane];
        let by_shape = found.places.iter().filter(|(_, main)| !main);
        let by_shape = by_shape.filter_map(|&(place, _)| sizes.tokens(items[place].row)).min();
        by_shape.or_else(|| {
            let step = &self.context.stages.steps[items[found.places[0].0].step?];
            let (context, generation) = (step.context_tokens, step.generation_tokens);
            match (context, generation) {
                (None, None) => None,
                _ => Some(context.unwrap_or(0) + generation.unwrap_or(0)),
            }
        })
    }

    fn is_for_unknown_model(&self, fusion: &Fusion) -> bool {
        !fusion.models.is_empty() && !self.program.knows_model()
    }

    fn by_stage(&self, matches: Vec<Match>) -> Vec<(Stage, Vec<Match>)> {
        let mut stages: Vec<(Stage, Vec<Match>)> = Vec::new();
        for found in matches {
            let stage = self.lanes.lanes[found.lane][found.places[0].0].stage;
            match stages.iter_mut().find(|(known, _)| *known == stage) {
                Some((_, of_stage)) => of_stage.push(found),
                None => stages.push((stage, vec![found])),
            }
        }
        stages.sort_by_key(|&(stage, _)| stage);
        stages
    }

    fn release(&self, matches: &[Match], taken: &mut Taken) {
        for found in matches {
            found.places.iter().for_each(|&(place, _)| taken[found.lane][place] = false);
        }
    }

    fn confidence(
        &self,
        fusion: &Fusion,
        path: &FusedPath,
        regularity: f64,
        matches: &[Match],
    ) -> Confidence {
        let located = |found: &&Match| {
            let row = |&(place, _): &(usize, bool)| self.lanes.lanes[found.lane][place].row;
            found.places.iter().all(|place| self.context.site(row(place)).is_located())
        };
        let regular = fusion.per == Per::Step || (regularity >= REGULAR && matches.len() > 2);
        let known = matches.iter().filter(located).count() * 10 >= matches.len() * 9;
        let own = self.program.framework == Some(path.framework.as_str());
        let available = own && (path.rocm == Rocm::Yes || self.program.platform == Platform::Cuda);
        let facts = [regular, known, available].iter().filter(|fact| **fact).count();
        match facts {
            3 => Confidence::Confirmed,
            2 => Confidence::Likely,
            _ => Confidence::Candidate,
        }
    }

    fn savings(&self, matches: Vec<Match>, sizes: &mut Sizes<'_>) -> Vec<(Match, Saving)> {
        let items = |found: &Match| &self.lanes.lanes[found.lane];
        let mut all: Vec<i64> = matches.iter().flat_map(|found| gaps(items(found), found)).collect();
        all.sort_unstable();
        let median = all.get(all.len() / 2).copied().unwrap_or(0);
        let with_saving = |found: Match| {
            let saving = saving(items(&found), &found, median, sizes);
            (found, saving)
        };
        matches.into_iter().map(with_saving).collect()
    }

    /// Fused kernels of the catalogue that run already, by stage.
    fn active<'c>(&self, catalogue: &'c FusionCatalogue) -> Vec<Active<'c>> {
        let calls = regular::calls(&self.lanes);
        let mut active = Vec::new();
        for fusion in &catalogue.fusions {
            let Some(pattern) = &fusion.active else { continue };
            let mut by_stage: Map<Stage, usize> = Map::default();
            for (number, kind) in self.lanes.kinds.iter().enumerate() {
                let name = canonical(self.context.trace.strings.get(kind.name));
                if pattern.is_match(&name) || pattern.is_match(self.context.attribution.text(kind.op)) {
                    for stage in Stage::ALL {
                        let more = calls.get(&(stage, number as u32)).copied().unwrap_or(0);
                        *by_stage.entry(stage).or_default() += more;
                    }
                }
            }
            let stages = Stage::ALL.into_iter().filter_map(|stage| Some((stage, *by_stage.get(&stage)?)));
            active.extend(stages.filter(|&(_, calls)| calls > 0).map(|(stage, calls)| Active {
                fusion,
                stage,
                calls,
            }));
        }
        active
    }
}
