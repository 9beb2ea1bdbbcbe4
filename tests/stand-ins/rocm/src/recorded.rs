//! A recording as a trace: what the profiler's library would have kept.

use std::collections::HashMap;

use trace::{
    Agent, AgentKind, Arg, Counter, CounterKind, Kernel, KernelSymbol, LaunchShape, MemoryAllocation,
    MemoryCopy, OptI64, Process, Queue, Region, RowRef, Sample, Source, StrId, Stream, Thread, Trace,
};

use crate::counters;
use crate::log::{Recording, When};
use crate::machine::{PROCESSORS, Product, processor_facts};

/// What is kept of a recording, and under which names.
pub struct Keep<'a> {
    /// The GPU.
    pub part: Product,
    /// How many there are.
    pub gpus: usize,
    /// Kernels: for a kernel trace, or for their counters.
    pub kernels: bool,
    /// Copies.
    pub copies: bool,
    /// Allocations.
    pub allocations: bool,
    /// Markers.
    pub markers: bool,
    /// Instant marks as calls without duration, as the CSV files have them.
    pub marks_as_calls: bool,
    /// Only the LDS that kernels declare, in units of 512, as the CSV files have it.
    pub static_lds: bool,
    /// Calls of a domain.
    pub calls: &'a dyn Fn(&str) -> bool,
    /// The domain's name in this release.
    pub domain: &'a dyn Fn(&str) -> String,
    /// The kernel's displayed name.
    pub name: &'a dyn Fn(&str) -> String,
    /// The counters of the n-th dispatch.
    pub counters: &'a dyn Fn(usize, &crate::log::Kernel) -> Vec<String>,
}

/// The trace of a recording.
pub fn trace(recording: &Recording, keep: &Keep<'_>) -> Trace {
    let mut builder = Builder::new(recording, keep);
    builder.calls();
    builder.markers();
    builder.kernels();
    builder.copies();
    builder.allocations();
    let mut trace = builder.trace;
    trace.finish();
    trace
}

struct Builder<'a> {
    recording: &'a Recording,
    keep: &'a Keep<'a>,
    trace: Trace,
    process: trace::ProcessId,
    threads: HashMap<i64, trace::ThreadId>,
    streams: HashMap<i64, trace::StreamId>,
    queues: HashMap<(usize, i64), trace::QueueId>,
    symbols: HashMap<String, trace::SymbolId>,
    kinds: HashMap<(String, usize), trace::CounterId>,
}

impl<'a> Builder<'a> {
    fn new(recording: &'a Recording, keep: &'a Keep<'a>) -> Self {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("stand-in", "rocprofv3"));
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_else(|_| "stand-in".into());
        let rank = ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"];
        let rank = rank.iter().find_map(|name| recording.environment.get(*name)?.parse().ok());
        let process = Process {
            guid: trace.strings.intern(&guid(recording)),
            ppid: OptI64::some(recording.ppid),
            machine: trace.strings.intern(machine.trim()),
            hostname: trace.strings.intern(&crate::rocprofv3::hostname()),
            start: Some(recording.span.0),
            end: Some(recording.span.1),
            command: trace.strings.intern(&recording.command.join(" ")),
            rank,
            ..Process::new(source, recording.pid)
        };
        let process = trace.add_process(process);
        let mut builder = Self {
            recording,
            keep,
            trace,
            process,
            threads: HashMap::new(),
            streams: HashMap::new(),
            queues: HashMap::new(),
            symbols: HashMap::new(),
            kinds: HashMap::new(),
        };
        builder.agents();
        builder
    }

    fn text(&mut self, text: &str) -> StrId {
        self.trace.strings.intern(text)
    }

    fn agents(&mut self) {
        let processors = (0..PROCESSORS).map(|i| (AgentKind::Cpu, i, processor_facts(i)));
        let gpus = (0..self.keep.gpus).map(|i| (AgentKind::Gpu, i, self.keep.part.agent_facts(i)));
        let all: Vec<_> = processors.chain(gpus).collect();
        for (index, (kind, type_index, facts)) in all.into_iter().enumerate() {
            let gpu = kind == AgentKind::Gpu;
            let agent = Agent {
                process: self.process,
                kind,
                absolute_index: OptI64::some(index as i64),
                logical_index: OptI64::some(index as i64),
                type_index: OptI64::some(type_index as i64),
                name: self.text(facts["name"].as_str().unwrap_or("")),
                product: self.text(facts["product_name"].as_str().unwrap_or("")),
                compute_units: if gpu { OptI64::some(i64::from(self.keep.part.units)) } else { OptI64::NONE },
                memory_bytes: if gpu {
                    OptI64::some((self.keep.part.memory_gib << 30) as i64)
                } else {
                    OptI64::NONE
                },
                extra: self.text(&facts.to_string()),
            };
            self.trace.add_agent(agent);
        }
    }

