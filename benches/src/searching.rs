//! `autotune` on surfaces with known optima, in this process, compared with random search.

use std::ops::Range;
use std::time::Instant;

use stats::random::Random;
use tune::search::model::Regressor;
use tune::search::{Choice, Features, Model, Samples};
use tune::space::Space;
use tune::tuner::{Tuner, TunerOptions};

use crate::Bench;
use crate::measure::Cost;
use crate::surfaces::{self, Surface};

/// Searches on each hand-written surface.
const SEEDS: u64 = 20;
/// Searches on each random surface.
const SEEDS_OF_DRAWN: u64 = 2;
const TRIALS: usize = 80;

/// Searches that end more than 2 % from the optimum.
fn missed(surface: &Surface, strategy: Choice, seeds: u64) -> Result<usize, String> {
    let mut missed = 0;
    for seed in 0..seeds {
        let options = TunerOptions { strategy, seed, ..TunerOptions::default() };
        let tuner = Tuner::new(&surface.space, &surface.candidates, options);
        let outcome = tuner.search(&mut surface.target(seed), &mut |_| {});
        if outcome.used > TRIALS {
            return Err(format!("{}: {} trials", surface.name, outcome.used));
        }
        let best = outcome.ranking.first().map(|&place| outcome.trials[place].candidate);
        let found = best.is_some_and(|best| surface.is_close(surface.candidates.get(best)));
        missed += usize::from(!found);
    }
    Ok(missed)
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
    let kinds = [Regressor::Ridge, Regressor::Forest, Regressor::Smooth, Regressor::Steep];
    let model = Model::fit(&features, &samples, &kinds, &[], &mut random).ok_or("no model")?;
    let began = Instant::now();
    let predicted = model.predict_all(&features);
    let seconds = began.elapsed().as_secs_f64();
    if predicted.len() != 100_000 { Err("not all were predicted".into()) } else { Ok(seconds) }
}

impl Bench {
    /// What `autotune` finds.
    pub(crate) fn searching(&mut self, quick: bool) -> Result<(), String> {
        let written = surfaces::written()?;
        let shown = if quick { &written[1..2] } else { &written[..] };
        for surface in shown {
            let random = missed(surface, Choice::Random, SEEDS)?;
            let began = Instant::now();
            let ours = missed(surface, Choice::Regression, SEEDS)?;
            let wall = began.elapsed().as_secs_f64();
            let limits = vec![("seeds of 20 beyond 2 % of the optimum", ours as f64, 2.0)];
            self.add(&format!("autotune {} (random: {random} beyond)", surface.name), cost(wall), limits);
        }
        if !quick {
            self.drawn("known", surfaces::DEVELOPMENT, 1, Choice::Regression)?;
        }
        let (held_out, seeds) = (surfaces::HELD_OUT, SEEDS_OF_DRAWN);
        let held_out = held_out.start..if quick { held_out.start + 4 } else { held_out.end };
        self.drawn("held-out", held_out.clone(), seeds, Choice::Regression)?;
        self.drawn("held-out", held_out, 1, Choice::Bayes)?;
        let seconds = prediction()?;
        self.add("predict 100,000 configurations", cost(seconds), vec![("wall s", seconds, 1.0)]);
        Ok(())
    }

    /// On random surfaces, compared with random search.
    fn drawn(
        &mut self,
        which: &str,
        surfaces: Range<u64>,
        seeds: u64,
        strategy: Choice,
    ) -> Result<(), String> {
        let drawn = surfaces.map(surfaces::random).collect::<Result<Vec<_>, String>>()?;
        let share = |strategy| -> Result<f64, String> {
            let missed = drawn.iter().map(|surface| missed(surface, strategy, seeds));
            Ok(100.0 * missed.sum::<Result<usize, String>>()? as f64 / (drawn.len() as f64 * seeds as f64))
        };
        let random = share(Choice::Random)?;
        let began = Instant::now();
        let ours = share(strategy)?;
        let (count, name) = (drawn.len(), strategy.name());
        let name = format!("autotune {count} {which} surfaces, {name} (random: {random:.0} %)");
        let limits = vec![("% of searches beyond 2 % of the optimum", ours, 10.0)];
        self.add(&name, cost(began.elapsed().as_secs_f64()), limits);
        Ok(())
    }
}

/// Work of this process, for which only the wall time is known.
fn cost(wall: f64) -> Cost {
    Cost { cpu: wall, wall, anonymous: 0 }
}
