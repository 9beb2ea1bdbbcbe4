//! Predicted gains of fusions, against sums by hand, random traces and simulated runs with a known truth.

use crate::fuse_maker;

use std::collections::BTreeMap;

use fuse_maker::{Maker, Sample, ids, number, samples, separator};
use model::Run;
use model::classify::{Category, Classes, Classifier};
use proptest::prelude::*;
use report::Severity;
use rocm_perf_analysis::{Fuse, fuse};
use synth::{Options, Scenario, simulate};
use trace::{RowRef, Trace};

fn simulated(name: &str) -> (Trace, synth::Truth) {
    let scenario = Scenario::builtin(name).unwrap();
    let mut simulation = simulate(&scenario, &Options::default()).unwrap();
    (simulation.runs.remove(0).trace, simulation.truth)
}

fn found_in(trace: &Trace, min_share_pct: f64) -> Fuse {
    fuse(&Run::new(trace, None, &Classifier::builtin(), min_share_pct).unwrap())
}

#[test]
fn the_chain_that_was_put_in_is_found_with_what_it_costs() {
    let (trace, truth) = simulated("fusable-chain");
    let put_in = &truth.injected[0];
    let found = found_in(&trace, 1.0);
    assert_eq!(ids(&found), ["act_mul"]);
    assert_eq!(number(&found, 0, "instances") as u64, put_in.count);
    assert_eq!(number(&found, 0, "launches_removed") as u64, put_in.count);
    let kernels = &truth.ranks[0].kernels;
    let time = |id: &str| kernels.iter().find(|kernel| kernel.id == id).unwrap().total_ns;
    assert_eq!(number(&found, 0, "related_ns") as i64, time("silu") + time("mul"));
    // Without the second kernel, the run is shorter by its time and the gap before it.
    let ceiling = number(&found, 0, "gain_ceiling_ns");
    let gain = put_in.gain_ns.unwrap_or(put_in.magnitude_ns) as f64;
    assert!(ceiling >= put_in.magnitude_ns as f64, "{ceiling} under {}", put_in.magnitude_ns);
    assert!((0.9..1.1).contains(&(ceiling / gain)), "{ceiling} for {gain}");
    // One of two tensors of the first kernel and one of three of the second are no longer moved.
    let by_bytes = time("silu") as f64 / 2.0 + time("mul") as f64 / 3.0;
    let gaps = ceiling - number(&found, 0, "related_ns") + quickest(&trace, &found);
    assert!((number(&found, 0, "saving_ns") - by_bytes - gaps).abs() < put_in.count as f64, "rounding");
    let tensor = 2048.0 * 14336.0 * 2.0;
    assert_eq!(number(&found, 0, "not_moved_bytes"), 2.0 * tensor * put_in.count as f64);
    let finding = &found.findings()[0];
    assert_eq!((finding.id.as_str(), finding.gain_ceiling_ns), (put_in.rule.as_str(), Some(ceiling as i64)));
    assert_eq!(finding.severity, Severity::High);
}

fn quickest(trace: &Trace, found: &Fuse) -> f64 {
    let time = |row: &RowRef| {
        let row = row.row_of(trace::Table::Kernels).unwrap();
        trace.kernels.end[row] - trace.kernels.start[row]
    };
    found.instances().map(|instance| instance.rows.iter().map(time).min().unwrap()).sum::<i64>() as f64
}

#[test]
fn a_clean_run_has_nothing_to_fuse() {
    let (trace, _) = simulated("clean");
    let found = found_in(&trace, 0.0);
    assert_eq!(ids(&found), [""; 0]);
    assert!(found.findings().is_empty() && found.instances().next().is_none());
}

#[test]
fn small_rows_are_left_out_and_counted() {
    let (trace, _) = simulated("fusable-chain");
    let found = found_in(&trace, 50.0);
    assert!(found.table().rows.is_empty() && found.findings().is_empty());
    assert!(found.notes.contains(&"1 fusion opportunity below 50 % of a stage left out".to_string()));
}

#[test]
fn sums_equal_those_made_by_hand() {
    let all = samples();
    let mut made = Maker::new("vllm");
    // Three layers: attention 700, gap 40, quantization 60; one of the gaps is 900.
    for (layer, gap) in [40, 900, 40].into_iter().enumerate() {
        let at = 1_000_000 + 10_000 * layer as i64;
        made.kernel(&all["attention"], 0, at, at + 700);
        made.kernel(&all["quant"], 0, at + 700 + gap, at + 760 + gap);
        made.kernel(&separator(), 0, at + 5000, at + 6000);
    }
    let (_, found) = made.fuse();
    assert_eq!(ids(&found), ["attention_quant"]);
    assert_eq!(number(&found, 0, "related_ns"), 180.0, "the attention's time is not to be won");
    // The stall of 900 counts as a usual gap.
    assert_eq!(number(&found, 0, "gain_ceiling_ns"), 180.0 + 3.0 * 40.0);
    assert_eq!(number(&found, 0, "launches_removed"), 3.0);
    let share = number(&found, 0, "time_share_pct");
    assert!((share - 100.0 * 180.0 / (3.0 * 1760.0)).abs() < 1e-9, "{share}");
}

