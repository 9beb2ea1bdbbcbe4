//! A tuning experiment: searches over the tiles of a matrix product whose times are computed, not measured.

use std::time::Duration;

use stats::random::Random;
use store::{Attachment, Store};
use tune::autotune::Tuned;
use tune::measure::Metric;
use tune::space::Space;
use tune::tuner::{Budget, Limit, Run, Status, Target, Tuner, TunerOptions};

use super::make;
use crate::experiment::analyses;
use crate::experiment::attach::Prepared;
use crate::failure::Failure;
use crate::observer::Observer;

const NAME: &str = "gemm-tuning";
const SPACE: &str = r#"{"params": {"BLOCK_M": [16, 32, 64, 128, 256], "BLOCK_N": [16, 32, 64, 128, 256],
    "BLOCK_K": [16, 32, 64, 128], "num_warps": [1, 2, 4, 8], "num_stages": [1, 2, 3]},
    "constraints": ["BLOCK_M * BLOCK_N / (num_warps * 64) >= 1"]}"#;
/// Spread of a run.
const NOISE: f64 = 0.02;

/// Searches with growing budgets, like a user who is not content with the first result.
pub fn fill(store: &mut Store, observer: &dyn Observer) -> Result<(), Failure> {
    if !make(store, NAME, "tiles of a matrix product (simulated)", &["tuning"])? {
        return Ok(());
    }
    observer.step("simulating gemm-tuning");
    for (number, trials) in [20, 40, 80].into_iter().enumerate() {
        let mut prepared = Prepared::default();
        prepared.add_bytes("autotune.json", search(number as u64, trials, observer)?)?;
        store.attach(&Attachment {
            experiment: NAME.into(),
            trial: format!("search-{}", number + 1),
            branch: Some("main".into()),
            testbed: Some("mi300x-01".into()),
            ..prepared.attachment()
        })?;
    }
    Ok(())
}

fn search(seed: u64, trials: usize, observer: &dyn Observer) -> Result<Vec<u8>, Failure> {
    let wrong = |error: tune::space::SpaceError| Failure::input(error.to_string());
    let space = Space::parse(SPACE).map_err(wrong)?;
    let candidates = space.candidates(seed).map_err(wrong)?;
    let options = TunerOptions {
        seed,
        budget: Budget { trials, time: None },
        timeout: Duration::from_secs(60),
        ..TunerOptions::default()
    };
    let tuner = Tuner::new(&space, &candidates, options.clone());
    let features = tuner.features.clone();
    let mut simulated = Simulated { space: &space, random: Random::new(seed) };
    let outcome = tuner.search(&mut simulated, &mut |_| {});
    let importance = outcome.model.as_ref().map_or_else(Vec::new, |model| {
        tune::importance::importance(&space, &candidates, &features, model, outcome.scale)
    });
    let made = outcome.trials.iter().map(|trial| trial.values.len()).sum();
    let tuned = Tuned { candidates, skipped: Vec::new(), outcome, reused: 0, made, damaged: 0, importance };
    let metric = Metric { name: "dispatch time".into(), is_time: true };
    Ok(analyses::json(tune::tables::autotune_report(&space, &metric, &options, &tuned), observer))
}

/// A matrix product that is computed.
struct Simulated<'a> {
    space: &'a Space,
    random: Random,
}

impl Target for Simulated<'_> {
    fn run(&mut self, levels: &[u16], _: usize, _: Limit) -> Run {
        let values: Vec<f64> =
            self.space.settings(levels).iter().filter_map(|(_, value)| value.number()).collect();
        let time = time_ns(&values).map(|time| time * (NOISE * self.random.normal()).exp());
        let (status, detail) = match time {
            Some(_) => (Status::Ok, String::new()),
            None => (Status::RunFailed, "out of resources: LDS".into()),
        };
        Run { status, value: time, seconds: 0.01, spent: 0.01, detail }
    }
}

/// Time of one configuration: tiles that are too small read too much, those that are too large leave GPUs idle.
fn time_ns(values: &[f64]) -> Option<f64> {
    const LDS: f64 = 65_536.0;
    let &[m, n, k, warps, stages] = values else { return None };
    if stages * 2.0 * k * (m + n) > LDS {
        return None;
    }
    let read = 1.0 / m + 1.0 / n;
    let waves = (4096.0 / m * 4096.0 / n / 304.0).max(1.0);
    let full = waves.ceil() / waves;
    let registers = (m * n / (warps * 64.0) / 96.0).max(1.0).powf(0.7);
    let pipeline = 1.0 + 0.25 / stages + 6.0 / k;
    Some(180_000.0 * (0.55 + 24.0 * read) * full * registers * pipeline * (1.0 + 0.04 * (warps - 4.0).abs()))
}
