//! Attribution on made traces: every way a launch is found, and every way a replay is joined.

use rocm_perf_model::attribution::{Attribution, Error, Source, attribute};
use rocm_perf_model::stages::{Stage, StageSource, Stages};
use trace::{
    Arg, CopyKind, Graph, Kernel, MemoryCopy, OptI64, Process, ProcessId, Region, RowRef, Source as File,
    StreamId, Table, Thread, ThreadId, Trace,
};

const PROCESS: ProcessId = ProcessId(0);

/// Builds a torch-like trace event by event.
struct Maker {
    trace: Trace,
    correlation: i64,
    id: i64,
}

impl Maker {
    fn new() -> Self {
        let mut trace = Trace::default();
        let source = trace.add_source(File::named("run.json", "torch"));
        let process = trace.add_process(Process::new(source, 1));
        for tid in 0..3 {
            trace.add_thread(Thread { process, tid, ..Thread::default() });
        }
        Self { trace, correlation: 100, id: 0 }
    }

    fn region(&mut self, category: &str, name: &str, start: i64, end: i64) -> usize {
        let (name, category) = (self.trace.strings.intern(name), self.trace.strings.intern(category));
        let thread = ThreadId(0);
        self.trace.regions.push(Region {
            name,
            category,
            start,
            end,
            process: PROCESS,
            thread,
            ..Region::default()
        });
        self.trace.regions.len() - 1
    }

    fn frame(&mut self, name: &str, start: i64, end: i64) -> usize {
        let row = self.region("python_function", name, start, end);
        self.id += 1;
        self.trace.regions.external[row] = OptI64::some(self.id);
        row
    }

    fn op(&mut self, name: &str, external: i64, start: i64, end: i64) -> usize {
        let row = self.region("cpu_op", name, start, end);
        self.trace.regions.external[row] = OptI64::some(external);
        row
    }

    /// A call with its own correlation id; a launch names its kernel as the reader gives it, in JSON.
    fn call(&mut self, name: &str, kernel: &str, at: i64) -> usize {
        let row = self.region("cuda_runtime", name, at, at + 1);
        self.correlation += 1;
        self.trace.regions.correlation[row] = self.correlation;
        if !kernel.is_empty() {
            let (name, value) =
                (self.trace.strings.intern("kernel"), self.trace.strings.intern(&format!("\"{kernel}\"")));
            self.trace.args.push(Arg { owner: RowRef::region(row), name, value, ..Arg::default() });
        }
        row
    }

    fn kernel(&mut self, name: &str, correlation: i64, stream: u32, at: i64, graph: Graph) {
        let (name, stream) = (self.trace.strings.intern(name), StreamId(stream));
        let kernel = Kernel {
            name,
            start: at,
            end: at + 1,
            process: PROCESS,
            correlation,
            stream,
            graph,
            ..Kernel::default()
        };
        self.trace.kernels.push(kernel);
    }

    /// A launch and its kernel, which starts 10 000 later.
    fn eager(&mut self, name: &str, at: i64) {
        self.call("hipLaunchKernel", "", at);
        self.kernel(name, self.correlation, 0, 10_000 + at, Graph::Direct);
    }

    /// A launch of a graph and its kernels one after another.
    fn replay(&mut self, names: &[&str], at: i64) {
        self.call("hipGraphLaunch", "", at);
        for (i, name) in names.iter().enumerate() {
            self.kernel(name, self.correlation, 0, 10_000 + at + i as i64, Graph::Replayed);
        }
    }

    /// A capture: one frame and one launch per name.
    fn capture(&mut self, mark: &str, launches: &[(&str, &str)], at: i64) {
        let end = at + 10 * launches.len() as i64 + 10;
        if !mark.is_empty() {
            self.region("user_annotation", mark, at, end);
        }
        self.call("hipStreamBeginCapture", "", at + 1);
        for (i, (kernel, frame)) in launches.iter().enumerate() {
            let start = at + 5 + 10 * i as i64;
            self.frame(frame, start, start + 8);
            self.call("hipLaunchKernel", kernel, start + 2);
        }
        self.call("hipStreamEndCapture", "", end - 2);
    }

    fn done(mut self) -> Trace {
        self.trace.finish();
        self.trace
    }
}

