//! The A/B measurement: pairs of runs of both sides in random order, until the interval is tight or the budget ends.
//!
//! Peeking at a growing sample raises the error rate, so each look only gets its share of the error.

use serde_json::{Value as Json, json};

use super::estimate::{Estimate, estimate};
use stats::random::Random;

/// One run of a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The metric; lower is better.
    pub value: f64,
    /// Time from start to end of the whole program.
    pub end_to_end: f64,
}

/// Which side to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The original program.
    Base,
    /// The program with the change.
    Candidate,
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Least speed-up, as a share: 0.02 for 2 %.
    pub min_improvement: f64,
    /// Pairs before the first look.
    pub least_pairs: usize,
    /// Maximum pairs.
    pub most_pairs: usize,
    /// Probability of accepting an effect that does not exist.
    pub error: f64,
    /// How much two runs of the same program differ, as a share: only larger slowdowns count.
    pub end_to_end_floor: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { min_improvement: 0.02, least_pairs: 10, most_pairs: 40, error: 0.05, end_to_end_floor: 0.0 }
    }
}

/// Pairs between two looks.
const STEP: usize = 5;

/// The outcome of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Effect on the metric.
    pub effect: Estimate,
    /// Effect on the whole program.
    pub end_to_end: Estimate,
    /// Values of both sides, pair by pair.
    pub pairs: Vec<(Sample, Sample)>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Probability of such an effect by chance, corrected for the number of looks.
    pub chance: f64,
}

/// The conclusion from an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Faster by more than the minimum.
    Faster,
    /// Not faster by the minimum.
    NotFaster,
    /// The kernel is faster, the whole program slower.
    SlowerEndToEnd,
    /// The budget ended before this was clear.
    Inconclusive,
}

impl Verdict {
    /// Its name in reports and the audit.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::NotFaster => "not_faster",
            Verdict::SlowerEndToEnd => "slower_end_to_end",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// Runs pairs until the verdict is clear; a failing run ends it with the reason.
pub fn experiment(
    plan: &Plan,
    random: &mut Random,
    run: &mut dyn FnMut(Side) -> Result<Sample, String>,
) -> Result<Experiment, String> {
    // Caches, clocks and page tables settle during a pair that does not count.
    for side in [Side::Base, Side::Candidate] {
        run(side)?;
    }
    let looks = 1 + plan.most_pairs.saturating_sub(plan.least_pairs).div_ceil(STEP);
    let error = plan.error / looks as f64;
    let mut pairs = Vec::new();
    loop {
        let wanted = if pairs.is_empty() { plan.least_pairs.max(3) } else { pairs.len() + STEP };
        while pairs.len() < wanted.min(plan.most_pairs.max(3)) {
            pairs.push(pair(random, run)?);
        }
        let effect = estimate(pairs.iter().map(|(a, b)| (a.value, b.value)), error);
        let end_to_end = estimate(pairs.iter().map(|(a, b)| (a.end_to_end, b.end_to_end)), error);
        let asked = 1.0 + plan.min_improvement;
        let slower = 1.0 / (1.0 + plan.end_to_end_floor);
        let verdict = match () {
            () if effect.low > asked && end_to_end.high < slower => Some(Verdict::SlowerEndToEnd),
            () if effect.low > asked => Some(Verdict::Faster),
            () if effect.high < asked => Some(Verdict::NotFaster),
            () if pairs.len() >= plan.most_pairs => Some(Verdict::Inconclusive),
            () => None,
        };
        if let Some(verdict) = verdict {
            let chance = (looks as f64 * effect.chance_of_luck(asked)).min(1.0);
            return Ok(Experiment { effect, end_to_end, pairs, verdict, chance });
        }
    }
}

/// The results of an experiment and of its repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The experiment.
    pub first: Experiment,
    /// On fresh runs, if the first experiment won: winners may have been lucky, so they are measured again.
    pub fresh: Option<Experiment>,
}

impl Proof {
    /// Probability that the speed-up is chance, from the deciding runs.
    pub fn chance(&self) -> f64 {
        self.fresh.as_ref().unwrap_or(&self.first).chance
    }

    /// Whether the change is worth keeping.
    pub fn is_accepted(&self) -> bool {
        self.fresh.as_ref().is_some_and(|fresh| fresh.verdict == Verdict::Faster)
    }
}

/// Runs the experiment, and again on fresh runs if the change seems to win; then any gain is enough.
pub fn prove(
    plan: &Plan,
    random: &mut Random,
    run: &mut dyn FnMut(Side) -> Result<Sample, String>,
) -> Result<Proof, String> {
    let first = experiment(plan, random, run)?;
    if first.verdict != Verdict::Faster {
        return Ok(Proof { first, fresh: None });
    }
    let again = Plan { min_improvement: 0.0, ..*plan };
    let fresh = experiment(&again, random, run)?;
    Ok(Proof { first, fresh: Some(fresh) })
}

/// Runs both sides once, in random order.
fn pair(
    random: &mut Random,
    run: &mut dyn FnMut(Side) -> Result<Sample, String>,
) -> Result<(Sample, Sample), String> {
    if random.below(2) == 0 {
        let base = run(Side::Base)?;
        return Ok((base, run(Side::Candidate)?));
    }
    let candidate = run(Side::Candidate)?;
    Ok((run(Side::Base)?, candidate))
}

