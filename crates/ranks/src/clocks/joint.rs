//! The lines of all clocks at once: least squares over all meetings, by conjugate gradients.
//!
//! Each meeting has an unknown moment. Subtracting the mean of its members removes it, which leaves two
//! unknowns for each member: corrections of its offset and its drift. Members that only few meetings join are
//! placed by those few, however often they meet others. Points far from their line count less with each
//! round. Errors come from solving again with noise of the same size.

use stats::random::Random;
use stats::robust::{middle, sorted};

/// A member's end of a meeting: how far the member's clock is from its first line there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub member: u32,
    /// Common time, from -1 at the first to 1 at the last meeting.
    pub x: f64,
    pub y: f64,
    /// Its weight.
    pub weight: f64,
}

/// Points by meeting.
#[derive(Default)]
pub(super) struct System {
    pub points: Vec<Point>,
    /// Where the points of each meeting end.
    pub ends: Vec<u32>,
}

/// Corrections of one member, and how sure they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Correction {
    /// Correction of the offset in the middle.
    pub offset: f64,
    /// Correction of the drift, over half the run.
    pub drift: f64,
    /// Standard error at the start of the run, against the reference.
    pub error: f64,
    /// Standard error of the drift over half the run.
    pub drift_error: f64,
    /// How far its points stay from its line, in the median.
    pub residual: f64,
}

const ROUNDS: usize = 4;
const PRECISION: f64 = 1e-7;
/// Points further from the line than this many spreads do not count (Tukey's biweight).
const BIWEIGHT: f64 = 4.685;
const MAD_SCALE: f64 = 1.4826;
/// Ends differ by at least this, whatever the spread says.
const SMALLEST_SPREAD_NS: f64 = 20.0;

/// Solves for the corrections of `count` members; `fixed` ones keep their drift.
pub(super) fn solve(system: &System, count: usize, reference: usize, fixed: &[bool]) -> Vec<Correction> {
    let mut weights: Vec<f64> = system.points.iter().map(|point| point.weight).collect();
    let given: Vec<f64> = system.points.iter().map(|point| point.y).collect();
    let mut solved = vec![[0.0; 2]; count];
    let mut residuals = vec![0.0; given.len()];
    for round in 0..ROUNDS {
        solved = gradients(system, &weights, &given, count, fixed);
        residuals = system.residuals(&weights, &given, &solved);
        let far: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
        // The first lines may be far off, so the first round is generous.
        let generous = if round == 0 { 3.0 } else { 1.0 };
        let spread = (generous * MAD_SCALE * middle(&sorted(&far))).max(SMALLEST_SPREAD_NS);
        for ((weight, point), residual) in weights.iter_mut().zip(&system.points).zip(&residuals) {
            let u = residual / (BIWEIGHT * spread);
            *weight = point.weight * if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 };
        }
    }
    let spreads = spreads(system, &residuals, count);
    let mut corrections: Vec<Correction> = solved
        .iter()
        .zip(&spreads)
        .map(|(own, spread)| Correction {
            offset: own[0] - solved[reference][0],
            drift: own[1] - solved[reference][1],
            residual: spread / MAD_SCALE,
            ..Correction::default()
        })
        .collect();
    errors(system, &weights, &spreads, reference, fixed, &mut corrections);
    corrections
}

/// Most conjugate-gradient iterations; large systems are joined by groups of all ranks, so fewer are enough.
fn most_iterations(points: usize) -> usize {
    if points < 200_000 { 300 } else { 40 }
}

/// How many solves with different noise the errors are estimated from.
fn runs(points: usize) -> usize {
    match points {
        0..200_000 => 24,
        200_000..500_000 => 8,
        _ => 2,
    }
}