    fn gpu(&self, device: usize) -> trace::AgentId {
        trace::AgentId::at((PROCESSORS + device).min(self.trace.agents.len() - 1))
    }

    /// The agent of a device; negative: the first processor.
    fn place(&self, device: i64) -> trace::AgentId {
        if device < 0 { trace::AgentId::at(0) } else { self.gpu(device as usize) }
    }

    fn thread(&mut self, tid: i64) -> trace::ThreadId {
        let process = self.process;
        *self
            .threads
            .entry(tid)
            .or_insert_with(|| self.trace.add_thread(Thread { process, tid, name: StrId::EMPTY }))
    }

    fn stream(&mut self, id: i64) -> trace::StreamId {
        let name = if id == 0 { "Default Stream".into() } else { format!("Stream {id}") };
        let (process, name) = (self.process, self.text(&name));
        *self.streams.entry(id).or_insert_with(|| self.trace.add_stream(Stream { process, id, name }))
    }

    fn queue(&mut self, device: usize, stream: i64) -> trace::QueueId {
        let id = 1 + device as i64 * 100 + stream;
        let (process, name) = (self.process, self.text(&format!("Queue {}", id - 1)));
        *self
            .queues
            .entry((device, stream))
            .or_insert_with(|| self.trace.add_queue(Queue { process, id, name }))
    }

    fn region(&mut self, category: &str, name: &str, when: When) -> RowRef {
        let row = Region {
            name: self.text(name),
            category: self.text(category),
            start: when.start,
            end: when.end,
            process: self.process,
            thread: self.thread(when.thread),
            correlation: when.correlation,
            ..Region::default()
        };
        self.trace.regions.push(row);
        RowRef::region(self.trace.regions.len() - 1)
    }

    fn calls(&mut self) {
        for call in &self.recording.calls {
            if !(self.keep.calls)(&call.domain) {
                continue;
            }
            let owner = self.region(&(self.keep.domain)(&call.domain), &call.name, call.when);
            for (position, [ty, name, value]) in call.args.iter().enumerate() {
                let (ty, name, value) = (self.text(ty), self.text(name), self.text(value));
                self.trace.args.push(Arg { owner, position: position as u32, ty, name, value });
            }
        }
    }

    fn markers(&mut self) {
        for marker in self.recording.markers.iter().filter(|_| self.keep.markers) {
            let when = marker.when;
            if when.start < when.end || self.keep.marks_as_calls {
                self.region("MARKER_CORE_RANGE_API", &marker.message, when);
                continue;
            }
            let sample = Sample {
                start: when.start,
                end: when.end,
                kind: self.text("MARKER_CORE_API"),
                name: self.text("MARKER_CORE_API"),
                value: f64::NAN,
                location: self.text(&marker.message),
                process: self.process,
                thread: self.thread(when.thread),
                correlation: when.correlation,
                ..Sample::default()
            };
            self.trace.samples.push(sample);
        }
    }

    fn symbol(&mut self, kernel: &crate::log::Kernel) -> trace::SymbolId {
        if let Some(id) = self.symbols.get(&kernel.symbol) {
            return *id;
        }
        let (vgpr, agpr, sgpr) = counters::recorded_registers(&kernel.symbol, self.keep.part.arch);
        let symbol = KernelSymbol {
            process: self.process,
            id: self.symbols.len() as i64 + 1,
            code_object: OptI64::some(1),
            kernel_name: self.text(&format!("{}.kd", kernel.symbol)),
            display_name: self.text(&(self.keep.name)(&kernel.symbol)),
            group_segment_bytes: OptI64::some(kernel.static_lds),
            private_segment_bytes: OptI64::some(0),
            kernarg_bytes: OptI64::some(280),
            sgpr: OptI64::some(sgpr),
            vgpr: OptI64::some(vgpr),
            agpr: OptI64::some(agpr),
        };
        let id = self.trace.add_symbol(symbol);
        self.symbols.insert(kernel.symbol.clone(), id);
        id
    }

