//! Runs of many ranks: what `truth.json` says across ranks is what the traces show, computed another way.

use std::collections::BTreeMap;

use rocm_perf_synth::{
    Cause, Dialect, Faults, GenerateOptions, Options, OutputFormat, Parallelism, RanksTruth, Scenario,
    Simulation, SlowLink, Straggler, Where, generate, simulate,
};
use trace::{Table, Trace};

fn run(name: &str, options: Options) -> Simulation {
    simulate(&Scenario::builtin(name).unwrap(), &Options { steps: Some(4), stacks: false, ..options })
        .unwrap()
}

fn across(simulation: &Simulation) -> &RanksTruth {
    simulation.truth.across_ranks.as_ref().unwrap()
}

fn straggler(text: &str) -> Options {
    let stragglers = vec![text.parse::<Straggler>().unwrap()];
    Options { faults: Faults { stragglers, ..Faults::default() }, ..Options::default() }
}

/// The reading of a rank's clock at a moment of true time, according to the truth.
fn shown(simulation: &Simulation, rank: u32, true_ns: i64) -> f64 {
    // Runs begin at a reading that is the same for all ranks: that of a clock that is not off.
    const BEGIN: f64 = 63_855_948_165_371.0;
    let truth = &simulation.truth.ranks[rank as usize];
    BEGIN + truth.clock_offset_ns as f64 + true_ns as f64 * (1.0 + truth.clock_drift_ppm * 1e-6)
}

/// Start and end of the collectives of a rank, by group, whether between two ranks, and number.
fn met(trace: &Trace) -> BTreeMap<(String, bool, i64), (i64, i64)> {
    trace
        .collectives
        .rows()
        .map(|c| {
            let kernel = c.row.row_of(Table::Kernels).unwrap();
            let p2p = ["send", "recv"].contains(&trace.strings.get(c.operation));
            let key = (trace.strings.get(c.group).to_string(), p2p, c.sequence.get().unwrap());
            (key, (trace.kernels.start[kernel], trace.kernels.end[kernel]))
        })
        .collect()
}

/// Checks every collective of the truth against the records of its ranks; returns how many were checked.
fn check_collectives(simulation: &Simulation) -> usize {
    let records: Vec<_> = simulation.runs.iter().map(|run| met(&run.trace)).collect();
    let mut checked = 0;
    for meeting in &across(simulation).collectives {
        let p2p = meeting.operation == "send";
        let last = *meeting.arrived_ns.iter().max().unwrap();
        assert_eq!(meeting.end_ns, last + meeting.transfer_ns);
        for (i, &rank) in meeting.ranks.iter().enumerate() {
            let key = (meeting.group.clone(), p2p, meeting.sequence[i] as i64);
            let record = records[rank as usize].get(&key);
            if meeting.lost.contains(&rank) {
                assert!(record.is_none(), "{key:?}");
                continue;
            }
            let &(start, end) = record.unwrap_or_else(|| panic!("rank {rank} has no {key:?}"));
            assert_eq!(meeting.waited_ns[i], last - meeting.arrived_ns[i]);
            assert!((start as f64 - shown(simulation, rank, meeting.arrived_ns[i])).abs() < 10.0, "{key:?}");
            // Ranks leave within a few microseconds.
            let late = end as f64 - shown(simulation, rank, meeting.end_ns);
            assert!((-10.0..20_000.0).contains(&late), "{key:?}: {late}");
            checked += 1;
        }
    }
    assert_eq!(checked, records.iter().map(BTreeMap::len).sum::<usize>());
    checked
}

#[test]
fn collectives_of_all_groups_are_where_the_truth_says() {
    let faults = Faults { clock_offset_ms: Some(5.0), drift_ppm: Some(20.0), ..Faults::default() };
    let parallel = Parallelism { pipeline: Some(4), ..Parallelism::default() };
    let options = Options { ranks: Some(16), faults, parallel, ..Options::default() };
    let simulation = run("parallel-training", options);
    let offsets: Vec<i64> = simulation.truth.ranks.iter().map(|r| r.clock_offset_ns).collect();
    assert!(offsets.iter().all(|ns| ns.abs() <= 5_000_000) && offsets.iter().any(|ns| ns.abs() > 2_000_000));
    assert!(check_collectives(&simulation) > 16 * 4 * 30);
    let kinds: Vec<&str> = across(&simulation).groups.iter().map(|group| group.kind).collect();
    for kind in ["world", "tensor", "pipeline", "data"] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    check_collectives(&run("expert-training", Options::default()));
}

