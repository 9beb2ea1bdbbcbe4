//! The GPU rows of a trace by rank and agent, with their launches and kinds of work.

use trace::{AgentId, AgentKind, CopyKind, LinkKind, Map, Ns, ProcessId, RowRef, Table, Trace};

use crate::classify::{Category, Classes, Kind};
use crate::names;
use crate::recordings::Recordings;

/// Kernels by which ROCclr copies, as rocprofv3 and ROCm up to 7.1 record them: copies in a timeline.
const COPY_KERNELS: &[&str] = &["__amd_rocclr_copy", "MEMORY_COPY_"];

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
    /// Its work.
    pub rows: Vec<GpuRow>,
}

impl Lane {
    /// The device's number on its machine, where the input tells.
    pub fn agent_index(&self, trace: &Trace) -> Option<i64> {
        self.agent.get().and_then(|agent| trace.agents[agent].absolute_index.get())
    }

    /// `rank 3, agent 1`, as far as known.
    pub fn label(&self, trace: &Trace) -> String {
        let rank = self.rank.map(|rank| format!("rank {rank}"));
        let agent = self.agent_index(trace).map(|agent| format!("agent {agent}"));
        let parts: Vec<String> = [rank, agent].into_iter().flatten().collect();
        if parts.is_empty() { "the GPU".into() } else { parts.join(", ") }
    }

    /// When it worked, and at what.
    pub fn work(&self) -> Vec<Work> {
        self.rows.iter().map(|row| row.work).collect()
    }
}

/// The GPU rows of a trace by rank and agent, in that order.
pub fn lanes(trace: &Trace, classes: &Classes) -> Vec<Lane> {
    let linked = Linked::of(trace);
    let recordings = Recordings::of(trace);
    let mut lanes = Builder { trace, numbers: Map::default(), lanes: Vec::new() };
    let kernels = &trace.kernels;
    let mut buckets: Map<trace::StrId, Bucket> = Map::default();
    for row in 0..kernels.len() {
        let name = kernels.name[row];
        let bucket = *buckets.entry(name).or_insert_with(|| kernel_bucket(trace, classes, name));
        let work = Work { start: kernels.start[row], end: kernels.end[row], bucket };
        let (process, agent) = (kernels.process[row], kernels.agent[row]);
        if recordings.counts(process) {
            lanes.add(process, agent, GpuRow { row: RowRef::kernel(row), work, linked: linked.kernels[row] });
        }
    }
    let copies = &trace.memory_copies;
    for row in 0..copies.len() {
        let bucket = match copies.kind[row] {
            CopyKind::Copy => Bucket::Memcpy,
            CopyKind::Fill => Bucket::Compute,
        };
        let work = Work { start: copies.start[row], end: copies.end[row], bucket };
        let (process, agent) = (copies.process[row], copy_agent(trace, row));
        let row = GpuRow { row: RowRef::new(Table::MemoryCopies, row), work, linked: linked.copies[row] };
        if recordings.counts(process) {
            lanes.add(process, agent, row);
        }
    }
    lanes.finish()
}

/// The kind of work that kernels of a name do.
pub fn kernel_bucket(trace: &Trace, classes: &Classes, name: trace::StrId) -> Bucket {
    let text = names::demangle(trace.strings.get(name));
    if COPY_KERNELS.iter().any(|copy| text.starts_with(copy)) {
        return Bucket::Memcpy;
    }
    match classes.get(name, Kind::Kernel) {
        Some(class) if class.category == Category::Communication => Bucket::Communication,
        _ => Bucket::Compute,
    }
}

/// The GPU that a copy belongs to: the one it goes to, else the one it comes from.
fn copy_agent(trace: &Trace, row: usize) -> AgentId {
    let copies = &trace.memory_copies;
    let ends = [copies.dst[row], copies.src[row]];
    let kind = |agent: &AgentId| agent.get().map(|agent| trace.agents[agent].kind);
    let gpu = ends.iter().find(|agent| kind(agent) == Some(AgentKind::Gpu));
    let maybe = || ends.iter().find(|agent| kind(agent) == Some(AgentKind::Unknown));
    gpu.or_else(maybe).copied().unwrap_or(AgentId::NONE)
}

/// Which GPU rows have a launch.
struct Linked {
    kernels: Vec<bool>,
    copies: Vec<bool>,
}

impl Linked {
    fn of(trace: &Trace) -> Self {
        let mut linked = Self {
            kernels: vec![false; trace.kernels.len()],
            copies: vec![false; trace.memory_copies.len()],
        };
        for (kind, to) in trace.links.kind.iter().zip(&trace.links.to) {
            match (kind, to.get()) {
                (LinkKind::Launch, Some((Table::Kernels, row))) => linked.kernels[row] = true,
                (LinkKind::Launch, Some((Table::MemoryCopies, row))) => linked.copies[row] = true,
                _ => {}
            }
        }
        linked
    }
}

struct Builder<'a> {
    trace: &'a Trace,
    numbers: Map<(Option<u32>, ProcessId, AgentId), usize>,
    lanes: Vec<Lane>,
}

impl Builder<'_> {
    fn add(&mut self, process: ProcessId, agent: AgentId, row: GpuRow) {
        let rank = self.trace.rank_of(process);
        // An agent is one process's view of a device; without an agent the process tells lanes apart.
        let apart = if agent.is_some() { ProcessId::NONE } else { process };
        let number = *self.numbers.entry((rank, apart, agent)).or_insert_with(|| {
            self.lanes.push(Lane { rank, agent, rows: Vec::new() });
            self.lanes.len() - 1
        });
        self.lanes[number].rows.push(row);
    }

    fn finish(mut self) -> Vec<Lane> {
        self.adopt_homeless();
        let trace = self.trace;
        let index = |lane: &Lane| lane.agent.get().map(|agent| trace.agents[agent].absolute_index);
        self.lanes.sort_by_key(|lane| {
            (lane.rank.is_none(), lane.rank, lane.agent.get().is_none(), index(lane), lane.agent)
        });
        self.lanes
    }

    /// Copies that name no GPU belong to the only GPU of their rank, where there is only one.
    fn adopt_homeless(&mut self) {
        for homeless in (0..self.lanes.len()).rev() {
            if self.lanes[homeless].agent.is_some() {
                continue;
            }
            let rank = self.lanes[homeless].rank;
            let mut homes = (0..self.lanes.len()).filter(|&i| i != homeless && self.lanes[i].rank == rank);
            if let (Some(home), None) = (homes.next(), homes.next()) {
                let rows = std::mem::take(&mut self.lanes[homeless].rows);
                self.lanes[home].rows.extend(rows);
                self.lanes.remove(homeless);
            }
        }
    }
}
