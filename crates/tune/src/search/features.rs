//! The features of a configuration for the models: its numbers, scaled, their products and ratios, and its
//! position on each axis.

use crate::space::{Candidates, Scalar, Space};

/// Products and ratios of pairs are added up to this many numeric parameters.
const MOST_PAIRED: usize = 8;
/// Numbers that span this factor are used as logarithms.
const WIDE: f64 = 4.0;
/// Positions on an axis of numbers: distances ignore finer differences.
const PLACES: usize = 64;

/// Features of every candidate.
#[derive(Clone, Debug)]
pub struct Features {
    /// One row each: plain features in `[0, 1]`, then pairs.
    rows: Vec<f64>,
    /// All features of a row.
    pub width: usize,
    /// Plain features at the beginning of a row.
    pub plain: usize,
    /// The parameters that vary, and derived numbers.
    pub axes: Vec<Axis>,
    /// The position of each candidate on each axis.
    places: Vec<u16>,
}

/// A parameter or a derived number, for distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Whether positions are ordered; words are only equal or not.
    pub is_ordered: bool,
    /// One more than the largest position.
    pub places: usize,
}

impl Axis {
    /// The distance of two positions that are `apart`, at most 1.
    pub fn distance(&self, apart: usize) -> f64 {
        match self.is_ordered {
            true => apart as f64 / (PLACES - 1) as f64,
            false => f64::from(u8::from(apart != 0)),
        }
    }
}

impl Features {
    /// Features of all candidates of a space.
    pub fn of(space: &Space, candidates: &Candidates) -> Self {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut numeric = Vec::new();
        let mut axes: Vec<(Axis, Vec<u16>)> = Vec::new();
        for (p, one) in space.parameters.iter().enumerate() {
            if one.values.len() < 2 {
                continue;
            }
            let levels = |value: &dyn Fn(usize) -> f64| {
                let by_level: Vec<f64> = (0..one.values.len()).map(value).collect();
                candidates.iter().map(|levels| by_level[usize::from(levels[p])]).collect::<Vec<f64>>()
            };
            if one.is_numeric() {
                let numbers: Vec<f64> = one.values.iter().filter_map(|value| value.number()).collect();
                let numbers = logarithms(&numbers).unwrap_or(numbers);
                numeric.push(levels(&|level| numbers[level]));
                let column = scaled(levels(&|level| numbers[level]));
                axes.push(ordered(&column));
                columns.push(column);
            } else {
                for word in 0..one.values.len() {
                    columns.push(levels(&|level| f64::from(u8::from(level == word))));
                }
                let axis = Axis { is_ordered: false, places: one.values.len() };
                axes.push((axis, candidates.iter().map(|levels| levels[p]).collect()));
            }
        }
        for d in 0..space.derived.len() {
            let name = space.parameters.len() + d;
            let value = |levels: &[u16]| match space.scalar(name, &|p| levels[p]) {
                Scalar::Number(n) if n.is_finite() => n,
                _ => 0.0,
            };
            let values: Vec<f64> = candidates.iter().map(value).collect();
            let column = scaled(logarithms(&values).unwrap_or(values));
            axes.push(ordered(&column));
            columns.push(column);
        }
        let plain = columns.len();
        if numeric.len() <= MOST_PAIRED {
            for i in 0..numeric.len() {
                for j in i + 1..numeric.len() {
                    let pair = |sign: f64| {
                        numeric[i].iter().zip(&numeric[j]).map(|(a, b)| a + sign * b).collect::<Vec<f64>>()
                    };
                    columns.push(scaled(pair(1.0)));
                    columns.push(scaled(pair(-1.0)));
                }
            }
        }
        let width = columns.len();
        let rows = (0..candidates.len()).flat_map(|row| columns.iter().map(move |column| column[row]));
        let places = (0..candidates.len()).flat_map(|row| axes.iter().map(move |(_, places)| places[row]));
        let (rows, places) = (rows.collect(), places.collect());
        Self { rows, width, plain, places, axes: axes.into_iter().map(|(axis, _)| axis).collect() }
    }

    /// All features of a candidate.
    pub fn row(&self, candidate: usize) -> &[f64] {
        &self.rows[candidate * self.width..(candidate + 1) * self.width]
    }

    /// The plain features of a candidate.
    pub fn plain(&self, candidate: usize) -> &[f64] {
        &self.row(candidate)[..self.plain]
    }

    /// The positions of a candidate on all axes.
    pub fn places(&self, candidate: usize) -> &[u16] {
        &self.places[candidate * self.axes.len()..(candidate + 1) * self.axes.len()]
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.rows.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there is no candidate, or no feature to distinguish them.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Base-2 logarithms if all numbers are positive and span a wide range.
fn logarithms(numbers: &[f64]) -> Option<Vec<f64>> {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(0.0, f64::max);
    (least > 0.0 && most / least >= WIDE).then(|| numbers.iter().map(|n| n.log2()).collect())
}

fn scaled(mut column: Vec<f64>) -> Vec<f64> {
    let least = column.iter().copied().fold(f64::INFINITY, f64::min);
    let most = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if most > least { most - least } else { 1.0 };
    column.iter_mut().for_each(|value| *value = (*value - least) / span);
    column
}

/// Numbers between 0 and 1 as positions on an axis.
fn ordered(column: &[f64]) -> (Axis, Vec<u16>) {
    let places = column.iter().map(|value| (value * (PLACES - 1) as f64).round() as u16).collect();
    (Axis { is_ordered: true, places: PLACES }, places)
}
