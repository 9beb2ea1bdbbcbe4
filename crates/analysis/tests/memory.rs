//! `memory` against a direct replay in Python, against torch's own totals and against simulated truth.

use std::path::Path;

use ingest::Progress;
use rocm_perf_analysis::memory::{
    DeviceFigures, Memory, MemoryWindow, compare, compute, compute_part, needs, present,
};
use synth::{GenerateOptions, MemoryTruth, Options, OutputFormat, Scenario, generate};
use trace::Trace;

fn read(path: &Path) -> Trace {
    ingest::read(&[path.to_path_buf()], &needs(), &Progress::default()).unwrap()
}

fn gpu(memory: &Memory) -> &DeviceFigures {
    memory.devices.iter().find(|device| device.label == "GPU 0").unwrap()
}

/// The numbers come from Python: `pickle.loads`, held bytes as requested sizes of active blocks, back to the
/// start by removing allocations and adding `free_completed`, then forward to the first maximum.
#[test]
fn the_shared_snapshot_replays_as_in_python() {
    let Some(path) = testing::data("formats/memory_snapshot.pickle.gz") else { return };
    let trace = read(&path);
    let memory = compute(&trace);
    assert_eq!(memory.devices.len(), 1);
    let gpu = gpu(&memory);
    assert_eq!(gpu.at_start, 603_979_776);
    assert_eq!(gpu.at_end, 672_217_088);
    assert_eq!((gpu.peak.bytes, gpu.peak.at), (867_422_232, Some(1_794_751_327_478_720_000)));
    assert_eq!(gpu.reserved_at_end, Some(2_071_986_176));
    assert_eq!(gpu.rounded_at_end, Some(673_265_664));
    assert_eq!(gpu.changes, 312 + 269);
    for holders in [&gpu.peak_lines, &gpu.peak_ops] {
        assert_eq!(holders.iter().map(|holder| holder.bytes).sum::<i64>(), gpu.peak.bytes);
    }
    let fullest = gpu.timeline.slices.iter().map(|slice| slice.total()).max();
    assert_eq!(fullest, Some(gpu.peak.bytes), "the chart shows the peak");
    let reserved: i64 = gpu.pools.iter().map(|pool| pool.held + pool.unused + pool.fragmented).sum();
    assert_eq!(reserved, 2_071_986_176, "every reserved byte is held, unused or fragmented");
    // One line keeps five tensors of 4 MiB.
    let kept = gpu.never_freed.iter().find(|line| line.line.starts_with("patho.py:103")).unwrap();
    assert_eq!((kept.blocks, kept.bytes), (5, 5 * 4_194_304));
}

/// torch counts the memory it holds after every event, an independent way to the same figures.
#[test]
fn torch_memory_events_give_the_totals_that_torch_counts() {
    let Some(path) = testing::data("pathologies/slow_optimizer.json.gz") else { return };
    let memory = compute(&read(&path));
    let gpu = gpu(&memory);
    assert_eq!(gpu.peak.bytes, 1_086_400_512);
    assert_eq!((gpu.at_start, gpu.at_end), (843_105_280, 843_105_280));
    assert_eq!(gpu.reserved_at_end, Some(4_238_344_192));
    assert!(gpu.peak_lines.iter().any(|holder| holder.line.starts_with("patho.py(79)")));
    assert!(gpu.peak_ops.iter().any(|holder| holder.module.starts_with("Linear_")));
    assert!(gpu.pools.is_empty(), "only a snapshot tells of fragmentation");
}

fn simulated(folder: &Path, seed: u64, steps: u64) -> (Trace, MemoryTruth) {
    let scenario = Scenario::builtin("clean").unwrap();
    let options = GenerateOptions {
        options: Options { seed, steps: Some(steps), ..Options::default() },
        ..GenerateOptions::new(scenario, folder, OutputFormat::Snapshot)
    };
    let generated = generate(&options).unwrap();
    let file = generated.files.iter().find(|file| file.format == Some(OutputFormat::Snapshot)).unwrap();
    (read(&file.path), generated.truth.memory[0].clone())
}

