//! The trace of a server as torch's profiler writes it, with the spans of requests as SGLang's converter of
//! OpenTelemetry spans adds them: category `sglang`, `rid` and `bootstrap_room` in the arguments, 1 µs taken off each end.

use trace::{
    Agent, AgentKind, Arg, CopyKind, Graph, Kernel, LaunchShape, MemoryCopy, OptI64, Process, ProcessId,
    Region, RowRef, Source, StrId, Stream, StreamId, Thread, ThreadId, Trace,
};

use super::servers::{Lived, Request, Span, Step};
use super::{Disaggregated, Server};

/// What the converter takes off each span, so that neighbours do not touch.
const SHORTENED_NS: i64 = 1_000;
const CATEGORY: &str = "sglang";
/// (kernel, op) of a layer.
const KERNELS: [(&str, &str); 3] = [
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_ISA942_K1_WG32_8_1", "aten::mm"),
    (
        "void ck_tile::kentry<256, 1, ck_tile::FmhaFwdKernel<bf16, 128>>(ck_tile::FmhaFwdKernel<bf16, 128>::Kargs)",
        "aiter::fmha_fwd",
    ),
    (
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib",
        "aiter::rmsnorm",
    ),
];
const SEND_FRAME: &str =
    "/sgl-workspace/sglang/python/sglang/srt/disaggregation/mooncake/conn.py(838): send_kvcache";

/// The time of day at which runs begin.
pub(super) const BEGIN_NS: i64 = 1_790_000_000_000_000_000;

/// How far a server's clock is ahead.
pub(super) fn offset(server: &Server) -> i64 {
    (server.clock_offset_us * 1e3).round() as i64
}

/// Which of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Prefill,
    Decode,
}

/// The finished trace of one server.
pub(super) fn trace(scenario: &Disaggregated, seed: u64, role: Role, lived: &Lived) -> Trace {
    let (server, name, steps) = match role {
        Role::Prefill => (&scenario.prefill, "prefill", &lived.prefill),
        Role::Decode => (&scenario.decode, "decode", &lived.decode),
    };
    let mut writer = Writer::new(server, &scenario.name, name, seed);
    for step in steps {
        writer.step(role, step);
    }
    match role {
        Role::Prefill => writer.prefill_spans(&lived.requests),
        Role::Decode => writer.decode_spans(&lived.requests),
    }
    writer.trace.finish();
    writer.trace
}

struct Writer {
    trace: Trace,
    shift: i64,
    process: ProcessId,
    main: ThreadId,
    sender: ThreadId,
    gpu: trace::AgentId,
    stream: StreamId,
    shape: trace::ShapeId,
    correlation: i64,
    external: i64,
    /// Lanes for requests, so that they do not overlap: thread, and when it is free again.
    slots: Vec<(ThreadId, i64)>,
}

