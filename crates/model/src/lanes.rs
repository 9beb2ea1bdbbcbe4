//! The GPU rows of a trace by rank and agent, with their launches and kinds of work.

use trace::{AgentId, Ns, RowRef, Table, Trace};

use crate::classify::Classes;
use crate::launches::launch_rows;
use crate::recordings::Recordings;
use crate::work::{Gpu, GpuWork, Gpus, KernelClasses, WorkClass, copy_agent, copy_class, in_time_order};

/// The kinds of work that a timeline distinguishes, as bits of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// Kernels and fills.
    Compute = 0,
    /// Collectives and other messages between GPUs.
    Communication = 1,
    /// Copies, including those that kernels do.
    Memcpy = 2,
}

impl Bucket {
    /// All kinds, by bit.
    pub const ALL: [Bucket; 3] = [Bucket::Compute, Bucket::Communication, Bucket::Memcpy];

    /// `compute`, `communication`, `memcpy`.
    pub fn name(self) -> &'static str {
        match self {
            Bucket::Compute => "compute",
            Bucket::Communication => "communication",
            Bucket::Memcpy => "memcpy",
        }
    }

    /// Its bit in a combination.
    pub fn bit(self) -> usize {
        1 << self as usize
    }
}

impl From<WorkClass> for Bucket {
    fn from(class: WorkClass) -> Self {
        match class {
            WorkClass::Compute | WorkClass::Fill => Bucket::Compute,
            WorkClass::Communication => Bucket::Communication,
            WorkClass::Copy => Bucket::Memcpy,
        }
    }
}

/// Some GPU work: when, and of which kind.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// First nanosecond.
    pub start: Ns,
    /// Nanosecond after the last.
    pub end: Ns,
    /// Its kind.
    pub bucket: Bucket,
}

/// One kernel, copy or fill.
#[derive(Clone, Copy, Debug)]
pub struct GpuRow {
    /// Its row in the trace.
    pub row: RowRef,
    /// When it ran, and its kind.
    pub work: Work,
    /// Row of `regions` of the call that launched it; `u32::MAX` if unknown.
    launch: u32,
}

impl GpuRow {
    fn of_work(works: &GpuWork, work: usize) -> Self {
        let (start, end, bucket) = (works.start[work], works.end[work], works.class[work].into());
        Self { row: works.row_ref(work), work: Work { start, end, bucket }, launch: works.launch[work] }
    }

    /// The call that launched it, as a row of `regions`.
    pub fn launch(&self) -> Option<usize> {
        (self.launch != u32::MAX).then_some(self.launch as usize)
    }

    /// Whether the call that launched it is known.
    pub fn is_linked(&self) -> bool {
        self.launch != u32::MAX
    }
}

/// One GPU of one rank.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The rank, if the input records it.
    pub rank: Option<u32>,
    /// The GPU.
    pub agent: AgentId,
    /// `rank 3, agent 1`, as far as known.
    pub label: String,
    /// The recording, as an index into [`Recordings::all`].
    pub recording: Option<usize>,
    /// Its work in time order.
    pub rows: Vec<GpuRow>,
}

impl Lane {
    /// When it worked, and on what.
    pub fn work(&self) -> Vec<Work> {
        self.rows.iter().map(|row| row.work).collect()
    }
}

impl Lane {
    fn of(gpu: &Gpu, rows: Vec<GpuRow>) -> Self {
        Self { rank: gpu.rank, agent: gpu.agent, label: gpu.label.clone(), recording: gpu.recording, rows }
    }
}

/// The GPU rows of a trace by rank and agent, in that order, with all streams merged.
pub fn lanes(trace: &Trace, classes: &Classes) -> Vec<Lane> {
    let (kernel_launch, copy_launch) = launch_rows(trace);
    let mut found: Vec<Vec<GpuRow>> = Vec::new();
    let (gpus, numbers) = each_row(trace, classes, |gpu, row, work| {
        let launch = match row.get() {
            Some((Table::Kernels, i)) => kernel_launch[i],
            Some((_, i)) => copy_launch[i],
            None => u32::MAX,
        };
        let row = GpuRow { row, work, launch };
        match found.get_mut(gpu) {
            Some(rows) => rows.push(row),
            None => {
                // Most traces have one GPU.
                let all = trace.kernels.len() + trace.memory_copies.len();
                let mut rows = Vec::with_capacity(if found.is_empty() { all } else { 1 });
                rows.push(row);
                found.push(rows);
            }
        }
    });
    let mut rows: Vec<Vec<GpuRow>> = vec![Vec::new(); gpus.len()];
    for (own, number) in found.into_iter().zip(numbers) {
        let rows = &mut rows[number as usize];
        if rows.is_empty() {
            *rows = own;
        } else {
            rows.extend(own);
            rows.sort_by_key(|row| (row.work.start, row.work.end, row.row));
        }
    }
    gpus.iter().zip(rows).filter(|(gpu, _)| gpu.is_rank).map(|(gpu, rows)| Lane::of(gpu, rows)).collect()
}