/// The apparent gain of the program over itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Effect on the metric.
    pub effect: Estimate,
    /// Effect on the whole program.
    pub end_to_end: Estimate,
}

impl Floor {
    /// A plan that accounts for the noise floor: the minimum gain is at least the certain gain without a
    /// change, and an apparent loss of the whole program within the floor is not a loss.
    pub fn heeded(&self, plan: &Plan) -> Plan {
        Plan {
            min_improvement: plan.min_improvement.max(self.effect.certain()),
            end_to_end_floor: plan.end_to_end_floor.max(self.end_to_end.seen()),
            ..*plan
        }
    }

    /// JSON for the audit.
    pub fn to_json(&self) -> Json {
        json!({ "effect": self.effect.to_json(), "end_to_end": self.end_to_end.to_json() })
    }
}

/// The noise floor: pairs of the unchanged program.
pub fn noise_floor(
    pairs: usize,
    random: &mut Random,
    run: &mut dyn FnMut(Side) -> Result<Sample, String>,
) -> Result<Floor, String> {
    let mut same = |_: Side| run(Side::Base);
    let mut samples = Vec::new();
    for _ in 0..pairs.max(3) {
        samples.push(pair(random, &mut same)?);
    }
    Ok(Floor {
        effect: estimate(samples.iter().map(|(a, b)| (a.value, b.value)), 0.025),
        end_to_end: estimate(samples.iter().map(|(a, b)| (a.end_to_end, b.end_to_end)), 0.025),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with noise in every run, a slow drift and occasional hiccups.
    fn machine(seed: u64, gain: f64) -> impl FnMut(Side) -> Result<Sample, String> {
        let (mut random, mut drift) = (Random::new(seed), 0.0);
        move |side| {
            drift += 0.002 * random.normal();
            let hiccup = if random.below(20) == 0 { 1.5 } else { 1.0 };
            let noise = (0.03 * random.normal() + drift).exp() * hiccup;
            let value = noise * if side == Side::Candidate { 1.0 / (1.0 + gain) } else { 1.0 };
            Ok(Sample { value, end_to_end: 5.0 * (0.1 * random.normal()).exp() + value })
        }
    }

    fn accepted(gain: f64) -> usize {
        (0..100)
            .filter(|seed| {
                let (mut order, mut run) = (Random::new(seed + 1000), machine(*seed, gain));
                // One of twelve candidates.
                let plan = noise_floor(6, &mut order, &mut run).unwrap().heeded(&Plan::default());
                let plan = Plan { error: plan.error / 12.0, ..plan };
                prove(&plan, &mut order, &mut run).unwrap().is_accepted()
            })
            .count()
    }

    #[test]
    fn a_win_is_seen_and_nothing_is_made_of_nothing() {
        assert!(accepted(0.10) >= 95, "{}", accepted(0.10));
        assert!(accepted(0.0) <= 1);
        assert!(accepted(-0.05) == 0);
        assert!(accepted(0.02) <= 5, "what is just asked for is not more than it: {}", accepted(0.02));
    }

    #[test]
    fn a_kernel_that_wins_while_the_program_loses_is_told_apart() {
        let mut random = Random::new(1);
        let mut run = |side| {
            let noise = (0.01 * random.normal()).exp();
            let (value, end_to_end) = if side == Side::Base { (1.0, 10.0) } else { (0.8, 12.0) };
            Ok(Sample { value: value * noise, end_to_end: end_to_end * noise })
        };
        let found = experiment(&Plan::default(), &mut Random::new(2), &mut run).unwrap();
        assert_eq!(found.verdict, Verdict::SlowerEndToEnd);
        // The same loss does not count if the program differs from itself that much.
        let noisy = Plan { end_to_end_floor: 0.25, ..Plan::default() };
        assert_eq!(experiment(&noisy, &mut Random::new(2), &mut run).unwrap().verdict, Verdict::Faster);
    }

    /// A shared machine: runs of the whole program are up to three times as long as the next.
    #[test]
    fn a_loaded_machine_does_not_make_a_win_a_loss() {
        let refused = (0..100u64).filter(|seed| {
            let mut random = Random::new(*seed);
            let mut run = |side| {
                let value = (0.02 * random.normal()).exp() / if side == Side::Candidate { 1.1 } else { 1.0 };
                Ok(Sample { value, end_to_end: 10.0 + 20.0 * random.unit() + value })
            };
            let floor = noise_floor(6, &mut Random::new(seed + 1), &mut run).unwrap();
            let plan = floor.heeded(&Plan::default());
            !prove(&plan, &mut Random::new(seed + 2), &mut run).unwrap().is_accepted()
        });
        assert!(refused.count() <= 3);
    }

    #[test]
    fn a_failing_run_ends_it() {
        let mut left = 7;
        let mut run = |_| {
            left -= 1;
            if left == 0 { Err("it crashed".to_string()) } else { Ok(Sample { value: 1.0, end_to_end: 1.0 }) }
        };
        let ended = experiment(&Plan::default(), &mut Random::new(2), &mut run);
        assert_eq!(ended, Err("it crashed".into()));
    }
}
