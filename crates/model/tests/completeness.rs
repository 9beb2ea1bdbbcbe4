//! Finds lost kernels, and raises no alarm on complete traces: a sweep over simulated runs.

use std::path::Path;

use ingest::Progress;
use rocm_perf_model::completeness::{Completeness, Evidence};
use synth::{GenerateOptions, Generated, Loss, LossKind, Options, OutputFormat, Scenario};
use trace::{Needs, Status, Trace};

/// Scenarios with something to lose of each kind, and their number of steps.
const GRAPHS: [(&str, u64); 3] = [("serving", 6), ("clean-replay", 4), ("tiny-kernels", 6)];
const EAGER: [(&str, u64); 4] = [("clean", 6), ("launch-bound", 4), ("eager", 4), ("serialised-streams", 6)];
const STREAMS: [(&str, u64); 3] = [("training", 2), ("serialised-streams", 8), ("exposed-communication", 6)];
const RANKS: [(&str, u64); 3] = [("training", 2), ("clean-ranks", 4), ("straggler", 4)];

/// The first seed of a sweep; set `COMPLETENESS_SEED` for runs that nobody has looked at.
fn first_seed() -> u64 {
    std::env::var("COMPLETENESS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

fn generate(folder: &Path, scenario: &str, steps: u64, seed: u64, lose: Vec<Loss>) -> Generated {
    // Neighbouring seeds differ in kind and scenario; each kind meets both formats.
    let format =
        if (seed / 4 + seed / 12).is_multiple_of(2) { OutputFormat::Rocpd } else { OutputFormat::Torch };
    let options = GenerateOptions {
        options: Options { seed, steps: Some(steps), stacks: false, lose, ..Options::default() },
        mapping: false,
        force: true,
        ..GenerateOptions::new(Scenario::builtin(scenario).unwrap(), folder, format)
    };
    synth::generate(&options).unwrap()
}

fn read(generated: &Generated) -> Trace {
    let paths: Vec<_> =
        generated.files.iter().filter(|file| file.format.is_some()).map(|file| file.path.clone()).collect();
    ingest::read(&paths, &Needs::summary(), &Progress::default()).unwrap()
}

fn run(scenario: &str, steps: u64, seed: u64, lose: Vec<Loss>) -> (Generated, Trace) {
    let folder = tempfile::tempdir().unwrap();
    let generated = generate(folder.path(), scenario, steps, seed, lose);
    let trace = read(&generated);
    (generated, trace)
}

#[test]
fn losses_of_every_kind_are_found_and_their_time_is_within_its_bounds() {
    let kinds: [(LossKind, &[(&str, u64)]); 4] = [
        (LossKind::Graph, &GRAPHS),
        (LossKind::Eager, &EAGER),
        (LossKind::Stream, &STREAMS),
        (LossKind::Rank, &RANKS),
    ];
    let (mut found, mut within, mut close, mut runs) = (0, 0, 0, 0);
    for seed in 0..100u64 {
        let (kind, scenarios) = kinds[(seed % 4) as usize];
        let (scenario, steps) = scenarios[(seed / 4) as usize % scenarios.len()];
        // From 1 % to 90 %, evenly on a logarithmic scale.
        let share = 0.01 * 90f64.powf((seed / 4) as f64 / 24.0);
        let (generated, trace) = run(scenario, steps, first_seed() + seed, vec![Loss { kind, share }]);
        let complete = Completeness::of(&trace);
        let lost: i64 = generated.truth.lost.iter().map(|loss| loss.time_ns).sum();
        let time = complete.missing_time();
        let is_within = time.is_some_and(|time| time.low <= lost && lost <= time.high);
        runs += 1;
        found += usize::from(complete.status() != Status::Pass);
        within += usize::from(is_within);
        let off = |likely: i64| (likely - lost).abs() as f64 / lost as f64;
        close += usize::from(time.is_some_and(|time| off(time.likely) <= 0.25));
        if !is_within || complete.status() != Status::Fail {
            println!(
                "{scenario} {kind:?} {share:.3} seed {seed}: lost {lost}, said {time:?}; {:?}",
                complete.missing
            );
        }
    }
    println!("{found} found, {within} within bounds, {close} within 25 %, of {runs}");
    assert!(found >= 99, "found {found} of {runs}");
    assert!(within >= 95, "within bounds {within} of {runs}");
    // Bounds that hold only because they are far apart are useless.
    assert!(close >= 85, "close to the truth {close} of {runs}");
}

#[test]
fn complete_runs_raise_no_alarm() {
    let mut alarms = 0;
    let names: Vec<&str> = Scenario::builtin_names().collect();
    for seed in 0..100u64 {
        let scenario = names[(seed / 2) as usize % names.len()];
        let (_, trace) = run(scenario, 2 + seed % 3, first_seed() + seed, Vec::new());
        let complete = Completeness::of(&trace);
        if complete.status() != Status::Pass {
            println!("{scenario} seed {seed}: {:?}", complete.missing);
            alarms += 1;
        }
    }
    println!("{alarms} false alarms of 100");
    assert!(alarms <= 1, "{alarms} false alarms");
}

/// Launches of graphs, each with its number and the names and starts of its kernels, which run for 10 each.
fn replays(launches: &[(i64, &[(&str, i64)])]) -> Trace {
    let mut trace = unfinished(launches);
    trace.finish();
    trace
}

fn unfinished(launches: &[(i64, &[(&str, i64)])]) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(trace::Source::named("a", "test"));
    let guid = trace.strings.intern("g");
    let process = trace.add_process(trace::Process { guid, ..trace::Process::new(source, 1) });
    let launch = trace.strings.intern("hipGraphLaunch");
    for (place, (exec, kernels)) in (0..).zip(launches) {
        let (start, correlation) = (1000 * place, place + 1);
        let call =
            trace::Region { name: launch, start, end: start + 5, process, correlation, ..Default::default() };
        trace.regions.push(call);
        for (node, (name, at)) in (1..).zip(*kernels) {
            let row = trace::RowRef::kernel(trace.kernels.len());
            trace.graph_nodes.push(trace::GraphNode { row, exec: *exec, node });
            let (name, start) = (trace.strings.intern(name), start + at);
            let kernel =
                trace::Kernel { name, start, end: start + 10, process, correlation, ..Default::default() };
            trace.kernels.push(kernel);
        }
    }
    trace
}

const WHOLE: &[(&str, i64)] = &[("a", 10), ("b", 20), ("c", 30), ("d", 40)];
/// Without `d`, and without a gap to show it.
const CUT: &[(&str, i64)] = &[("a", 10), ("b", 20), ("c", 30)];
/// Without `b` and `c`, where they would have run.
const HOLLOW: &[(&str, i64)] = &[("a", 10), ("d", 40)];

#[test]
fn launches_of_one_numbered_graph_must_have_the_same_kernels() {
    let told = Completeness::of(&replays(&[(7, WHOLE), (7, CUT), (7, WHOLE), (7, CUT), (7, WHOLE)]));
    let missing: Vec<_> = told.missing.iter().map(|m| (m.evidence, m.launches, m.kernels)).collect();
    assert_eq!(missing, [(Evidence::PartialReplays, 2, Some(2))]);
    let time = told.missing_time().unwrap();
    assert!(time.low <= 20 && 20 <= time.high, "{time:?}");
}

#[test]
fn a_graph_of_copies_beside_one_graph_of_kernels_ended_the_program() {
    const COPIES: &[(&str, i64)] = &[];
    let mut trace = unfinished(&[(7, WHOLE), (8, COPIES), (7, WHOLE)]);
    let process = trace.kernels.process[0];
    trace.memory_copies.push(trace::MemoryCopy {
        start: 1010,
        end: 1020,
        process,
        correlation: 2,
        ..Default::default()
    });
    trace.finish();
    assert_eq!(Completeness::of(&trace).missing, []);
}

#[test]
fn a_smaller_graph_with_a_number_of_its_own_has_lost_nothing() {
    let two = Completeness::of(&replays(&[(7, WHOLE), (8, HOLLOW), (7, WHOLE), (8, HOLLOW), (7, WHOLE)]));
    assert_eq!(two.missing, []);
    // By their gaps alone they would be part of the larger graph.
    let one = Completeness::of(&replays(&[(7, WHOLE), (7, HOLLOW), (7, WHOLE), (7, HOLLOW), (7, WHOLE)]));
    assert_eq!(one.missing.len(), 1);
}

#[test]
fn launches_of_one_numbered_graph_that_each_lost_another_kernel_are_all_partial() {
    const NO_A: &[(&str, i64)] = &[("b", 20), ("c", 30), ("d", 40)];
    let told = Completeness::of(&replays(&[(7, CUT), (7, NO_A), (7, CUT), (7, NO_A)]));
    let missing: Vec<_> = told.missing.iter().map(|m| (m.evidence, m.launches, m.kernels)).collect();
    assert_eq!(missing, [(Evidence::PartialReplays, 4, Some(4))]);
}

#[test]
fn the_same_loss_in_every_replay_cannot_be_judged_without_a_capture() {
    let lose = vec![Loss { kind: LossKind::Replay, share: 0.125 }];
    let (_, mut trace) = run("serving", 6, 3, lose);
    let complete = Completeness::of(&trace);
    assert_eq!(complete.missing, []);
    complete.report_to(&mut trace);
    let check = trace.health.checks.iter().find(|check| check.id == "complete").unwrap();
    assert_eq!(check.status, Status::Pass);
    assert!(check.message.contains("cannot judge"), "{}", check.message);
}

#[test]
fn replays_that_all_lost_other_kernels_are_found_though_none_is_whole() {
    // Each loss leaves a different launch whole.
    let lose = vec![Loss { kind: LossKind::Graph, share: 0.75 }, Loss { kind: LossKind::Graph, share: 0.75 }];
    let (generated, trace) = run("serving", 9, 5, lose);
    let complete = Completeness::of(&trace);
    assert_eq!(complete.status(), Status::Fail);
    let lost: i64 = generated.truth.lost.iter().map(|loss| loss.time_ns).sum();
    let time = complete.missing_time().unwrap();
    assert!(time.low <= lost && lost <= time.high, "{lost} {time:?}");
}

#[test]
fn a_capture_tells_what_every_replay_lost() {
    let folder = tempfile::tempdir().unwrap();
    let options = |lose: Vec<Loss>, out: &str| GenerateOptions {
        options: Options { steps: Some(6), stacks: false, lose, ..Options::default() },
        ..GenerateOptions::new(
            Scenario::builtin("serving").unwrap(),
            folder.path().join(out),
            OutputFormat::Torch,
        )
    };
    let read = |generated: &Generated| {
        let wanted =
            generated.files.iter().filter(|file| file.format.is_some() && file.role != Some("mapping"));
        let paths: Vec<_> = wanted.map(|file| file.path.clone()).collect();
        Completeness::of(&ingest::read(&paths, &Needs::summary(), &Progress::default()).unwrap())
    };
    let whole = read(&synth::generate(&options(Vec::new(), "whole")).unwrap());
    assert_eq!((whole.missing.len(), whole.has_capture), (0, true));
    let lose = vec![Loss { kind: LossKind::Replay, share: 0.125 }];
    let generated = synth::generate(&options(lose, "lost")).unwrap();
    let lost = read(&generated);
    assert_eq!(
        lost.missing.iter().map(|missing| missing.evidence).collect::<Vec<_>>(),
        [Evidence::FewerThanCaptured]
    );
    assert_eq!(lost.missing[0].kernels, Some(generated.truth.lost[0].kernels as usize));
    let (time, truth) = (lost.missing_time().unwrap(), generated.truth.lost[0].time_ns);
    assert!(time.low <= truth && truth <= time.high, "{truth} {time:?}");
}

#[test]
fn a_rank_that_is_silent_is_named() {
    let lose = vec![Loss { kind: LossKind::Rank, share: 1.0 }];
    let (generated, trace) = run("clean-ranks", 3, 8, lose);
    let complete = Completeness::of(&trace);
    let silent: Vec<_> =
        complete.missing.iter().filter(|missing| missing.evidence == Evidence::SilentRank).collect();
    assert_eq!(silent.len(), 1, "{:?}", complete.missing);
    assert_eq!(silent[0].recording, format!("rank {}", generated.truth.lost[0].rank));
    assert_eq!(complete.status(), Status::Fail);
}
