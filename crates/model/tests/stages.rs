//! Stages and steps of real and made traces.

use std::path::Path;

use ingest::Progress;
use rocm_perf_model::attribution::{self, attribute};
use rocm_perf_model::stages::{Stage, StageSource, Stages, layers};
use trace::{Kernel, Process, Region, RowRef, Source, Thread, Trace};

fn read(path: &str) -> Option<Trace> {
    let path = testing::data(Path::new("traces").join(path))?;
    Some(ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap())
}

fn all_kernels(trace: &Trace) -> impl Iterator<Item = RowRef> {
    (0..trace.kernels.len()).map(RowRef::kernel)
}

/// A run on two threads: annotations, launches and kernels that run long after them.
struct Run {
    trace: Trace,
    correlation: i64,
}

impl Run {
    fn new(path: &str) -> Self {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named(path, "torch"));
        let process = trace.add_process(Process::new(source, 1));
        for tid in [1, 2] {
            trace.add_thread(Thread { process, tid, ..Thread::default() });
        }
        Self { trace, correlation: 0 }
    }

    fn region(&mut self, category: &str, name: &str, thread: u32, start: i64, end: i64) {
        let (name, category) = (self.trace.strings.intern(name), self.trace.strings.intern(category));
        let (process, thread) = (trace::ProcessId(0), trace::ThreadId(thread));
        let correlation =
            if category == self.trace.strings.intern("cuda_runtime") { self.correlation } else { 0 };
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
    }

    fn launch(&mut self, thread: u32, at: i64, duration: i64) {
        self.correlation += 1;
        self.region("cuda_runtime", "hipLaunchKernel", thread, at, at + 1);
        let name = self.trace.strings.intern("k");
        let (start, correlation) = (1_000_000 + at, self.correlation);
        let process = trace::ProcessId(0);
        self.trace.kernels.push(Kernel {
            name,
            start,
            end: start + duration,
            process,
            correlation,
            ..Kernel::default()
        });
    }

    fn stages(mut self) -> (Trace, Stages) {
        self.trace.finish();
        let stages = Stages::of(&self.trace, None);
        (self.trace, stages)
    }
}

#[test]
fn the_innermost_annotation_around_the_launch_decides() {
    let mut run = Run::new("x-TP-0-DECODE.json");
    run.region("user_annotation", "execute_context_9(100)_generation_37(37)", 0, 0, 100);
    run.region("user_annotation", "step[EXTEND bs=9 toks=100]", 0, 10, 50);
    run.region("user_annotation", "step[DECODE bs=4]", 0, 200, 300);
    run.launch(0, 5, 1);
    run.launch(0, 20, 1);
    run.launch(0, 60, 1);
    run.launch(0, 250, 1);
    // A helper thread launches for the current step; outside all steps the file's label decides.
    run.launch(1, 270, 1);
    run.launch(1, 400, 1);
    let (trace, stages) = run.stages();
    let found: Vec<_> = all_kernels(&trace).map(|row| (stages.stage(row), stages.told_by(row))).collect();
    use Stage::{Decode, Mixed, Prefill};
    use StageSource::{Annotation, FileLabel};
    let expected = [
        (Mixed, Annotation),
        (Prefill, Annotation),
        (Mixed, Annotation),
        (Decode, Annotation),
        (Decode, Annotation),
        (Decode, FileLabel),
    ];
    assert_eq!(found, expected);
    let numbers: Vec<_> =
        all_kernels(&trace).map(|row| stages.step(row).map(|s| stages.steps[s].number)).collect();
    assert_eq!(numbers, [Some(0), Some(0), Some(0), Some(1), Some(1), None]);
    assert_eq!(stages.present(), [Prefill, Decode, Mixed]);
}

#[test]
fn loops_of_the_profiler_number_steps_and_tell_no_stage() {
    let mut run = Run::new("x.json");
    for step in 0..3 {
        run.region("user_annotation", &format!("ProfilerStep#{step}"), 0, 100 * step, 100 * step + 90);
        run.launch(0, 100 * step + 5, 1);
    }
    let (trace, stages) = run.stages();
    let found: Vec<_> = all_kernels(&trace).map(|row| (stages.stage(row), stages.step(row))).collect();
    assert_eq!(found, [(Stage::Other, Some(0)), (Stage::Other, Some(1)), (Stage::Other, Some(2))]);
}

#[test]
fn leading_slow_or_small_steps_are_warm_up() {
    let mut run = Run::new("x.json");
    // Small batch, slow, then settled; a late slow step is not warm-up.
    for (step, (batch, duration)) in
        [(8, 50), (32, 900), (32, 100), (32, 105), (32, 100), (32, 800), (32, 99)].into_iter().enumerate()
    {
        let start = 1000 * step as i64;
        run.region("user_annotation", &format!("step[DECODE bs={batch}]"), 0, start, start + duration);
        run.launch(0, start + 1, duration);
    }
    let (trace, stages) = run.stages();
    let warm: Vec<_> = all_kernels(&trace).map(|row| stages.is_warm_up(row)).collect();
    assert_eq!(warm, [true, true, false, false, false, false, false]);
    assert_eq!(stages.warm_up_steps(), 2);
}

