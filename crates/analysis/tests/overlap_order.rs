//! `overlap` on small hand-made traces: the recorded order decides the risk.

use analysis::{Overlap, overlap, overlap_report};
use model::Run;
use model::classify::Classifier;
use proptest::prelude::*;
use report::{Table, Value};
use rocm_perf_analysis as analysis;
use trace::{
    Agent, AgentId, AgentKind, CopyKind, Graph, Kernel, MemoryCopy, OptI64, Process, ProcessId, Region,
    Source, Stream, StreamId, Sync, Thread, ThreadId, Trace,
};

const GEMM: &str = "Cijk_Alik_Bljk_BBS_BH_MT128x128x64_MI16x16x1";
const ALLREDUCE: &str = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)";
const ADD: &str =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)";

/// A trace under construction: one process, one thread, one GPU, as many streams as used.
struct Built {
    trace: Trace,
    process: ProcessId,
    thread: ThreadId,
    agent: AgentId,
    streams: Vec<StreamId>,
    correlation: i64,
    host: i64,
}

impl Built {
    fn new(streams: usize) -> Self {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("made.json", "torch"));
        let guid = trace.strings.intern("guid");
        let process = trace.add_process(Process { guid, ..Process::new(source, 1) });
        let thread = trace.add_thread(Thread { process, tid: 1, ..Thread::default() });
        let agent = trace.add_agent(Agent { process, kind: AgentKind::Gpu, ..Agent::default() });
        let streams = (0..streams)
            .map(|id| trace.add_stream(Stream { process, id: id as i64, ..Stream::default() }))
            .collect();
        Self { trace, process, thread, agent, streams, correlation: 0, host: 0 }
    }

    fn call(&mut self, name: &str, length: i64) -> i64 {
        self.correlation += 1;
        let (name, category) = (self.trace.strings.intern(name), self.trace.strings.intern("cuda_runtime"));
        let (start, process, thread) = (self.host, self.process, self.thread);
        let (end, correlation) = (start + length, self.correlation);
        self.trace.regions.push(Region {
            name,
            category,
            start,
            end,
            process,
            thread,
            correlation,
            ..Region::default()
        });
        self.host = end + 1;
        correlation
    }

    fn kernel(&mut self, name: &str, stream: usize, start: i64, end: i64) -> &mut Self {
        let correlation = self.call("hipLaunchKernel", 1);
        self.unlaunched(name, stream, start, end, correlation)
    }

    fn unlaunched(&mut self, name: &str, stream: usize, start: i64, end: i64, correlation: i64) -> &mut Self {
        let name = self.trace.strings.intern(name);
        let (process, agent, stream) = (self.process, self.agent, self.streams[stream]);
        self.trace.kernels.push(Kernel {
            name,
            start,
            end,
            process,
            agent,
            stream,
            correlation,
            graph: Graph::Direct,
            ..Kernel::default()
        });
        self
    }

    fn copy(&mut self, stream: usize, start: i64, end: i64) -> &mut Self {
        let correlation = self.call("hipMemcpyAsync", 1);
        let name = self.trace.strings.intern("Memcpy HtoD (Host -> Device)");
        let (process, dst, stream) = (self.process, self.agent, self.streams[stream]);
        self.trace.memory_copies.push(MemoryCopy {
            name,
            kind: CopyKind::Copy,
            start,
            end,
            process,
            dst,
            stream,
            correlation,
            ..MemoryCopy::default()
        });
        self
    }

    fn event(&mut self, call: &str, stream: Option<usize>, event: i64) -> &mut Self {
        let (start, correlation) = (self.host, self.call(call, 1));
        let kind = self.trace.strings.intern(call);
        let (process, thread) = (self.process, self.thread);
        let stream = stream.map_or(StreamId::NONE, |stream| self.streams[stream]);
        self.trace.syncs.push(Sync {
            kind,
            start,
            end: start + 1,
            process,
            thread,
            stream,
            event: OptI64::some(event),
            correlation,
            ..Sync::default()
        });
        self
    }

    fn record(&mut self, stream: usize, event: i64) -> &mut Self {
        self.event("hipEventRecord", Some(stream), event)
    }

    fn wait(&mut self, stream: usize, event: i64) -> &mut Self {
        self.event("hipStreamWaitEvent", Some(stream), event)
    }

    /// A blocking call that returns at this time.
    fn block(&mut self, until: i64) -> &mut Self {
        let length = until - self.host;
        self.call("hipDeviceSynchronize", length);
        self
    }

    fn overlap(&mut self) -> Overlap {
        self.trace.finish();
        overlap(&Run::new(&self.trace, None, &Classifier::builtin(), 0.0).unwrap())
    }
}

fn row<'a>(table: &'a Table, part: &str) -> impl Fn(&str) -> &'a Value {
    let name = table.column("kernel_name").unwrap();
    let found = table.rows.iter().find(|row| matches!(&row[name], Value::Text(text) if text.contains(part)));
    let found = found.unwrap_or_else(|| panic!("no row for `{part}`: {:?}", table.rows));
    move |key| &found[table.column(key).unwrap()]
}

