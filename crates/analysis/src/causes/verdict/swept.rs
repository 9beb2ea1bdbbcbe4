//! The time of each GPU and of each class of work, in one pass over the tables.

use model::classify::Classes;
use model::lanes::{GpuRow, Work, each_row, lanes};
use trace::{RowRef, Trace};

use crate::timeline::breakdown::sweep::{Sweep, Timeline};

/// The GPUs of ranks, without a list of their rows.
pub(super) struct Swept {
    /// Of each GPU with work.
    pub timelines: Vec<Timeline>,
    /// Kernels, copies and fills on them.
    pub rows: usize,
    /// The time of work by the number of its class.
    pub by_class: Vec<i64>,
}

/// One GPU, in the order of appearance.
#[derive(Default)]
struct SweptGpu {
    sweep: Sweep,
    rows: usize,
    has_work: bool,
}

impl Swept {
    pub fn of(trace: &Trace, classes: &Classes) -> Self {
        let mut swept: Vec<SweptGpu> = Vec::new();
        let mut by_class = ClassTimes::new(trace, classes);
        let (gpus, numbers) = each_row(trace, classes, |gpu, row, work| {
            if gpu == swept.len() {
                swept.push(SweptGpu::default());
            }
            let gpu = &mut swept[gpu];
            gpu.rows += 1;
            if is_sane(&work) {
                gpu.has_work = true;
                gpu.sweep.add(work);
                by_class.add(row, &work);
            }
        });
        // Work that does not name its GPU belongs to the only one of its recording: their rows must be merged.
        if numbers.len() > gpus.len() {
            return Self::of_lanes(trace, classes);
        }
        let by_class = by_class.ns;
        swept.retain(|gpu| gpu.has_work);
        let rows = swept.iter().map(|gpu| gpu.rows).sum();
        Self { timelines: swept.into_iter().map(|gpu| gpu.sweep.finish()).collect(), rows, by_class }
    }

    fn of_lanes(trace: &Trace, classes: &Classes) -> Self {
        let mut lanes = lanes(trace, classes);
        lanes.retain(|lane| lane.rows.iter().any(|row| is_sane(&row.work)));
        let timeline = |rows: &[GpuRow]| Timeline::in_order(rows.iter().map(|row| row.work).filter(is_sane));
        Self {
            timelines: lanes.iter().map(|lane| timeline(&lane.rows)).collect(),
            rows: lanes.iter().map(|lane| lane.rows.len()).sum(),
            by_class: class_times(trace, classes, lanes.iter().flat_map(|lane| &lane.rows)),
        }
    }
}

/// The time of all work by class; one kernel name may have several.
struct ClassTimes<'a> {
    trace: &'a Trace,
    classes: &'a Classes,
    ns: Vec<i64>,
}

impl<'a> ClassTimes<'a> {
    fn new(trace: &'a Trace, classes: &'a Classes) -> Self {
        Self { trace, classes, ns: vec![0; classes.len()] }
    }

    #[inline]
    fn add(&mut self, row: RowRef, work: &Work) {
        if let Some(class) = self.classes.number(self.trace, row) {
            self.ns[class] += work.end - work.start;
        }
    }
}

/// The time of these rows by class.
pub(super) fn class_times<'r>(
    trace: &Trace,
    classes: &Classes,
    rows: impl Iterator<Item = &'r GpuRow>,
) -> Vec<i64> {
    let mut times = ClassTimes::new(trace, classes);
    rows.filter(|row| is_sane(&row.work)).for_each(|row| times.add(row.row, &row.work));
    times.ns
}

/// Whether work does not end before it starts, as in damaged traces.
pub(super) fn is_sane(work: &Work) -> bool {
    work.end >= work.start
}

#[cfg(test)]
mod tests {
    use model::classify::Classifier;
    use proptest::prelude::*;
    use trace::{Agent, AgentId, AgentKind, Kernel, Process, ProcessId};

    use super::*;

    proptest! {
        #[test]
        fn one_pass_finds_what_lists_of_rows_show(
            rows in prop::collection::vec((0i64..80, -3i64..25, 0usize..3, 0u32..3, 0u32..2), 0..40),
        ) {
            let mut trace = Trace::default();
            for pid in 0..2 {
                trace.processes.push(Process { pid, ..Process::default() });
                trace.agents.push(Agent { kind: AgentKind::Gpu, ..Agent::default() });
            }
            let names = ["gemm", "ncclDevKernel_Generic", "__amd_rocclr_copyBuffer"];
            for (start, length, kind, gpu, process) in rows {
                let name = trace.strings.intern(names[kind]);
                let agent = if gpu == 2 { AgentId::NONE } else { AgentId(gpu) };
                let process = ProcessId(process);
                trace.kernels.push(Kernel { start, end: start + length, name, agent, process, ..Kernel::default() });
            }
            trace.finish();
            let classes = Classes::of(&trace, &Classifier::builtin());
            let (one, lists) = (Swept::of(&trace, &classes), Swept::of_lanes(&trace, &classes));
            let sorted = |mut timelines: Vec<Timeline>| {
                timelines.sort_by_key(|timeline| (timeline.combinations, timeline.longest_gap));
                timelines
            };
            prop_assert_eq!((one.rows, one.by_class), (lists.rows, lists.by_class));
            prop_assert_eq!(sorted(one.timelines), sorted(lists.timelines));
        }
    }
}
