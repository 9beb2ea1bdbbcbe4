//! Meaning of event annotations, by name.

use trace::StrId;

/// What an annotation means; the tools spell some in several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Correlation,
    Parent,
    External,
    Dispatch,
    Queue,
    Stream,
    Thread,
    Symbol,
    Grid,
    Workgroup,
    Lds,
    Scratch,
    Vgpr,
    Agpr,
    Sgpr,
    Agent,
    Source,
    Target,
    Bytes,
    Address,
    Level,
    Graph,
    GraphExec,
    GraphNode,
    Region,
    Message,
    Event,
    WaitsFor,
    SyncStream,
    SyncEvent,
    Awaited,
    Collective,
    Group,
    GroupSize,
    Sequence,
    DataType,
    MessageBytes,
    /// Times that the event itself has; only rocprofv3 repeats them.
    Times,
    /// Repeats the category and the name of rocprofv3's events.
    Words,
}

/// Names of annotations: rocprofv3's, rocprof-sys's, and those of our own files.
pub(super) const FIELDS: &[(Field, &[&str])] = &[
    (Field::Correlation, &["corr_id", "correlation_id", "stack_id"]),
    (Field::Parent, &["ancestor_id", "parent_stack_id"]),
    (Field::External, &["external_id"]),
    (Field::Dispatch, &["dispatch_id"]),
    (Field::Queue, &["queue", "queue_id"]),
    (Field::Stream, &["stream_id", "stream"]),
    (Field::Thread, &["tid", "thread_id"]),
    (Field::Symbol, &["kernel_id"]),
    (Field::Grid, &["grid_size"]),
    (Field::Workgroup, &["workgroup_size"]),
    (Field::Lds, &["LDS_Block_Size", "group_segment_size"]),
    (Field::Scratch, &["Scratch_Size", "private_segment_size"]),
    (Field::Vgpr, &["VGPR_Count"]),
    (Field::Agpr, &["Accum_VGPR_Count"]),
    (Field::Sgpr, &["SGPR_Count"]),
    (Field::Agent, &["agent", "agent_id", "device", "device_id"]),
    (Field::Source, &["src_agent"]),
    (Field::Target, &["dst_agent"]),
    (Field::Bytes, &["copy_bytes", "size", "bytes", "allocation_size"]),
    (Field::Address, &["address"]),
    (Field::Level, &["level"]),
    (Field::Graph, &["graph"]),
    (Field::GraphExec, &["graph_exec_id"]),
    (Field::GraphNode, &["graph_node_id"]),
    (Field::Region, &["region"]),
    (Field::Message, &["message"]),
    (Field::Event, &["event"]),
    (Field::WaitsFor, &["waits_for_stream"]),
    (Field::SyncStream, &["sync_stream"]),
    (Field::SyncEvent, &["sync_event"]),
    (Field::Awaited, &["awaited_id"]),
    (Field::Collective, &["collective"]),
    (Field::Group, &["process_group"]),
    (Field::GroupSize, &["group_size"]),
    (Field::Sequence, &["sequence"]),
    (Field::DataType, &["dtype"]),
    (Field::MessageBytes, &["message_bytes"]),
    (Field::Times, &["begin_ns", "end_ns", "delta_ns"]),
    (Field::Words, &["kind", "operation"]),
];

/// Fields that are columns of regions. All others are arguments there: `stream` and `kind` of a copy's call.
pub(super) const OF_CALLS: &[Field] = &[
    Field::Correlation,
    Field::Parent,
    Field::External,
    Field::Times,
    Field::SyncStream,
    Field::SyncEvent,
    Field::Awaited,
    Field::WaitsFor,
];

/// Fields that are columns of samples.
pub(super) const OF_SAMPLES: &[Field] = &[Field::Correlation, Field::Dispatch, Field::Message, Field::Times];

/// More fields that rocprofv3 adds to each of its events.
pub(super) const OF_ROCPROFV3: &[Field] = &[Field::Words, Field::Thread];

/// An annotation that was kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Note {
    Whole(i64),
    Number(f64),
    Text(StrId),
}
