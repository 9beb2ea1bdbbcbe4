//! Which part of a trace to look at, from keyword arguments.

use app::{Edge, Failure, Filters, Moment, Stage, StagePatterns, kernel_pattern};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::failure::Failed;

/// The names that are understood, for messages.
const NAMES: &str = "start, end, start_marker, end_marker, overlapping, kernel, category, agent, stream, rank, pid, \
                     stage, stage_pattern";

/// Applies keyword arguments to filters; the rest stays unchanged.
pub fn filters(mut filters: Filters, given: Option<&Bound<'_, PyDict>>) -> Result<Filters, Failed> {
    let Some(given) = given else { return Ok(filters) };
    for (name, value) in given.iter() {
        let name: String = name.extract()?;
        if value.is_none() {
            continue;
        }
        match name.as_str() {
            "start" => filters.start = Some(moment("start", &value)?),
            "end" => filters.end = Some(moment("end", &value)?),
            "start_marker" => filters.start = Some(Edge::Marker(value.extract()?)),
            "end_marker" => filters.end = Some(Edge::Marker(value.extract()?)),
            "overlapping" => filters.overlapping = value.extract()?,
            "kernel" => choose_kernels(&mut filters, &value)?,
            "category" => filters.categories = one_or_more(&value)?,
            "agent" => filters.agents = one_or_more(&value)?,
            "stream" => filters.streams = one_or_more(&value)?,
            "rank" => filters.ranks = one_or_more(&value)?,
            "pid" => filters.pids = one_or_more(&value)?,
            "stage" => filters.stages = stages(&value)?,
            "stage_pattern" => filters.stage_patterns = stage_patterns(&value)?,
            _ => {
                let message =
                    format!("unexpected argument `{name}`; a part of a trace is chosen with {NAMES}");
                return Err(PyTypeError::new_err(message).into());
            }
        }
    }
    if filters.overlapping && !filters.has_window() {
        let failure = Failure::input("`overlapping=True` needs a window");
        return Err(failure.with_help("pass `start=` or `end=`").into());
    }
    Ok(filters)
}

/// A value, or a list of them.
pub fn one_or_more<'py, T>(value: &Bound<'py, PyAny>) -> Result<Vec<T>, Failed>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    if !value.is_instance_of::<PyString>() && value.try_iter().is_ok() {
        return Ok(value
            .try_iter()?
            .map(|item| item.and_then(|item| item.extract::<T>()))
            .collect::<PyResult<_>>()?);
    }
    Ok(vec![value.extract::<T>()?])
}

/// `"30%"`, `"1.2s"`, or nanoseconds on the trace's clock.
fn moment(name: &str, value: &Bound<'_, PyAny>) -> Result<Edge, Failed> {
    let text: String = value.str()?.extract()?;
    let moment = text.parse::<Moment>().map_err(|reason| {
        Failure::input(format!("`{name}={text}` is not a time")).with_help(reason.to_string())
    })?;
    Ok(Edge::At(moment))
}

/// A pattern as text, or compiled by Python's `re`.
fn choose_kernels(filters: &mut Filters, value: &Bound<'_, PyAny>) -> Result<(), Failed> {
    let text: String = match value.getattr_opt("pattern")? {
        Some(pattern) => pattern.extract()?,
        None => value.extract()?,
    };
    let pattern = kernel_pattern(&text).map_err(|reason| {
        Failure::input(format!("`kernel={text}` is not a regular expression: {reason}"))
            .with_help("put a `\\` before special characters: `gemm\\(`")
    });
    filters.kernel = Some(pattern?);
    Ok(())
}

fn stages(value: &Bound<'_, PyAny>) -> Result<Vec<Stage>, Failed> {
    let names: Vec<String> = one_or_more(value)?;
    let stage = |name: &String| {
        Stage::from_name(name).ok_or_else(|| {
            let known = Stage::ALL.map(Stage::name).join(", ");
            Failure::input(format!("there is no stage `{name}`")).with_help(format!("it is one of {known}"))
        })
    };
    Ok(names.iter().map(stage).collect::<Result<_, _>>()?)
}

fn stage_patterns(value: &Bound<'_, PyAny>) -> Result<StagePatterns, Failed> {
    let mut patterns = StagePatterns::default();
    for text in one_or_more::<String>(value)? {
        patterns.add(&text).map_err(|error| Failure::input(error.to_string()))?;
    }
    Ok(patterns)
}
