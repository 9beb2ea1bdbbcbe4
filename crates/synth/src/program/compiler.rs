//! From a scenario to its program: actions become instructions, names become numbers.

use std::collections::BTreeMap;

use super::{
    CollectiveWork, CopyWork, Frame, FrameKind, GraphMode, Instr, Kernel, Mark, Node, Peer, Program, Step,
    StreamPlace, SyncTarget,
};
use crate::random::Spread;
use crate::ranks::{GroupKind, Layout};
use crate::scenario::{
    Action, CollectiveSpec, Copy, Direction, HostMemory, Launch, PipelineSpec, Repeat, Scenario, StepSpec,
};

/// Compiles a checked scenario. What carries the truth `without` costs nothing: the run without that fault.
pub(crate) fn compile(
    scenario: &Scenario,
    mode: GraphMode,
    without: Option<&str>,
    layout: &Layout,
) -> Program {
    let mut compiler = Compiler::new(scenario, mode, without, layout);
    let mut order = Vec::new();
    if mode == GraphMode::Capture {
        compiler.captures();
        compiler.program.order = vec![0];
        return compiler.program;
    }
    for (kind, step) in scenario.pattern.iter().enumerate() {
        compiler.step(step);
        order.extend(std::iter::repeat_n(kind as u32, step.repeat.max(1) as usize));
    }
    compiler.program.order = order;
    compiler.program
}

/// Names numbered in the order they are first seen.
#[derive(Default)]
struct Numbered {
    numbers: BTreeMap<String, u32>,
}

impl Numbered {
    fn number(&mut self, name: &str) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(name.to_string()).or_insert(next)
    }
}

const NS_PER_US: f64 = 1000.0;

/// Calls that frameworks make around every launch.
const NOISE: [&str; 4] =
    ["hipGetDevice", "hipStreamIsCapturing", "hipGetLastError", "hipDevicePrimaryCtxGetState"];

/// Frames are the same if these are: kind, name, sizes and types.
type FrameKey = (u8, String, Option<String>, Option<String>);

struct Compiler<'a> {
    scenario: &'a Scenario,
    mode: GraphMode,
    without: Option<&'a str>,
    program: Program,
    out: Vec<Instr>,
    thread: u32,
    stage: u32,
    kernel_ids: BTreeMap<&'a str, u32>,
    frame_ids: BTreeMap<FrameKey, u32>,
    api_ids: BTreeMap<String, u32>,
    events: Numbered,
    slots: Numbered,
    queues: Numbered,
    /// How many instances of each `nn.Module` were met in this step.
    modules: BTreeMap<String, u32>,
    ops: u32,
    kernels_in_step: u64,
    graphs: BTreeMap<(String, u32), u32>,
}

impl<'a> Compiler<'a> {
    fn new(scenario: &'a Scenario, mode: GraphMode, without: Option<&'a str>, layout: &Layout) -> Self {
        let mut counters: Vec<String> =
            scenario.kernels.values().flat_map(|k| k.counters.keys().cloned()).collect();
        counters.sort();
        counters.dedup();
        let program = Program {
            machine: scenario.machine.clone(),
            recording: scenario.recording.clone(),
            layout: layout.clone(),
            links: scenario.links.clone(),
            threads: vec!["main".into()],
            streams: Vec::new(),
            owners: Vec::new(),
            kernels: Vec::new(),
            counters,
            frames: Vec::new(),
            apis: Vec::new(),
            copies: Vec::new(),
            collectives: Vec::new(),
            graphs: Vec::new(),
            events: 0,
            slots: 0,
            queues: 0,
            steps: Vec::new(),
            order: Vec::new(),
        };
        let mut compiler = Self {
            scenario,
            mode,
            without,
            program,
            out: Vec::new(),
            thread: 0,
            stage: 0,
            kernel_ids: BTreeMap::new(),
            frame_ids: BTreeMap::new(),
            api_ids: BTreeMap::new(),
            events: Numbered::default(),
            slots: Numbered::default(),
            queues: Numbered::default(),
            modules: BTreeMap::new(),
            ops: 0,
            kernels_in_step: 0,
            graphs: BTreeMap::new(),
        };
        compiler.kernels();
        compiler
    }

