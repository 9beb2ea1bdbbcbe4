//! A run's process groups, and what its faults change in the program.

use super::Options;
use crate::Error;
use crate::engine::{Pause, Slowdown};
use crate::program::{Frame, FrameKind, GraphMode, Program, compile, uses};
use crate::ranks::{Cause, GroupKind, Layout, Resolved, Straggler};
use crate::scenario::{Action, Scenario, StepSpec};

/// Sizes of the process groups of a run.
pub(super) fn layout(scenario: &Scenario, options: &Options, ranks: u32) -> Result<Layout, Error> {
    let used = |kind: GroupKind| {
        let wanted = |action: &Action| match action {
            Action::Collective(spec) => spec.group == kind,
            Action::Pipeline(_) => kind == GroupKind::Pipeline,
            _ => false,
        };
        let programs = |step: &StepSpec| {
            std::iter::once(&step.program).chain(step.background.values()).any(|p| uses(scenario, p, &wanted))
        };
        scenario.pattern.iter().any(programs)
    };
    let asked = options.parallel;
    let of = |kind: GroupKind, asked: Option<u32>, usual: u32| match asked {
        Some(size) if size > 1 && !used(kind) => Err(Error::Options(format!(
            "the scenario `{}` does nothing in {} groups; try `parallel-training` or `expert-training`",
            scenario.name,
            kind.name()
        ))),
        Some(size) => Ok(size),
        None => Ok(usual),
    };
    let sizes = [
        of(GroupKind::Tensor, asked.tensor, scenario.ranks.tensor)?,
        of(GroupKind::Pipeline, asked.pipeline, scenario.ranks.pipeline)?,
        of(GroupKind::Expert, asked.expert, scenario.ranks.expert)?,
    ];
    if options.faults.expert_skew > 0.0 && !used(GroupKind::Expert) {
        let what = format!("the scenario `{}` has no experts; try `expert-training`", scenario.name);
        return Err(Error::Options(what));
    }
    let split = GroupKind::ALL.into_iter().skip(1).any(used);
    Layout::new(ranks, sizes, split)
}

/// The frame of a host that pauses, by cause.
fn pause_frame(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::DataLoader => Some("torch/utils/data/dataloader.py(733): __next__"),
        Cause::GcPause => Some("<built-in method collect of module object at 0x7f2c90b0>"),
        _ => None,
    }
}

/// Compiles a scenario, with the frames that faults add.
pub(super) fn compile_with(
    scenario: &Scenario,
    graphs: GraphMode,
    without: Option<&str>,
    layout: &Layout,
    faults: &Resolved,
) -> Program {
    let mut program = compile(scenario, graphs, without, layout);
    for name in faults.stragglers.iter().filter_map(|(_, straggler)| pause_frame(straggler.cause)) {
        program.frames.push(Frame::plain(FrameKind::Python, name));
    }
    program
}

/// A garbage collection happens once in this many steps.
const GC_STEPS: u64 = 4;

pub(super) fn pauses(program: &Program, faults: &Resolved) -> Vec<Pause> {
    let pause = |(number, (rank, straggler)): (usize, &(u32, Straggler))| {
        let name = pause_frame(straggler.cause)?;
        let frame = program.frames.iter().position(|frame| frame.name == name)?;
        let every = if straggler.cause == Cause::GcPause { GC_STEPS } else { 1 };
        let of_compute = (straggler.factor - 1.0) * every as f64;
        Some(Pause { rank: *rank, every, of_compute, frame: frame as u32, cause: number })
    };
    faults.stragglers.iter().enumerate().filter_map(pause).collect()
}

/// Kernels that stragglers slow down.
pub(super) fn slowdowns(program: &Program, faults: &Resolved) -> Vec<Slowdown> {
    let mut slow = Vec::new();
    for (number, (rank, straggler)) in faults.stragglers.iter().enumerate() {
        let mut add = |kernel: Option<u32>, clocked: bool| {
            let (rank, factor, cause) = (*rank, straggler.factor, Some(number));
            slow.push(Slowdown { rank, kernel, factor, mark: 0, clocked, cause });
        };
        match straggler.cause {
            Cause::LowerClocks => add(None, true),
            Cause::LargerKernels => add(None, false),
            Cause::SlowerKernels => slower(program, *rank, straggler).for_each(|k| add(Some(k), false)),
            Cause::MoreWork | Cause::DataLoader | Cause::GcPause => {}
        }
    }
    slow
}

/// The kernels that a straggler names, or the one that takes most of its time.
pub(super) fn slower(program: &Program, rank: u32, straggler: &Straggler) -> impl Iterator<Item = u32> {
    let chosen: Vec<u32> = match &straggler.kernel {
        Some(pattern) => {
            let named = |kernel: &crate::program::Kernel| {
                !kernel.communicates && (kernel.name.contains(pattern) || kernel.id.contains(pattern))
            };
            (0..program.kernels.len() as u32).filter(|&k| named(&program.kernels[k as usize])).collect()
        }
        None => {
            let times = program.kernel_times(program.layout.stage(rank));
            let longest = (0..times.len()).max_by(|&a, &b| times[a].total_cmp(&times[b]));
            longest.into_iter().map(|kernel| kernel as u32).collect()
        }
    };
    chosen.into_iter()
}