#[test]
fn sums_of_groups_are_those_of_their_collectives() {
    let simulation = run("parallel-training", straggler("any:more-work:1.2"));
    for group in &across(&simulation).groups {
        let mine: Vec<_> =
            across(&simulation).collectives.iter().filter(|meeting| meeting.group == group.name).collect();
        assert_eq!(group.meetings as usize, mine.len());
        assert_eq!(group.transfer_ns, mine.iter().map(|meeting| meeting.transfer_ns).sum::<i64>());
        for (place, rank) in group.ranks.iter().enumerate() {
            let waited =
                mine.iter().filter_map(|m| Some(m.waited_ns[m.ranks.iter().position(|r| r == rank)?]));
            assert_eq!(group.waited_ns[place], waited.sum::<i64>());
        }
    }
}

/// Time of all kernels of a rank that do not communicate, and their number.
fn compute(trace: &Trace) -> (i64, usize) {
    let rows = trace.kernels.rows().filter(|k| !trace.strings.get(k.name).contains("nccl"));
    rows.fold((0, 0), |(time, count), k| (time + k.end - k.start, count + 1))
}

#[test]
fn a_straggler_is_late_by_its_cause_and_nothing_else() {
    let clean = run("parallel-training", Options::default());
    assert_eq!(across(&clean).step_time_ns, across(&clean).step_time_without_ns);
    assert!(across(&clean).causes.is_empty());
    for cause in ["more-work", "larger-kernels", "slower-kernels", "lower-clocks", "data-loader", "gc-pause"]
    {
        let late = run("parallel-training", straggler(&format!("3:{cause}:1.4")));
        let truth = across(&late);
        let [it] = &truth.causes[..] else { panic!("one cause") };
        assert_eq!((it.rank, it.made_by.as_str()), (Some(3), cause));
        // The same seed without the cause is the clean run.
        assert_eq!(truth.step_time_without_ns, across(&clean).step_time_ns, "{cause}");
        assert_eq!(it.step_time_without_ns, truth.step_time_without_ns, "{cause}");
        assert!(truth.step_time_ns > truth.step_time_without_ns * 103 / 100, "{cause}: {truth:?}");
        for (rank, (with, without)) in late.runs.iter().zip(&clean.runs).enumerate() {
            let ((time, count), (usual, usual_count)) = (compute(&with.trace), compute(&without.trace));
            if rank != 3 || it.cause == "host-idle" {
                assert_eq!((time, count), (usual, usual_count), "{cause}: rank {rank}");
            } else {
                assert_eq!(time - usual, it.added_ns, "{cause}");
                assert_eq!(count > usual_count, cause == "more-work", "{cause}");
            }
        }
    }
}

#[test]
fn a_straggler_has_its_marks_in_the_trace() {
    let grids = |trace: &Trace| trace.shapes.iter().filter_map(|s| s.grid).map(|grid| grid[0]).max().unwrap();
    let larger = run("parallel-training", straggler("1:larger-kernels:1.5"));
    assert_eq!(grids(&larger.runs[1].trace), grids(&larger.runs[0].trace) * 3 / 2);
    let clocks = run("parallel-training", straggler("1:lower-clocks:1.25"));
    for run in &clocks.runs {
        let trace = &run.trace;
        let id = trace.strings.find("GPU clock").expect("the clock is sampled");
        let mhz: Vec<f64> = trace.samples.rows().filter(|s| s.name == id).map(|s| s.value).collect();
        let expected = if run.rank == 1 { 1680.0 } else { 2100.0 };
        assert!(!mhz.is_empty() && mhz.iter().all(|mhz| *mhz == expected), "{mhz:?}");
    }
}

