//! `optimize` on planted gains, in this process: measures what it accepts, with no-ops for comparison.

use std::time::Instant;

use stats::random::Random;
use tune::optimize::experiment::{Plan, Sample, Side, noise_floor, prove};

use crate::Bench;
use crate::measure::Cost;

/// Spread of a run.
const NOISE: f64 = 0.03;
const SEEDS: u64 = 20;

/// For how many of `SEEDS` a gain is accepted, as one of twelve candidates on a noisy machine.
fn accepted(gain: f64) -> Result<usize, String> {
    let mut accepted = 0;
    for seed in 0..SEEDS {
        let (mut random, mut drift) = (Random::new(seed), 0.0);
        let mut run = |side| {
            drift += 0.002 * random.normal();
            let hiccup = if random.below(20) == 0 { 1.5 } else { 1.0 };
            let noise = (NOISE * random.normal() + drift).exp() * hiccup;
            let value = if side == Side::Candidate { noise / (1.0 + gain) } else { noise };
            Ok(Sample { value, end_to_end: 2.0 * (0.1 * random.normal()).exp() + value })
        };
        let mut order = Random::new(seed + 1000);
        let plan = noise_floor(6, &mut order, &mut run)?.heeded(&Plan::default());
        let proof = prove(&Plan { error: plan.error / 12.0, ..plan }, &mut order, &mut run)?;
        accepted += usize::from(proof.is_accepted());
    }
    Ok(accepted)
}

impl Bench {
    /// What `optimize` accepts.
    pub(crate) fn tuning(&mut self) -> Result<(), String> {
        let began = Instant::now();
        let overlooked = SEEDS as usize - accepted(0.10)?;
        let invented = accepted(0.0)?;
        let limits = vec![
            ("10 % wins of 20 overlooked", overlooked as f64, 1.0),
            ("no-ops of 20 accepted", invented as f64, 1.0),
        ];
        self.add("optimize: planted wins and no-ops", cost(began.elapsed().as_secs_f64()), limits);
        Ok(())
    }
}

/// Work of this process, for which only the wall time is known.
fn cost(wall: f64) -> Cost {
    Cost { cpu: wall, wall, anonymous: 0 }
}