    fn kernels(&mut self) {
        for (number, (id, spec)) in self.scenario.kernels.iter().enumerate() {
            let mark = self.mark(spec.truth.as_ref().map(|t| t.get_ref().as_str()));
            let gone = self.removed(mark);
            let counter = |name: &String| self.program.counters.binary_search(name).unwrap_or(0) as u32;
            let communicates = spec.name.contains("nccl") || spec.name.contains("rccl");
            let machine = &self.scenario.machine;
            let clocked = !spec.memory_bound && !communicates;
            let lost_to_clock = if clocked { 1.0 - machine.clock_share() } else { 0.0 };
            let groups = spec.grid.iter().map(|&along| f64::from(along)).product::<f64>();
            let rounds = groups / f64::from(machine.compute_units.max(1));
            let lost_to_rounds = if spec.whole_rounds { 1.0 - rounds / rounds.ceil().max(1.0) } else { 0.0 };
            let longer = 1.0 / ((1.0 - lost_to_clock) * (1.0 - lost_to_rounds));
            let kernel = Kernel {
                id: id.clone(),
                name: spec.name.clone(),
                mean_ns: spec.mean_us * NS_PER_US * longer,
                spread: Spread::of_cv(spec.cv),
                grid: spec.grid,
                workgroup: spec.workgroup,
                vgpr: spec.vgpr,
                agpr: spec.agpr,
                sgpr: spec.sgpr,
                lds: spec.lds,
                scratch: spec.scratch,
                counters: spec.counters.iter().map(|(name, value)| (counter(name), *value)).collect(),
                first_call_factor: spec.first_call_factor.filter(|_| !gone),
                outliers: spec
                    .outlier_every
                    .zip(spec.outlier_factor)
                    .map(|(every, factor)| (u64::from(every), factor))
                    .filter(|_| !gone),
                mark,
                communicates,
                clocked,
                expert: spec.expert,
                lost_to_clock,
                lost_to_rounds,
            };
            self.program.kernels.push(kernel);
            self.kernel_ids.insert(id, number as u32);
        }
    }

    fn mark(&self, id: Option<&str>) -> Mark {
        let place = id.and_then(|id| self.scenario.truths.iter().position(|t| t.id == id));
        place.map_or(0, |place| place as Mark + 1)
    }

    /// Whether this truth is the one left out.
    fn removed(&self, mark: Mark) -> bool {
        mark > 0 && self.without == Some(self.scenario.truths[mark as usize - 1].id.as_str())
    }

    fn truth(&self, id: &Option<toml::Spanned<String>>) -> Mark {
        self.mark(id.as_ref().map(|id| id.get_ref().as_str()))
    }

    fn step(&mut self, spec: &'a StepSpec) {
        // Stages differ only in a pipeline.
        let differ = uses(self.scenario, &spec.program, &|action| matches!(action, Action::Pipeline(_)));
        let count = if differ { self.program.layout.stages() } else { 1 };
        let (mut stages, mut kernels, mut compute_ns) = (Vec::new(), u64::MAX, Vec::new());
        for stage in 0..count {
            self.stage = stage;
            let threads = self.threads(spec);
            let mut sum = 0.0;
            threads.iter().for_each(|instrs| self.program.computed(instrs, &mut |_, ns| sum += ns));
            compute_ns.push(sum);
            stages.push(threads);
            kernels = kernels.min(self.kernels_in_step);
        }
        let stage = spec.stage.clone();
        self.program.steps.push(Step { stages, kernels, compute_ns, stage });
        self.program.events = self.events.numbers.len();
        self.program.slots = self.slots.numbers.len();
        self.program.queues = self.queues.numbers.len();
    }

