//! The ratio of sums: the value of a formula for all dispatches together.
//!
//! A mean of ratios gives a dispatch of a microsecond the same weight as one of a second. Here every division
//! is done once, on means over all dispatches: Σa / Σb. Without a division, the result is the plain mean.

use super::Operator;
use super::bound::Bound;
use super::evaluate::{BLOCK, Buffers};

/// A formula split at its divisions; leaves are means.
enum Plan {
    Scalar(f64),
    Mean(usize),
    Negative(Box<Plan>),
    Binary(Operator, Box<Plan>, Box<Plan>),
}

/// The parts that are evaluated for every dispatch.
#[derive(Default)]
struct Pieces<'b, 'd> {
    means: Vec<&'b Bound<'d>>,
    /// A dispatch is left out if one of these conditions does not hold for it.
    guards: Vec<&'b Bound<'d>>,
}

impl<'d> Bound<'d> {
    /// The value for all dispatches together, over those with complete data; `None` if there are none.
    pub fn total(&self, rows: usize) -> Option<f64> {
        let mut pieces = Pieces::default();
        let plan = pieces.plan(self);
        let mut sums = vec![0.0; pieces.means.len()];
        let mut counted = 0usize;
        let mut buffers = Buffers::default();
        let mut columns: Vec<Vec<f64>> = pieces.means.iter().map(|_| Vec::new()).collect();
        let mut valid = Vec::new();
        for first in (0..rows).step_by(BLOCK) {
            let length = BLOCK.min(rows - first);
            valid.clear();
            valid.resize(length, true);
            for guard in &pieces.guards {
                let mut holds = buffers.take(length);
                guard.fill(first, &mut holds, &mut buffers);
                // A missing condition is missing data, which the check below also catches.
                valid.iter_mut().zip(&holds).for_each(|(valid, holds)| *valid &= *holds != 0.0);
                buffers.give(holds);
            }
            for (piece, column) in pieces.means.iter().zip(&mut columns) {
                column.resize(length, 0.0);
                piece.fill(first, column, &mut buffers);
                valid.iter_mut().zip(&*column).for_each(|(valid, value)| *valid &= value.is_finite());
            }
            for (column, sum) in columns.iter().zip(&mut sums) {
                *sum += column
                    .iter()
                    .zip(&valid)
                    .filter(|(_, valid)| **valid)
                    .map(|(value, _)| value)
                    .sum::<f64>();
            }
            counted += valid.iter().filter(|valid| **valid).count();
        }
        (counted > 0).then(|| plan.result(&sums, counted as f64)).filter(|value| !value.is_nan())
    }

    /// Whether it divides by a value that differs between dispatches.
    fn divides(&self) -> bool {
        match self {
            Bound::Scalar(_) | Bound::Column(_) => false,
            Bound::Negative(a) => a.divides(),
            Bound::Binary(operator, a, b) => {
                (*operator == Operator::Divide && !matches!(**b, Bound::Scalar(_)))
                    || a.divides()
                    || b.divides()
            }
            Bound::Choice(parts) => parts.iter().any(Bound::divides),
            Bound::Larger(parts) => parts.iter().any(Bound::divides),
            Bound::Call(_, parts) | Bound::Sum(parts) => parts.iter().any(Bound::divides),
        }
    }
}

impl<'b, 'd> Pieces<'b, 'd> {
    fn plan(&mut self, bound: &'b Bound<'d>) -> Plan {
        match bound {
            Bound::Scalar(number) => Plan::Scalar(*number),
            Bound::Choice(parts) if matches!(parts[2], Bound::Scalar(no) if no.is_nan()) => {
                self.guards.push(&parts[0]);
                self.plan(&parts[1])
            }
            Bound::Negative(a) if a.divides() => Plan::Negative(Box::new(self.plan(a))),
            Bound::Binary(operator, a, b) if bound.divides() => {
                Plan::Binary(*operator, Box::new(self.plan(a)), Box::new(self.plan(b)))
            }
            leaf => {
                self.means.push(leaf);
                Plan::Mean(self.means.len() - 1)
            }
        }
    }
}

impl Plan {
    fn result(&self, sums: &[f64], counted: f64) -> f64 {
        match self {
            Plan::Scalar(number) => *number,
            Plan::Mean(piece) => sums[*piece] / counted,
            Plan::Negative(a) => -a.result(sums, counted),
            Plan::Binary(operator, a, b) => operator.apply(a.result(sums, counted), b.result(sums, counted)),
        }
    }
}
