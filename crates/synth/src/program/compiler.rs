//! From a scenario to its program: actions become instructions, names become numbers.

mod communication;
mod graphs;
mod kernels;
mod numbers;

use std::collections::BTreeMap;

use numbers::{FrameKey, Numbered};

use super::{CopyWork, Frame, FrameKind, GraphMode, Instr, Mark, Program, Step, SyncTarget};
use crate::ranks::Layout;
use crate::scenario::{Action, Copy, Direction, HostMemory, Scenario, StepSpec};

pub(crate) use communication::element_bytes;

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

const NS_PER_US: f64 = 1000.0;

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