    /// What each thread does in a step.
    fn threads(&mut self, spec: &'a StepSpec) -> Vec<Vec<Instr>> {
        self.modules.clear();
        self.kernels_in_step = 0;
        let mut threads = Vec::new();
        self.thread = 0;
        for annotation in &spec.annotations {
            self.enter(FrameKind::Annotation, annotation, 0.2);
        }
        for frame in &spec.frames {
            self.enter(FrameKind::Python, frame, 0.4);
        }
        self.actions(&spec.program);
        self.leave(spec.frames.len() + spec.annotations.len());
        threads.push(std::mem::take(&mut self.out));
        for (name, actions) in &spec.background {
            self.thread = match self.program.threads.iter().position(|t| t == name) {
                Some(known) => known as u32,
                None => {
                    self.program.threads.push(name.clone());
                    self.program.threads.len() as u32 - 1
                }
            };
            self.actions(actions);
            let place = self.thread as usize;
            threads.resize_with(threads.len().max(place + 1), Vec::new);
            threads[place] = std::mem::take(&mut self.out);
        }
        threads
    }

    /// One step that captures every graph once, as a server does when it starts.
    fn captures(&mut self) {
        let mut graphs = Vec::new();
        for step in &self.scenario.pattern {
            find_graphs(self.scenario, &step.program, &mut graphs);
        }
        let frame = "sglang/srt/model_executor/cuda_graph_runner.py(512): capture";
        self.enter(FrameKind::Python, frame, 0.4);
        for graph in graphs {
            self.modules.clear();
            self.graph(graph);
        }
        self.leave(1);
        let threads = vec![std::mem::take(&mut self.out)];
        self.program.steps.push(Step {
            stages: vec![threads],
            kernels: 0,
            compute_ns: vec![0.0],
            stage: None,
        });
        self.program.events = self.events.numbers.len();
        self.program.slots = self.slots.numbers.len();
    }

    fn actions(&mut self, actions: &'a [Action]) {
        for action in actions {
            self.action(action);
        }
    }