#[test]
fn without_main_work_one_kernel_is_left() {
    let all = samples();
    let mut made = Maker::new("vllm");
    for layer in 0..3 {
        let at = 1_000_000 + 10_000 * layer;
        made.kernel(&all["rope"], 0, at, at + 300);
        made.kernel(&all["cache_write"], 0, at + 310, at + 410);
        made.kernel(&separator(), 0, at + 5000, at + 6000);
    }
    let (_, found) = made.fuse();
    assert_eq!(number(&found, 0, "related_ns"), 1200.0);
    assert_eq!(number(&found, 0, "gain_ceiling_ns"), 3.0 * (300.0 + 10.0));
}

#[derive(Clone, Debug)]
struct Put {
    sample: String,
    stream: u32,
    /// Gap before it; negative values overlap.
    gap: i64,
    time: i64,
}

/// Single kernels and whole examples of the catalogue, repeated like layers.
fn puts() -> impl Strategy<Value = Vec<Put>> {
    let mut pieces: Vec<Vec<String>> = samples().into_keys().map(|name| vec![name]).collect();
    let table: toml::Table = toml::from_str(fuse_maker::CATALOGUE).unwrap();
    for fusion in table["fusion"].as_array().unwrap() {
        let example: Option<Vec<String>> = fusion.get("example").map(|e| e.clone().try_into().unwrap());
        pieces.extend(example);
    }
    let times = prop::collection::vec((-50..400i64, 0..1000i64), 8);
    let piece = (prop::sample::select(pieces), 0..2u32, times).prop_map(|(names, stream, times)| {
        let put = |(sample, (gap, time)): (String, (i64, i64))| Put { sample, stream, gap, time };
        names.into_iter().zip(times).map(put).collect::<Vec<_>>()
    });
    let block = prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat());
    block.prop_flat_map(|block| {
        (2..12usize, Just(block)).prop_map(|(times, block)| vec![block; times].concat())
    })
}

fn is_main(category: Category) -> bool {
    use Category::{Attention, Communication, Conv, Gemm, Moe};
    matches!(category, Attention | Communication | Conv | Gemm | Moe)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn accounts_never_exceed_what_ran(puts in puts(), framework in prop::sample::select(vec!["sglang", "vllm", "hf"])) {
        let all: BTreeMap<String, Sample> = samples();
        let mut made = Maker::new(framework);
        let mut at = 1_000_000;
        for put in &puts {
            at = (at + put.gap).max(0);
            made.kernel(&all[&put.sample], put.stream, at, at + put.time);
            at += put.time;
        }
        let (trace, found) = made.fuse();
        let classes = Classes::of(&trace, &Classifier::builtin());
        let mut seen = std::collections::HashSet::new();
        for instance in found.instances() {
            let rows: Vec<usize> =
                instance.rows.iter().map(|row| row.row_of(trace::Table::Kernels).unwrap()).collect();
            for (&row, &link) in rows.iter().zip(&instance.rows) {
                prop_assert!(seen.insert(row), "row {row} is in two fusions");
                prop_assert_eq!(trace.kernels.stream[row], trace.kernels.stream[rows[0]]);
                prop_assert!(classes.of_row(&trace, link).is_some());
            }
            let start = rows.iter().map(|&row| trace.kernels.start[row]).min().unwrap();
            let end = rows.iter().map(|&row| trace.kernels.end[row]).max().unwrap();
            prop_assert!(instance.related_ns + instance.gaps_ns <= end - start);
            prop_assert!(instance.gain_ceiling_ns <= instance.related_ns + instance.gaps_ns);
            prop_assert!(instance.related_ns >= 0 && instance.gaps_ns >= 0 && instance.gain_ceiling_ns >= 0);
            // Main work is never related; helpers of the experts may be.
            let small = instance.rows.iter().zip(&rows).filter(|(link, _)| {
                let class = classes.of_row(&trace, **link).unwrap();
                !is_main(class.category) || class.category == Category::Moe
            });
            let time: i64 = small.map(|(_, &row)| trace.kernels.end[row] - trace.kernels.start[row]).sum();
            prop_assert!(instance.related_ns <= time);
        }
        let shown: f64 = (0..found.table().rows.len()).map(|row| number(&found, row, "related_ns")).sum();
        prop_assert_eq!(shown as i64, found.instances().map(|instance| instance.related_ns).sum::<i64>());
        for row in 0..found.table().rows.len() {
            prop_assert!(number(&found, row, "saving_ns") <= number(&found, row, "gain_ceiling_ns"));
        }
    }
}
