//! `autotune` on surfaces with a known optimum and `optimize` on planted gains, in this process: what is judged is what
//! they find, with random search and no-ops beside it.

use std::time::Instant;

use tune::optimize::experiment::{Plan, Sample, Side, noise_floor, prove};
use tune::random::Random;
use tune::search::model::Kind;
use tune::search::{Choice, Features, Model, Samples};
use tune::space::Space;
use tune::tuner::{Limit, Run, Status, Target, Tuner, TunerOptions};

use crate::Bench;
use crate::measure::Cost;

/// Spread of a run.
const NOISE: f64 = 0.03;
const SEEDS: u64 = 20;

/// A surface: the space, and the time of a configuration; none where it fails.
type Surface = (&'static str, &'static str, fn(&[f64]) -> Option<f64>);

const SURFACES: [Surface; 3] = [
    (
        "tiled product",
        r#"{"params": {"M": {"range": [16, 256], "pow2": true}, "N": {"range": [16, 256], "pow2": true},
            "K": [16, 32, 64, 128], "warps": [1, 2, 4, 8], "stages": [1, 2, 3]},
            "constraints": ["M * N / (warps * 64) >= 1"]}"#,
        product,
    ),
    (
        "oblique valley",
        r#"{"A": [4, 8, 16, 32, 64, 128], "B": [2, 4, 8, 16, 32, 64], "C": [1, 2, 4, 8, 16, 32], "D": [1, 2, 3, 4, 5]}"#,
        valley,
    ),
    ("rough", r#"{"A": {"range": [1, 10]}, "B": {"range": [1, 10]}, "C": {"range": [1, 10]}}"#, rough),
];

/// A matrix product by tiles: LDS and registers that do not suffice, occupancy in steps, waves that do not fill.
fn product(x: &[f64]) -> Option<f64> {
    let [m, n, k, warps, stages] = *x else { return None };
    let lds = (m + n) * k * 2.0 * stages;
    let sums = m * n / (warps * 64.0);
    if lds > 65536.0 || sums > 256.0 {
        return None;
    }
    let registers = sums + 40.0 + (m + n) * k / (warps * 64.0) / 2.0;
    let spills = if registers > 256.0 { 1.0 + (registers - 256.0) / 64.0 } else { 1.0 };
    let by_registers = (512.0 / (8.0 * (registers / 8.0).ceil())).floor().clamp(1.0, 8.0);
    let waves = (by_registers * 4.0).min((65536.0 / lds).floor() * warps) / 4.0;
    let hidden = 1.0 - (-(waves * (0.6 + 0.4 * stages)) / 1.6).exp();
    let tiles = (4096.0 / m).ceil() * (4096.0 / n).ceil();
    let slots = 304.0 * (waves * 4.0 / warps).floor().max(1.0);
    let rounds = (tiles / slots).ceil() * slots / tiles;
    let memory = 60.0 * (m + n) / (m * n);
    let small = if warps == 8.0 && m * n < 4096.0 { 0.5 } else { 1.0 };
    let compute = 1.0 / ((sums / (sums + 6.0)) * (k / (k + 6.0)) * small);
    Some((compute.max(memory) + 0.3 * compute.min(memory)) / hidden * rounds.sqrt() * spills)
}

/// A valley across all axes, with cliffs and a saw.
fn valley(x: &[f64]) -> Option<f64> {
    let [a, b, c] = [x[0].log2(), x[1].log2(), x[2].log2()];
    let d = x[3];
    if a + b + c > 11.0 {
        return None;
    }
    let (u, v, w) = ((a + b - 7.0) / 3.0, (a - b - 1.0) / 2.0, (c + 0.5 * a - 4.0) / 2.0);
    let mut time = 1.0 + 0.25 * u * u + 0.15 * v * v + 0.3 * w * w + 0.04 * (d - 3.0 - 0.5 * v).powi(2);
    for (steep, by) in [(a + c > 7.0, 1.35), ((a + d) % 2.0 == 0.0, 1.06), (b + d > 7.0, 1.2)] {
        time *= if steep { by } else { 1.0 };
    }
    Some(time)
}

/// A bowl with cliffs, and roughness that nothing predicts.
fn rough(x: &[f64]) -> Option<f64> {
    let [a, b, c] = *x else { return None };
    if a * b > 56.0 || (c > 8.0 && a > 7.0) {
        return None;
    }
    let luck =
        |p: f64, q: f64, s: f64| ((p * 12.9898 + q * 78.233 + s * 37.719).sin() * 43758.5453).fract().abs();
    let (u, v) = ((a - 6.0) / 4.0 + (b - 4.0) / 5.0, (b - c + 2.0) / 4.0);
    let mut time = 1.0 + 0.4 * u * u + 0.35 * v * v + 0.1 * ((a - c) / 5.0).powi(2);
    for (steep, by) in [(a * c > 30.0, 1.25), (b > 6.0 && c < 4.0, 1.5)] {
        time *= if steep { by } else { 1.0 };
    }
    Some(time * (1.0 + 0.06 * luck(a, b, 1.0) + 0.06 * luck(b, c, 2.0)))
}