    fn action(&mut self, action: &'a Action) {
        let machine = &self.scenario.machine;
        let call = machine.call_us;
        match action {
            Action::Launch(launch) => self.launch(launch),
            Action::Host(host) => {
                let mark = self.truth(&host.truth);
                let us = if self.removed(mark) { 0.0 } else { host.us };
                let frame = self.frame(Frame::plain(FrameKind::Python, &host.frame));
                self.out.push(Instr::Host { frame, ns: us * NS_PER_US, mark });
            }
            Action::Api(spec) => {
                let mark = self.truth(&spec.truth);
                let us = if self.removed(mark) { 0.0 } else { spec.us.unwrap_or(call) };
                let api = self.api(&spec.name);
                for _ in 0..spec.times {
                    self.out.push(Instr::Call { api, ns: us * NS_PER_US, mark });
                }
            }
            Action::Copy(copy) => self.copy(copy),
            Action::Fill(fill) => {
                let work = CopyWork {
                    direction: None,
                    memory: HostMemory::Pinned,
                    bytes: fill.bytes,
                    gbps: machine.device_gbps,
                    blocking: false,
                };
                let stream = self.stream(fill.gpu, fill.stream);
                let api = self.api("hipMemsetAsync");
                let copy = self.add_copy(work);
                self.out.push(Instr::Copy { copy, stream, api, ns: call * 4.0 * NS_PER_US, mark: 0 });
            }
            Action::Sync(sync) => {
                let mark = self.truth(&sync.truth);
                if self.removed(mark) {
                    return;
                }
                let (target, name) = match (&sync.event, sync.stream) {
                    (Some(event), _) => {
                        (SyncTarget::Event(self.events.number(event.get_ref())), "hipEventSynchronize")
                    }
                    (None, Some(stream)) => {
                        (SyncTarget::Stream(self.stream(sync.gpu, stream)), "hipStreamSynchronize")
                    }
                    (None, None) => (SyncTarget::Device(sync.gpu), "hipDeviceSynchronize"),
                };
                let api = self.api(name);
                self.out.push(Instr::Sync { target, api, ns: call * 3.0 * NS_PER_US, mark });
            }
            Action::Record(event) => {
                let stream = self.stream(event.gpu, event.stream);
                let (api, number) = (self.api("hipEventRecord"), self.events.number(event.event.get_ref()));
                self.out.push(Instr::Record { event: number, stream, api, ns: call * 2.0 * NS_PER_US });
            }
            Action::Wait(event) => {
                let mark = self.truth(&event.truth);
                if self.removed(mark) {
                    return;
                }
                let stream = self.stream(event.gpu, event.stream);
                let (api, number) =
                    (self.api("hipStreamWaitEvent"), self.events.number(event.event.get_ref()));
                let ns = call * 2.0 * NS_PER_US;
                self.out.push(Instr::Wait { event: number, stream, api, ns, mark, stage: false });
            }
            Action::Alloc(alloc) => {
                let mark = self.truth(&alloc.truth);
                let us = if self.removed(mark) { 0.0 } else { alloc.us.unwrap_or(call * 4.0) };
                let slot = self.slots.number(alloc.name.get_ref());
                let (api, bytes, gpu) = (self.api("hipMalloc"), alloc.bytes, alloc.gpu);
                self.out.push(Instr::Alloc { slot, bytes, gpu, api, ns: us * NS_PER_US, mark });
            }
            Action::Free(free) => {
                let mark = self.truth(&free.truth);
                let us = if self.removed(mark) { 0.0 } else { free.us.unwrap_or(call * 4.0) };
                let (slot, api) = (self.slots.number(free.name.get_ref()), self.api("hipFree"));
                self.out.push(Instr::Free { slot, api, ns: us * NS_PER_US, mark });
            }
            Action::Collective(spec) => self.collective(spec),
            Action::Pipeline(spec) => self.pipeline(spec),
            Action::Repeat(repeat) => {
                for _ in 0..repeat.times {
                    self.sequence(repeat.sequence.get_ref());
                }
            }
            Action::Graph(graph) => self.graph(graph),
            Action::Annotate(annotate) => {
                self.enter(FrameKind::Annotation, &annotate.name, 0.2);
                self.actions(&annotate.program);
                self.leave(1);
            }
            Action::Post(post) => {
                let queue = self.queues.number(&post.queue);
                self.out.push(Instr::Post { queue });
            }
            Action::Take(take) => {
                let queue = self.queues.number(&take.queue);
                self.out.push(Instr::Take { queue });
            }
        }
    }

    fn sequence(&mut self, name: &str) {
        let scenario = self.scenario;
        let sequence = &scenario.sequences[name];
        let mut depth = 0;
        if let Some(module) = &sequence.module {
            self.enter_module(module);
            depth += 1;
        }
        for frame in &sequence.frames {
            self.enter(FrameKind::Python, frame, 0.4);
            depth += 1;
        }
        self.actions(&sequence.program);
        self.leave(depth);
    }

    fn launch(&mut self, launch: &'a Launch) {
        let machine = &self.scenario.machine;
        let mark = self.truth(&launch.truth);
        if self.removed(mark) {
            return;
        }
        let kernel = self.kernel_ids[launch.kernel.get_ref().as_str()];
        let stream = self.stream(launch.gpu, launch.stream);
        let api = self.api(
            launch
                .api
                .as_deref()
                .unwrap_or_else(|| launch_api(&self.scenario.kernels[launch.kernel.get_ref()].name)),
        );
        for _ in 0..launch.times {
            let mut depth = 0;
            if let Some(module) = &launch.module {
                self.enter_module(module);
                depth += 1;
            }
            for frame in &launch.frames {
                self.enter(FrameKind::Python, frame, 0.4);
                depth += 1;
            }
            let frames = machine.frames_per_op;
            if frames > 0 {
                let ns = f64::from(frames) * machine.frame_us * NS_PER_US;
                self.out.push(Instr::Chatter { frames, ns });
            }
            if let Some(op) = &launch.op {
                let frame = self.op(op, launch);
                self.out.push(Instr::Enter { frame, ns: 0.5 * NS_PER_US });
                depth += 1;
            }
            if launch.host_us > 0.0 {
                self.out.push(Instr::Busy { ns: launch.host_us * NS_PER_US });
            }
            self.ops += 1;
            let noise = self.api(NOISE[self.ops as usize % NOISE.len()]);
            self.out.push(Instr::Call { api: noise, ns: machine.call_us * NS_PER_US, mark: 0 });
            self.out.push(Instr::Launch { kernel, stream, api, ns: machine.launch_us * NS_PER_US, mark });
            self.kernels_in_step += 1;
            self.leave(depth);
        }
    }