fn leaves(found: &Attribution, trace: &Trace) -> Vec<String> {
    let rows = (0..trace.kernels.len()).map(RowRef::kernel);
    rows.map(|row| found.text(found.site(row).leaf).to_string()).collect()
}

#[test]
fn the_op_is_found_by_id_and_else_by_what_encloses_the_launch() {
    let mut made = Maker::new();
    made.op("aten::linear", 7, 0, 100);
    made.op("aten::mm", 8, 10, 90);
    // Has the id of op 7 although it is inside op 8: the id decides.
    let by_id = made.call("hipLaunchKernel", "", 20);
    made.trace.regions.external[by_id] = OptI64::some(7);
    made.kernel("a", made.correlation, 0, 1000, Graph::Direct);
    // No id: the innermost op around it.
    made.eager("b", 30);
    // An id that two ops have matches neither.
    made.op("aten::x", 9, 200, 300);
    made.op("aten::y", 9, 210, 290);
    let twice = made.call("hipLaunchKernel", "", 220);
    made.trace.regions.external[twice] = OptI64::some(9);
    made.kernel("c", made.correlation, 0, 20_000, Graph::Direct);
    // No launch in the trace, but the op's id; then neither.
    made.kernel("d", 5, 0, 30_000, Graph::Direct);
    made.trace.kernels.external[3] = OptI64::some(8);
    made.kernel("e", 6, 0, 40_000, Graph::Direct);
    let trace = made.done();
    let found = attribute(&trace, None).unwrap();
    let sites: Vec<_> = (0..5).map(|row| found.site(RowRef::kernel(row))).collect();
    let ops: Vec<_> = sites.iter().map(|site| found.text(site.cpu_op)).collect();
    assert_eq!(ops, ["aten::linear", "aten::mm", "aten::y", "aten::mm", ""]);
    assert_eq!(sites[4].source, Source::None);
    assert_eq!((found.located.total_ns, found.located.eager_ns, found.located.unlinked_ns), (5, 4, 1));
}

#[test]
fn callers_are_found_by_python_ids_and_by_time_where_those_are_missing() {
    let mut made = Maker::new();
    let outer = made.frame("vllm/models/m.py(1): forward", 0, 100);
    made.frame("nn.Module: Norm_3", 5, 95);
    let inner = made.frame("vllm/layers/norm.py(2): norm", 10, 90);
    // Python says that `outer` called `inner`, past the module in between.
    made.trace.regions.parent[inner] = made.trace.regions.external[outer].get().unwrap();
    made.eager("a", 20);
    let lost = made.frame("vllm/layers/act.py(3): act", 60, 80);
    made.trace.regions.parent[lost] = 999;
    made.eager("b", 70);
    let trace = made.done();
    let found = attribute(&trace, None).unwrap();
    let [a, b] = [0, 1].map(|row| found.site(RowRef::kernel(row)));
    assert_eq!(found.text(a.chain), "m.py(1): forward > norm.py(2): norm");
    assert_eq!(found.text(a.module), "");
    assert_eq!(found.text(b.chain), "m.py(1): forward > norm.py(2): norm > act.py(3): act");
    assert_eq!(found.text(b.model_frame), "vllm/models/m.py(1): forward");
    assert_eq!(found.text(b.location), "vllm/layers/act.py(3): act");
}

#[test]
fn a_ring_of_python_ids_ends() {
    let mut made = Maker::new();
    let (a, b) = (made.frame("a.py(1): f", 0, 100), made.frame("b.py(1): g", 10, 90));
    made.trace.regions.parent[a] = made.trace.regions.external[b].get().unwrap();
    made.trace.regions.parent[b] = made.trace.regions.external[a].get().unwrap();
    made.eager("k", 20);
    let trace = made.done();
    let found = attribute(&trace, None).unwrap();
    assert_eq!(found.text(found.site(RowRef::kernel(0)).leaf), "b.py(1): g");
}