#[test]
fn a_slow_link_costs_transfer_and_not_compute() {
    let clean = run("parallel-training", Options::default());
    let slow_links = vec!["data:1:3".parse::<SlowLink>().unwrap()];
    let faults = Faults { slow_links, ..Faults::default() };
    let slow = run("parallel-training", Options { faults, ..Options::default() });
    check_collectives(&slow);
    for (group, usual) in across(&slow).groups.iter().zip(&across(&clean).groups) {
        assert_eq!((&group.name, group.meetings), (&usual.name, usual.meetings));
        let factor = group.transfer_ns as f64 / usual.transfer_ns as f64;
        let expected = if (group.kind, group.index) == ("data", 1) { 3.0 } else { 1.0 };
        assert!((factor / expected - 1.0).abs() < 1e-3, "{}: {factor}", group.name);
    }
    for (with, without) in slow.runs.iter().zip(&clean.runs) {
        assert_eq!(compute(&with.trace), compute(&without.trace));
    }
    let cause = &across(&slow).causes[0];
    assert_eq!((cause.cause.as_str(), cause.group_kind), ("slow-link", Some("data")));
    assert_eq!(across(&slow).step_time_without_ns, across(&clean).step_time_ns);
}

#[test]
fn lateness_spreads_to_other_stages() {
    let late = run("parallel-training", straggler("0:slower-kernels:2"));
    let truth = across(&late);
    // Rank 0 is in the first stage; its tensor neighbour waits for it, and both hold up the second stage.
    assert!(truth.propagated.iter().all(|rank| rank.rank != 0));
    assert!(!truth.propagated.is_empty(), "{:?}", truth.groups);
}

#[test]
fn lost_collectives_are_named() {
    let lose = vec!["collective=10%".parse().unwrap()];
    let simulation = run("parallel-training", Options { lose, ..Options::default() });
    check_collectives(&simulation);
    let named: usize = across(&simulation).collectives.iter().map(|meeting| meeting.lost.len()).sum();
    let lost: u64 = simulation.truth.lost.iter().map(|loss| loss.kernels).sum();
    assert_eq!(named as u64, lost);
    assert_eq!(simulation.truth.lost.len(), 8);
}

#[test]
fn bubbles_are_the_gaps_of_compute_before_what_a_stage_receives() {
    let parallel = Parallelism { tensor: Some(1), pipeline: Some(4), expert: None };
    let simulation = run("parallel-training", Options { ranks: Some(4), parallel, ..Options::default() });
    let pipeline = across(&simulation).pipeline.as_ref().unwrap();
    assert_eq!(pipeline.stage, [0, 1, 2, 3]);
    for run in &simulation.runs {
        let trace = &run.trace;
        let receives = trace.collectives.rows().filter(|c| trace.strings.get(c.operation) == "recv");
        let ends: Vec<i64> =
            receives.map(|c| trace.kernels.end[c.row.row_of(Table::Kernels).unwrap()]).collect();
        // Compute is on the first stream; what ends a gap in it starts when a receive has ended.
        let mut work: Vec<(i64, i64)> =
            (trace.kernels.rows().filter(|k| trace.streams[k.stream.0 as usize].id == 0))
                .map(|k| (k.start, k.end))
                .chain(trace.memory_copies.rows().map(|c| (c.start, c.end)))
                .collect();
        work.sort_unstable();
        let mut gaps = 0;
        for pair in work.windows(2) {
            let (idle_from, idle_to) = (pair[0].1, pair[1].0);
            gaps += ends
                .iter()
                .filter(|e| (idle_from..=idle_to).contains(*e))
                .map(|e| e - idle_from)
                .max()
                .unwrap_or(0);
        }
        let truth = pipeline.bubble_ns[run.rank as usize];
        assert!((gaps - truth).abs() <= truth / 1000, "stage {}: {gaps} {truth}", run.rank);
    }
    assert!(pipeline.bubble_ns.iter().all(|ns| *ns > 0));
}

