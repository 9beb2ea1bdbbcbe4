//! Where a series of measurements changed its level, judged by the noise of the series.
//!
//! After each value, every recent position is tested for whether the values from there on differ from those
//! before it, by Student's t with the spread of both sides. The least likely position is a change if chance
//! would hardly cause it; the series then restarts there. Later values never alter what was found.

use crate::student;

/// Values needed before a change can be distinguished from noise.
pub const LEAST_BEFORE: usize = 5;

/// How far back a change may begin.
const WINDOW: usize = 20;

/// Probability below which a change counts. Several positions are tested after each value, so that about 4 of
/// 1,000 values raise a false alarm in one direction.
const BELIEVED: f64 = 0.003;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first value of the new level.
    pub first: usize,
    /// The value at which it was found.
    pub found: usize,
    /// Mean before.
    pub before: f64,
    /// Mean from there until it was found.
    pub after: f64,
    /// The probability that noise alone looks like this.
    pub chance: f64,
}

/// All changes of a series, in order. `deviations` are the standard errors of the values, if known: noise is
/// never assumed to be lower. The time is linear in the number of values.
pub fn changes(values: &[f64], deviations: &[Option<f64>]) -> Vec<Change> {
    let (mut start, mut found) = (0, Vec::new());
    let mut sums = Sums::of(values, deviations, 0);
    for last in 0..values.len() {
        if let Some(change) = latest(&sums, last + 1 - start) {
            found.push(Change { first: start + change.first, found: last, ..change });
            start += change.first;
            sums = Sums::of(values, deviations, start);
        }
    }
    found
}

/// Running sums of the values from a start on, minus the value at the start, to keep precision.
struct Sums {
    origin: f64,
    values: Vec<f64>,
    squares: Vec<f64>,
    /// Squared standard errors, and how many values have one.
    told: Vec<(f64, usize)>,
}

impl Sums {
    fn of(values: &[f64], deviations: &[Option<f64>], start: usize) -> Self {
        let origin = values.get(start).copied().unwrap_or(0.0);
        let mut sums = Self { origin, values: vec![0.0], squares: vec![0.0], told: vec![(0.0, 0)] };
        let (mut sum, mut squares, mut told) = (0.0, 0.0, (0.0, 0));
        for (at, value) in values.iter().enumerate().skip(start) {
            let value = value - origin;
            (sum, squares) = (sum + value, squares + value * value);
            if let Some(deviation) = deviations.get(at).copied().flatten() {
                told = (told.0 + deviation * deviation, told.1 + 1);
            }
            sums.values.push(sum);
            sums.squares.push(squares);
            sums.told.push(told);
        }
        sums
    }

    /// Mean minus the origin, and sum of squares around it.
    fn part(&self, from: usize, to: usize) -> (f64, f64) {
        let n = (to - from) as f64;
        let mean = (self.values[to] - self.values[from]) / n;
        (mean, (self.squares[to] - self.squares[from] - n * mean * mean).max(0.0))
    }

    fn measured(&self, n: usize) -> f64 {
        let (sum, count) = self.told[n];
        if count == 0 { 0.0 } else { sum / count as f64 }
    }
}

