//! `compare --by ops`: against TraceLens' comparison of two vendors, and on pairs with a known change.

use std::collections::BTreeMap;
use std::path::Path;

use model::Run;
use model::classify::Classifier;
use rocm_perf_analysis::ops_needs;
use rocm_perf_analysis::timeline::compare::structure::{ChangeKind, How, StructuralRun, Structure};
use rocm_perf_analysis::timeline::compare::{CompareOptions, Comparison, MeasuredRun, compute};
use trace::{Kernel, Process, ProcessId, Region, Source, StreamId, Thread, ThreadId, Trace};

fn measured(trace: &Trace) -> MeasuredRun {
    let classifier = Classifier::builtin();
    let run = Run::new(trace, None, &classifier, 0.0).expect("one model");
    MeasuredRun::of(trace, &classifier).with_structure(StructuralRun::of(&run))
}

fn compared(base: &Trace, candidate: &Trace) -> Comparison {
    compute(vec![measured(base)], vec![measured(candidate)], &CompareOptions::default())
}

fn structure(comparison: &Comparison) -> &Structure {
    comparison.structure.as_ref().expect("both runs have their trees")
}

fn read(path: &Path) -> Trace {
    ingest::read(&[path.to_path_buf()], &ops_needs(), &ingest::Progress::default()).expect("a readable trace")
}

/// The contributions explain the change of the span to the nanosecond.
fn assert_adds_up(comparison: &Comparison) {
    let span = comparison.rows.end_to_end.iter().find(|row| row.name == "span").expect("a span");
    let change = span.candidate.unwrap().total - span.base.unwrap().total;
    let causes = &structure(comparison).span_causes;
    assert_eq!(causes.iter().map(|cause| cause.contribution_ns()).sum::<i64>(), change);
    assert!(causes.iter().all(|cause| cause.name != "(elsewhere)"), "{causes:?}");
}

#[test]
fn two_vendors_match_by_their_ops_as_tracelens_says() {
    let Some(folder) = testing::data("traces") else { return };
    let (h100, mi300) =
        (read(&folder.join("h100_qwen1.5-0.5b.json.gz")), read(&folder.join("mi300_qwen1.5-0.5b.json.gz")));
    let comparison = compared(&h100, &mi300);
    let found = structure(&comparison);
    assert!(found.smaller_matched_pct() >= 95.0, "{:?}", found.matched_pct);
    assert_adds_up(&comparison);
    let mut totals: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    for place in &found.rows {
        let sides = [place.row.base, place.row.candidate].map(|side| side.map_or(0, |side| side.total));
        let total = totals.entry(&place.row.name).or_default();
        *total = [total[0] + sides[0], total[1] + sides[1]];
    }
    let path = folder.join("expected/compare_h100_vs_mi300_qwen/ops_summary.csv");
    let mut reader = csv::Reader::from_path(path).expect("a reference");
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a row");
        for (side, column) in
            ["h100::total_direct_kernel_time_ms", "mi300::total_direct_kernel_time_ms"].iter().enumerate()
        {
            let expected = row[*column].parse::<f64>().unwrap_or(0.0) * 1e6;
            let ours = totals.get(row["name"].as_str()).map_or(0, |total| total[side]);
            assert!(
                (ours as f64 - expected).abs() <= 1_000.0,
                "{} {column}: {ours}, not {expected}",
                row["name"]
            );
        }
    }
    // Kernels of two vendors share no name; they are joined by the ops that launched them.
    let attention =
        comparison.rows.kernels.iter().find(|row| row.matched_name.as_deref() == Some("attn_fwd"));
    assert!(attention.is_some_and(|row| row.name.contains("flash_fwd_kernel")), "{attention:?}");
    let classifier = Classifier::builtin();
    let by_name = [&h100, &mi300].map(|trace| vec![MeasuredRun::of(trace, &classifier)]);
    let [base, candidate] = by_name;
    let by_name = compute(base, candidate, &CompareOptions::default()).unpaired_pct();
    assert!(2.0 * comparison.unpaired_pct() < by_name, "{} against {by_name}", comparison.unpaired_pct());
}