    fn copy(&mut self, copy: &'a Copy) {
        let machine = &self.scenario.machine;
        let mark = self.truth(&copy.truth);
        let removed = self.removed(mark);
        let stream = self.stream(copy.gpu, copy.stream);
        // Without its fault a copy becomes a good one: pinned, at the machine's bandwidth, asynchronous.
        let memory = if removed { HostMemory::Pinned } else { copy.memory };
        let usual = match (copy.direction, memory) {
            (Direction::D2d, _) => machine.device_gbps,
            (_, HostMemory::Pinned) => machine.pinned_gbps,
            (_, HostMemory::Pageable) => machine.pageable_gbps,
        };
        let work = CopyWork {
            direction: Some(copy.direction),
            memory,
            bytes: copy.bytes,
            gbps: copy.gbps.filter(|_| !removed).unwrap_or(usual),
            blocking: copy.blocking && !removed,
        };
        let usual = if work.blocking { "hipMemcpyWithStream" } else { "hipMemcpyAsync" };
        let api = self.api(copy.api.as_deref().filter(|_| !removed).unwrap_or(usual));
        let staging_us = if removed { 0.0 } else { copy.host_us };
        let number = self.add_copy(work);
        for _ in 0..copy.times {
            let ns = (machine.call_us * 6.0 + staging_us) * NS_PER_US;
            self.enter(FrameKind::Op, "aten::copy_", 0.5);
            self.out.push(Instr::Copy { copy: number, stream, api, ns, mark });
            if work.blocking {
                self.out.push(Instr::Finish { stream });
            }
            self.leave(1);
        }
    }

    fn collective(&mut self, spec: &'a CollectiveSpec) {
        let mark = self.truth(&spec.truth);
        // A group of one rank has no partners.
        let alone = spec.group != GroupKind::World && self.program.layout.size(spec.group) < 2;
        if self.removed(mark) || alone {
            return;
        }
        let kernel = self.kernel_ids[spec.kernel.get_ref().as_str()];
        let stream = self.stream(spec.gpu, spec.stream);
        let work = CollectiveWork {
            operation: spec.operation.clone(),
            dtype: spec.dtype.clone(),
            bytes: spec.bytes,
            kernel,
            group: spec.group,
            tokens: spec.tokens,
            peer: None,
        };
        let annotation = format!("nccl:{}", spec.operation);
        self.communicate(work, stream, &format!("c10d::{}_", spec.operation), &annotation, mark);
    }

    /// The frames and the launch of a collective, a send or a receive.
    fn communicate(&mut self, work: CollectiveWork, stream: u32, op: &str, annotation: &str, mark: Mark) {
        self.program.kernels[work.kernel as usize].communicates = true;
        let elements = work.bytes / element_bytes(&work.dtype);
        // Stages and repeats share what is the same: names, sizes and arguments are kept once for each.
        let known = self.program.collectives.iter().position(|other| *other == work);
        let collective = known.unwrap_or(self.program.collectives.len()) as u32;
        if known.is_none() {
            self.program.collectives.push(work);
        }
        self.enter(FrameKind::Op, op, 0.5);
        self.enter(FrameKind::Annotation, annotation, 0.3);
        let frame = self.program.frames.len() as u32;
        self.program.frames.push(Frame {
            kind: FrameKind::Op,
            name: "record_param_comms".into(),
            dims: Some(format!("[[{elements}]]")),
            types: None,
            collective: Some(collective),
        });
        self.out.push(Instr::Enter { frame, ns: 500.0 });
        let api = self.api("hipExtLaunchKernel");
        let ns = self.scenario.machine.launch_us * NS_PER_US;
        self.out.push(Instr::Collective { collective, stream, api, ns, mark });
        self.kernels_in_step += 1;
        self.leave(3);
    }