#[test]
fn pieces_of_a_graph_join_their_own_captures_and_eager_work_between_stays_eager() {
    let mut mapping = Maker::new();
    mapping.capture("capture_8_PIECEWISE", &[("in", "m.py(1): start"), ("x", "m.py(2): first")], 0);
    mapping.capture("capture_8_PIECEWISE", &[("x", "m.py(3): second"), ("y", "m.py(4): second")], 100);
    mapping.capture("capture_8_PIECEWISE", &[("x", "m.py(5): third"), ("y", "m.py(6): third")], 200);
    let mapping = mapping.done();
    let mut formal = Maker::new();
    for step in 0..2 {
        let at = 1000 * step;
        formal.region("user_annotation", "step[DECODE bs=5]", at, at + 90);
        formal.replay(&["in", "x"], at + 10);
        formal.frame("attention.py(9): run", at + 20, at + 25);
        formal.eager("attention", at + 22);
        formal.replay(&["x", "y"], at + 30);
        formal.replay(&["x", "y"], at + 50);
    }
    let formal = formal.done();
    let found = attribute(&formal, Some(&mapping)).unwrap();
    let step = [
        "m.py(1): start",
        "m.py(2): first",
        "attention.py(9): run",
        "m.py(3): second",
        "m.py(4): second",
        "m.py(5): third",
        "m.py(6): third",
    ];
    assert_eq!(leaves(&found, &formal), [step, step].concat());
    assert_eq!(found.join.unwrap().match_pct(), 100.0);
    assert_eq!(found.replays.len(), 6);
    assert_eq!(found.located.capture_ns, 12);
    assert_eq!(found.located.eager_ns, 2);
}

#[test]
fn copies_and_fills_join_by_kind() {
    let mut mapping = Maker::new();
    mapping.call("hipStreamBeginCapture", "", 0);
    for (i, (call, kernel)) in
        [("hipMemcpyAsync", ""), ("hipLaunchKernel", "gemm"), ("hipMemsetAsync", "")].into_iter().enumerate()
    {
        let start = 10 + 10 * i as i64;
        mapping.frame(&format!("m.py({i}): f"), start, start + 5);
        mapping.call(call, kernel, start + 1);
    }
    mapping.call("hipStreamEndCapture", "", 50);
    let mapping = mapping.done();
    let mut formal = Maker::new();
    formal.call("hipGraphLaunch", "", 0);
    let correlation = formal.correlation;
    formal.kernel("gemm", correlation, 0, 1010, Graph::Replayed);
    formal.kernel("__amd_rocclr_fillBufferAligned", correlation, 0, 1020, Graph::Replayed);
    let name = formal.trace.strings.intern("Memcpy DtoD (Device -> Device)");
    let (kind, graph) = (CopyKind::Copy, Graph::Unknown);
    let (start, end, process) = (1000, 1005, PROCESS);
    formal.trace.memory_copies.push(MemoryCopy {
        name,
        kind,
        start,
        end,
        process,
        correlation,
        graph,
        ..Default::default()
    });
    let formal = formal.done();
    let found = attribute(&formal, Some(&mapping)).unwrap();
    assert_eq!(leaves(&found, &formal), ["m.py(1): f", "m.py(2): f"]);
    let copy = found.site(RowRef::new(Table::MemoryCopies, 0));
    assert_eq!((found.text(copy.leaf), copy.source), ("m.py(0): f", Source::CaptureJoin));
    assert_eq!(found.join.unwrap().by_position, 3);
}

#[test]
fn a_graph_off_run_is_joined_by_position_within_its_step() {
    let mut mapping = Maker::new();
    for step in 0..3i64 {
        let at = 1000 * step;
        mapping.region("user_annotation", "step[DECODE bs=4]", at, at + 900);
        mapping.frame("prepare.py(1): prepare", at + 1, at + 5);
        mapping.eager("prepare", at + 2);
        for (i, name) in ["norm", "gemm", "norm", "gemm"].iter().enumerate() {
            let start = at + 100 + 100 * i as i64;
            mapping.frame(&format!("layer.py({i}): run"), start, start + 50);
            mapping.eager(name, start + 5);
        }
        mapping.frame("sample.py(1): sample", at + 800, at + 850);
        mapping.eager("sample", at + 810);
    }
    let mapping = mapping.done();
    let mut formal = Maker::new();
    formal.replay(&["norm", "gemm", "norm", "gemm"], 0);
    let formal = formal.done();
    let found = attribute(&formal, Some(&mapping)).unwrap();
    assert_eq!(
        leaves(&found, &formal),
        ["layer.py(0): run", "layer.py(1): run", "layer.py(2): run", "layer.py(3): run"]
    );
    let site = found.site(RowRef::kernel(0));
    assert_eq!((site.source, site.confidence_pct), (Source::MappingTrace, 99));
    assert_eq!(found.located.share_pct(), Some(100.0));
}

