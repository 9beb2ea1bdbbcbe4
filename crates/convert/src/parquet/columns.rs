//! A column of a file: its name, and its value in each row of the trace.

use trace::Trace;

/// A column.
pub(super) struct Column {
    pub name: &'static str,
    pub values: Values,
}

/// The source and encoding of a column's values.
pub(super) enum Values {
    /// Every row has one, and they grow or drift: stored as differences.
    Time(Of<i64>),
    /// Many different numbers: stored as differences.
    Number(Of<Option<i64>>),
    /// Few different numbers: each stored once.
    Code(Of<Option<i64>>),
    /// Measured values.
    Real(Of<Option<f64>>),
    /// Strings, each stored once.
    Text(Box<TextOf>),
    /// Command lines, without secrets.
    CommandLine(Box<TextOf>),
}

/// The value of a row.
pub(super) type Of<T> = Box<dyn Fn(&Trace, usize) -> T>;

/// The text of a row.
pub(super) type TextOf = dyn for<'t> Fn(&'t Trace, usize) -> Option<&'t str>;

/// A time in nanoseconds.
pub(super) fn time(name: &'static str, of: impl Fn(&Trace, usize) -> i64 + 'static) -> Column {
    Column { name, values: Values::Time(Box::new(of)) }
}

/// A number that differs from row to row: an id, an address.
pub(super) fn number<N: Into<OptionalInteger>>(
    name: &'static str,
    of: impl Fn(&Trace, usize) -> N + 'static,
) -> Column {
    Column { name, values: Values::Number(Box::new(move |trace, row| of(trace, row).into().0)) }
}

/// A number that many rows share: a process, a grid size.
pub(super) fn code<N: Into<OptionalInteger>>(
    name: &'static str,
    of: impl Fn(&Trace, usize) -> N + 'static,
) -> Column {
    Column { name, values: Values::Code(Box::new(move |trace, row| of(trace, row).into().0)) }
}

/// A measured value; NaN means none.
pub(super) fn real(name: &'static str, of: impl Fn(&Trace, usize) -> f64 + 'static) -> Column {
    let values = move |trace: &Trace, row: usize| Some(of(trace, row)).filter(|value| !value.is_nan());
    Column { name, values: Values::Real(Box::new(values)) }
}

/// A string; an empty one means none.
pub(super) fn text(name: &'static str, of: impl for<'t> Fn(&'t Trace, usize) -> &'t str + 'static) -> Column {
    Column { name, values: Values::Text(Box::new(OrNone(of).into_fn())) }
}

/// A command line; secrets are removed.
pub(super) fn command_line(
    name: &'static str,
    of: impl for<'t> Fn(&'t Trace, usize) -> &'t str + 'static,
) -> Column {
    Column { name, values: Values::CommandLine(Box::new(OrNone(of).into_fn())) }
}

/// Gives the compiler the lifetimes of a closure that returns a part of its argument.
struct OrNone<F>(F);

impl<F: for<'t> Fn(&'t Trace, usize) -> &'t str + 'static> OrNone<F> {
    fn into_fn(self) -> impl for<'t> Fn(&'t Trace, usize) -> Option<&'t str> {
        move |trace, row| Some((self.0)(trace, row)).filter(|text| !text.is_empty())
    }
}

/// A whole number that may be absent.
pub(super) struct OptionalInteger(Option<i64>);

impl From<Option<i64>> for OptionalInteger {
    fn from(value: Option<i64>) -> Self {
        Self(value)
    }
}

impl From<i64> for OptionalInteger {
    fn from(value: i64) -> Self {
        Self(Some(value))
    }
}

impl From<u32> for OptionalInteger {
    fn from(value: u32) -> Self {
        Self(Some(i64::from(value)))
    }
}

impl From<Option<u32>> for OptionalInteger {
    fn from(value: Option<u32>) -> Self {
        Self(value.map(i64::from))
    }
}

impl From<Option<usize>> for OptionalInteger {
    fn from(value: Option<usize>) -> Self {
        Self(value.map(|value| value as i64))
    }
}

impl From<trace::OptI64> for OptionalInteger {
    fn from(value: trace::OptI64) -> Self {
        Self(value.get())
    }
}