/// The same lanes of work that is collected already.
pub fn of_work(works: &GpuWork) -> Vec<Lane> {
    let rows = |gpu: &Gpu| gpu.work.iter().map(|&work| GpuRow::of_work(works, work as usize)).collect();
    works.gpus.iter().filter(|gpu| gpu.is_rank).map(|gpu| Lane::of(gpu, rows(gpu))).collect()
}

/// Calls back with each row of GPU work in time order, and the number of its GPU in order of appearance; returns
/// the GPUs, and the index of each number in them.
pub fn each_row(
    trace: &Trace,
    classes: &Classes,
    mut each: impl FnMut(usize, RowRef, Work),
) -> (Vec<Gpu>, Vec<u32>) {
    let recordings = Recordings::of(trace);
    let (kernels, copies) = (&trace.kernels, &trace.memory_copies);
    let mut kernel_classes = KernelClasses::new(trace, classes);
    let mut gpus = Gpus::new(trace, &recordings);
    in_time_order(
        trace,
        |process| recordings.counts(process),
        |table, i| {
            let (gpu, start, end, class) = match table {
                Table::Kernels => {
                    let gpu = gpus.number(kernels.process[i], kernels.agent[i]);
                    (gpu, kernels.start[i], kernels.end[i], kernel_classes.of(kernels.name[i]))
                }
                _ => {
                    let gpu = gpus.number(copies.process[i], copy_agent(trace, i));
                    (gpu, copies.start[i], copies.end[i], copy_class(copies.kind[i]))
                }
            };
            each(gpu as usize, RowRef::new(table, i), Work { start, end, bucket: class.into() });
        },
    );
    gpus.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trace::{Agent, AgentKind, Kernel, MemoryCopy, Process, ProcessId};

    use super::*;
    use crate::classify::Classifier;
    use crate::work::GpuWork;

    proptest! {
        #[test]
        fn lanes_hold_the_work_of_each_gpu(
            kernels in prop::collection::vec((0i64..50, 0i64..9, 0u32..3, 0u32..2), 0..30),
            copies in prop::collection::vec((0i64..50, 0i64..9, 0u32..3, 0u32..2), 0..10),
        ) {
            let mut trace = Trace::default();
            for pid in 0..2 {
                trace.processes.push(Process { pid, ..Process::default() });
                trace.agents.push(Agent { kind: AgentKind::Gpu, ..Agent::default() });
            }
            let agent = |number: u32| if number == 2 { AgentId::NONE } else { AgentId(number) };
            for (start, length, gpu, process) in kernels {
                let (agent, process) = (agent(gpu), ProcessId(process));
                trace.kernels.push(Kernel { start, end: start + length, agent, process, ..Kernel::default() });
            }
            for (start, length, gpu, process) in copies {
                let (dst, process) = (agent(gpu), ProcessId(process));
                trace.memory_copies.push(MemoryCopy { start, end: start + length, dst, process, ..MemoryCopy::default() });
            }
            trace.finish();
            let classes = Classes::of(&trace, &Classifier::builtin());
            let work = GpuWork::of_ranks(&trace, &classes, &Recordings::of(&trace));
            let expected: Vec<(String, Vec<RowRef>)> = work
                .gpus
                .iter()
                .map(|gpu| (gpu.label.clone(), gpu.work.iter().map(|&i| work.row_ref(i as usize)).collect()))
                .collect();
            let lanes = lanes(&trace, &classes);
            let found: Vec<(String, Vec<RowRef>)> = lanes
                .iter()
                .map(|lane| (lane.label.clone(), lane.rows.iter().map(|row| row.row).collect()))
                .collect();
            prop_assert_eq!(found, expected);
            let of_row = |row: &GpuRow| (row.row, row.work.start, row.work.end, row.work.bucket, row.launch);
            let rows = |lanes: Vec<Lane>| -> Vec<Vec<_>> {
                lanes.iter().map(|lane| lane.rows.iter().map(of_row).collect()).collect()
            };
            prop_assert_eq!(rows(of_work(&work)), rows(lanes));
        }
    }
}
