//! Processes, threads, GPUs, queues and streams, which rows identify only by number.

use trace::{
    Agent, AgentId, AgentKind, Map, OptI64, Process, ProcessId, Queue, QueueId, SourceId, StrId, Stream,
    StreamId, Thread, ThreadId, Trace,
};

/// The entities that rows have named so far.
pub(super) struct Lanes {
    source: SourceId,
    /// Files of several machines number processes in steps of this.
    pid_stride: i64,
    gpu_stride: i64,
    processes: Map<i64, ProcessId>,
    threads: Map<(ProcessId, i64), ThreadId>,
    agents: Map<(ProcessId, i64), AgentId>,
    queues: Map<(ProcessId, i64, i64), QueueId>,
    streams: Map<(ProcessId, i64), StreamId>,
}

impl Lanes {
    /// Nothing yet.
    pub fn new(source: SourceId) -> Self {
        Self {
            source,
            pid_stride: i64::MAX,
            gpu_stride: i64::MAX,
            processes: Map::default(),
            threads: Map::default(),
            agents: Map::default(),
            queues: Map::default(),
            streams: Map::default(),
        }
    }

    /// Takes a fact of the file, which may be a stride.
    pub fn stride(&mut self, tag: &str, value: &str) {
        let Some(stride) = value.trim().parse().ok().filter(|stride: &i64| *stride > 0) else { return };
        match tag {
            "pid_stride" => self.pid_stride = stride,
            "gpu_stride" => self.gpu_stride = stride,
            _ => {}
        }
    }

    /// The process with a number.
    pub fn process(&mut self, trace: &mut Trace, pid: i64) -> ProcessId {
        let (source, stride) = (self.source, self.pid_stride);
        *self.processes.entry(pid).or_insert_with(|| {
            let node = OptI64::from(Some(pid / stride).filter(|node| *node > 0));
            trace.add_process(Process { node, ..Process::new(source, pid % stride) })
        })
    }

    /// The process of work without a call: the only one, or an unknown one.
    pub fn some_process(&mut self, trace: &mut Trace) -> ProcessId {
        match trace.processes.len() {
            0 => self.process(trace, 0),
            _ => ProcessId(0),
        }
    }

    /// A thread of a process.
    pub fn thread(&mut self, trace: &mut Trace, process: ProcessId, tid: i64) -> ThreadId {
        let tid = tid % self.pid_stride;
        let new = || trace.add_thread(Thread { process, tid, name: StrId::EMPTY });
        *self.threads.entry((process, tid)).or_insert_with(new)
    }

    /// A GPU as a process sees it.
    pub fn gpu(&mut self, trace: &mut Trace, process: ProcessId, gpu: i64) -> AgentId {
        let index = OptI64::some(gpu % self.gpu_stride);
        *self.agents.entry((process, gpu)).or_insert_with(|| {
            trace.add_agent(Agent {
                process,
                kind: AgentKind::Gpu,
                absolute_index: index,
                logical_index: index,
                type_index: index,
                ..Agent::default()
            })
        })
    }

    /// A queue of a GPU.
    pub fn queue(&mut self, trace: &mut Trace, process: ProcessId, gpu: i64, id: i64) -> QueueId {
        let new = || trace.add_queue(Queue { process, id, name: StrId::EMPTY });
        *self.queues.entry((process, gpu, id)).or_insert_with(new)
    }

    /// A stream of a process; the file identifies it by address.
    pub fn stream(&mut self, trace: &mut Trace, process: ProcessId, id: i64) -> StreamId {
        let new = || trace.add_stream(Stream { process, id, name: StrId::EMPTY });
        *self.streams.entry((process, id)).or_insert_with(new)
    }
}