/// The least likely change in the first `n` values, if it is significant.
fn latest(sums: &Sums, n: usize) -> Option<Change> {
    if n <= LEAST_BEFORE {
        return None;
    }
    let measured = sums.measured(n);
    let best = (LEAST_BEFORE.max(n.saturating_sub(WINDOW))..n)
        .map(|first| {
            let ((a, before), (b, after)) = (sums.part(0, first), sums.part(first, n));
            let freedom = (n - 2) as f64;
            let variance = ((before + after) / freedom).max(measured);
            let error = (variance * (1.0 / first as f64 + 1.0 / (n - first) as f64)).sqrt();
            let chance = match (error > 0.0, a == b) {
                (true, _) => student::two_sided((b - a) / error, freedom),
                (false, true) => 1.0,
                (false, false) => 0.0,
            };
            Change { first, found: n - 1, before: a + sums.origin, after: b + sums.origin, chance }
        })
        .min_by(|x, y| x.chance.total_cmp(&y.chance))?;
    (best.chance < BELIEVED).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Trials whose level rises by a share at one position; each is the mean of several noisy runs.
    fn history(seed: u64, length: usize, runs: usize, at: usize, step: f64) -> Vec<f64> {
        const NOISE: f64 = 0.05;
        let mut random = Random::new(seed);
        let mut trial = |level: f64| {
            (0..runs).map(|_| level * (1.0 + NOISE * random.normal())).sum::<f64>() / runs as f64
        };
        (0..length).map(|i| trial(if i < at { 100.0 } else { 100.0 * (1.0 + step) })).collect()
    }

    /// In how many of 100 histories a step is found within five trials.
    fn found(seeds: u64, runs: usize, step: f64) -> usize {
        const BEFORE: usize = 20;
        let finds = |seed: &u64| {
            let values = history(*seed, BEFORE + 5, runs, BEFORE, step);
            changes(&values, &[]).iter().any(|change| change.found >= BEFORE && change.after > change.before)
        };
        (seeds..seeds + 100).filter(finds).count()
    }

    /// False alarms in 10,000 trials without a step.
    fn alarms(seeds: u64, runs: usize) -> usize {
        let worse = |change: &&Change| change.after > change.before;
        let alarms_of = |seed| changes(&history(seed, 500, runs, 0, 0.0), &[]).iter().filter(worse).count();
        (seeds..seeds + 20).map(alarms_of).sum()
    }

    /// The most of 100 steps of one standard deviation that any method can find within five trials if it
    /// raises at most five false alarms in 1,000. Five trials then raise one with a probability of at most
    /// 0.025, and no test of that level finds more than the likelihood ratio of the five values (Neyman and
    /// Pearson), even if it knows both levels and the noise.
    fn most(runs: usize) -> f64 {
        // The normal distribution is Student's t with infinite degrees of freedom.
        let above = |x: f64| student::two_sided(x, 1e9) / 2.0;
        let least = 1.959_963_985;
        let shift = (5.0 * runs as f64).sqrt();
        100.0 * if shift > least { 1.0 - above(shift - least) } else { above(least - shift) }
    }

    /// These seeds were not used to choose the constants above.
    #[test]
    fn steps_are_found_within_five_trials_and_noise_is_not() {
        let steps = [0.02, 0.05, 0.10].map(|step| found(910_000, 10, step));
        assert!(steps[1] >= 90 && steps[2] >= 90 && steps[0] < steps[1], "{steps:?}");
        let alarms = alarms(920_000, 10);
        assert!(alarms <= 50, "{alarms} false alarms in 10,000 trials");
    }

    /// No method can find a step of 5 % in 5 % noise in 90 of 100 histories from one or two runs per trial.
    #[test]
    fn one_run_per_trial_cannot_show_a_step_of_one_deviation() {
        assert!(most(1) < 61.0 && most(2) < 89.0 && most(3) > 97.0);
        let mut false_alarms = 0;
        for (runs, least) in [(1, 20), (3, 70), (6, 85), (8, 90)] {
            let (found, possible) = (found(930_000, runs, 0.05), most(runs));
            false_alarms += alarms(940_000, runs);
            println!("{runs} runs per trial: {found} of 100 found, {possible:.0} possible");
            assert!((least..=possible as usize).contains(&found), "{runs} runs: {found} of {possible}");
        }
        assert!(false_alarms <= 200, "{false_alarms} false alarms in 40,000 trials");
    }

    #[test]
    fn what_was_found_does_not_depend_on_later_values() {
        let values = history(7, 80, 10, 40, 0.1);
        let all = changes(&values, &[]);
        assert!(all.iter().any(|change| change.first.abs_diff(40) <= 1), "{all:?}");
        for length in 1..values.len() {
            let early: Vec<Change> = all.iter().filter(|change| change.found < length).copied().collect();
            assert_eq!(changes(&values[..length], &[]), early, "the first {length}");
        }
    }

    #[test]
    fn noise_is_never_less_than_the_measurements_own() {
        let values = [100.0, 100.1, 99.9, 100.0, 100.1, 99.9, 103.0, 103.1];
        assert_eq!(changes(&values, &[]).len(), 1);
        assert_eq!(changes(&values, &[Some(4.0); 8]), []);
        assert_eq!(changes(&[1.0; 30], &[]), []);
        assert_eq!(changes(&values[..LEAST_BEFORE], &[]), []);
    }
}