/// An op of a layer: its kernel and the kernel's duration.
#[derive(Clone, PartialEq)]
struct Op {
    name: String,
    kernel: String,
    ns: i64,
}

/// A model: layers by class, each with a list of ops.
#[derive(Clone)]
struct Model {
    classes: BTreeMap<String, Vec<Op>>,
    layers: Vec<String>,
}

struct Draws(u64);

impl Draws {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % below as u64) as usize
    }
}

const OPS: [&str; 10] = [
    "aten::mm",
    "aten::add",
    "aten::mul",
    "aten::silu",
    "aten::rms_norm",
    "aten::_flash_attention_forward",
    "aten::cat",
    "aten::copy_",
    "aten::softmax",
    "vllm::rotary_embedding",
];

impl Model {
    fn drawn(draws: &mut Draws) -> Self {
        let layer = |class: &str, draws: &mut Draws| -> Vec<Op> {
            let count = 4 + draws.next(5);
            let op = |at: usize, draws: &mut Draws| Op {
                name: OPS[draws.next(OPS.len())].to_string(),
                kernel: format!("{class}_kernel_{}", ["alpha", "beta", "gamma", "delta"][at % 4]),
                ns: 5_000 + 1_000 * draws.next(200) as i64,
            };
            (0..count).map(|at| op(at, draws)).collect()
        };
        let mut classes = BTreeMap::new();
        for class in ["Attention", "Mlp"] {
            classes.insert(class.to_string(), layer(class, draws));
        }
        let layers = (0..3 + draws.next(9)).flat_map(|_| ["Attention", "Mlp"]).map(String::from).collect();
        Self { classes, layers }
    }

    fn trace(&self, seed: u64) -> Trace {
        let mut draws = Draws(seed);
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("made", "torch"));
        let guid = trace.strings.intern(&format!("run {seed}"));
        let process = trace.add_process(Process { guid, ..Process::new(source, 1) });
        let thread = trace.add_thread(Thread { process, tid: 1, ..Thread::default() });
        let stream = trace.add_stream(trace::Stream { process, id: 7, ..trace::Stream::default() });
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut host, mut gpu, mut correlation) = (0i64, 0i64, 0i64);
        for class in &self.layers {
            let number = numbers.entry(class).or_default();
            let (began, module) = (host, format!("nn.Module: {class}_{number}"));
            *number += 1;
            for op in &self.classes[class] {
                correlation += 1;
                push(&mut trace, (process, thread), "cpu_op", &op.name, (host + 10, host + 90), 0);
                push(
                    &mut trace,
                    (process, thread),
                    "cuda_runtime",
                    "hipLaunchKernel",
                    (host + 20, host + 60),
                    correlation,
                );
                let start = gpu.max(host + 70);
                // Runs of one program differ by one percent.
                gpu = start + op.ns * (990 + draws.next(21) as i64) / 1_000;
                let name = trace.strings.intern(&op.kernel);
                let (end, stream) = (gpu, StreamId(stream.0));
                trace.kernels.push(Kernel {
                    name,
                    start,
                    end,
                    process,
                    stream,
                    correlation,
                    ..Kernel::default()
                });
                host += 100;
            }
            push(&mut trace, (process, thread), "python_function", &module, (began, host), 0);
        }
        trace.finish();
        trace
    }
}