fn errors(
    system: &System,
    weights: &[f64],
    spreads: &[f64],
    reference: usize,
    fixed: &[bool],
    corrections: &mut [Correction],
) {
    let count = corrections.len();
    let runs = runs(system.points.len());
    let mut random = Random::new(count as u64 ^ system.points.len() as u64);
    let mut sums = vec![[0.0f64; 2]; count];
    for _ in 0..runs {
        let noise: Vec<f64> =
            system.points.iter().map(|point| random.normal() * spreads[point.member as usize]).collect();
        let solved = gradients(system, weights, &noise, count, fixed);
        let start = |own: [f64; 2]| own[0] - own[1];
        for (sum, own) in sums.iter_mut().zip(&solved) {
            sum[0] += (start(*own) - start(solved[reference])).powi(2);
            sum[1] += (own[1] - solved[reference][1]).powi(2);
        }
    }
    // A few runs say little about one member, but enough about all together.
    let pooled = |which: usize| sums.iter().map(|sum| sum[which]).sum::<f64>() / count.max(1) as f64;
    let pooled = [pooled(0), pooled(1)];
    for (correction, sum) in corrections.iter_mut().zip(&sums) {
        let of = |which: usize| {
            let own =
                if runs < 24 { sum[which].max(pooled[which]) } else { sum[which].max(pooled[which] / 4.0) };
            (own / runs as f64).sqrt()
        };
        (correction.error, correction.drift_error) = (of(0), of(1));
    }
}

/// By member: how far its points stay from its line, as a standard deviation.
fn spreads(system: &System, residuals: &[f64], count: usize) -> Vec<f64> {
    let mut far: Vec<Vec<f64>> = vec![Vec::new(); count];
    for (point, residual) in system.points.iter().zip(residuals) {
        far[point.member as usize].push(residual.abs());
    }
    far.iter()
        .map(
            |far| {
                if far.is_empty() { 0.0 } else { (MAD_SCALE * middle(&sorted(far))).max(SMALLEST_SPREAD_NS) }
            },
        )
        .collect()
}

impl System {
    fn meetings(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let mut from = 0;
        self.ends.iter().map(move |&end| {
            let range = from..end as usize;
            from = end as usize;
            range
        })
    }

    /// Subtracts the moment of each meeting.
    fn centre(&self, weights: &[f64], values: &mut [f64]) {
        for range in self.meetings() {
            let (own, weights) = (&mut values[range.clone()], &weights[range]);
            let total: f64 = weights.iter().sum();
            let mean = if total > 0.0 {
                own.iter().zip(weights).map(|(value, weight)| value * weight).sum::<f64>() / total
            } else {
                0.0
            };
            own.iter_mut().for_each(|value| *value -= mean);
        }
    }

    fn residuals(&self, weights: &[f64], given: &[f64], solved: &[[f64; 2]]) -> Vec<f64> {
        let mut left: Vec<f64> = self
            .points
            .iter()
            .zip(given)
            .map(|(point, y)| {
                let own = solved[point.member as usize];
                y - own[0] - own[1] * point.x
            })
            .collect();
        self.centre(weights, &mut left);
        left
    }

    /// Sums of weighted values and of the same times x, by member.
    fn gather(&self, weights: &[f64], values: &[f64], count: usize, fixed: &[bool]) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; count];
        for ((point, weight), value) in self.points.iter().zip(weights).zip(values) {
            let sum = &mut sums[point.member as usize];
            sum[0] += weight * value;
            if !fixed[point.member as usize] {
                sum[1] += weight * value * point.x;
            }
        }
        sums
    }
}

