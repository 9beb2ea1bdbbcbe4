//! The GPU rows of a trace by rank and agent, with their launches and kinds of work.

use trace::{AgentId, Ns, RowRef, Trace};

use crate::classify::Classes;
use crate::recordings::Recordings;
use crate::work::{Gpu, GpuWork, WorkClass};

/// The kinds of work that a timeline tells apart, as bits of a combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// Kernels and fills.
    Compute = 0,
    /// Collectives and other messages between GPUs.
    Communication = 1,
    /// Copies, those that kernels do included.
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
    /// Where it is.
    pub row: RowRef,
    /// When it ran, and its kind.
    pub work: Work,
    /// Whether the call that launched it is known.
    pub linked: bool,
}

/// One GPU of one rank.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The rank, where the input tells.
    pub rank: Option<u32>,
    /// The GPU.
    pub agent: AgentId,
    /// `rank 3, agent 1`, as far as known.
    pub label: String,
    /// The recording, as a place in [`Recordings::all`].
    pub recording: Option<usize>,
    /// Its work in time order.
    pub rows: Vec<GpuRow>,
}

impl Lane {
    /// When it worked, and at what.
    pub fn work(&self) -> Vec<Work> {
        self.rows.iter().map(|row| row.work).collect()
    }
}

/// The GPU rows of a trace by rank and agent, in that order.
pub fn lanes(trace: &Trace, classes: &Classes) -> Vec<Lane> {
    lanes_of(&GpuWork::of_ranks(trace, classes, &Recordings::of(trace)))
}

/// The work of each GPU of a rank.
pub fn lanes_of(work: &GpuWork) -> Vec<Lane> {
    let row = |&i: &u32| {
        let i = i as usize;
        let times = Work { start: work.start[i], end: work.end[i], bucket: work.class[i].into() };
        GpuRow { row: work.row_ref(i), work: times, linked: work.launch_of(i).is_some() }
    };
    let lane = |gpu: &Gpu| Lane {
        rank: gpu.rank,
        agent: gpu.agent,
        label: gpu.label.clone(),
        recording: gpu.recording,
        rows: gpu.work.iter().map(row).collect(),
    };
    work.gpus.iter().filter(|gpu| gpu.is_rank).map(lane).collect()
}