    /// Micro-batches through this stage: as many forward passes ahead as stages follow, then one of each in turn.
    fn pipeline(&mut self, spec: &'a PipelineSpec) {
        let ahead = (self.program.layout.stages() - 1 - self.stage).min(spec.micro_batches);
        for _ in 0..ahead {
            self.pass(spec, true);
        }
        for _ in ahead..spec.micro_batches {
            self.pass(spec, true);
            self.pass(spec, false);
        }
        for _ in 0..ahead {
            self.pass(spec, false);
        }
    }

    /// One micro-batch forward or backward: receive, compute, send.
    fn pass(&mut self, spec: &'a PipelineSpec, forward: bool) {
        self.receive(spec, Peer { next: !forward, send: false });
        let sequence = if forward { &spec.forward } else { &spec.backward };
        self.sequence(sequence.get_ref());
        self.send(spec, Peer { next: forward, send: true });
    }

    fn send(&mut self, spec: &'a PipelineSpec, peer: Peer) {
        let Some((work, stream, other)) = self.peer_work(spec, peer) else { return };
        let compute = self.stream(spec.gpu, spec.stream);
        let ns = self.scenario.machine.call_us * 2.0 * NS_PER_US;
        let event = self.events.number(&format!("pipeline send {}", peer.number()));
        let (record, wait) = (self.api("hipEventRecord"), self.api("hipStreamWaitEvent"));
        self.out.push(Instr::Record { event, stream: compute, api: record, ns });
        self.out.push(Instr::Wait { event, stream, api: wait, ns, mark: 0, stage: false });
        let annotation = format!("nccl:send {}->{other}", self.stage);
        self.communicate(work, stream, "c10d::send", &annotation, 0);
    }

    fn receive(&mut self, spec: &'a PipelineSpec, peer: Peer) {
        let Some((work, stream, other)) = self.peer_work(spec, peer) else { return };
        let compute = self.stream(spec.gpu, spec.stream);
        let ns = self.scenario.machine.call_us * 2.0 * NS_PER_US;
        let event = self.events.number(&format!("pipeline receive {}", peer.number()));
        let annotation = format!("nccl:recv {}<-{other}", self.stage);
        self.communicate(work, stream, "c10d::recv_", &annotation, 0);
        let (record, wait) = (self.api("hipEventRecord"), self.api("hipStreamWaitEvent"));
        self.out.push(Instr::Record { event, stream, api: record, ns });
        self.out.push(Instr::Wait { event, stream: compute, api: wait, ns, mark: 0, stage: true });
    }

    /// What is sent or received, on which stream, and the other stage; `None` at the ends of the pipeline.
    fn peer_work(&mut self, spec: &'a PipelineSpec, peer: Peer) -> Option<(CollectiveWork, u32, u32)> {
        let stages = self.program.layout.stages();
        let other = if peer.next { self.stage + 1 } else { self.stage.checked_sub(1)? };
        if other >= stages {
            return None;
        }
        let stream = self.stream(spec.gpu, spec.peers + peer.number() as u32);
        let work = CollectiveWork {
            operation: if peer.send { "send" } else { "recv" }.into(),
            dtype: spec.dtype.clone(),
            bytes: spec.bytes,
            kernel: self.kernel_ids[spec.kernel.get_ref().as_str()],
            group: GroupKind::Pipeline,
            tokens: None,
            peer: Some(peer),
        };
        Some((work, stream, other))
    }

