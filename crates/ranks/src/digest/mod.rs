//! The digest of one rank: all that is needed of its trace to compare it with other ranks.
//!
//! ```text
//! Trace ─► of_trace ─► Digest (one per rank or GPU) ─► encode ─► bytes of a `.digest` file
//! ```
//!
//! Its size grows with steps and collectives, not with kernels. Digests of parts of one rank can be merged.

mod build;
mod codec;
mod collectives;
mod facts;
mod file;
mod merge;
mod sketch;

pub use build::{digest_needs, of_trace};
pub use file::{DigestError, VERSION, decode, encode, is_digest};
pub use sketch::Sketch;

use trace::Ns;

use crate::operation::Operation;

/// No step, stream or rank.
pub const NONE: u32 = u32::MAX;

/// How many causes of idle time there are.
pub const IDLE_CAUSES: usize = analysis::causes::idle::Cause::ALL.len();

/// One rank of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// Who it is.
    pub identity: Identity,
    /// Groups that it communicates in.
    pub groups: Vec<Group>,
    /// First and last nanosecond of GPU work, on its own clock.
    pub span: Option<(Ns, Ns)>,
    /// Steps in time order.
    pub steps: Vec<Step>,
    /// Collectives and messages by start.
    pub collectives: Vec<Collective>,
    /// Kernels that compute, by GPU time.
    pub kernels: Vec<NameStats>,
    /// Ops by the GPU time that they launch, where the trace has ops.
    pub ops: Vec<NameStats>,
    /// Bytes sent to each rank in all-to-all operations, by rank.
    pub traffic: Vec<(u32, u64)>,
    /// Where the time went.
    pub account: Account,
    /// The engine clock while the GPU worked, where it was sampled.
    pub clock: Option<Clock>,
    /// What is wrong with the trace.
    pub health: Vec<Problem>,
}

/// Who a rank is, and where that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// Rank in the job.
    pub rank: Option<u32>,
    /// Number of the GPU, where a process uses several.
    pub gpu: Option<u32>,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: i64,
    /// Identity of the recording.
    pub guid: String,
    /// The file it was read from.
    pub source: String,
    /// Its format.
    pub format: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, in ns since 1970; 0 if unknown.
    pub modified_ns: i64,
    /// How many digests this input makes.
    pub parts: u32,
    /// Variables of the launcher.
    pub variables: Vec<(String, String)>,
    /// Number of ranks in the job, if the trace records it.
    pub world_size: Option<u32>,
    /// Position in the job, if names give it.
    pub place: JobPosition,
    /// `gfx942`
    pub architecture: String,
    /// `AMD Instinct MI300X`
    pub product: String,
    /// Whether only collectives were recorded and no timeline.
    pub only_collectives: bool,
}

/// Position in a parallel job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobPosition {
    /// Pipeline stage.
    pub pipeline: Option<u32>,
    /// Data-parallel replica.
    pub data: Option<u32>,
    /// Tensor-parallel rank.
    pub tensor: Option<u32>,
    /// Expert-parallel rank.
    pub expert: Option<u32>,
}

/// A process group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    /// Name, as the trace has it; `stream 1` if the trace names no group.
    pub name: String,
    /// What it is for, such as `TENSOR_MODEL_PARALLEL_GROUP`.
    pub description: String,
    /// Ranks in it.
    pub size: Option<u32>,
    /// Its ranks, where the trace lists them all.
    pub ranks: Vec<u32>,
}

/// One step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Start of its first GPU work.
    pub start: Ns,
    /// End of its last GPU work.
    pub end: Ns,
    /// Time in which kernels computed.
    pub compute_ns: Ns,
    /// Time in which kernels communicated.
    pub communication_ns: Ns,
    /// Communication time without computation at the same time.
    pub exposed_ns: Ns,
    /// Time in which nothing ran.
    pub idle_ns: Ns,
    /// Kernels that compute.
    pub kernels: u64,
}

/// One collective or message of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// When the rank arrived; `Ns::MIN` if only durations were recorded.
    pub start: Ns,
    /// How long it was in it.
    pub time_ns: Ns,
    /// Number in its group; `i64::MIN` for none.
    pub sequence: i64,
    /// Bytes that this rank sent; -1 if unknown.
    pub bytes: i64,
    /// Computation of this rank before `start`, since its first work.
    pub compute_ns: Ns,
    /// Time in it without computation at the same time.
    pub exposed_ns: Ns,
    /// Time at its end without computation at the same time: zero if the GPU was computing when it ended.
    pub tail_ns: Ns,
    /// The other rank of a message, or [`NONE`].
    pub peer: u32,
    /// Its step, or [`NONE`].
    pub step: u32,
    /// Place in the groups of the digest.
    pub group: u16,
    /// Which of the GPU's communicating streams it is, counted from 0.
    pub stream: u16,
    /// The operation.
    pub operation: Operation,
}

impl Collective {
    /// When it ended; `None` if only durations were recorded.
    pub fn end(&self) -> Option<Ns> {
        (self.start != Ns::MIN).then(|| self.start + self.time_ns)
    }

    /// Its number in the group.
    pub fn number(&self) -> Option<i64> {
        (self.sequence != i64::MIN).then_some(self.sequence)
    }

    /// Bytes sent.
    pub fn sent(&self) -> Option<u64> {
        u64::try_from(self.bytes).ok()
    }
}

/// Calls of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameStats {
    /// The kernel or op.
    pub name: String,
    /// Category of a kernel.
    pub category: String,
    /// Calls.
    pub count: u64,
    /// Their time.
    pub total_ns: Ns,
    /// The shortest.
    pub min_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// Work-items of all launches, where the trace has launch shapes.
    pub work_items: u64,
    /// All durations.
    pub sketch: Sketch,
}

/// Where the time of a rank went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Time in which kernels computed.
    pub compute_ns: Ns,
    /// Time in which kernels communicated.
    pub communication_ns: Ns,
    /// Communication time without computation at the same time.
    pub exposed_ns: Ns,
    /// Time in which copies ran.
    pub copy_ns: Ns,
    /// Idle time by cause, in the order of [`analysis::causes::idle::Cause::ALL`].
    pub idle_ns: [Ns; IDLE_CAUSES],
}

impl Account {
    /// All idle time.
    pub fn idle_total(&self) -> Ns {
        self.idle_ns.iter().sum()
    }
}

/// The engine clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Mean of the samples taken while the GPU worked.
    pub mean_mhz: f64,
    /// Number of samples.
    pub samples: u64,
}

/// Something that is wrong with a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Stable name of the check.
    pub id: String,
    /// Whether results may be wrong; otherwise they are usable with a caveat.
    pub is_failure: bool,
    /// One line for a person.
    pub message: String,
}