/// Least squares by conjugate gradients, each unknown scaled by its own weight.
fn gradients(system: &System, weights: &[f64], given: &[f64], count: usize, fixed: &[bool]) -> Vec<[f64; 2]> {
    // Values of the members' lines, without the moment of each meeting, gathered by member in one pass.
    let apply = |of: &[[f64; 2]]| {
        let mut sums = vec![[0.0f64; 2]; count];
        for range in system.meetings() {
            let (points, weights) = (&system.points[range.clone()], &weights[range]);
            let value = |point: &Point| of[point.member as usize][0] + of[point.member as usize][1] * point.x;
            let (mut all, mut total) = (0.0, 0.0);
            for (point, weight) in points.iter().zip(weights) {
                all += weight * value(point);
                total += weight;
            }
            let mean = if total > 0.0 { all / total } else { 0.0 };
            for (point, weight) in points.iter().zip(weights) {
                let left = weight * (value(point) - mean);
                let sum = &mut sums[point.member as usize];
                sum[0] += left;
                if !fixed[point.member as usize] {
                    sum[1] += left * point.x;
                }
            }
        }
        sums
    };
    let mut scale = vec![[0.0f64; 2]; count];
    for (point, weight) in system.points.iter().zip(weights) {
        let own = &mut scale[point.member as usize];
        own[0] += weight;
        own[1] += weight * point.x * point.x;
    }
    let scaled = |of: &[[f64; 2]]| -> Vec<[f64; 2]> {
        of.iter()
            .zip(&scale)
            .map(|(own, scale)| [0, 1].map(|at| if scale[at] > 0.0 { own[at] / scale[at] } else { 0.0 }))
            .collect()
    };
    let dot = |one: &[[f64; 2]], two: &[[f64; 2]]| -> f64 {
        one.iter().zip(two).map(|(a, b)| a[0] * b[0] + a[1] * b[1]).sum()
    };
    let mut centred = given.to_vec();
    system.centre(weights, &mut centred);
    let mut left = system.gather(weights, &centred, count, fixed);
    let mut solved = vec![[0.0; 2]; count];
    let mut direction = scaled(&left);
    let mut size = dot(&left, &direction);
    let enough = size * PRECISION * PRECISION;
    for _ in 0..most_iterations(system.points.len()) {
        if size.is_nan() || size <= enough || size <= 0.0 {
            break;
        }
        let moved = apply(&direction);
        let along = dot(&direction, &moved);
        if along <= 0.0 || along.is_nan() {
            break;
        }
        let step = size / along;
        for at in 0..count {
            for which in 0..2 {
                solved[at][which] += step * direction[at][which];
                left[at][which] -= step * moved[at][which];
            }
        }
        let next = scaled(&left);
        let grown = dot(&left, &next);
        let ratio = grown / size;
        for at in 0..count {
            for which in 0..2 {
                direction[at][which] = next[at][which] + ratio * direction[at][which];
            }
        }
        size = grown;
    }
    solved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of four that meet often among themselves and rarely all together.
    #[test]
    fn groups_that_rarely_meet_are_placed_by_the_few_meetings_they_share() {
        let mut outside = 0;
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let truth: Vec<[f64; 2]> =
                (0..8).map(|_| [random.normal() * 1e4, random.normal() * 5e3]).collect();
            let mut system = System::default();
            for meeting in 0..220 {
                let x = f64::from(meeting) / 110.0 - 1.0;
                let members: Vec<u32> = if meeting % 22 == 21 {
                    (0..8).collect()
                } else {
                    (0..4).map(|at| at + 4 * (meeting % 2)).collect()
                };
                let moment = random.normal() * 1e5;
                for member in members {
                    let wrong = if random.unit() < 0.03 { 3e5 } else { 0.0 };
                    let own = truth[member as usize];
                    let y = moment + own[0] + own[1] * x + 400.0 * random.normal() + wrong;
                    system.points.push(Point { member, x, y, weight: 1.0 });
                }
                system.ends.push(system.points.len() as u32);
            }
            let found = solve(&system, 8, 0, &[false; 8]);
            for (member, found) in found.iter().enumerate() {
                let exact = |own: [f64; 2]| own[0] - own[1];
                let start = exact(truth[member]) - exact(truth[0]);
                outside += usize::from((found.offset - found.drift - start).abs() > 5.0 * found.error + 1.0);
                assert!(found.error < 1_000.0, "{found:?}");
            }
        }
        assert_eq!(outside, 0);
    }
}