    fn graph(&mut self, graph: &'a Repeat) {
        let machine = &self.scenario.machine;
        let stream = self.stream(graph.gpu, graph.stream);
        match self.mode {
            GraphMode::Off => {
                for _ in 0..graph.times {
                    self.sequence(graph.sequence.get_ref());
                }
            }
            GraphMode::Capture => {
                let name =
                    graph.capture.clone().unwrap_or_else(|| format!("capture_{}", graph.sequence.get_ref()));
                self.enter(FrameKind::Annotation, &name, 0.2);
                let api = self.api("hipStreamBeginCapture");
                self.out.push(Instr::BeginCapture { api, ns: machine.call_us * 4.0 * NS_PER_US });
                for _ in 0..graph.times {
                    self.sequence(graph.sequence.get_ref());
                }
                let api = self.api("hipStreamEndCapture");
                self.out.push(Instr::EndCapture { api, ns: machine.call_us * 8.0 * NS_PER_US });
                let api = self.api("hipGraphInstantiateWithFlags");
                self.out.push(Instr::Call { api, ns: 500.0 * NS_PER_US, mark: 0 });
                self.leave(1);
            }
            GraphMode::On => {
                let key = (graph.sequence.get_ref().clone(), graph.times);
                let before = self.kernels_in_step;
                let number = match self.graphs.get(&key) {
                    Some(known) => *known,
                    None => {
                        // A graph is what its sequence enqueues: compile it aside and keep the GPU's part.
                        let outer = std::mem::take(&mut self.out);
                        let modules = self.modules.clone();
                        for _ in 0..graph.times {
                            self.sequence(graph.sequence.get_ref());
                        }
                        self.modules = modules;
                        let nodes =
                            std::mem::replace(&mut self.out, outer).into_iter().filter_map(node).collect();
                        self.program.graphs.push(nodes);
                        let number = self.program.graphs.len() as u32 - 1;
                        self.graphs.insert(key, number);
                        number
                    }
                };
                let kernels = self.program.graphs[number as usize].iter().filter(|n| n.is_kernel()).count();
                self.kernels_in_step = before + kernels as u64;
                self.enter(FrameKind::Python, "torch/cuda/graphs.py(135): replay", 0.4);
                let api = self.api("hipGraphLaunch");
                let ns = machine.graph_launch_us * NS_PER_US;
                self.out.push(Instr::GraphLaunch { graph: number, stream, api, ns });
                self.leave(1);
            }
        }
    }

    fn add_copy(&mut self, work: CopyWork) -> u32 {
        self.program.copies.push(work);
        self.program.copies.len() as u32 - 1
    }

    fn stream(&mut self, gpu: u32, id: u32) -> u32 {
        let place = StreamPlace { gpu, id };
        if let Some(known) = self.program.streams.iter().position(|s| *s == place) {
            return known as u32;
        }
        self.program.streams.push(place);
        self.program.owners.push(self.thread);
        self.program.streams.len() as u32 - 1
    }

    fn api(&mut self, name: &str) -> u32 {
        if let Some(known) = self.api_ids.get(name) {
            return *known;
        }
        let number = self.program.apis.len() as u32;
        self.program.apis.push(name.to_string());
        self.api_ids.insert(name.to_string(), number);
        number
    }

    /// The op of a launch, with what is recorded about its inputs.
    fn op(&mut self, name: &str, launch: &Launch) -> u32 {
        let inputs =
            launch.dims.as_deref().and_then(|dims| serde_json::from_str::<Vec<serde_json::Value>>(dims).ok());
        let types = launch.dtype.as_deref().zip(inputs).map(|(dtype, inputs)| {
            let types: Vec<String> = inputs.iter().map(|_| format!("\"{dtype}\"")).collect();
            format!("[{}]", types.join(", "))
        });
        self.frame(Frame { dims: launch.dims.clone(), types, ..Frame::plain(FrameKind::Op, name) })
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        let key = (frame.kind as u8, frame.name.clone(), frame.dims.clone(), frame.types.clone());
        if let Some(known) = self.frame_ids.get(&key) {
            return *known;
        }
        let number = self.program.frames.len() as u32;
        self.program.frames.push(frame);
        self.frame_ids.insert(key, number);
        number
    }