#[test]
fn real_steps_have_their_stage() {
    let cases = [
        ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", Stage::Decode, 32),
        ("sglang_prefilldecode.json.gz", Stage::Prefill, 15),
        ("vllm_decode_full/graph_execution.json.gz", Stage::Decode, 32),
    ];
    for (path, stage, batch) in cases {
        let Some(trace) = read(path) else { continue };
        let stages = Stages::of(&trace, None);
        let told: Vec<_> =
            all_kernels(&trace).filter(|&row| stages.told_by(row) == StageSource::Annotation).collect();
        assert!(told.iter().all(|&row| stages.stage(row) == stage), "{path}");
        assert!(
            told.len() * 100 >= trace.kernels.len() * 99,
            "{path}: {} of {}",
            told.len(),
            trace.kernels.len()
        );
        let step = stages.steps[stages.step(told[0]).unwrap()];
        assert_eq!(step.batch, Some(batch), "{path}");
    }
}

#[test]
fn replayed_layers_of_a_real_step_are_counted() {
    let Some(trace) = read("sglang_decode/sglang_Qwen3-8B_decode.json.gz") else { return };
    let found = attribute(&trace, None).unwrap();
    let rows = &found.replays[0].rows;
    let kernels: Vec<usize> = rows.iter().filter_map(|row| row.row_of(trace::Table::Kernels)).collect();
    let names: Vec<u32> = kernels.iter().map(|&k| trace.kernels.name[k].0).collect();
    let layers = layers(&names).unwrap();
    // Qwen3-8B has 36 layers of 15 kernels; the start of the first one is arbitrary.
    assert_eq!(layers.period, 15);
    assert!((35..=36).contains(&layers.count), "{layers:?}");
}

#[test]
fn annotations_on_gpu_lanes_alone_told_no_stage() {
    let event = |cat: &str, name: &str, ts: u32, dur: u32, args: &str| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{args}}}"#
        )
    };
    let kernel = |ts: u32| event("kernel", "k", ts, 5, r#"{"device":0,"stream":7,"correlation":1}"#);
    let note = |name: &str, ts: u32| event("gpu_user_annotation", name, ts, 100, "{}");
    let events = [
        note("step[DRAFT_EXTEND_V2 bs=4 toks=16]", 0),
        kernel(10),
        note("step[TARGET_VERIFY bs=4]", 200),
        kernel(210),
        note("step[EXTEND bs=1 toks=512]", 400),
        kernel(410),
        kernel(600),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    std::fs::write(&path, format!(r#"{{"traceEvents":[{}]}}"#, events.join(","))).unwrap();
    let trace = ingest::read(&[path], &attribution::needs(), &Progress::default()).unwrap();
    let stages = Stages::of(&trace, None);
    let found: Vec<_> = all_kernels(&trace).map(|row| stages.stage(row)).collect();
    assert_eq!(found, [Stage::Draft, Stage::Verify, Stage::Prefill, Stage::Other]);
}

#[test]
fn steps_of_the_draft_model_were_merged_with_those_of_the_target() {
    let mut run = Run::new("x.json");
    run.region("user_annotation", "draft", 0, 0, 100);
    run.region("user_annotation", "step[DECODE bs=4]", 0, 10, 50);
    run.region("user_annotation", "verify", 0, 200, 300);
    run.region("user_annotation", "draft_extend", 0, 400, 500);
    run.region("user_annotation", "step[DECODE bs=4]", 0, 600, 700);
    for at in [20, 210, 410, 610] {
        run.launch(0, at, 1);
    }
    let (trace, stages) = run.stages();
    let found: Vec<_> = all_kernels(&trace).map(|row| stages.stage(row)).collect();
    assert_eq!(found, [Stage::Draft, Stage::Verify, Stage::Draft, Stage::Decode]);
}

#[test]
fn annotations_that_people_write_were_other() {
    let mut run = Run::new("x.json");
    run.region("user_annotation", "ProfilerStep#0", 0, 0, 1000);
    run.region("user_annotation", "prefill", 0, 10, 50);
    run.region("user_annotation", "decode_3", 0, 100, 150);
    run.region("user_annotation", "forward", 0, 200, 250);
    run.region("user_annotation", "backward", 0, 300, 350);
    run.region("user_annotation", "optimizer step", 0, 400, 450);
    for at in [20, 110, 210, 310, 410, 500] {
        run.launch(0, at, 1);
    }
    let (trace, stages) = run.stages();
    let found: Vec<_> = all_kernels(&trace).map(|row| stages.stage(row)).collect();
    use Stage::{Backward, Decode, Forward, Optimizer, Other, Prefill};
    assert_eq!(found, [Prefill, Decode, Forward, Backward, Optimizer, Other]);
    let numbers: Vec<_> =
        all_kernels(&trace).map(|row| stages.step(row).map(|s| stages.steps[s].number)).collect();
    assert_eq!(numbers, [Some(0); 6], "all of one step of the profiler");
}

#[test]
fn plain_words_inside_the_steps_of_a_framework_tell_nothing() {
    let mut run = Run::new("x.json");
    run.region("user_annotation", "step[DECODE bs=4]", 0, 0, 100);
    run.region("user_annotation", "forward", 0, 10, 50);
    run.launch(0, 20, 1);
    let (trace, stages) = run.stages();
    assert_eq!(stages.stage(RowRef::kernel(0)), Stage::Decode);
    assert_eq!(trace.kernels.len(), 1);
}

#[test]
fn patterns_of_the_users_own_come_first() {
    let mut run = Run::new("x.json");
    run.region("user_annotation", "read the prompt", 0, 0, 100);
    run.launch(0, 20, 1);
    run.trace.finish();
    let mut own = rocm_perf_model::stages::StagePatterns::default();
    own.add("extend=^read the").unwrap();
    assert_eq!(Stages::with(&run.trace, None, &own).stage(RowRef::kernel(0)), Stage::Prefill);
    assert_eq!(Stages::of(&run.trace, None).stage(RowRef::kernel(0)), Stage::Other);
}