#[test]
fn experts_take_as_long_as_they_have_tokens() {
    let faults = Faults { expert_skew: 0.4, ..Faults::default() };
    let simulation = run("expert-training", Options { faults, ..Options::default() });
    let balanced = run("expert-training", Options::default());
    let truth = across(&simulation);
    let experts = truth.experts.as_ref().unwrap();
    let time = |trace: &Trace| -> i64 {
        let rows = trace.kernels.rows().filter(|k| trace.strings.get(k.name).contains("GroupedGemm"));
        rows.map(|k| k.end - k.start).sum()
    };
    for (rank, (with, without)) in simulation.runs.iter().zip(&balanced.runs).enumerate() {
        let ratio = time(&with.trace) as f64 / time(&without.trace) as f64;
        assert!((ratio / experts.load[rank] - 1.0).abs() < 1e-3, "rank {rank}: {ratio}");
    }
    for group in experts.load.chunks(4) {
        assert!((group.iter().sum::<f64>() - 4.0).abs() < 1e-9);
    }
    // What one rank sends, another receives: torch records both for dispatch and combine.
    let sent: i64 = simulation.runs[..4].iter().map(|run| bytes(&run.trace)).sum();
    let usual: i64 = balanced.runs[..4].iter().map(|run| bytes(&run.trace)).sum();
    assert!((sent - usual).abs() <= usual / 1000);
    assert_eq!(truth.causes[0].cause, "expert-imbalance");
    assert!(truth.step_time_without_ns < truth.step_time_ns);
    assert_eq!(truth.step_time_without_ns, across(&balanced).step_time_ns);
}

/// Bytes that a rank sends in all exchanges.
fn bytes(trace: &Trace) -> i64 {
    let exchanges = trace.collectives.rows().filter(|c| trace.strings.get(c.operation) == "all_to_allv");
    exchanges.map(|c| c.bytes.get().unwrap()).sum()
}

#[test]
fn the_seed_chooses_the_rank_where_any_will_do() {
    let ranks: std::collections::BTreeSet<u32> = (1..20)
        .map(|seed| {
            let options = Options { seed, steps: Some(1), ..straggler("any:data-loader:1.2") };
            let it = simulate(&Scenario::builtin("clean-ranks").unwrap(), &options).unwrap();
            across(&it).causes[0].rank.unwrap()
        })
        .collect();
    assert_eq!(ranks.len(), 2);
    let far = Straggler { rank: Where::Number(2), cause: Cause::MoreWork, factor: 2.0, kernel: None };
    let faults = Faults { stragglers: vec![far], ..Faults::default() };
    let options = Options { faults, ..Options::default() };
    assert!(simulate(&Scenario::builtin("clean-ranks").unwrap(), &options).is_err());
}

#[test]
fn options_that_a_scenario_cannot_follow_are_refused() {
    let parallel = Parallelism { pipeline: Some(2), ..Parallelism::default() };
    let error =
        simulate(&Scenario::builtin("training").unwrap(), &Options { parallel, ..Options::default() });
    assert!(error.unwrap_err().to_string().contains("parallel-training"));
    let options = Options { ranks: Some(6), ..Options::default() };
    let error = simulate(&Scenario::builtin("parallel-training").unwrap(), &options);
    assert!(error.unwrap_err().to_string().contains("cannot be split"));
}

fn read(path: &std::path::Path) -> Trace {
    let needs = trace::Needs::everything();
    ingest::read(&[path.to_path_buf()], &needs, &ingest::Progress::default()).unwrap()
}