    fn enter(&mut self, kind: FrameKind, name: &str, us: f64) {
        let frame = self.frame(Frame::plain(kind, name));
        self.out.push(Instr::Enter { frame, ns: us * NS_PER_US });
    }

    fn enter_module(&mut self, module: &str) {
        let instance = self.modules.entry(module.to_string()).or_insert(0);
        let name = format!("nn.Module: {module}_{instance}");
        *instance += 1;
        self.enter(FrameKind::Module, &name, 0.4);
    }

    fn leave(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push(Instr::Leave { ns: 150.0 });
        }
    }
}

impl Node {
    fn is_kernel(&self) -> bool {
        matches!(self, Node::Kernel { .. } | Node::Collective { .. })
    }
}

/// Whether a program contains such an action anywhere.
pub(crate) fn uses(scenario: &Scenario, program: &[Action], wanted: &dyn Fn(&Action) -> bool) -> bool {
    let of = |name: &str| uses(scenario, &scenario.sequences[name].program, wanted);
    program.iter().any(|action| {
        wanted(action)
            || match action {
                Action::Annotate(annotate) => uses(scenario, &annotate.program, wanted),
                Action::Repeat(repeat) | Action::Graph(repeat) => of(repeat.sequence.get_ref()),
                Action::Pipeline(spec) => of(spec.forward.get_ref()) || of(spec.backward.get_ref()),
                _ => false,
            }
    })
}

/// Every distinct graph that a program launches.
fn find_graphs<'a>(scenario: &'a Scenario, program: &'a [Action], found: &mut Vec<&'a Repeat>) {
    for action in program {
        match action {
            Action::Graph(graph) => {
                let same =
                    |g: &&Repeat| g.sequence.get_ref() == graph.sequence.get_ref() && g.times == graph.times;
                if !found.iter().any(same) {
                    found.push(graph);
                }
            }
            Action::Annotate(annotate) => find_graphs(scenario, &annotate.program, found),
            Action::Repeat(repeat) => {
                find_graphs(scenario, &scenario.sequences[repeat.sequence.get_ref()].program, found);
            }
            Action::Pipeline(spec) => {
                for name in [&spec.forward, &spec.backward] {
                    find_graphs(scenario, &scenario.sequences[name.get_ref()].program, found);
                }
            }
            _ => {}
        }
    }
}

fn node(instr: Instr) -> Option<Node> {
    Some(match instr {
        Instr::Launch { kernel, stream, mark, .. } => Node::Kernel { kernel, stream, mark },
        Instr::Copy { copy, stream, mark, .. } => Node::Copy { copy, stream, mark },
        Instr::Record { event, stream, .. } => Node::Record { event, stream },
        Instr::Wait { event, stream, .. } => Node::Wait { event, stream },
        Instr::Collective { collective, stream, mark, .. } => Node::Collective { collective, stream, mark },
        _ => return None,
    })
}

/// The call with which libraries launch such a kernel.
fn launch_api(kernel: &str) -> &'static str {
    const BY_NAME: [(&str, &str); 4] = [
        ("Cijk_", "hipExtModuleLaunchKernel"),
        ("nccl", "hipExtLaunchKernel"),
        ("triton_", "hipModuleLaunchKernel"),
        ("_ZN7ck_tile", "hipLaunchKernel"),
    ];
    BY_NAME.iter().find(|(prefix, _)| kernel.starts_with(prefix)).map_or("hipLaunchKernel", |(_, api)| api)
}

/// Bytes of one element of a torch data type.
pub(crate) fn element_bytes(dtype: &str) -> u64 {
    const SIZES: [(&str, u64); 8] = [
        ("Float", 4),
        ("Double", 8),
        ("BFloat16", 2),
        ("Half", 2),
        ("Long", 8),
        ("Int", 4),
        ("Byte", 1),
        ("Char", 1),
    ];
    SIZES.iter().find(|(name, _)| *name == dtype).map_or(2, |(_, bytes)| *bytes)
}