/// A surface as something to tune.
struct Simulated<'a> {
    space: &'a Space,
    time: fn(&[f64]) -> Option<f64>,
    random: Random,
}

impl Simulated<'_> {
    fn truth(&self, levels: &[u16]) -> Option<f64> {
        let numbers: Vec<f64> =
            self.space.settings(levels).iter().filter_map(|(_, value)| value.number()).collect();
        (self.time)(&numbers)
    }
}

impl Target for Simulated<'_> {
    fn run(&mut self, levels: &[u16], _: usize, _: Limit) -> Run {
        let value = self.truth(levels).map(|time| time * (NOISE * self.random.normal()).exp());
        let status = if value.is_some() { Status::Ok } else { Status::RunFailed };
        Run { status, value, seconds: 0.01, spent: 0.01, detail: String::new() }
    }
}

/// Seeds for which the search ends more than 2 % from the optimum, of `SEEDS`.
fn missed(surface: &Surface, strategy: Choice) -> Result<usize, String> {
    let (name, space, time) = surface;
    let space = Space::parse(space).map_err(|e| e.to_string())?;
    let candidates = space.candidates(0).map_err(|e| e.to_string())?;
    let simulated = |seed| Simulated { space: &space, time: *time, random: Random::new(seed * 7919 + 13) };
    let optimum =
        candidates.iter().filter_map(|levels| simulated(0).truth(levels)).fold(f64::INFINITY, f64::min);
    let mut missed = 0;
    for seed in 0..SEEDS {
        let options = TunerOptions { strategy, seed, ..TunerOptions::default() };
        let outcome = Tuner::new(&space, &candidates, options).search(&mut simulated(seed), &mut |_| {});
        if outcome.trials.len() > 80 {
            return Err(format!("{name}: more than 80 trials"));
        }
        let best = outcome.ranking.first().map(|&place| outcome.trials[place].candidate);
        let found = best.and_then(|best| simulated(0).truth(candidates.get(best)));
        missed += usize::from(found.is_none_or(|found| found > 1.02 * optimum));
    }
    Ok(missed)
}

/// Seeds for which a gain is accepted, of `SEEDS`, as one of twelve candidates on a machine whose whole runs are noisy.
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

/// Seconds to predict 100,000 configurations from 80 samples.
fn prediction() -> Result<f64, String> {
    let space = r#"{"A": {"range": [1, 10]}, "B": {"range": [1, 10]}, "C": {"range": [1, 10]}, "D": {"range": [1, 10]}, "E": {"range": [1, 10]}}"#;
    let space = Space::parse(space).map_err(|e| e.to_string())?;
    let candidates = space.candidates(0).map_err(|e| e.to_string())?;
    let features = Features::of(&space, &candidates);
    let mut random = Random::new(1);
    let chosen: Vec<usize> = (0..80).map(|_| random.below(candidates.len())).collect();
    let values =
        chosen.iter().map(|&c| features.plain(c).iter().sum::<f64>() + 0.1 * random.normal()).collect();
    let samples = Samples { weights: vec![1.0; 80], candidates: chosen, values };
    let kinds = [Kind::Ridge, Kind::Forest, Kind::Gaussian];
    let model = Model::fit(&features, &samples, &kinds, None, &mut random).ok_or("no model")?;
    let began = Instant::now();
    let predicted = model.predict_all(&features);
    let seconds = began.elapsed().as_secs_f64();
    if predicted.len() != 100_000 { Err("not all were predicted".into()) } else { Ok(seconds) }
}

impl Bench {
    /// What `autotune` and `optimize` find.
    pub(crate) fn tuning(&mut self, quick: bool) -> Result<(), String> {
        let surfaces = if quick { &SURFACES[1..2] } else { &SURFACES[..] };
        for surface in surfaces {
            let random = missed(surface, Choice::Random)?;
            let began = Instant::now();
            let ours = missed(surface, Choice::Regression)?;
            let wall = began.elapsed().as_secs_f64();
            let limits = vec![("seeds of 20 beyond 2 % of the optimum", ours as f64, 2.0)];
            self.add(&format!("autotune {} (random: {random} beyond)", surface.0), cost(wall), limits);
        }
        let seconds = prediction()?;
        self.add("predict 100,000 configurations", cost(seconds), vec![("wall s", seconds, 1.0)]);
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

/// Work of this process, of which only the time is told.
fn cost(wall: f64) -> Cost {
    Cost { cpu: wall, wall, anonymous: 0 }
}