#[test]
fn torch_files_tell_groups_numbers_and_sizes() {
    for (name, skew) in [("parallel-training", 0.0), ("expert-training", 0.4)] {
        let folder = tempfile::tempdir().unwrap();
        let scenario = Scenario::builtin(name).unwrap();
        let faults = Faults { expert_skew: skew, clock_offset_ms: Some(5.0), ..Faults::default() };
        let options = Options { steps: Some(2), stacks: false, faults, ..Options::default() };
        let written = GenerateOptions {
            options: options.clone(),
            ..GenerateOptions::new(scenario.clone(), folder.path(), OutputFormat::Torch)
        };
        let files = generate(&written).unwrap().files;
        let simulation = simulate(&scenario, &options).unwrap();
        for (run, file) in simulation.runs.iter().zip(&files) {
            let back = read(&file.path);
            let facts = |trace: &Trace| -> Vec<(String, String, i64, i64, i64)> {
                let row = |c: trace::Collective| {
                    let text = |id| trace.strings.get(id).to_string();
                    let number = |value: trace::OptI64| value.get().unwrap();
                    (
                        text(c.group),
                        text(c.operation),
                        number(c.group_size),
                        number(c.sequence),
                        number(c.bytes),
                    )
                };
                let mut rows: Vec<_> = trace.collectives.rows().map(row).collect();
                rows.sort();
                rows
            };
            assert_eq!(facts(&back), facts(&run.trace), "{name}: rank {}", run.rank);
            assert_eq!(back.sources[0].rank, Some(run.rank));
        }
        let text = std::fs::read_to_string(&files[5].path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let info = &json["distributedInfo"];
        let groups = info["pg_config"].as_array().unwrap();
        assert_eq!(info["pg_count"], groups.len());
        assert!(groups.iter().all(|group| group["ranks"].as_array().unwrap().iter().any(|rank| rank == 5)));
        let kernels = json["traceEvents"].as_array().unwrap().iter().filter(|e| e["cat"] == "kernel");
        let names: Vec<&serde_json::Value> = kernels
            .filter(|event| event["args"]["Collective name"].is_string())
            .map(|event| &event["args"]["Process Group Name"])
            .collect();
        assert!(names.iter().all(|name| groups.iter().any(|group| group["pg_name"] == **name)));
        if skew > 0.0 {
            assert!(text.contains("\"Collective name\": \"all_to_allv\"") && text.contains("In split size"));
        }
    }
}

#[test]
fn many_ranks_are_written_in_batches_and_are_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::builtin("clean-ranks").unwrap();
    let options =
        Options { steps: Some(1), ranks: Some(150), stacks: false, ..straggler("140:more-work:1.5") };
    let written = GenerateOptions {
        options: options.clone(),
        formats: vec![OutputFormat::Torch, OutputFormat::Rocpd, OutputFormat::Inspector],
        ..GenerateOptions::new(scenario.clone(), folder.path(), OutputFormat::Torch)
    };
    let generated = generate(&written).unwrap();
    for (format, dialect) in [(OutputFormat::Torch, Dialect::Torch), (OutputFormat::Rocpd, Dialect::Rocprof)]
    {
        let simulation = simulate(&scenario, &Options { dialect, ..options.clone() }).unwrap();
        assert_eq!(simulation.truth, generated.truth);
        let files: Vec<_> = generated.files.iter().filter(|file| file.format == Some(format)).collect();
        assert_eq!(
            files.iter().map(|file| file.rank.unwrap()).collect::<Vec<_>>(),
            (0..150).collect::<Vec<_>>()
        );
        for rank in [0, 127, 128, 140, 149] {
            let times = |trace: &Trace| {
                let mut times: Vec<_> = trace.kernels.rows().map(|k| (k.start, k.end)).collect();
                times.sort_unstable();
                times
            };
            let back = read(&files[rank].path);
            assert_eq!(times(&back), times(&simulation.runs[rank].trace), "{}: rank {rank}", format.name());
        }
    }
}

#[test]
fn inspector_files_tell_sends_and_ranks_of_communicators() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::builtin("parallel-training").unwrap();
    let written = GenerateOptions {
        options: Options { steps: Some(1), ..Options::default() },
        ..GenerateOptions::new(scenario, folder.path(), OutputFormat::Inspector)
    };
    let generated = generate(&written).unwrap();
    let truth = generated.truth.across_ranks.unwrap();
    for file in generated.files.iter().filter(|file| file.rank.is_some()) {
        let rank = file.rank.unwrap();
        let back = read(&file.path);
        let sends =
            truth.collectives.iter().filter(|m| m.operation == "send" && m.ranks.contains(&rank)).count();
        assert_eq!(back.collectives.rows().filter(|c| c.peer.get().is_some()).count(), sends);
        assert!(sends > 0);
        let all = truth.collectives.iter().filter(|meeting| meeting.ranks.contains(&rank)).count();
        assert_eq!(back.collectives.len(), all);
        // The rank in the largest group is the rank in the job.
        assert_eq!(back.processes[0].rank, Some(rank));
    }
}
