//! A scenario compiled: every step as a flat list of instructions, every name once.

mod compiler;

pub(crate) use compiler::{compile, element_bytes, uses};

use crate::random::Spread;
use crate::ranks::{GroupKind, Layout};
use crate::recording::Recording;
use crate::scenario::{Direction, HostMemory, Links, Machine, Tokens};

/// How graphs run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphMode {
    /// Replayed: one launch for all kernels.
    #[default]
    On,
    /// Run eagerly, each kernel launched by its own op: what a mapping trace shows.
    Off,
    /// Only captured: launches without kernels.
    Capture,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Python,
    Module,
    Op,
    Annotation,
}

/// An interval that encloses others.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub kind: FrameKind,
    /// `{step}` stands for the number of the step.
    pub name: String,
    pub dims: Option<String>,
    /// Types of the inputs, as JSON.
    pub types: Option<String>,
    /// The collective whose op this is.
    pub collective: Option<u32>,
}

impl Frame {
    /// A frame of which only the name is recorded.
    pub fn plain(kind: FrameKind, name: &str) -> Self {
        Self { kind, name: name.into(), dims: None, types: None, collective: None }
    }
}

/// A kernel with its durations in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub id: String,
    pub name: String,
    pub mean_ns: f64,
    pub spread: Spread,
    pub grid: [u32; 3],
    pub workgroup: [u32; 3],
    pub vgpr: u32,
    pub agpr: u32,
    pub sgpr: u32,
    pub lds: u32,
    pub scratch: u32,
    pub counters: Vec<(u32, f64)>,
    pub first_call_factor: Option<f64>,
    pub outliers: Option<(u64, f64)>,
    pub mark: Mark,
    pub communicates: bool,
    /// Its time depends on the clock.
    pub clocked: bool,
    /// Its time is proportional to the tokens that the rank's experts have.
    pub expert: bool,
    /// Share of its time lost to the clock, and share of the rest lost to partial rounds of workgroups.
    pub lost_to_clock: f64,
    pub lost_to_rounds: f64,
}

/// Number of a truth plus one; zero: none.
pub(crate) type Mark = u16;

/// A stream: GPU of the rank and the stream's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamPlace {
    pub gpu: u32,
    pub id: u32,
}

/// A copy or, without a direction, a fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyWork {
    pub direction: Option<Direction>,
    pub memory: HostMemory,
    pub bytes: u64,
    pub gbps: f64,
    pub blocking: bool,
}

/// A collective's facts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CollectiveWork {
    pub operation: String,
    pub dtype: String,
    pub bytes: u64,
    pub kernel: u32,
    pub group: GroupKind,
    pub tokens: Option<Tokens>,
    /// Set for sends and receives between pipeline stages.
    pub peer: Option<Peer>,
}

/// The other side of a send or a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The next stage; else the previous.
    pub next: bool,
    /// Data goes there; else it comes from there.
    pub send: bool,
}

impl Peer {
    /// A number for each of the four.
    pub(crate) fn number(self) -> usize {
        usize::from(self.next) * 2 + usize::from(self.send)
    }
}

impl CollectiveWork {
    /// Bytes in and out of a rank whose experts have `load` times the mean number of tokens.
    pub(crate) fn message(&self, ranks: u32, load: f64) -> (u64, u64) {
        let loaded = || {
            let element = element_bytes(&self.dtype);
            (self.bytes as f64 * load / element as f64).round() as u64 * element
        };
        match self.tokens {
            Some(Tokens::Dispatch) => (self.bytes, loaded()),
            Some(Tokens::Combine) => (loaded(), self.bytes),
            None if self.operation.contains("allgather") => (self.bytes, self.bytes * u64::from(ranks)),
            None if self.operation.contains("reduce_scatter") => {
                (self.bytes, self.bytes / u64::from(ranks.max(1)))
            }
            None => (self.bytes, self.bytes),
        }
    }

    /// Bytes that a link carries for it, when the busiest rank sends and receives this much.
    pub(crate) fn wire_bytes(&self, ranks: u32, busiest: f64) -> f64 {
        let (bytes, n) = (self.bytes as f64, f64::from(ranks.max(1)));
        match self.operation.as_str() {
            "allreduce" => bytes * 2.0 * (n - 1.0) / n,
            "_allgather_base" | "allgather" => bytes * (n - 1.0),
            "_reduce_scatter_base" | "reduce_scatter" => bytes * (n - 1.0) / n,
            "all_to_all" | "all_to_allv" => bytes * busiest * (n - 1.0) / n,
            _ => bytes,
        }
    }
}

/// What a blocking wait waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncTarget {
    Stream(u32),
    Event(u32),
    Device(u32),
}

