//! Rows of the big tables by name, so that callers cannot mix up columns.

use super::Error;
use super::bulk::{Big, BulkWriter};
use super::pages::Value;

const NO_DATA: Value<'static> = Value::Text("{}");

/// A row of `rocpd_event`.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventRow<'a> {
    /// Category, as a string id.
    pub category: Option<i64>,
    /// Correlation id: shared by a call and the GPU work it launched.
    pub stack: Option<i64>,
    /// The enclosing call's correlation id.
    pub parent: Option<i64>,
    /// External correlation id.
    pub correlation: Option<i64>,
    /// JSON object; markers have `{"message": …}`.
    pub extdata: Option<&'a str>,
}

/// A row of `rocpd_region`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegionRow<'a> {
    /// Node.
    pub nid: i64,
    /// Process, as an id of `rocpd_info_process`.
    pub pid: i64,
    /// Thread, as an id of `rocpd_info_thread`.
    pub tid: i64,
    /// First nanosecond.
    pub start: i64,
    /// End in nanoseconds, exclusive.
    pub end: i64,
    /// Name, as a string id.
    pub name: i64,
    /// Its event.
    pub event_id: Option<i64>,
    /// JSON object.
    pub extdata: Option<&'a str>,
}

/// A row of `rocpd_kernel_dispatch`.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelRow {
    /// Node.
    pub nid: i64,
    /// Process.
    pub pid: i64,
    /// Thread that launched it.
    pub tid: Option<i64>,
    /// GPU, as an id of `rocpd_info_agent`.
    pub agent_id: i64,
    /// Kernel symbol.
    pub kernel_id: i64,
    /// Number of the dispatch.
    pub dispatch_id: i64,
    /// Queue.
    pub queue_id: i64,
    /// Stream.
    pub stream_id: i64,
    /// First nanosecond.
    pub start: i64,
    /// End in nanoseconds, exclusive.
    pub end: i64,
    /// Scratch in bytes.
    pub private_segment_size: Option<i64>,
    /// LDS in bytes.
    pub group_segment_size: Option<i64>,
    /// Work-items per workgroup.
    pub workgroup: [i64; 3],
    /// Work-items of the grid.
    pub grid: [i64; 3],
    /// Region name, as a string id; 1 is "none".
    pub region_name_id: Option<i64>,
    /// Its event.
    pub event_id: Option<i64>,
    /// Graph that replayed it; zero if none (3.0.2).
    pub graph_exec_id: i64,
    /// Node of that graph (3.0.2).
    pub graph_node_id: i64,
    /// Pass of a kernel replay (3.0.5).
    pub replay_pass: Option<i64>,
}

/// A row of `rocpd_memory_copy`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyRow {
    /// Node.
    pub nid: i64,
    /// Process.
    pub pid: i64,
    /// Thread that requested it.
    pub tid: Option<i64>,
    /// First nanosecond.
    pub start: i64,
    /// End in nanoseconds, exclusive.
    pub end: i64,
    /// Name, as a string id.
    pub name: i64,
    /// Destination device.
    pub dst_agent_id: Option<i64>,
    /// Destination address.
    pub dst_address: Option<i64>,
    /// Source device.
    pub src_agent_id: Option<i64>,
    /// Source address.
    pub src_address: Option<i64>,
    /// Bytes.
    pub size: i64,
    /// Queue.
    pub queue_id: Option<i64>,
    /// Stream.
    pub stream_id: Option<i64>,
    /// Region name, as a string id.
    pub region_name_id: Option<i64>,
    /// Its event.
    pub event_id: Option<i64>,
    /// Graph that replayed it; zero if none (3.0.2).
    pub graph_exec_id: i64,
    /// Node of that graph (3.0.2).
    pub graph_node_id: i64,
}

/// A row of `rocpd_memory_allocate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllocationRow<'a> {
    /// Node.
    pub nid: i64,
    /// Process.
    pub pid: i64,
    /// Thread.
    pub tid: Option<i64>,
    /// Device.
    pub agent_id: Option<i64>,
    /// `ALLOC`, `FREE`, `REALLOC`, `RECLAIM`.
    pub kind: Option<&'a str>,
    /// `REAL`, `VIRTUAL`, `SCRATCH`.
    pub level: Option<&'a str>,
    /// First nanosecond.
    pub start: i64,
    /// End in nanoseconds, exclusive.
    pub end: i64,
    /// Address.
    pub address: Option<i64>,
    /// Bytes; a free has 0.
    pub size: i64,
    /// Queue.
    pub queue_id: Option<i64>,
    /// Stream.
    pub stream_id: Option<i64>,
    /// Its event.
    pub event_id: Option<i64>,
    /// JSON object.
    pub extdata: Option<&'a str>,
}