impl Model {
    /// The same model run by the simulator, written and read back as a torch trace.
    fn simulated(&self, seed: u64) -> Trace {
        let mut text = String::from("name = \"drawn\"\nsteps = 1\n");
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for op in self.classes.values().flatten() {
            let next = numbers.len();
            numbers.entry(&op.kernel).or_insert(next);
        }
        // Equal names are one kernel, with the time of its first op.
        let mut written = std::collections::BTreeSet::new();
        for op in self.classes.values().flatten() {
            if written.insert(&op.kernel) {
                let (number, us) = (numbers[op.kernel.as_str()], op.ns as f64 / 1e3);
                text +=
                    &format!("[kernels.k{number}]\nname = \"{}\"\nmean_us = {us:?}\ncv = 0.01\n", op.kernel);
            }
        }
        for (class, ops) in &self.classes {
            text += &format!("[sequences.{class}]\nmodule = \"{class}\"\nprogram = [\n");
            for op in ops {
                let number = numbers[op.kernel.as_str()];
                text += &format!("{{ launch = {{ kernel = \"k{number}\", op = \"{}\" }} }},\n", op.name);
            }
            text += "]\n";
        }
        text += "[[step]]\nprogram = [\n";
        for class in &self.layers {
            text += &format!("{{ repeat = {{ sequence = \"{class}\" }} }},\n");
        }
        text += "]\n";
        let scenario = synth::Scenario::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let folder = tempfile::tempdir().unwrap();
        let options = synth::GenerateOptions {
            options: synth::Options { seed, ..synth::Options::default() },
            ..synth::GenerateOptions::new(scenario, folder.path(), synth::OutputFormat::Torch)
        };
        read(&synth::generate(&options).unwrap().files[0].path)
    }
}