fn is(value: &Value, text: &str) {
    assert_eq!(value, &Value::from(text));
}

/// Computation on stream 0 with communication on stream 1 in between; `tie` adds what orders the two.
fn between(tie: impl Fn(&mut Built, &str)) -> Overlap {
    let mut built = Built::new(2);
    built.record(0, 99);
    built.kernel(GEMM, 0, 10_000, 110_000);
    tie(&mut built, "before");
    built.kernel(ALLREDUCE, 1, 120_000, 180_000);
    tie(&mut built, "after");
    built.kernel(GEMM, 0, 190_000, 290_000);
    built.overlap()
}

#[test]
fn work_that_nothing_orders_is_free_to_move() {
    let found = between(|_, _| {});
    let table = found.table();
    let cell = row(&table, "nccl");
    is(cell("dependency_risk"), "low");
    is(cell("priority"), "P1");
    is(cell("recommendation"), "try overlap");
    is(cell("confidence"), "high");
    assert_eq!(cell("gain_ceiling_ns"), &Value::Int(60_000));
    assert_eq!(cell("free_gain_ns"), &Value::Int(60_000));
    assert_eq!(found.findings()[0].id, "exposed-communication");
}

#[test]
fn an_event_that_forces_the_order_makes_the_risk_high() {
    let found = between(|built, side| {
        _ = match side {
            "before" => built.record(0, 1).wait(1, 1),
            _ => built.record(1, 2).wait(0, 2),
        };
    });
    let table = found.table();
    let cell = row(&table, "nccl");
    is(cell("dependency_risk"), "high");
    is(cell("priority"), "P2");
    is(cell("risk_reason"), "the next work on stream 0 waits for it by an event");
    assert_eq!(cell("gain_ceiling_ns"), &Value::Int(60_000), "what could be won if the order may change");
    assert_eq!(cell("free_gain_ns"), &Value::Int(0), "nothing as it is");
}

#[test]
fn one_side_forced_leaves_the_other_free() {
    let found = between(|built, side| {
        if side == "before" {
            built.record(0, 1).wait(1, 1);
        }
    });
    let table = found.table();
    let cell = row(&table, "nccl");
    is(cell("dependency_risk"), "low");
    assert_eq!(cell("free_gain_ns"), &Value::Int(60_000), "the second product may run beside it");
}

#[test]
fn a_wait_for_an_older_mark_forces_nothing() {
    // The mark was recorded before the first product, so waiting for it orders nothing.
    let found = between(|built, side| {
        if side == "before" {
            built.wait(1, 99);
        }
    });
    is(row(&found.table(), "nccl")("dependency_risk"), "low");
}

#[test]
fn a_blocking_call_forces_the_order_too() {
    let found = between(|built, side| {
        _ = match side {
            "before" => built.block(115_000),
            _ => built.block(185_000),
        };
    });
    let table = found.table();
    let cell = row(&table, "nccl");
    is(cell("dependency_risk"), "high");
    is(
        cell("risk_reason"),
        "the host waits for it in `hipDeviceSynchronize` before it launches the next work on stream 0",
    );
}

#[test]
fn events_without_streams_are_not_taken_for_no_order() {
    let found = between(|built, side| {
        if side == "after" {
            built.event("hipEventRecord", None, 1).event("hipStreamWaitEvent", None, 1);
        }
    });
    is(row(&found.table(), "nccl")("dependency_risk"), "unclear");
    assert!(matches!(row(&found.table(), "nccl")("free_gain_ns"), Value::Absent(_)));
    assert!(found.notes.iter().any(|note| note.contains("1 of 1 event waits do not record their streams")));
}

#[test]
fn one_stream_is_said_and_nothing_is_urgent_enough_for_p1() {
    let mut built = Built::new(1);
    built.kernel(GEMM, 0, 10_000, 110_000);
    built.kernel(ALLREDUCE, 0, 150_000, 180_000);
    built.copy(0, 200_000, 230_000);
    built.kernel(ADD, 0, 300_000, 320_000);
    let found = built.overlap();
    assert!(found.notes.iter().any(|note| note.starts_with("all GPU work is on one stream")));
    let priority = found.table().column("priority").unwrap();
    assert_eq!(
        found.table().rows.len(),
        2,
        "only the collective and the copy: the order of kernels cannot be told"
    );
    assert!(found.table().rows.iter().all(|row| row[priority] != Value::from("P1")));
    assert_eq!(row(&found.table(), "nccl")("free_gain_ns"), &Value::Int(0));
}

#[test]
fn work_without_launches_is_unclear_and_said_so() {
    let mut built = Built::new(2);
    built.unlaunched(GEMM, 0, 10_000, 110_000, 0);
    built.unlaunched(ALLREDUCE, 1, 120_000, 180_000, 0);
    let found = built.overlap();
    is(row(&found.table(), "nccl")("dependency_risk"), "unclear");
    assert!(found.notes.iter().any(|note| note.contains("GPU only")));
}