#[test]
fn simulated_snapshots_give_their_truth() {
    for seed in 1..4 {
        let folder = tempfile::tempdir().unwrap();
        let (trace, truth) = simulated(folder.path(), seed, 4 + seed);
        assert_eq!(trace.allocator_events.len() as u64, truth.events);
        let memory = compute(&trace);
        let gpu = gpu(&memory);
        assert_eq!((gpu.at_start, gpu.at_end), (truth.start_bytes, truth.end_bytes));
        assert_eq!((gpu.peak.bytes, gpu.peak.at), (truth.peak_bytes, Some(truth.peak_at_ns)));
        assert_eq!(gpu.reserved_at_end, Some(truth.reserved_bytes));
        let leak = gpu.never_freed.iter().find(|line| line.line == truth.leak_line).unwrap();
        assert_eq!((leak.blocks as u64, leak.bytes), (truth.leak_blocks, truth.leak_bytes));
        let [failed] = &gpu.out_of_memory[..] else { panic!("one allocation failed") };
        assert_eq!((failed.asked, failed.device_free), (truth.asked_bytes, Some(truth.device_free_bytes)));
        assert_eq!(failed.short(), Some(truth.asked_bytes - truth.device_free_bytes));
        assert_eq!((failed.held, failed.reserved), (truth.end_bytes, Some(truth.reserved_bytes)));
        let report = present(&trace, &memory);
        assert_eq!(report.findings[0].id, "out_of_memory");
        assert_eq!(report.charts.len(), 1);
    }
}

/// rocprofv3 records neither device nor size of a free; its address identifies both.
#[test]
fn rocpd_and_torch_files_of_one_run_hold_the_same_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut peaks = Vec::new();
    for format in [OutputFormat::Rocpd, OutputFormat::Torch] {
        let scenario = Scenario::builtin("allocation-churn").unwrap();
        let options = GenerateOptions {
            options: Options { steps: Some(4), stacks: false, ..Options::default() },
            ..GenerateOptions::new(scenario, folder.path().join(format.name()), format)
        };
        let generated = generate(&options).unwrap();
        let file = generated.files.iter().find(|file| file.format == Some(format)).unwrap();
        let memory = compute(&read(&file.path));
        assert_eq!(
            memory.devices.len(),
            1,
            "{:?}",
            memory.devices.iter().map(|d| &d.label).collect::<Vec<_>>()
        );
        let gpu = gpu(&memory);
        assert!(gpu.peak.bytes > 0);
        peaks.push((gpu.peak.bytes, gpu.at_end, gpu.changes));
    }
    assert_eq!(peaks[0], peaks[1]);
}

/// Held bytes at the ends of a part match those of the whole record at the same times.
#[test]
fn a_part_of_the_record_starts_and_ends_with_what_the_whole_holds_then() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, _) = simulated(folder.path(), 5, 6);
    let whole = compute(&trace);
    let events = &trace.allocator_events;
    let held_at = |at: i64| {
        let mut held = gpu(&whole).at_start;
        for row in (0..events.len()).filter(|&row| events.start[row] <= at) {
            held += match events.action[row] {
                trace::AllocatorAction::Alloc => events.bytes[row].get().unwrap(),
                trace::AllocatorAction::FreeCompleted => -events.bytes[row].get().unwrap(),
                _ => 0,
            };
        }
        held
    };
    let (first, last) = (events.start[events.len() / 3], events.start[events.len() / 2]);
    let at = |at: i64| Some(trace::Moment::At(at));
    let memory = compute_part(&trace, MemoryWindow { start: at(first + 1), end: at(last) });
    let part = gpu(&memory);
    assert_eq!((part.at_start, part.at_end), (held_at(first), held_at(last)));
    let inside = events.start.iter().filter(|start| (first..=last).contains(*start));
    assert_eq!(part.peak.bytes, inside.map(|&start| held_at(start)).max().unwrap());
    assert!(part.changes < gpu(&whole).changes);
}

#[test]
fn a_comparison_charges_the_growth_of_the_peak_to_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (short, _) = simulated(&folder.path().join("short"), 1, 3);
    let (long, _) = simulated(&folder.path().join("long"), 1, 9);
    let (short, long) = (compute(&short), compute(&long));
    let change = compare(&short, &long);
    let peak = change.figures.iter().find(|figure| figure.name == "peak").unwrap();
    let by_line: i64 = change.owners.iter().filter_map(|line| line.delta()).sum();
    assert_eq!(peak.delta(), Some(by_line));
    assert_eq!(peak.delta(), Some(gpu(&long).peak.bytes - gpu(&short).peak.bytes));
    let leak = change.owners.iter().find(|line| line.name == "train.py:88 train").unwrap();
    assert!(leak.delta() > Some(0));
}