fn push(
    trace: &mut Trace,
    (process, thread): (ProcessId, ThreadId),
    category: &str,
    name: &str,
    (start, end): (i64, i64),
    correlation: i64,
) {
    let (category, name) = (trace.strings.intern(category), trace.strings.intern(name));
    trace.regions.push(Region {
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

#[test]
fn renamed_kernels_fused_ops_and_an_inserted_layer_are_named() {
    let named = changes_named(0..100, Model::trace);
    assert!(named.iter().all(|&count| count >= 95), "{named:?} of 100");
}

#[test]
fn the_same_changes_are_named_in_runs_of_the_simulator() {
    let named = changes_named(20_000..20_100, Model::simulated);
    assert!(named.iter().all(|&count| count >= 95), "{named:?} of 100");
}

/// For how many pairs the renamed kernels, the fused op and the inserted layer were named.
fn changes_named(seeds: std::ops::Range<u64>, run: impl Fn(&Model, u64) -> Trace) -> [usize; 3] {
    let mut named = [0; 3];
    for seed in seeds {
        let mut draws = Draws(seed * 7919 + 1);
        let base = Model::drawn(&mut draws);
        let mut candidate = base.clone();
        for op in candidate.classes.values_mut().flatten() {
            op.kernel = format!("other_vendor_{}", op.kernel);
        }
        // Fuses two adjacent ops into one.
        let fused = candidate.classes.get_mut("Mlp").unwrap();
        let at = draws.next(fused.len() - 1);
        let (one, two) = (fused[at].clone(), fused.remove(at + 1));
        fused[at] =
            Op { name: "custom::fused".into(), kernel: "fused_kernel".into(), ns: (one.ns + two.ns) / 2 };
        // Inserts a layer of a known or a new class.
        let is_new = draws.next(2) == 0;
        let class = if is_new { "Adapter" } else { "Attention" };
        if is_new {
            candidate.classes.insert(
                class.into(),
                vec![Op { name: "aten::mm".into(), kernel: "adapter".into(), ns: 50_000 }],
            );
        }
        let place = 2 * draws.next(candidate.layers.len() / 2);
        candidate.layers.insert(place, class.into());

        let comparison = compared(&run(&base, seed), &run(&candidate, seed + 1_000));
        assert_adds_up(&comparison);
        let changes = &structure(&comparison).changes;
        named[0] += usize::from(changes.iter().any(|change| {
            change.kind == ChangeKind::Kernels
                && change.candidate.contains("other_vendor_")
                && change.candidate.replace("other_vendor_", "") == change.base
        }));
        named[1] += usize::from(changes.iter().any(|change| {
            let gone = [&one.name, &two.name].iter().any(|name| change.base.contains(name.as_str()));
            let is_there = change.candidate.contains("custom::fused") && change.path == "Mlp";
            is_there && (gone && change.kind == ChangeKind::Replaced || change.kind == ChangeKind::Added)
        }));
        named[2] += usize::from(changes.iter().any(|change| match is_new {
            true => change.kind == ChangeKind::Added && change.candidate == "Adapter",
            false => {
                change.kind == ChangeKind::Calls
                    && change.base == "Attention"
                    && change.candidate_calls == change.base_calls + 1.0
            }
        }));
    }
    named
}

#[test]
fn one_op_against_three_is_one_row() {
    let op = |name: &str, ns: i64| Op { name: name.into(), kernel: format!("{name} kernel"), ns };
    let model = |ops: &[Op]| Model {
        classes: BTreeMap::from([("Block".to_string(), ops.to_vec())]),
        layers: vec!["Block".into(); 4],
    };
    let (first, last) = (op("aten::mm", 80_000), op("aten::bmm", 70_000));
    let base = model(&[first.clone(), op("vllm::silu_and_mul", 20_000), last.clone()]);
    let split = [op("aten::chunk", 9_000), op("aten::silu", 11_000), op("aten::mul", 12_000)];
    let candidate = model(&[vec![first], split.to_vec(), vec![last]].concat());
    let comparison = compared(&base.trace(1), &candidate.trace(2));
    assert_adds_up(&comparison);
    let found = structure(&comparison);
    let replaced: Vec<_> = found.rows.iter().filter(|place| place.how == How::Replaced).collect();
    assert_eq!(replaced.len(), 1);
    assert_eq!(replaced[0].row.name, "vllm::silu_and_mul");
    assert_eq!(replaced[0].row.matched_name.as_deref(), Some("aten::chunk + aten::silu + aten::mul"));
    assert_eq!(replaced[0].path, "Block");
    let change =
        found.changes.iter().find(|change| change.kind == ChangeKind::Replaced).expect("it is named");
    assert_eq!((change.path.as_str(), change.base.as_str()), ("Block", "vllm::silu_and_mul"));
}

/// Names do not show which kernels of two vendors or versions do the same thing.
#[test]
fn a_kernel_of_another_name_was_gone_and_new_although_the_same_op_runs_it() {
    let op = |name: &str, kernel: &str, ns: i64| Op { name: name.into(), kernel: kernel.into(), ns };
    let model = |ops: Vec<Op>| Model {
        classes: BTreeMap::from([("Block".to_string(), ops)]),
        layers: vec!["Block".into(); 6],
    };
    let base = model(vec![op("aten::mm", "nvjet_tst_128x256", 80_000), op("aten::silu", "silu_vec4", 9_000)]);
    let renamed =
        model(vec![op("aten::mm", "Cijk_MT128x256_IGLP", 70_000), op("aten::silu", "act_and", 9_000)]);
    let comparison = compared(&base.trace(1), &renamed.trace(2));
    let pairs: Vec<_> = comparison
        .rows
        .kernels
        .iter()
        .map(|row| (row.name.as_str(), row.matched_name.as_deref().unwrap_or_default()))
        .collect();
    assert!(pairs.contains(&("nvjet_tst_128x256", "Cijk_MT128x256_IGLP")), "{pairs:?}");
    assert!(pairs.contains(&("silu_vec4", "act_and")), "{pairs:?}");
    assert_eq!((pairs.len(), comparison.unpaired_pct()), (2, 0.0));
}

#[test]
fn a_run_compared_with_another_of_the_same_program_has_no_changes() {
    for seed in 0..20 {
        let model = Model::drawn(&mut Draws(seed + 5));
        let comparison = compared(&model.trace(seed), &model.trace(seed + 500));
        assert_eq!(structure(&comparison).changes, [], "{seed}");
        assert_eq!(structure(&comparison).matched_pct, [100.0, 100.0]);
        assert_adds_up(&comparison);
    }
}
