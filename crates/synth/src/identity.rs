//! Who took part in a run: processes, threads, devices, streams and kernels, as rows of a trace.

use trace::{
    Agent, AgentId, AgentKind, CounterId, CounterKind, KernelSymbol, LaunchShape, OptI64, Process, ProcessId,
    Queue, QueueId, ShapeId, Source, StrId, Stream, StreamId, SymbolId, Thread, ThreadId, Trace,
};

use crate::program::Program;

/// Whose vocabulary a trace uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Kineto on ROCm: ops, annotations, Python frames, runtime calls.
    #[default]
    Torch,
    /// rocprofv3: API calls, markers, dispatches with registers, counters.
    Rocprof,
}

/// The identity of a rank, and what differs on it.
#[derive(Clone, Debug)]
pub(crate) struct RankIdentity {
    pub scenario: String,
    pub seed: u64,
    pub rank: u32,
    pub ranks: u32,
    /// The clock that monitors show; zero: none.
    pub clock_mhz: f64,
    /// How many times more workgroups its kernels have.
    pub grid_factor: f64,
    /// Tokens of its experts as a share of the mean, and those of all ranks of its expert group.
    pub load: f64,
    pub expert_loads: Vec<f64>,
}

impl RankIdentity {
    /// The grid of a kernel on this rank.
    pub(crate) fn grid(&self, kernel: &crate::program::Kernel) -> [u32; 3] {
        let [x, y, z] = kernel.grid;
        let factor = if kernel.communicates { 1.0 } else { self.grid_factor };
        [(f64::from(x) * factor).round() as u32, y, z]
    }
}

impl RankIdentity {
    pub(crate) fn pid(&self, program: &Program) -> i64 {
        program.recording.pid.unwrap_or(2000 + i64::from(self.rank))
    }

    /// Host name of the rank's node: the first is the machine's, the others count on from its number.
    pub(crate) fn host(&self, program: &Program) -> String {
        let node = self.rank / program.machine.ranks_per_node;
        let host = &program.machine.host;
        let digits = host.len() - host.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = host.split_at(host.len() - digits);
        let first: u32 = number.parse().unwrap_or(0);
        if node == 0 {
            host.clone()
        } else {
            format!("{stem}{:0width$}", first + node, width = digits.max(1))
        }
    }

    /// An identity that depends on nothing but the run and the rank, shaped like a UUID.
    pub(crate) fn guid(&self) -> String {
        // FNV-1a twice: stable across platforms and versions, unlike the standard hasher.
        let fnv = |basis: u64| {
            let text = format!("{}/{}/{}/{}", self.scenario, self.seed, self.rank, self.ranks);
            text.bytes().fold(basis, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        };
        let (a, b) = (fnv(0xcbf2_9ce4_8422_2325), fnv(0x8422_2325_cbf2_9ce4));
        format!(
            "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            b >> 52,
            b & 0xffff_ffff_ffff
        )
    }
}

/// Ids of everything that rows refer to.
pub(crate) struct Identity {
    pub process: ProcessId,
    pub threads: Vec<ThreadId>,
    pub cpu: AgentId,
    pub gpus: Vec<AgentId>,
    pub streams: Vec<StreamId>,
    pub queues: Vec<QueueId>,
    pub symbols: Vec<SymbolId>,
    pub shapes: Vec<ShapeId>,
    pub names: Vec<StrId>,
    pub counters: Vec<CounterId>,
}

/// Fills the identity tables of an empty trace.
pub(crate) fn introduce(
    trace: &mut Trace,
    program: &Program,
    place: &RankIdentity,
    dialect: Dialect,
) -> Identity {
    let machine = &program.machine;
    let (host, guid) = (place.host(program), place.guid());
    let format = match dialect {
        Dialect::Torch => "torch",
        Dialect::Rocprof => "rocpd",
    };
    let mut source = Source::named(&format!("{}.rank{}", place.scenario, place.rank), format);
    let rank = Some(place.rank).filter(|_| program.recording.rank_labels);
    source.rank = rank;
    let source = trace.add_source(source);
    let machine_id =
        trace.strings.intern(&format!("{:032x}", u128::from(place.rank / machine.ranks_per_node) + 1));
    let process = Process {
        guid: trace.strings.intern(&guid),
        ppid: OptI64::some(1999),
        node: OptI64::some(i64::from(place.rank / machine.ranks_per_node) + 1),
        machine: machine_id,
        hostname: trace.strings.intern(&host),
        command: trace.strings.intern(&format!("python3 -m {}", place.scenario)),
        rank,
        ..Process::new(source, place.pid(program))
    };
    let process = trace.add_process(process);
    let threads = program
        .threads
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let name = if i == 0 { StrId::EMPTY } else { trace.strings.intern(name) };
            let tid = place.pid(program) + 10_000 * i as i64;
            trace.add_thread(Thread { process, tid, name })
        })
        .collect();
    let name = trace.strings.intern("AMD EPYC 9654 96-Core Processor");
    let cpu = match dialect {
        Dialect::Torch => AgentId::NONE,
        Dialect::Rocprof => trace.add_agent(Agent {
            process,
            kind: AgentKind::Cpu,
            absolute_index: OptI64::some(0),
            logical_index: OptI64::some(0),
            type_index: OptI64::some(0),
            name,
            product: name,
            ..Agent::default()
        }),
    };
    let gpus = (0..machine.gpus).map(|gpu| add_gpu(trace, program, place, dialect, process, gpu)).collect();
    let streams = program
        .streams
        .iter()
        .map(|s| {
            let id = i64::from(s.gpu * 8 + s.id);
            let name = trace.strings.intern(&format!("Stream {id}"));
            trace.add_stream(Stream { process, id, name })
        })
        .collect();
    let queues = (1..=program.streams.len() as i64)
        .map(|id| {
            let name = trace.strings.intern(&format!("Queue {id}"));
            trace.add_queue(Queue { process, id, name })
        })
        .collect();
    let (symbols, shapes, names) = add_kernels(trace, program, place, process);
    let counters = program
        .counters
        .iter()
        .map(|name| {
            let kind = CounterKind {
                name: trace.strings.intern(name),
                block: trace.strings.intern(name.split('_').next().unwrap_or("")),
                process,
                ..CounterKind::default()
            };
            trace.add_counter_kind(kind)
        })
        .collect();
    if dialect == Dialect::Torch {
        torch_metadata(trace, program, place, source);
    }
    Identity { process, threads, cpu, gpus, streams, queues, symbols, shapes, names, counters }
}