    fn kernels(&mut self) {
        if !self.keep.kernels {
            return;
        }
        let mut kernels: Vec<&crate::log::Kernel> = self.recording.kernels.iter().collect();
        kernels.sort_by_key(|kernel| kernel.dispatch);
        for (n, kernel) in kernels.into_iter().enumerate() {
            let (vgpr, agpr, sgpr) = counters::recorded_registers(&kernel.symbol, self.keep.part.arch);
            let lds = match self.keep.static_lds {
                true => {
                    kernel.static_lds.div_euclid(512) * 512
                        + if kernel.static_lds % 512 > 0 { 512 } else { 0 }
                }
                false => kernel.static_lds + kernel.dynamic_lds,
            };
            let shape = self.trace.shapes.intern(LaunchShape {
                grid: Some(kernel.grid),
                workgroup: Some(kernel.workgroup),
                lds_bytes: OptI64::some(lds),
                scratch_bytes: OptI64::some(0),
                vgpr: OptI64::some(vgpr),
                agpr: OptI64::some(agpr),
                sgpr: OptI64::some(sgpr),
            });
            let row = Kernel {
                name: self.text(&(self.keep.name)(&kernel.symbol)),
                start: kernel.when.start,
                end: kernel.when.end,
                process: self.process,
                thread: self.thread(kernel.when.thread),
                agent: self.gpu(kernel.device),
                queue: self.queue(kernel.device, kernel.stream),
                stream: self.stream(kernel.stream),
                correlation: kernel.when.correlation,
                dispatch: OptI64::some(kernel.dispatch),
                shape,
                symbol: self.symbol(kernel),
                ..Kernel::default()
            };
            self.trace.kernels.push(row);
            let row = RowRef::kernel(self.trace.kernels.len() - 1);
            for name in (self.keep.counters)(n, kernel) {
                let counter = self.counter(&name, kernel.device);
                let value = counters::value(&name, kernel, &self.keep.part);
                for value in counters::instances(value, &self.keep.part) {
                    self.trace.counters.push(Counter { kernel: row, counter, value, ..Counter::default() });
                }
            }
        }
    }

    fn counter(&mut self, name: &str, device: usize) -> trace::CounterId {
        if let Some(id) = self.kinds.get(&(name.to_string(), device)) {
            return *id;
        }
        let kind = CounterKind {
            name: self.text(name),
            block: self.text(name.split('_').next().unwrap_or("")),
            process: self.process,
            agent: self.gpu(device),
            ..CounterKind::default()
        };
        let id = self.trace.add_counter_kind(kind);
        self.kinds.insert((name.into(), device), id);
        id
    }

    fn copies(&mut self) {
        for copy in self.recording.copies.iter().filter(|_| self.keep.copies) {
            let direction = match (copy.source < 0, copy.target < 0) {
                (true, true) => "MEMORY_COPY_HOST_TO_HOST",
                (true, false) => "MEMORY_COPY_HOST_TO_DEVICE",
                (false, true) => "MEMORY_COPY_DEVICE_TO_HOST",
                (false, false) => "MEMORY_COPY_DEVICE_TO_DEVICE",
            };
            let row = MemoryCopy {
                name: self.text(direction),
                start: copy.when.start,
                end: copy.when.end,
                bytes: OptI64::some(copy.bytes),
                process: self.process,
                thread: self.thread(copy.when.thread),
                src: self.place(copy.source),
                dst: self.place(copy.target),
                src_address: OptI64::some(copy.addresses.0),
                dst_address: OptI64::some(copy.addresses.1),
                stream: self.stream(copy.stream),
                correlation: copy.when.correlation,
                ..MemoryCopy::default()
            };
            self.trace.memory_copies.push(row);
        }
    }

    fn allocations(&mut self) {
        for allocation in self.recording.allocations.iter().filter(|_| self.keep.allocations) {
            let free = allocation.kind == "FREE";
            let row = MemoryAllocation {
                kind: self.text(&allocation.kind),
                level: self.text("REAL"),
                start: allocation.when.start,
                end: allocation.when.end,
                address: OptI64::some(allocation.address),
                bytes: OptI64::some(allocation.bytes),
                process: self.process,
                thread: self.thread(allocation.when.thread),
                agent: if free { trace::AgentId::NONE } else { self.place(allocation.device) },
                correlation: allocation.when.correlation,
                ..MemoryAllocation::default()
            };
            self.trace.memory_allocations.push(row);
        }
    }
}

/// A guid as the profiler makes it: boot milliseconds first, so no two runs share it.
fn guid(recording: &Recording) -> String {
    let milliseconds = (recording.span.0 / 1_000_000) as u64;
    let random =
        counters::hash(&(recording.pid, recording.ppid, recording.span.0, crate::rocprofv3::hostname()));
    format!(
        "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
        milliseconds >> 16,
        milliseconds & 0xffff,
        milliseconds & 0xfff,
        0x8000 | (random >> 48) & 0x3fff,
        random & 0xffff_ffff_ffff
    )
}
