//! The results of `efficiency` as figures.

use report::Note;
use trace::{AgentId, Map, Ns};

use super::clock::ClockEvidence;
use super::part::{Parts, WaterfallStep};
use crate::kernels::roofline::{Unplaced, Without};

/// How the time of a run splits up, from the peak down.
#[derive(Clone, Debug, Default)]
pub struct Efficiency {
    /// Each GPU; its parts add up to its span.
    pub gpus: Vec<GpuEfficiency>,
    /// Each step; they add up to the spans.
    pub steps: Vec<StepEfficiency>,
    /// Each stage; they add up to the spans.
    pub stages: Vec<StageEfficiency>,
    /// Each kernel and copy with the gaps before it; they add up to the spans.
    pub kernels: Vec<KernelEfficiency>,
    /// Why kernels are not measured, and what to collect.
    pub unmeasured: Vec<Unmeasured>,
    /// Where the clock comes from.
    pub clock: ClockEvidence,
    /// The GPU whose peaks were used; empty if unknown.
    pub device: String,
    /// What is not known about the GPU.
    pub notes: Vec<Note>,
}

impl Efficiency {
    /// The sum over all GPUs.
    pub fn total(&self) -> Parts {
        self.gpus.iter().fold(Parts::default(), |mut all, gpu| {
            all.add_all(&gpu.parts);
            all
        })
    }

    /// Why a part is not known, if it is not; its time is then included in other parts.
    pub fn not_known(&self, part: WaterfallStep) -> Option<&'static str> {
        self.not_known_of(&self.total(), part)
    }

    /// [`Self::not_known`] for a caller that already has the total.
    pub(super) fn not_known_of(&self, all: &Parts, part: WaterfallStep) -> Option<&'static str> {
        let under_roofs = [WaterfallStep::AtPeak, WaterfallStep::Compute, WaterfallStep::Memory];
        let nothing_placed =
            all.get(WaterfallStep::NotMeasured) > 0 && under_roofs.iter().all(|&part| all.get(part) == 0);
        match part {
            WaterfallStep::Clock if self.clock.mean_mhz.is_none() => Some("the clock was not recorded"),
            _ if under_roofs.contains(&part) && nothing_placed => {
                Some("the work of the kernels is not known")
            }
            _ => None,
        }
    }
}

/// The time of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuEfficiency {
    /// The rank, if the input records it.
    pub rank: Option<u32>,
    /// The GPU.
    pub agent: AgentId,
    /// First to last GPU work over all GPUs that share this clock.
    pub span: (Ns, Ns),
    /// Its time by part.
    pub parts: Parts,
}

/// GPU time of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEfficiency {
    /// Its number; `None` for work outside steps.
    pub number: Option<u32>,
    /// Its time by part.
    pub parts: Parts,
}

/// GPU time of one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageEfficiency {
    /// `prefill`, `decode` …
    pub stage: &'static str,
    /// Its time by part.
    pub parts: Parts,
}

/// GPU time of one kernel, or kind of copy.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelEfficiency {
    /// Name as the trace has it.
    pub name: String,
    /// Dispatches with any charged time.
    pub calls: usize,
    /// Its time by part, including gaps before it.
    pub parts: Parts,
}

/// GPU time that cannot be split, and what to collect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    /// Why it cannot be split.
    pub why: &'static str,
    /// Dispatches.
    pub calls: usize,
    /// Their GPU time.
    pub total_ns: Ns,
    /// What to collect.
    pub collect: &'static str,
}

/// Sorted by time, longest first.
pub(super) fn unmeasured(sums: Map<Unplaced, (usize, Ns)>) -> Vec<Unmeasured> {
    let mut all: Vec<(Unplaced, (usize, Ns))> = sums.into_iter().filter(|(_, sum)| sum.1 > 0).collect();
    all.sort_by_key(|&(why, (_, ns))| (std::cmp::Reverse(ns), why));
    all.into_iter()
        .map(|(unplaced, (calls, total_ns))| {
            let (why, collect) = words(unplaced);
            Unmeasured { why, calls, total_ns, collect }
        })
        .collect()
}

fn words(unplaced: Unplaced) -> (&'static str, &'static str) {
    const COUNTERS: &str = "the counters of a roofline, in a run of their own";
    match unplaced {
        Unplaced::UnknownGpu => ("the peaks of the GPU are not known", "the architecture and the product"),
        Unplaced::NothingRecorded => (
            "neither shapes nor counters are recorded",
            "shapes (torch: record_shapes=True) or roofline counters",
        ),
        Unplaced::CountersMissing => ("some counters of its roofs are missing", COUNTERS),
        Unplaced::TooMuchWork => ("its op would need more than the GPU can do in that time", COUNTERS),
        Unplaced::Op(Without::NoModel) => ("there is no model of its op", COUNTERS),
        Unplaced::Op(Without::NotRecorded) => {
            ("shapes of its op are not recorded", "shapes (torch: record_shapes=True)")
        }
        Unplaced::Op(Without::Replayed) => {
            ("it is replayed from a graph", "a trace of the capture, or of a run without graphs")
        }
        Unplaced::Op(Without::NoOp) => {
            ("no op is linked to it", "CPU activity beside the GPU's, or roofline counters")
        }
    }
}
