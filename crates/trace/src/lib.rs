//! The trace model: every source becomes one [`Trace`], a small set of columnar tables named after
//! rocpd's own views.
//!
//! ```text
//! reader ──push rows──► Trace ──finish()──► sorted tables, links, health ──► analyses and writers
//! ```
//!
//! Time is `i64` nanoseconds, strings are interned once per trace, tables are struct-of-arrays sorted
//! by (start, end), and rows refer to each other by typed ids. Nothing here knows about files.
//!
//! ```
//! use rocm_perf_trace::{Kernel, Process, Source, Trace};
//!
//! let mut trace = Trace::default();
//! let source = trace.add_source(Source::named("run.db", "rocpd"));
//! let guid = trace.strings.intern("0000-01");
//! let process = trace.add_process(Process { guid, ..Process::new(source, 42) });
//! let name = trace.strings.intern("gemm");
//! trace.kernels.push(Kernel { name, start: 10, end: 25, process, ..Kernel::default() });
//! trace.finish();
//! assert_eq!(trace.kernels.len(), 1);
//! assert_eq!(trace.strings.get(trace.kernels.name[0]), "gemm");
//! ```

pub mod ahead;
mod allocator;
mod args;
mod assess;
mod code_facts;
mod columns;
mod counter_columns;
mod counters;
mod graph_nodes;
mod health;
mod identity;
mod ids;
mod kernels;
mod labels;
mod launches;
mod links;
mod memory;
mod metrics;
mod needs;
mod regions;
mod samples;
mod select;
mod shapes;
mod shift;
mod strings;
mod sync;
mod thread_trace;
mod trace;
mod window;

pub use allocator::{
    AllocatorAction, AllocatorBlock, AllocatorBlocks, AllocatorEvent, AllocatorEvents, AllocatorSegment,
    AllocatorSegments, BlockState, Frame, Stacks,
};
pub use args::{Arg, Args};
pub use code_facts::{AccessEffect, CodeFacts, CodeListing, SourceAccess};
pub use columns::{Permute, Remap, Remapping, filled};
pub use counter_columns::{CounterColumn, CounterColumns};
pub use counters::{Aggregate, Counter, CounterKind, Counters};
pub use graph_nodes::{GraphNode, GraphNodes};
pub use health::{Check, Health, Status};
pub use identity::{
    Agent, AgentKind, KernelSymbol, Metadata, Process, Queue, RANK_VARIABLES, Source, Stream, Thread,
};
pub use ids::{
    AgentId, CounterId, OptI64, ProcessId, QueueId, ShapeId, SourceId, StackId, StrId, StreamId, SymbolId,
    ThreadId,
};
pub use kernels::{Graph, Kernel, Kernels};
pub use labels::LABEL_SEPARATOR;
pub use links::{Link, LinkKind, Links, RowRef, Table};
pub use memory::{CopyKind, MemoryAllocation, MemoryAllocations, MemoryCopies, MemoryCopy};
pub use metrics::StoredMetric;
pub use needs::{ArgNeeds, Needs};
pub use regions::{Region, Regions};
pub use samples::{Sample, Samples};
pub use select::{Kept, KeptCount, Selection, Subset};
pub use shapes::{LaunchShape, Shapes};
pub use strings::Strings;
pub use sync::{Collective, Collectives, Sync, Syncs};
pub use thread_trace::{CodeLine, Issued, SlotChange, ThreadTrace, TracedWave};
pub use trace::Trace;
pub use window::{BadMoment, Moment, Window, Windows};

/// A point in time or a duration, in nanoseconds.
pub type Ns = i64;

/// The hash map used throughout: fast, and never iterated where order would be visible.
pub type Map<K, V> = hashbrown::HashMap<K, V, rapidhash::fast::RandomState>;

/// Tables that are exported as columns, to Parquet and to Arrow.
pub const COLUMNAR_TABLES: [&str; 18] = [
    "kernels",
    "memory_copies",
    "memory_allocations",
    "regions",
    "counters",
    "samples",
    "syncs",
    "collectives",
    "args",
    "links",
    "agents",
    "processes",
    "threads",
    "queues",
    "streams",
    "kernel_symbols",
    "metadata",
    "sources",
];