fn add_gpu(
    trace: &mut Trace,
    program: &Program,
    place: &RankIdentity,
    dialect: Dialect,
    process: ProcessId,
    gpu: u32,
) -> AgentId {
    let machine = &program.machine;
    let ordinal = i64::from((place.rank % machine.ranks_per_node) * machine.gpus + gpu);
    let absolute = if dialect == Dialect::Rocprof { ordinal + 1 } else { ordinal };
    let agent = Agent {
        process,
        kind: AgentKind::Gpu,
        absolute_index: OptI64::some(absolute),
        logical_index: OptI64::some(absolute),
        type_index: OptI64::some(ordinal),
        name: trace.strings.intern(&machine.arch),
        product: trace.strings.intern(&machine.product),
        compute_units: OptI64::some(i64::from(machine.compute_units)),
        memory_bytes: OptI64::some(machine.memory_bytes as i64),
        extra: StrId::EMPTY,
    };
    trace.add_agent(agent)
}

fn add_kernels(
    trace: &mut Trace,
    program: &Program,
    place: &RankIdentity,
    process: ProcessId,
) -> (Vec<SymbolId>, Vec<ShapeId>, Vec<StrId>) {
    let (mut symbols, mut shapes, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (i, kernel) in program.kernels.iter().enumerate() {
        let number = |value: u32| OptI64::some(i64::from(value));
        let symbol = KernelSymbol {
            process,
            id: i as i64 + 1,
            code_object: OptI64::some(1),
            kernel_name: trace.strings.intern(&format!("{}.kd", kernel.name)),
            display_name: trace.strings.intern(&kernel.name),
            group_segment_bytes: number(kernel.lds),
            private_segment_bytes: number(kernel.scratch),
            kernarg_bytes: OptI64::some(256),
            sgpr: number(kernel.sgpr),
            vgpr: number(kernel.vgpr),
            agpr: number(kernel.agpr),
        };
        symbols.push(trace.add_symbol(symbol));
        shapes.push(trace.shapes.intern(LaunchShape {
            grid: Some([0, 1, 2].map(|axis| place.grid(kernel)[axis] * kernel.workgroup[axis])),
            workgroup: Some(kernel.workgroup),
            lds_bytes: number(kernel.lds),
            scratch_bytes: number(kernel.scratch),
            vgpr: number(kernel.vgpr),
            agpr: number(kernel.agpr),
            sgpr: number(kernel.sgpr),
        }));
        names.push(trace.strings.intern(&kernel.name));
    }
    (symbols, shapes, names)
}

fn torch_metadata(trace: &mut Trace, program: &Program, place: &RankIdentity, source: trace::SourceId) {
    let layout = &program.layout;
    let groups: Vec<String> = layout
        .kinds()
        .map(|kind| {
            let ranks = layout.members(kind, layout.index(kind, place.rank));
            let listed: Vec<String> = ranks.iter().map(u32::to_string).collect();
            format!(
                "{{\"pg_name\": \"{}\", \"pg_desc\": \"{}\", \"backend_config\": \"cuda:nccl\", \"pg_size\": {}, \
                 \"ranks\": [{}]}}",
                layout.group(kind, place.rank),
                kind.description(),
                ranks.len(),
                listed.join(", ")
            )
        })
        .collect();
    let distributed = format!(
        "{{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}, \"pg_count\": {}, \"pg_config\": [{}], \
         \"nccl_version\": \"2.22.3\"}}",
        place.rank,
        place.ranks,
        groups.len(),
        groups.join(", "),
    );
    let id = place.guid().replace('-', "").to_uppercase();
    let facts = [
        ("roctracer_version", "4.1"),
        ("hip_runtime_version", "70253211"),
        ("hip_driver_version", "70253211"),
        ("distributedInfo", distributed.as_str()),
        ("record_shapes", "1"),
        ("with_stack", "1"),
        ("trace_id", &format!("\"{id}\"")),
    ];
    let labelled = program.recording.rank_labels;
    for (key, value) in facts.into_iter().filter(|(key, _)| labelled || *key != "distributedInfo") {
        trace.add_metadata(source, key, value);
    }
}