/// A row of `rocpd_arg`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgRow<'a> {
    /// The event it belongs to.
    pub event_id: i64,
    /// Position among the event's arguments.
    pub position: i64,
    /// C++ type.
    pub ty: &'a str,
    /// Name.
    pub name: &'a str,
    /// Value as text.
    pub value: Option<&'a str>,
}

/// A row of `rocpd_pmc_event`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PmcRow {
    /// The dispatch's or sample's event.
    pub event_id: Option<i64>,
    /// The counter.
    pub pmc_id: i64,
    /// Its value.
    pub value: f64,
    /// The sample of a streaming counter (3.0.3).
    pub sample_id: Option<i64>,
    /// XCC (3.0.3).
    pub xcc: Option<i64>,
    /// Shader engine (3.0.3).
    pub shader_engine: Option<i64>,
    /// Instance (3.0.3).
    pub instance: Option<i64>,
}

/// A row of `rocpd_sample`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleRow<'a> {
    /// Its track.
    pub track_id: i64,
    /// Time.
    pub timestamp: i64,
    /// Its event.
    pub event_id: Option<i64>,
    /// JSON object.
    pub extdata: Option<&'a str>,
}

/// A row of `rocpd_graph_launch` (3.0.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphLaunchRow {
    /// Node.
    pub nid: i64,
    /// Process.
    pub pid: i64,
    /// Thread.
    pub tid: Option<i64>,
    /// GPU.
    pub agent_id: Option<i64>,
    /// Queue.
    pub queue_id: Option<i64>,
    /// First nanosecond.
    pub start: i64,
    /// End in nanoseconds, exclusive.
    pub end: i64,
    /// The graph.
    pub graph_exec_id: i64,
    /// Kernels it ran.
    pub kernel_dispatch_count: i64,
    /// Its event.
    pub event_id: Option<i64>,
}

/// A row of `rocpd_hip_event` (3.0.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct HipEventRow<'a> {
    /// Node.
    pub nid: i64,
    /// Process.
    pub pid: i64,
    /// Thread.
    pub tid: Option<i64>,
    /// GPU.
    pub agent_id: Option<i64>,
    /// Name, as a string id.
    pub name: i64,
    /// Queue that waits or records.
    pub queue_id: Option<i64>,
    /// Queue that it waits for.
    pub source_queue_id: Option<i64>,
    /// Stream.
    pub stream_id: Option<i64>,
    /// The event's handle.
    pub handle: Option<i64>,
    /// First nanosecond.
    pub start: i64,
    /// End in nanoseconds, exclusive.
    pub end: i64,
    /// Its event.
    pub event_id: Option<i64>,
    /// JSON object.
    pub extdata: Option<&'a str>,
}

fn data(extdata: Option<&str>) -> Value<'_> {
    extdata.map_or(NO_DATA, Value::Text)
}

/// Each method returns the row's id; 0 if the revision has no such table.
impl BulkWriter {
    /// Adds an event.
    pub fn event(&mut self, group: usize, row: &EventRow<'_>) -> Result<i64, Error> {
        let values = [
            row.category.into(),
            row.stack.into(),
            row.parent.into(),
            row.correlation.into(),
            NO_DATA,
            NO_DATA,
            data(row.extdata),
        ];
        self.push(group, Big::Event, &values)
    }

    /// Adds a region.
    pub fn region(&mut self, group: usize, row: &RegionRow<'_>) -> Result<i64, Error> {
        let values = [
            row.nid.into(),
            row.pid.into(),
            row.tid.into(),
            row.start.into(),
            row.end.into(),
            row.name.into(),
            row.event_id.into(),
            data(row.extdata),
        ];
        self.push(group, Big::Region, &values)
    }