/// One thing a thread does. Durations are mean nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    Enter {
        frame: u32,
        ns: f64,
    },
    Leave {
        ns: f64,
    },
    /// Host time that belongs to the frame around it.
    Busy {
        ns: f64,
    },
    /// Python leaf frames.
    Chatter {
        frames: u32,
        ns: f64,
    },
    Host {
        frame: u32,
        ns: f64,
        mark: Mark,
    },
    Call {
        api: u32,
        ns: f64,
        mark: Mark,
    },
    Launch {
        kernel: u32,
        stream: u32,
        api: u32,
        ns: f64,
        mark: Mark,
    },
    Copy {
        copy: u32,
        stream: u32,
        api: u32,
        ns: f64,
        mark: Mark,
    },
    /// The last call only returns when the stream is idle.
    Finish {
        stream: u32,
    },
    Sync {
        target: SyncTarget,
        api: u32,
        ns: f64,
        mark: Mark,
    },
    Record {
        event: u32,
        stream: u32,
        api: u32,
        ns: f64,
    },
    Wait {
        event: u32,
        stream: u32,
        api: u32,
        ns: f64,
        mark: Mark,
        /// It waits for data from another stage.
        stage: bool,
    },
    Alloc {
        slot: u32,
        bytes: u64,
        gpu: u32,
        api: u32,
        ns: f64,
        mark: Mark,
    },
    Free {
        slot: u32,
        api: u32,
        ns: f64,
        mark: Mark,
    },
    Collective {
        collective: u32,
        stream: u32,
        api: u32,
        ns: f64,
        mark: Mark,
    },
    GraphLaunch {
        graph: u32,
        stream: u32,
        api: u32,
        ns: f64,
    },
    BeginCapture {
        api: u32,
        ns: f64,
    },
    EndCapture {
        api: u32,
        ns: f64,
    },
    Post {
        queue: u32,
    },
    Take {
        queue: u32,
    },
}

/// A node of a captured graph.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    Kernel { kernel: u32, stream: u32, mark: Mark },
    Copy { copy: u32, stream: u32, mark: Mark },
    Record { event: u32, stream: u32 },
    Wait { event: u32, stream: u32 },
    Collective { collective: u32, stream: u32, mark: Mark },
}

/// One kind of step: what each thread does.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// By pipeline stage, then by thread; a single stage stands for all if they do the same.
    stages: Vec<Vec<Vec<Instr>>>,
    pub kernels: u64,
    /// Mean time of what each stage computes.
    compute_ns: Vec<f64>,
    /// The stage its GPU work belongs to.
    pub stage: Option<String>,
}

impl Step {
    pub(crate) fn thread(&self, stage: u32, thread: usize) -> &[Instr] {
        let stage = (stage as usize).min(self.stages.len() - 1);
        self.stages[stage].get(thread).map_or(&[][..], Vec::as_slice)
    }

    pub(crate) fn compute_ns(&self, stage: u32) -> f64 {
        self.compute_ns[(stage as usize).min(self.compute_ns.len() - 1)]
    }
}

/// A compiled scenario.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub machine: Machine,
    pub recording: Recording,
    pub layout: Layout,
    pub links: Option<Links>,
    pub threads: Vec<String>,
    pub streams: Vec<StreamPlace>,
    /// Thread that uses each stream.
    pub owners: Vec<u32>,
    pub kernels: Vec<Kernel>,
    pub counters: Vec<String>,
    pub frames: Vec<Frame>,
    pub apis: Vec<String>,
    pub copies: Vec<CopyWork>,
    pub collectives: Vec<CollectiveWork>,
    pub graphs: Vec<Vec<Node>>,
    pub events: usize,
    pub slots: usize,
    pub queues: usize,
    /// Kinds of steps.
    pub steps: Vec<Step>,
    /// The kind of each step, repeating.
    pub order: Vec<u32>,
}

impl Program {
    /// What step number `step` does.
    pub(crate) fn step(&self, step: u64) -> &Step {
        &self.steps[self.order[(step % self.order.len() as u64) as usize] as usize]
    }
}

impl Program {
    /// Mean time per round of steps that each kernel computes on a stage.
    pub(crate) fn kernel_times(&self, stage: u32) -> Vec<f64> {
        let mut times = vec![0.0; self.kernels.len()];
        for &kind in &self.order {
            let step = &self.steps[kind as usize];
            for thread in 0..self.threads.len() {
                self.computed(step.thread(stage, thread), &mut |kernel, ns| times[kernel as usize] += ns);
            }
        }
        times
    }

    /// Calls `each` with every kernel that instructions compute, and its mean time.
    pub(crate) fn computed(&self, instrs: &[Instr], each: &mut impl FnMut(u32, f64)) {
        for instr in instrs {
            match *instr {
                Instr::Launch { kernel, .. } => each(kernel, self.kernels[kernel as usize].mean_ns),
                Instr::GraphLaunch { graph, .. } => {
                    for node in &self.graphs[graph as usize] {
                        if let Node::Kernel { kernel, .. } = *node {
                            each(kernel, self.kernels[kernel as usize].mean_ns);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
