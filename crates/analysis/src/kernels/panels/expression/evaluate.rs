//! Column-wise evaluation in blocks of dispatches, so that intermediate results stay in the cache.

use super::Operator;
use super::bound::{Bound, larger};

/// Dispatches per block.
pub(super) const BLOCK: usize = 1024;

/// Reusable buffers for intermediate results.
#[derive(Default)]
pub(super) struct Buffers(Vec<Vec<f64>>);

impl Buffers {
    pub(super) fn take(&mut self, length: usize) -> Vec<f64> {
        let mut buffer = self.0.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK));
        buffer.resize(length, 0.0);
        buffer
    }

    pub(super) fn give(&mut self, buffer: Vec<f64>) {
        self.0.push(buffer);
    }
}

impl Bound<'_> {
    /// One value per dispatch; NaN means missing.
    pub fn evaluate(&self, rows: usize) -> Vec<f64> {
        let mut values = vec![0.0; rows];
        let mut buffers = Buffers::default();
        for (block, out) in values.chunks_mut(BLOCK).enumerate() {
            self.fill(block * BLOCK, out, &mut buffers);
        }
        values
    }

    /// The value of one dispatch.
    pub fn value(&self, row: usize) -> f64 {
        match self {
            Bound::Scalar(number) => *number,
            Bound::Column(values) => values[row],
            Bound::Negative(a) => -a.value(row),
            Bound::Binary(operator, a, b) => operator.apply(a.value(row), b.value(row)),
            Bound::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                if condition.value(row) != 0.0 { yes.value(row) } else { no.value(row) }
            }
            Bound::Larger(parts) => larger(parts[0].value(row), parts[1].value(row)),
            Bound::Call(function, parts) => {
                let arguments: Vec<f64> = parts.iter().map(|part| part.value(row)).collect();
                function.apply(&arguments)
            }
            Bound::Sum(parts) => parts.iter().map(|part| part.value(row)).sum(),
        }
    }

    /// The values of the dispatches from `first` on.
    pub(super) fn fill(&self, first: usize, out: &mut [f64], buffers: &mut Buffers) {
        match self {
            Bound::Scalar(number) => out.fill(*number),
            Bound::Column(values) => out.copy_from_slice(&values[first..first + out.len()]),
            Bound::Negative(a) => {
                a.fill(first, out, buffers);
                out.iter_mut().for_each(|value| *value = -*value);
            }
            Bound::Binary(operator, a, b) => {
                a.fill(first, out, buffers);
                with(b, first, out.len(), buffers, |right| match right {
                    Right::Scalar(b) => each(out, std::iter::repeat(b), *operator),
                    Right::Slice(b) => each(out, b.iter().copied(), *operator),
                });
            }
            Bound::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                let mut holds = buffers.take(out.len());
                condition.fill(first, &mut holds, buffers);
                no.fill(first, out, buffers);
                let mut taken = buffers.take(out.len());
                yes.fill(first, &mut taken, buffers);
                for ((out, yes), holds) in out.iter_mut().zip(&taken).zip(&holds) {
                    *out = if *holds != 0.0 { *yes } else { *out };
                }
                buffers.give(holds);
                buffers.give(taken);
            }
            Bound::Larger(parts) => {
                parts[0].fill(first, out, buffers);
                let mut other = buffers.take(out.len());
                parts[1].fill(first, &mut other, buffers);
                out.iter_mut().zip(&other).for_each(|(out, other)| *out = larger(*out, *other));
                buffers.give(other);
            }
            Bound::Call(function, parts) => {
                let mut columns: Vec<Vec<f64>> = Vec::with_capacity(parts.len());
                for part in parts {
                    let mut column = buffers.take(out.len());
                    part.fill(first, &mut column, buffers);
                    columns.push(column);
                }
                let mut arguments = vec![0.0; parts.len()];
                for (row, out) in out.iter_mut().enumerate() {
                    arguments.iter_mut().zip(&columns).for_each(|(value, column)| *value = column[row]);
                    *out = function.apply(&arguments);
                }
                columns.into_iter().for_each(|column| buffers.give(column));
            }
            Bound::Sum(parts) => {
                out.fill(0.0);
                for part in parts {
                    with(part, first, out.len(), buffers, |right| match right {
                        Right::Scalar(b) => each(out, std::iter::repeat(b), Operator::Add),
                        Right::Slice(b) => each(out, b.iter().copied(), Operator::Add),
                    });
                }
            }
        }
    }
}

/// The right operand: a number, or values that are borrowed.
enum Right<'v> {
    Scalar(f64),
    Slice(&'v [f64]),
}

fn with(bound: &Bound<'_>, first: usize, rows: usize, buffers: &mut Buffers, work: impl FnOnce(Right<'_>)) {
    match bound {
        Bound::Scalar(number) => work(Right::Scalar(*number)),
        Bound::Column(values) => work(Right::Slice(&values[first..first + rows])),
        other => {
            let mut values = buffers.take(rows);
            other.fill(first, &mut values, buffers);
            work(Right::Slice(&values));
            buffers.give(values);
        }
    }
}

/// `out[i] = out[i] operator right[i]`, with one loop per operator so that each can be vectorised.
fn each(out: &mut [f64], right: impl Iterator<Item = f64>, operator: Operator) {
    macro_rules! with_each {
        ($($name:ident),*) => {
            match operator {
                $(Operator::$name => out
                    .iter_mut()
                    .zip(right)
                    .for_each(|(out, right)| *out = Operator::$name.apply(*out, right)),)*
            }
        };
    }
    with_each!(
        Add,
        Subtract,
        Multiply,
        Divide,
        FloorDivide,
        Remainder,
        Power,
        Equal,
        Unequal,
        Less,
        Greater,
        AtMost,
        AtLeast,
        And,
        Or
    );
}