impl Writer {
    fn new(server: &Server, scenario: &str, role: &str, seed: u64) -> Self {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named(&format!("{scenario}.{role}"), "torch"));
        let guid = trace.strings.intern(&format!("{scenario}-{role}-{seed}"));
        let command = trace.strings.intern(&format!("sglang::scheduler {role}"));
        let process = trace.add_process(Process { guid, command, ..Process::new(source, server.pid) });
        let main = trace.add_thread(Thread { process, tid: server.pid, name: StrId::EMPTY });
        let name = trace.strings.intern("transfer_worker");
        let sender = trace.add_thread(Thread { process, tid: server.pid + 7, name });
        let (arch, product) = (trace.strings.intern("gfx942"), trace.strings.intern("AMD Instinct MI300X"));
        let gpu = trace.add_agent(Agent {
            process,
            kind: AgentKind::Gpu,
            absolute_index: OptI64::some(0),
            logical_index: OptI64::some(0),
            type_index: OptI64::some(0),
            name: arch,
            product,
            compute_units: OptI64::some(304),
            memory_bytes: OptI64::some(206_141_652_992),
            extra: StrId::EMPTY,
        });
        let stream_name = trace.strings.intern("Stream 0");
        let stream = trace.add_stream(Stream { process, id: 0, name: stream_name });
        let shape = trace.shapes.intern(LaunchShape {
            grid: Some([304 * 256, 1, 1]),
            workgroup: Some([256, 1, 1]),
            ..LaunchShape::default()
        });
        for (key, value) in [("record_shapes", "1"), ("with_stack", "1")] {
            trace.add_metadata(source, key, value);
        }
        Self {
            trace,
            shift: BEGIN_NS + offset(server),
            process,
            main,
            sender,
            gpu,
            stream,
            shape,
            correlation: 0,
            external: 0,
            slots: Vec::new(),
        }
    }

    fn region(
        &mut self,
        category: &str,
        name: &str,
        thread: ThreadId,
        span: Span,
        correlation: i64,
    ) -> usize {
        let row = self.trace.regions.len();
        let (name, category) = (self.trace.strings.intern(name), self.trace.strings.intern(category));
        let external = match correlation {
            0 => OptI64::NONE,
            _ => OptI64::some(self.external),
        };
        self.trace.regions.push(Region {
            name,
            category,
            start: self.shift + span.start,
            end: self.shift + span.end,
            process: self.process,
            thread,
            correlation,
            parent: 0,
            external,
        });
        row
    }

    /// A batch: its annotation, ops, launches and GPU work.
    fn step(&mut self, role: Role, step: &Step) {
        let name = match role {
            Role::Prefill => format!("step[EXTEND bs={} toks={}]", step.requests, step.tokens),
            Role::Decode => format!("step[DECODE bs={}]", step.requests),
        };
        self.region("user_annotation", &name, self.main, step.span, 0);
        for launch in &step.launches {
            self.correlation += 1;
            self.external += 1;
            let kernel = KERNELS.get(launch.kind as usize);
            let (op, call) = match kernel {
                Some((_, op)) => (*op, "hipLaunchKernel"),
                None => ("aten::copy_", "hipMemcpyAsync"),
            };
            let row = self.region("cpu_op", op, self.main, launch.op, 0);
            self.trace.regions.external[row] = OptI64::some(self.external);
            self.region("cuda_runtime", call, self.main, launch.call, self.correlation);
            let (start, end) = (self.shift + launch.work.start, self.shift + launch.work.end);
            match kernel {
                Some((kernel, _)) => {
                    let name = self.trace.strings.intern(kernel);
                    self.trace.kernels.push(Kernel {
                        name,
                        start,
                        end,
                        process: self.process,
                        agent: self.gpu,
                        stream: self.stream,
                        correlation: self.correlation,
                        external: OptI64::some(self.external),
                        shape: self.shape,
                        graph: Graph::Direct,
                        ..Kernel::default()
                    });
                }
                None => {
                    let name = self.trace.strings.intern("Memcpy DtoH (Device -> Pinned)");
                    self.trace.memory_copies.push(MemoryCopy {
                        name,
                        kind: CopyKind::Copy,
                        start,
                        end,
                        bytes: OptI64::some(8 * step.requests as i64),
                        process: self.process,
                        src: self.gpu,
                        stream: self.stream,
                        correlation: self.correlation,
                        external: OptI64::some(self.external),
                        graph: Graph::Direct,
                        ..MemoryCopy::default()
                    });
                }
            }
        }
        self.correlation += 1;
        self.region("cuda_runtime", "hipStreamSynchronize", self.main, step.wait, self.correlation);
    }

    /// A free lane for a request with this span.
    fn slot(&mut self, life: Span) -> ThreadId {
        let free = self.slots.iter().position(|(_, until)| *until <= life.start);
        let place = free.unwrap_or_else(|| {
            let name = self.trace.strings.intern("slot");
            let tid = self.slots.len() as i64 + 1;
            let thread = self.trace.add_thread(Thread { process: self.process, tid, name });
            self.slots.push((thread, 0));
            self.slots.len() - 1
        });
        self.slots[place].1 = life.end;
        self.slots[place].0
    }

    fn request_span(&mut self, name: &str, thread: ThreadId, span: Span, rid: &str, room: u64) {
        if span.ns() == 0 {
            return;
        }
        let shown = Span { start: span.start, end: span.end - SHORTENED_NS };
        let row = self.region(CATEGORY, name, thread, shown, 0);
        for (position, (key, value)) in
            [("bootstrap_room", format!("\"{room:#x}\"")), ("rid", format!("\"{rid}\""))]
                .into_iter()
                .enumerate()
        {
            let (key, value) = (self.trace.strings.intern(key), self.trace.strings.intern(&value));
            self.trace.args.push(Arg {
                owner: RowRef::region(row),
                position: position as u32,
                ty: StrId::EMPTY,
                name: key,
                value,
            });
        }
    }

    fn prefill_spans(&mut self, requests: &[Request]) {
        for (number, request) in requests.iter().enumerate() {
            let rid = format!("p{number:07x}");
            let slot = self.slot(Span { start: request.prepare.start, end: request.transfer.end });
            let stages = [
                ("prefill_prepare", request.prepare),
                ("prefill_bootstrap", request.bootstrap),
                ("prefill_waiting", request.waiting),
                ("prefill_forward", request.forward),
                ("prefill_transfer_kv_cache", request.transfer),
            ];
            for (name, span) in stages {
                self.request_span(name, slot, span, &rid, request.room);
            }
            for &chunk in &request.chunks {
                self.request_span("chunked_prefill", slot, chunk, &rid, request.room);
            }
            self.region("python_function", SEND_FRAME, self.sender, request.sending, 0);
        }
    }

    fn decode_spans(&mut self, requests: &[Request]) {
        for (number, request) in requests.iter().enumerate() {
            let rid = format!("d{number:07x}");
            let end = request.tokens.last().map_or(request.first_output.end, |token| token.end);
            let slot = self.slot(Span { start: request.decode_prepare.start, end });
            let stages = [
                ("decode_prepare", request.decode_prepare),
                ("decode_bootstrap", request.decode_bootstrap),
                ("decode_transferred", request.decode_transferred),
                ("decode_waiting", request.decode_waiting),
                ("decode_forward", Span { start: request.first_output.start, end }),
                ("fake_output", request.first_output),
            ];
            for (name, span) in stages {
                self.request_span(name, slot, span, &rid, request.room);
            }
            for &token in &request.tokens {
                self.request_span("decode_loop", slot, token, &rid, request.room);
            }
        }
    }
}
