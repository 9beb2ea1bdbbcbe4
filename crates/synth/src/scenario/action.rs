//! Actions: one thing that a thread does, and what a scenario file says about it.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::once;
use crate::ranks::GroupKind;

/// One thing a thread does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Runs an op that launches kernels.
    Launch(Launch),
    /// Works on the host.
    Host(Host),
    /// Makes a runtime call that does not affect the GPU.
    Api(Api),
    /// Copies memory.
    Copy(Copy),
    /// Fills memory on the device.
    Fill(Fill),
    /// Waits until work is done; for the whole device when neither stream nor event is named.
    Sync(Sync),
    /// Records an event on a stream.
    Record(Event),
    /// Makes a stream wait for an event.
    Wait(Event),
    /// Allocates device memory.
    Alloc(Alloc),
    /// Frees it.
    Free(Free),
    /// Takes part in a collective of the rank's group.
    Collective(CollectiveSpec),
    /// Runs micro-batches through the pipeline stages.
    Pipeline(PipelineSpec),
    /// Runs a sequence.
    Repeat(Repeat),
    /// Replays a sequence captured as a graph.
    Graph(Repeat),
    /// Annotates a piece of program.
    Annotate(Annotate),
    /// Puts a token into a queue between threads.
    Post(QueueUse),
    /// Takes a token, waiting for it.
    Take(QueueUse),
}

macro_rules! action {
    ($(#[$doc:meta])* $name:ident { $($(#[$field:meta])* $key:ident : $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field])* pub $key: $ty,)* }
    };
}

action! {
    /// An op that launches a kernel.
    Launch {
        /// Short name of the kernel.
        kernel: Spanned<String>,
        /// The op around it.
        #[serde(default, skip_serializing_if = "Option::is_none")] op: Option<String>,
        /// `nn.Module` around it; instances are numbered.
        #[serde(default, skip_serializing_if = "Option::is_none")] module: Option<String>,
        /// Python frames around it, outermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")] frames: Vec<String>,
        /// `Input Dims` of the op, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")] dims: Option<String>,
        /// Type of all inputs, as torch writes it; not recorded if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")] dtype: Option<String>,
        /// The launching call.
        #[serde(default, skip_serializing_if = "Option::is_none")] api: Option<String>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// How many in a row.
        #[serde(default = "once")] times: u32,
        /// Host time before the launch, in addition to Python frames.
        #[serde(default)] host_us: f64,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// Work on the host.
    Host {
        /// The Python frame.
        frame: String,
        /// How long.
        us: f64,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A runtime call.
    Api {
        /// Its name.
        name: String,
        /// How long it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")] us: Option<f64>,
        /// How many in a row.
        #[serde(default = "once")] times: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A copy.
    Copy {
        /// From where to where.
        direction: Direction,
        /// How much.
        bytes: u64,
        /// What kind of host memory.
        #[serde(default)] memory: HostMemory,
        /// Bandwidth, if not the machine's.
        #[serde(default, skip_serializing_if = "Option::is_none")] gbps: Option<f64>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// Whether the call returns only when the copy is done.
        #[serde(default)] blocking: bool,
        /// Host time in the call before the copy starts: staging of pageable memory.
        #[serde(default)] host_us: f64,
        /// The call.
        #[serde(default, skip_serializing_if = "Option::is_none")] api: Option<String>,
        /// How many in a row.
        #[serde(default = "once")] times: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A fill.
    Fill {
        /// How much.
        bytes: u64,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
    }
}
action! {
    /// A blocking wait.
    Sync {
        /// For a stream.
        #[serde(default, skip_serializing_if = "Option::is_none")] stream: Option<u32>,
        /// For an event.
        #[serde(default, skip_serializing_if = "Option::is_none")] event: Option<Spanned<String>>,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// An event on a stream.
    Event {
        /// The event.
        event: Spanned<String>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// An allocation.
    Alloc {
        /// Name, for the free.
        name: Spanned<String>,
        /// How much.
        bytes: u64,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// Host time.
        #[serde(default, skip_serializing_if = "Option::is_none")] us: Option<f64>,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A free.
    Free {
        /// Name of the allocation.
        name: Spanned<String>,
        /// Host time.
        #[serde(default, skip_serializing_if = "Option::is_none")] us: Option<f64>,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}
action! {
    /// A collective of a group.
    CollectiveSpec {
        /// `allreduce`, `allgather` …
        operation: String,
        /// Short name of its kernel.
        kernel: Spanned<String>,
        /// Bytes sent by each rank.
        bytes: u64,
        /// Data type.
        #[serde(default = "bfloat16")] dtype: String,
        /// The group.
        #[serde(default)] group: GroupKind,
        /// Whether it carries tokens to experts or back: sizes follow what each expert gets.
        #[serde(default, skip_serializing_if = "Option::is_none")] tokens: Option<Tokens>,
        /// Stream.
        #[serde(default)] stream: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
        /// The truth this is.
        #[serde(default, skip_serializing_if = "Option::is_none")] truth: Option<Spanned<String>>,
    }
}

action! {
    /// Micro-batches through pipeline stages, one forward and one backward in turn (1F1B).
    PipelineSpec {
        /// Sequence of a forward pass.
        forward: Spanned<String>,
        /// Sequence of a backward pass.
        backward: Spanned<String>,
        /// How many micro-batches.
        micro_batches: u32,
        /// Short name of the kernel that sends and receives.
        kernel: Spanned<String>,
        /// Bytes between stages for each micro-batch.
        bytes: u64,
        /// Data type.
        #[serde(default = "bfloat16")] dtype: String,
        /// The stream that computes.
        #[serde(default)] stream: u32,
        /// First of the four streams that send and receive.
        peers: u32,
        /// GPU of the rank.
        #[serde(default)] gpu: u32,
    }
}

action! {
    /// A sequence, several times.
    Repeat {
        /// Its name.
        sequence: Spanned<String>,
        /// How many times.
        #[serde(default = "once")] times: u32,
        /// Stream of the graph launch.
        #[serde(default)] stream: u32,
        /// GPU of the graph launch.
        #[serde(default)] gpu: u32,
        /// Name of the capture: `capture_32_DECODE`.
        #[serde(default, skip_serializing_if = "Option::is_none")] capture: Option<String>,
    }
}
action! {
    /// An annotated piece of program.
    Annotate {
        /// Its text.
        name: String,
        /// What is annotated.
        program: Vec<Action>,
    }
}
action! {
    /// Use of a queue between threads.
    QueueUse {
        /// The queue.
        queue: String,
    }
}

/// Which way tokens go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// To the experts.
    Dispatch,
    /// Back from them.
    Combine,
}

/// Where copied bytes come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Host to device.
    H2d,
    /// Device to host.
    D2h,
    /// On the device.
    D2d,
}

/// What kind of host memory a copy uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostMemory {
    /// Page-locked.
    #[default]
    Pinned,
    /// Ordinary.
    Pageable,
}

fn bfloat16() -> String {
    "BFloat16".into()
}
