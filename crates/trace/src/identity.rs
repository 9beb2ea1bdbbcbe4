//! Facts about the machine and the run: sources, processes, threads, agents, queues, streams, symbols.

use crate::Ns;
use crate::ids::{OptI64, ProcessId, SourceId, StrId};

/// Environment variables with a process's rank, the most reliable first.
pub const RANK_VARIABLES: &[&str] = &[
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "MPI_RANKID",
    "SLURM_PROCID",
    "RANK",
    "FLUX_TASK_RANK",
];

/// An input file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Path as the user gave it, or `-`.
    pub path: String,
    /// `rocpd`, `torch`, `rocprofv3-json`, `rocprofv3-csv`.
    pub format: String,
    /// Size on disk.
    pub bytes: u64,
    /// Rank, if the name, the metadata or the process environment has it.
    pub rank: Option<u32>,
    /// What the source is if it is not a plain rank: `capture`, `merged`, `helper`, `memory`, `collectives`.
    pub role: Option<String>,
    /// Python frames in the file that were not requested.
    pub frames_skipped: u64,
}

impl Source {
    /// A source with a path and a format.
    pub fn named(path: &str, format: &str) -> Self {
        Self { path: path.into(), format: format.into(), ..Self::default() }
    }
}

/// A process of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// The file it was read from.
    pub source: SourceId,
    /// Identity of the recording: rocpd's guid, for torch a name made from the content. Correlation ids are
    /// unique within it.
    pub guid: StrId,
    /// Operating system's process id.
    pub pid: i64,
    /// Parent process.
    pub ppid: OptI64,
    /// rocpd `nid` (a hash of the machine id).
    pub node: OptI64,
    /// Machine id text.
    pub machine: StrId,
    /// Host name.
    pub hostname: StrId,
    /// First nanosecond, if recorded.
    pub start: Option<Ns>,
    /// Last nanosecond, if recorded.
    pub end: Option<Ns>,
    /// Command line.
    pub command: StrId,
    /// Rank in the job.
    pub rank: Option<u32>,
}

impl Process {
    /// A process with only its pid known.
    pub fn new(source: SourceId, pid: i64) -> Self {
        Self { source, pid, ..Self::default() }
    }
}

/// A host thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// Its process.
    pub process: ProcessId,
    /// Operating system's thread id, or the source's number.
    pub tid: i64,
    /// Name, if known.
    pub name: StrId,
}

/// What kind of device an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AgentKind {
    /// Unknown.
    #[default]
    Unknown,
    /// A host processor.
    Cpu,
    /// A GPU (or one partition of it).
    Gpu,
    /// A network card.
    Nic,
}

impl AgentKind {
    /// rocpd's name for it.
    pub fn name(self) -> &'static str {
        match self {
            AgentKind::Unknown => "",
            AgentKind::Cpu => "CPU",
            AgentKind::Gpu => "GPU",
            AgentKind::Nic => "NIC",
        }
    }
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// The process that saw it.
    pub process: ProcessId,
    /// CPU, GPU, NIC.
    pub kind: AgentKind,
    /// rocpd's absolute index (KFD node); the device ordinal in torch traces.
    pub absolute_index: OptI64,
    /// Index among visible agents.
    pub logical_index: OptI64,
    /// Index among agents of its kind.
    pub type_index: OptI64,
    /// `gfx942`, or the CPU model.
    pub name: StrId,
    /// `AMD Instinct MI300X`
    pub product: StrId,
    /// Compute units.
    pub compute_units: OptI64,
    /// Memory in bytes.
    pub memory_bytes: OptI64,
    /// Everything else that the source has, as JSON text.
    pub extra: StrId,
}

/// An HSA queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    /// Its process.
    pub process: ProcessId,
    /// The source's id.
    pub id: i64,
    /// Name, if known.
    pub name: StrId,
}

/// A HIP stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stream {
    /// Its process.
    pub process: ProcessId,
    /// The source's id. Zero is the default stream, a stream like any other.
    pub id: i64,
    /// Name, if known.
    pub name: StrId,
}

/// A kernel in a code object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelSymbol {
    /// Its process.
    pub process: ProcessId,
    /// The source's id.
    pub id: i64,
    /// The code object's id in the source.
    pub code_object: OptI64,
    /// Mangled name, with `.kd`.
    pub kernel_name: StrId,
    /// Name shown.
    pub display_name: StrId,
    /// Static LDS in bytes.
    pub group_segment_bytes: OptI64,
    /// Static scratch in bytes.
    pub private_segment_bytes: OptI64,
    /// Kernel argument bytes.
    pub kernarg_bytes: OptI64,
    /// Scalar registers.
    pub sgpr: OptI64,
    /// Vector registers.
    pub vgpr: OptI64,
    /// Accumulation registers.
    pub agpr: OptI64,
}

/// A fact about a source as key and value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// The source.
    pub source: SourceId,
    /// Key, as the source names it.
    pub key: StrId,
    /// Value; JSON text if it is not a plain string.
    pub value: StrId,
}