#[test]
fn a_poor_match_falls_back_to_names_with_their_share_as_confidence() {
    let mut mapping = Maker::new();
    let launches = [
        ("a", "m.py(1): f"),
        ("a", "m.py(1): f"),
        ("a", "m.py(2): g"),
        ("b", "m.py(3): h"),
        ("c", "m.py(4): i"),
    ];
    mapping.capture("", &launches, 0);
    let mapping = mapping.done();
    let mut formal = Maker::new();
    formal.replay(&["b", "a", "a", "new", "new", "c", "c"], 0);
    let formal = formal.done();
    let found = attribute(&formal, Some(&mapping)).unwrap();
    let sites: Vec<_> = (0..7).map(|row| found.site(RowRef::kernel(row))).collect();
    assert_eq!(found.text(sites[1].leaf), "m.py(1): f");
    assert_eq!(sites[1].confidence_pct, 60);
    assert_eq!((found.text(sites[0].leaf), sites[0].confidence_pct), ("m.py(3): h", 90));
    // A name that is not in the mapping keeps its graph's launch and is not guessed.
    assert_eq!((sites[3].source, sites[3].is_located()), (Source::GraphLaunch, false));
    let join = found.join.unwrap();
    assert_eq!((join.by_position, join.by_name, join.names, join.shared_names), (0, 5, 4, 3));
}

#[test]
fn another_model_is_refused() {
    let mut mapping = Maker::new();
    mapping.capture("", &[("a", "m.py(1): f"), ("b", "m.py(2): f")], 0);
    let mapping = mapping.done();
    let mut formal = Maker::new();
    formal.replay(&["p", "q", "r", "a"], 0);
    let error = attribute(&formal.done(), Some(&mapping)).unwrap_err();
    assert_eq!(error, Error::DifferentModels { shared: 1, names: 4 });
    assert_eq!(
        error.to_string(),
        "the mapping trace is from a different model: it has only 1 of the 4 kernel names to locate"
    );
}

#[test]
fn a_trace_that_holds_its_own_capture_needs_no_mapping_and_the_mode_tells_the_stage() {
    let mut made = Maker::new();
    made.capture("capture_8_DECODE", &[("x", "m.py(1): f"), ("y", "m.py(2): g")], 0);
    made.replay(&["x", "y"], 500);
    let trace = made.done();
    let found = attribute(&trace, None).unwrap();
    assert_eq!(leaves(&found, &trace), ["m.py(1): f", "m.py(2): g"]);
    let stages = Stages::of(&trace, Some(&found));
    assert_eq!(stages.stage(RowRef::kernel(0)), Stage::Decode);
    assert_eq!(stages.told_by(RowRef::kernel(0)), StageSource::Graph);
    assert_eq!(Stages::of(&trace, None).stage(RowRef::kernel(0)), Stage::Other);
}

#[test]
fn launches_without_frames_borrow_them_by_name() {
    let mut mapping = Maker::new();
    mapping.frame("m.py(1): f", 0, 50);
    mapping.eager("gemm", 10);
    let mapping = mapping.done();
    let mut formal = Maker::new();
    formal.op("aten::mm", 1, 0, 50);
    formal.eager("gemm", 10);
    let formal = formal.done();
    let found = attribute(&formal, Some(&mapping)).unwrap();
    let site = found.site(RowRef::kernel(0));
    assert_eq!((found.text(site.cpu_op), found.text(site.leaf)), ("aten::mm", "m.py(1): f"));
    assert_eq!(site.source, Source::MappingTrace);
}

#[test]
fn a_trace_without_gpu_work_is_no_error() {
    let found = attribute(&Maker::new().done(), None).unwrap();
    assert_eq!(found.located.share_pct(), None);
    assert_eq!(found.sites.len(), 1);
}
