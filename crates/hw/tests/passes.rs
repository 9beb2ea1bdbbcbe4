//! Plans of counter passes: every counter covered, no pass too full, and as few passes as possible.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rocm_perf_hw::counters::{self, RawNeed};
use rocm_perf_hw::passes::{Plan, PlanError, plan};
use std::collections::BTreeSet;

const COMPUTE: [&str; 12] = [
    "SQ_WAVES",
    "SQ_WAVE_CYCLES",
    "SQ_INSTS_VALU",
    "SQ_INSTS_SALU",
    "SQ_WAIT_INST_ANY",
    "SQ_ACTIVE_INST_VALU",
    "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR",
    "SQ_INSTS_VALU_ADD_F32",
    "SQ_INSTS_VALU_MUL_F32",
    "SQ_INSTS_VALU_FMA_F32",
    "SQ_INSTS_VALU_TRANS_F32",
];

const MEMORY: [&str; 12] = [
    "TCC_HIT_sum",
    "TCC_MISS_sum",
    "TCP_TCC_READ_REQ_sum",
    "TCP_TCC_WRITE_REQ_sum",
    "TCP_TCC_ATOMIC_WITH_RET_REQ_sum",
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum",
    "TCC_EA0_RDREQ_32B_sum",
    "TCC_EA0_WRREQ_64B_sum",
    "TCC_EA0_RDREQ_LEVEL_sum",
    "TCC_EA0_WRREQ_LEVEL_sum",
    "SQ_INSTS_SMEM",
    "SQ_LDS_BANK_CONFLICT",
];

/// Checks a plan from the catalogue alone, without the planner's own bookkeeping.
fn check(arch: &str, names: &[&str], plan: &Plan) {
    let slots = counters::slots(arch).unwrap();
    let asked: BTreeSet<&str> = names.iter().copied().collect();
    let collected: BTreeSet<&str> =
        plan.passes.iter().flat_map(|pass| &pass.counters).map(String::as_str).collect();
    assert_eq!(asked, collected);
    for pass in &plan.passes {
        let all = pass.counters.iter().chain(&pass.anchors);
        let needs: BTreeSet<&RawNeed> =
            all.flat_map(|name| &counters::find(arch, name).unwrap().needs).collect();
        for (block, &available) in slots {
            let used: u32 = needs.iter().filter(|need| need.block == *block).map(|need| need.cost()).sum();
            assert!(used <= available, "{block} holds {used} of {available}");
            assert_eq!(pass.slots.get(*block).map_or(0, |slot| slot.used), used);
        }
    }
    assert!(plan.passes.len() >= plan.lower_bound);
    assert!(plan.passes.len() > plan.lower_bound || plan.optimal);
}

#[test]
fn the_compute_and_memory_presets_take_two_passes() {
    for arch in ["gfx942", "gfx950"] {
        for preset in [&COMPUTE, &MEMORY] {
            let plan = plan(arch, preset).unwrap().with_anchors(arch);
            check(arch, preset, &plan);
            assert_eq!(plan.passes.len(), 2, "{arch}");
            assert!(plan.optimal);
            assert!(
                plan.passes.iter().all(|pass| pass.raw.iter().any(|need| need.counter == "GRBM_GUI_ACTIVE"))
            );
        }
    }
}

#[test]
fn read_and_write_sizes_share_a_pass_where_four_registers_are_enough() {
    let names = ["FETCH_SIZE", "WRITE_SIZE"];
    assert_eq!(plan("gfx90a", &names).unwrap().passes.len(), 1);
    assert_eq!(plan("gfx942", &names).unwrap().passes.len(), 2);
    assert_eq!(plan("gfx950", &names).unwrap().passes.len(), 2);
}

#[test]
fn counters_that_share_raw_ones_are_put_together() {
    // Three counters of TCC_HIT and TCC_MISS and two of the same four reads and writes: four registers in all.
    let names =
        ["L2CacheHit", "TCC_HIT_sum", "TCC_MISS_sum", "FETCH_SIZE", "FetchSize", "TCC_HIT[0]", "TCC_HIT[1]"];
    let plan = plan("gfx90a", &names).unwrap();
    check("gfx90a", &names, &plan);
    assert_eq!(plan.passes.len(), 1);
}