#[test]
fn replays_on_one_stream_without_a_mapping_are_said() {
    let mut built = Built::new(1);
    let launch = built.call("hipGraphLaunch", 1);
    for i in 0..4 {
        let name = if i % 2 == 0 { GEMM } else { ADD };
        built.unlaunched(name, 0, 10_000 * i, 10_000 * i + 9_000, launch);
    }
    built.trace.kernels.graph.fill(Graph::Replayed);
    let found = built.overlap();
    assert!(found.notes.iter().any(|note| note.starts_with("4 kernels were replayed")), "{:?}", found.notes);
    assert!(found.notes.iter().any(|note| note.contains("replayed on one stream")));
    assert_eq!(found.table().rows.len(), 0, "the order inside a replay cannot be told");
}

#[test]
fn rows_with_nothing_to_gain_were_listed() {
    let mut built = Built::new(2);
    built.kernel(GEMM, 0, 0, 100_000).kernel(ADD, 1, 20_000, 60_000);
    assert_eq!(built.overlap().table().rows.len(), 0, "it is hidden already");
}

#[test]
fn kernels_in_line_on_one_stream_were_listed_though_they_depend_on_each_other() {
    let mut built = Built::new(1);
    for i in 0..6 {
        let name = if i % 2 == 0 { GEMM } else { ADD };
        built.kernel(name, 0, 10_000 * i, 10_000 * i + 9_000);
    }
    let found = built.overlap();
    assert_eq!(found.table().rows.len(), 0);
    assert!(found.notes.iter().any(|note| note.contains("cannot show what could run in parallel")));
}

#[test]
fn nothing_gives_an_empty_table() {
    let found = Built::new(0).overlap();
    assert!(found.table().rows.is_empty() && found.findings().is_empty());
    assert_eq!(found.notes.len(), 1);
    let alone = Built::new(1).kernel(ALLREDUCE, 0, 0, 10).overlap();
    assert!(alone.table().rows.is_empty(), "there is nothing to run it beside");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Random work on three streams: every number of the table, checked nanosecond by nanosecond.
    #[test]
    fn totals_equal_looking_at_every_nanosecond(
        work in prop::collection::vec((0usize..4, 0usize..3, 0i64..60, 0i64..15), 1..25)
    ) {
        let mut built = Built::new(3);
        let names = [GEMM, ALLREDUCE, ADD];
        for &(what, stream, start, length) in &work {
            match names.get(what) {
                Some(name) => built.kernel(name, stream, start, start + length),
                None => built.copy(stream, start, start + length),
            };
        }
        built.trace.finish();
        let context = Run::new(&built.trace, None, &Classifier::builtin(), 0.0).unwrap();
        let report = overlap_report(&context);
        let table = report.table("overlap_opportunities").unwrap();
        let (mut exposed, mut busy, mut overlapped) = ([0i64; 4], 0, 0);
        let mut exclusive = [0i64; 4];
        for t in 0..75 {
            let active: Vec<&(usize, usize, i64, i64)> =
                work.iter().filter(|(_, _, start, length)| *start <= t && t < start + length).collect();
            let has = |what: usize| active.iter().any(|w| w.0 == what);
            let streams: std::collections::HashSet<usize> = active.iter().map(|w| w.1).collect();
            busy += i64::from(!streams.is_empty());
            overlapped += i64::from(streams.len() > 1);
            exposed[1] += i64::from(has(1) && !has(0) && !has(2));
            exposed[3] += i64::from(has(3) && !has(0) && !has(1) && !has(2));
            for one in &active {
                exclusive[one.0] += i64::from(active.iter().all(|other| other.1 == one.1));
            }
        }
        let concurrency = report.table("concurrency").unwrap();
        let cell = |key: &str| concurrency.rows[0][concurrency.column(key).unwrap()].clone();
        prop_assert_eq!(cell("busy_ns"), Value::Int(busy));
        prop_assert_eq!(cell("overlapped_ns"), Value::Int(overlapped));
        prop_assert_eq!(cell("exposed_communication_ns"), Value::Int(exposed[1]));
        prop_assert_eq!(cell("exposed_memcpy_ns"), Value::Int(exposed[3]));
        let mut gains = 0;
        for row in &table.rows {
            let cell = |key: &str| row[table.column(key).unwrap()].number().unwrap_or(0.0);
            let name = &row[table.column("kernel_name").unwrap()];
            let what = names.iter().position(|known| *name == Value::from(*known)).unwrap_or(3);
            let total: i64 = work.iter().filter(|w| w.0 == what).map(|w| w.3).sum();
            prop_assert_eq!(cell("total_ns") as i64, total);
            let expected = 100.0 * exclusive[what] as f64 / total as f64;
            prop_assert!((cell("exclusive_pct") - expected).abs() < 1e-9);
            prop_assert!((cell("exclusive_pct") + cell("hidden_pct") - 100.0).abs() < 1e-9);
            prop_assert!(cell("gain_ceiling_ns") <= cell("exposed_ns"));
            prop_assert!(cell("free_gain_ns") <= cell("gain_ceiling_ns"));
            gains += cell("gain_ceiling_ns") as i64;
        }
        prop_assert!(gains <= busy);
    }
}