    /// Adds a dispatch.
    pub fn kernel(&mut self, group: usize, row: &KernelRow) -> Result<i64, Error> {
        let ([wx, wy, wz], [gx, gy, gz]) = (row.workgroup, row.grid);
        let values = [
            row.nid.into(),
            row.pid.into(),
            row.tid.into(),
            row.agent_id.into(),
            row.kernel_id.into(),
            row.dispatch_id.into(),
            row.queue_id.into(),
            row.stream_id.into(),
            row.start.into(),
            row.end.into(),
            row.private_segment_size.into(),
            row.group_segment_size.into(),
            wx.into(),
            wy.into(),
            wz.into(),
            gx.into(),
            gy.into(),
            gz.into(),
            row.region_name_id.into(),
            row.event_id.into(),
            row.graph_exec_id.into(),
            row.graph_node_id.into(),
            row.replay_pass.into(),
            NO_DATA,
        ];
        self.push(group, Big::KernelDispatch, &values)
    }

    /// Adds a copy.
    pub fn copy(&mut self, group: usize, row: &CopyRow) -> Result<i64, Error> {
        let values = [
            row.nid.into(),
            row.pid.into(),
            row.tid.into(),
            row.start.into(),
            row.end.into(),
            row.name.into(),
            row.dst_agent_id.into(),
            row.dst_address.into(),
            row.src_agent_id.into(),
            row.src_address.into(),
            row.size.into(),
            row.queue_id.into(),
            row.stream_id.into(),
            row.region_name_id.into(),
            row.event_id.into(),
            row.graph_exec_id.into(),
            row.graph_node_id.into(),
            NO_DATA,
        ];
        self.push(group, Big::MemoryCopy, &values)
    }

    /// Adds an allocation or a free.
    pub fn allocation(&mut self, group: usize, row: &AllocationRow<'_>) -> Result<i64, Error> {
        let values = [
            row.nid.into(),
            row.pid.into(),
            row.tid.into(),
            row.agent_id.into(),
            row.kind.map_or(Value::Null, Value::Text),
            row.level.map_or(Value::Null, Value::Text),
            row.start.into(),
            row.end.into(),
            row.address.into(),
            row.size.into(),
            row.queue_id.into(),
            row.stream_id.into(),
            row.event_id.into(),
            data(row.extdata),
        ];
        self.push(group, Big::MemoryAllocate, &values)
    }

    /// Adds an argument.
    pub fn arg(&mut self, group: usize, row: &ArgRow<'_>) -> Result<i64, Error> {
        let values = [
            row.event_id.into(),
            row.position.into(),
            row.ty.into(),
            row.name.into(),
            row.value.map_or(Value::Null, Value::Text),
            NO_DATA,
        ];
        self.push(group, Big::Arg, &values)
    }

    /// Adds a counter value.
    pub fn pmc(&mut self, group: usize, row: &PmcRow) -> Result<i64, Error> {
        let values = [
            row.event_id.into(),
            row.pmc_id.into(),
            Value::Real(row.value),
            row.sample_id.into(),
            row.xcc.into(),
            row.shader_engine.into(),
            row.instance.into(),
            Value::Null,
            Value::Null,
            NO_DATA,
        ];
        self.push(group, Big::PmcEvent, &values)
    }

    /// Adds a sample.
    pub fn sample(&mut self, group: usize, row: &SampleRow<'_>) -> Result<i64, Error> {
        let values = [row.track_id.into(), row.timestamp.into(), row.event_id.into(), data(row.extdata)];
        self.push(group, Big::Sample, &values)
    }

    /// Adds a graph launch.
    pub fn graph_launch(&mut self, group: usize, row: &GraphLaunchRow) -> Result<i64, Error> {
        let values = [
            row.nid.into(),
            row.pid.into(),
            row.tid.into(),
            row.agent_id.into(),
            row.queue_id.into(),
            row.start.into(),
            row.end.into(),
            row.graph_exec_id.into(),
            row.kernel_dispatch_count.into(),
            row.event_id.into(),
            NO_DATA,
        ];
        self.push(group, Big::GraphLaunch, &values)
    }

    /// Adds an event record or wait.
    pub fn hip_event(&mut self, group: usize, row: &HipEventRow<'_>) -> Result<i64, Error> {
        let values = [
            row.nid.into(),
            row.pid.into(),
            row.tid.into(),
            row.agent_id.into(),
            row.name.into(),
            row.queue_id.into(),
            row.source_queue_id.into(),
            row.stream_id.into(),
            row.handle.into(),
            row.start.into(),
            row.end.into(),
            row.event_id.into(),
            data(row.extdata),
        ];
        self.push(group, Big::HipEvent, &values)
    }
}
