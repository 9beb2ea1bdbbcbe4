//! Stages: which GPU work is prefill, decode, mixed or other, and in which step of the run it was launched.
//!
//! A step's annotation on the host does not contain its kernels in time (they run later), so the stage is
//! that of the innermost step annotation around the work's **launch**. Without annotations, the label of the
//! file or folder decides (`…-TP-0-DECODE.trace.json.gz`), and without a label the mode in which a replayed
//! graph was captured. If all annotations are on GPU lanes, those are used: they span the kernels that belong
//! to them. Nothing is guessed from kernel names.

mod layers;
mod steady;

pub use layers::{Layer, Layers, layers};

pub use crate::steps::{Stage, StagePatternError, StagePatterns, Step, StepName, compile_patterns, label};

use trace::{RowRef, Table, Trace};

use crate::attribution::{Attribution, GpuRows};
use crate::steps::{StageRules, Steps};

/// What decided the stage of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageSource {
    /// A step annotation around the launch.
    Annotation,
    /// The name of the file or a folder above it.
    FileLabel,
    /// The mode of the captured graph.
    Graph,
    /// Nothing.
    None,
}

/// Stage and step of every GPU row.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Steps in time order; nested annotations are one step.
    pub steps: Vec<Step>,
    kernels: Vec<Staged>,
    copies: Vec<Staged>,
    warm_up: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Staged {
    stage: Stage,
    source: StageSource,
    step: u32,
}

const NO_STEP: u32 = u32::MAX;

impl Stages {
    /// The stages of a finished trace read with at least kernels, copies, regions and links.
    pub fn of(trace: &Trace, attribution: Option<&Attribution>) -> Self {
        Self::with(trace, attribution, &StagePatterns::default())
    }

    /// Stages from annotations and labels only; [`Stages::learn`] adds the rest.
    pub(crate) fn unlearned(trace: &Trace) -> Self {
        Self::told(trace, &StagePatterns::default())
    }

    /// Like `of`, with the user's own patterns.
    pub fn with(trace: &Trace, attribution: Option<&Attribution>, own: &StagePatterns) -> Self {
        let mut stages = Self::told(trace, own);
        stages.learn(trace, attribution);
        stages
    }

    /// Adds stages from graphs for rows without one, and finds the warm-up steps.
    pub(crate) fn learn(&mut self, trace: &Trace, attribution: Option<&Attribution>) {
        if let Some(attribution) = attribution {
            self.learn_from_graphs(attribution);
        }
        self.warm_up = steady::warm_up(self, trace);
    }

    fn told(trace: &Trace, own: &StagePatterns) -> Self {
        let rows = GpuRows::of(trace);
        let (host_steps, step_of_launch) = Steps::with(trace, &rows.launches, own);
        let host_tells = host_steps.steps.iter().any(|step| !step.is_loop_step);
        let on_gpu = if host_tells { None } else { Steps::on_gpu_lanes(trace, own) };
        let of_launch = |launch: Option<usize>| launch.and_then(|launch| step_of_launch[launch]);
        let (steps, kernel_steps, copy_steps) = match on_gpu {
            Some(on_gpu) => (on_gpu.steps, on_gpu.kernels, on_gpu.copies),
            None => {
                let kernels = (0..trace.kernels.len()).map(|row| of_launch(rows.of_kernel(row))).collect();
                let copies = (0..trace.memory_copies.len()).map(|row| of_launch(rows.of_copy(row))).collect();
                (host_steps, kernels, copies)
            }
        };
        let labels: Vec<Option<Stage>> = trace.sources.iter().map(|source| label(&source.path)).collect();
        let by_label = |process: trace::ProcessId| {
            process.get().and_then(|p| trace.processes[p].source.get()).and_then(|source| labels[source])
        };
        let staged = |step: Option<u32>, process| {
            let said = step.map(|step| steps.steps[step as usize]).filter(|step| !step.is_loop_step);
            let (stage, source) = match (said, by_label(process)) {
                (Some(step), _) => (step.stage, StageSource::Annotation),
                (None, Some(stage)) => (stage, StageSource::FileLabel),
                (None, None) => (Stage::Other, StageSource::None),
            };
            Staged { stage, source, step: step.unwrap_or(NO_STEP) }
        };
        let kernels = kernel_steps.into_iter().zip(&trace.kernels.process).map(|(step, p)| staged(step, *p));
        let copies =
            copy_steps.into_iter().zip(&trace.memory_copies.process).map(|(step, p)| staged(step, *p));
        let (kernels, copies) = (kernels.collect(), copies.collect());
        Self { steps: steps.steps, kernels, copies, warm_up: Vec::new() }
    }

    fn learn_from_graphs(&mut self, attribution: &Attribution) {
        let modes = &StageRules::built_in().capture_modes;
        for replay in &attribution.replays {
            let Some(&stage) = replay.capture_mode.as_ref().and_then(|mode| modes.get(mode.as_str())) else {
                continue;
            };
            for &row in &replay.rows {
                if let Some(staged) = self.slot(row).filter(|staged| staged.source == StageSource::None) {
                    (staged.stage, staged.source) = (stage, StageSource::Graph);
                }
            }
        }
    }

    fn slot(&mut self, row: RowRef) -> Option<&mut Staged> {
        match row.get()? {
            (Table::Kernels, row) => self.kernels.get_mut(row),
            (Table::MemoryCopies, row) => self.copies.get_mut(row),
            _ => None,
        }
    }

    fn staged(&self, row: RowRef) -> Option<&Staged> {
        match row.get()? {
            (Table::Kernels, row) => self.kernels.get(row),
            (Table::MemoryCopies, row) => self.copies.get(row),
            _ => None,
        }
    }

    /// The stage of a kernel or copy.
    pub fn stage(&self, row: RowRef) -> Stage {
        self.staged(row).map_or(Stage::Other, |staged| staged.stage)
    }

    /// What decided its stage.
    pub fn told_by(&self, row: RowRef) -> StageSource {
        self.staged(row).map_or(StageSource::None, |staged| staged.source)
    }

    /// The step its launch is in, as an index into `steps`.
    pub fn step(&self, row: RowRef) -> Option<usize> {
        self.staged(row).filter(|staged| staged.step != NO_STEP).map(|staged| staged.step as usize)
    }

    /// Whether a row belongs to a step before the run settled: in each stage the leading steps that take over
    /// 1.25 times the stage's median step or have under 90 % of its largest batch, up to half of them, in
    /// stages of at least four steps.
    pub fn is_warm_up(&self, row: RowRef) -> bool {
        self.step(row).is_some_and(|step| self.warm_up[step])
    }

    /// How many steps count as warm-up.
    pub fn warm_up_steps(&self) -> usize {
        let mut numbers: Vec<u32> = self
            .steps
            .iter()
            .zip(&self.warm_up)
            .filter(|(_, warm)| **warm)
            .map(|(step, _)| step.number)
            .collect();
        numbers.dedup();
        numbers.len()
    }

    /// The stages that occur, in display order.
    pub fn present(&self) -> Vec<Stage> {
        let has = |stage| self.kernels.iter().chain(&self.copies).any(|staged| staged.stage == stage);
        Stage::ALL.into_iter().filter(|&stage| has(stage)).collect()
    }
}