#[test]
fn the_plain_accumulator_follows_one_level_counter_per_pass() {
    let names = ["SQ_WAVES", "SQ_LEVEL_WAVES", "SQ_INST_LEVEL_LDS", "SQ_ACCUM_PREV_HIRES"];
    let plan = plan("gfx90a", &names).unwrap();
    assert_eq!(plan.passes.len(), 2);
    for pass in &plan.passes {
        let at = pass.counters.iter().position(|name| name == "SQ_ACCUM_PREV_HIRES").unwrap();
        assert!(pass.counters[at - 1].contains("LEVEL"), "{:?}", pass.counters);
    }
}

#[test]
fn mistakes_are_named() {
    let error = plan("gfx942", &["SQ_WAVES", "SQ_WAVEZ"]).unwrap_err();
    assert_eq!(error.to_string(), "gfx942 has no counter `SQ_WAVEZ`; did you mean SQ_WAVES");
    let error = plan("gfx942", &["TCC_EA_RDREQ_sum"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "gfx942 has no counter `TCC_EA_RDREQ_sum`; use TCC_EA0_RDREQ_sum (the same counter under the name it has here)"
    );
    assert_eq!(plan("gfx000", &["SQ_WAVES"]), Err(PlanError::UnknownArch("gfx000".into())));
    assert!(plan("gfx942", &[]).unwrap().passes.is_empty());
}

/// The fewest passes, by trying every way to distribute items.
fn brute_force(arch: &str, names: &[&str]) -> usize {
    let slots = counters::slots(arch).unwrap();
    let fits = |names: &[&str]| {
        let needs: BTreeSet<&RawNeed> =
            names.iter().flat_map(|name| &counters::find(arch, name).unwrap().needs).collect();
        slots.iter().all(|(block, &available)| {
            needs.iter().filter(|need| need.block == *block).map(|need| need.cost()).sum::<u32>() <= available
        })
    };
    fn go<'a>(
        names: &[&'a str],
        passes: &mut Vec<Vec<&'a str>>,
        fits: &dyn Fn(&[&str]) -> bool,
        best: &mut usize,
    ) {
        let Some((&name, rest)) = names.split_first() else {
            *best = (*best).min(passes.len());
            return;
        };
        for at in 0..passes.len() {
            passes[at].push(name);
            if fits(&passes[at]) {
                go(rest, passes, fits, best);
            }
            passes[at].pop();
        }
        if passes.len() + 1 < *best {
            passes.push(vec![name]);
            go(rest, passes, fits, best);
            passes.pop();
        }
    }
    let mut best = names.len() + 1;
    go(names, &mut Vec::new(), &fits, &mut best);
    best
}

fn all_names(arch: &str) -> Vec<&'static str> {
    let plain = |name: &&str| !name.starts_with("SQ_ACCUM_PREV");
    counters::catalogue(arch).unwrap().iter().map(|counter| counter.name.as_str()).filter(plain).collect()
}

/// Counters that take several registers, so that packing them is hard.
fn bulky(arch: &str) -> Vec<&'static str> {
    all_names(arch).into_iter().filter(|name| counters::find(arch, name).unwrap().needs.len() >= 2).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_choice_is_covered_within_the_registers(
        (arch, names) in select(vec!["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"])
            .prop_flat_map(|arch| (Just(arch), subsequence(all_names(arch), 1..60).prop_shuffle()))
    ) {
        let plan = plan(arch, &names).unwrap();
        check(arch, &names, &plan);
        check(arch, &names, &plan.clone().with_anchors(arch));
        prop_assert!(plan.passes.len() <= plan.lower_bound + 2);
    }

    #[test]
    fn few_counters_get_the_fewest_passes(
        (arch, names) in select(vec!["gfx90a", "gfx942", "gfx1100"])
            .prop_flat_map(|arch| (Just(arch), subsequence(bulky(arch), 1..8).prop_shuffle()))
    ) {
        let plan = plan(arch, &names).unwrap();
        check(arch, &names, &plan);
        prop_assert!(plan.optimal);
        prop_assert_eq!(plan.passes.len(), brute_force(arch, &names));
    }
}
