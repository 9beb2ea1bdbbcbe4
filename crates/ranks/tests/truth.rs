//! Simulated jobs with wrong clocks, one straggler or slow link and lost records: findings against the truth.
//!
//! `RANKS_SEEDS=100 cargo test -p rocm-perf-ranks --test truth -- --nocapture` runs all seeds that the limits are set for.

use model::classify::Classifier;
use rocm_perf_ranks::clocks::MemberClock;
use rocm_perf_ranks::{FleetBuilder, Ranks, compute, digest};
use synth::{Faults, Options, Parallelism, RanksTruth, Scenario, Simulation, simulate};

/// Each seed makes another rank late, by the next of these.
const CAUSES: &[&str] =
    &["more-work", "larger-kernels", "slower-kernels", "lower-clocks", "data-loader", "gc-pause"];

/// Seeds that may fail, of a hundred.
const MAY_FAIL_PCT: usize = 5;

fn seeds() -> u64 {
    std::env::var("RANKS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(12)
}

fn simulated(seed: u64, faults: Faults) -> Simulation {
    let faults = Faults { clock_offset_ms: Some(5.0), drift_ppm: Some(20.0), ..faults };
    let options = Options {
        seed,
        steps: Some(6),
        ranks: Some(16),
        stacks: false,
        parallel: Parallelism { tensor: Some(4), pipeline: Some(2), expert: None },
        lose: vec!["collective=0.01".parse().unwrap()],
        faults,
        ..Options::default()
    };
    simulate(&Scenario::builtin("parallel-training").unwrap(), &options).unwrap()
}

/// Digests every rank, through the bytes of a file.
fn ranks(simulation: &Simulation) -> Ranks {
    let classifier = Classifier::builtin();
    let mut fleet = FleetBuilder::default();
    for run in &simulation.runs {
        for digest in digest::of_trace(&run.trace, &classifier, 0) {
            fleet.add(digest::decode(&digest::encode(&digest)).unwrap());
        }
    }
    compute(fleet.finish())
}

fn truth(simulation: &Simulation) -> &RanksTruth {
    simulation.truth.across_ranks.as_ref().unwrap()
}

/// Whether every clock is within its error, and no error is so wide that it says nothing.
fn clocks_are_right(found: &Ranks, simulation: &Simulation) -> bool {
    let truth = &simulation.truth.ranks;
    let reference = &truth[found.clocks.reference.unwrap() as usize];
    found.clocks.members.iter().zip(truth).all(|(clock, truth)| {
        let MemberClock::Aligned(line) = clock else { return false };
        let offset = (truth.clock_offset_ns - reference.clock_offset_ns) as f64;
        let drift = (truth.clock_drift_ppm - reference.clock_drift_ppm) * 1e-6;
        (line.offset_ns - offset).abs() <= line.error_ns
            && (line.drift - drift).abs() <= line.drift_error
            && line.error_ns < 5_000.0
    })
}

/// (found, true) sums over the collectives without lost records: waiting, transfer.
fn waiting_and_transfer(found: &Ranks, truth: &RanksTruth) -> [(f64, f64); 2] {
    let whole = truth.collectives.iter().filter(|one| one.lost.is_empty());
    let mean = |waits: &[i64]| waits.iter().sum::<i64>() as f64 / waits.len() as f64;
    let (mut wait, mut transfer) = ((0.0, 0.0), (0.0, 0.0));
    for one in whole {
        wait.1 += mean(&one.waited_ns);
        transfer.1 += one.transfer_ns as f64;
    }
    for one in &found.figures.meetings {
        let size = found.fleet.groups[one.group as usize].size.unwrap();
        if one.operation.is_message() || one.count == size {
            wait.0 += f64::from(one.wait_ns);
            transfer.0 += f64::from(one.transfer_ns);
        }
    }
    [wait, transfer]
}

fn off(found: f64, exact: f64) -> f64 {
    (found / exact - 1.0).abs()
}

#[test]
fn stragglers_clocks_and_costs_are_found_in_nearly_all_seeds() {
    let (mut clocks, mut names, mut splits, mut costs) = (0, 0, 0, 0);
    for seed in 1..=seeds() {
        let cause = CAUSES[seed as usize % CAUSES.len()];
        let straggler = format!("any:{cause}:1.3").parse().unwrap();
        let simulation = simulated(seed, Faults { stragglers: vec![straggler], ..Faults::default() });
        let (found, truth) = (ranks(&simulation), truth(&simulation));
        let worst = found.delays.stragglers.first();
        let named = worst.map(|worst| (found.fleet.members[worst.member as usize].rank, worst.cause.name()));
        let wanted = (truth.causes[0].rank.unwrap(), truth.causes[0].cause.as_str());
        let [wait, transfer] = waiting_and_transfer(&found, truth);
        let without = worst.and_then(|worst| worst.step_without_ns).unwrap_or(0.0);
        let cost = off(without, truth.step_time_without_ns as f64);
        let said = [
            clocks_are_right(&found, &simulation),
            named == Some(wanted) && found.delays.stragglers.len() == 1,
            off(wait.0, wait.1) < 0.05 && off(transfer.0, transfer.1) < 0.05,
            cost < 0.02,
        ];
        println!(
            "seed {seed} {cause}: {said:?}; {named:?} for {wanted:?} of {}, wait {:.2} %, transfer {:.2} %, step {:+.2} %",
            found.delays.stragglers.len(),
            100.0 * off(wait.0, wait.1),
            100.0 * off(transfer.0, transfer.1),
            100.0 * (without / truth.step_time_without_ns as f64 - 1.0),
        );
        clocks += usize::from(said[0]);
        names += usize::from(said[1]);
        splits += usize::from(said[2]);
        costs += usize::from(said[3]);
    }
    let all = seeds() as usize;
    println!(
        "of {all}: clocks {clocks}, stragglers {names}, waiting and transfer {splits}, step times {costs}"
    );
    let enough = |right: usize| 100 * (all - right) <= MAY_FAIL_PCT * all.max(20);
    assert!(enough(clocks) && enough(names) && enough(splits) && enough(costs));
}

#[test]
fn a_slow_link_is_told_from_a_late_rank() {
    for (seed, kind, factor) in [(1, "tensor", 2.5), (2, "tensor", 2.0), (3, "data", 3.0), (4, "tensor", 3.0)]
    {
        let link = format!("{kind}:any:{factor}").parse().unwrap();
        let simulation = simulated(seed, Faults { slow_links: vec![link], ..Faults::default() });
        let (found, truth) = (ranks(&simulation), truth(&simulation));
        let [link] = &found.delays.slow_links[..] else {
            panic!("seed {seed}: {:?}", found.delays.slow_links)
        };
        let group = &found.fleet.groups[link.group as usize].name;
        assert_eq!(Some(group), truth.causes[0].group.as_ref(), "seed {seed}");
        assert!(off(link.factor, factor) < 0.05, "seed {seed}: {}", link.factor);
        assert!(found.delays.stragglers.is_empty(), "seed {seed}: {:?}", found.delays.stragglers);
        let without = link.step_without_ns.unwrap();
        let cost = off(without, truth.step_time_without_ns as f64);
        assert!(cost < 0.02, "seed {seed}: {without} for {}", truth.step_time_without_ns);
    }
}

#[test]
fn nobody_is_blamed_where_nothing_is_wrong() {
    for seed in 1..=4 {
        let simulation = simulated(seed, Faults::default());
        let found = ranks(&simulation);
        assert!(found.delays.stragglers.is_empty(), "seed {seed}: {:?}", found.delays.stragglers);
        assert!(found.delays.slow_links.is_empty(), "seed {seed}: {:?}", found.delays.slow_links);
    }
}
