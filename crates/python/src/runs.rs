//! Questions about several runs: what changed, and what the ranks of a job show together.

use std::path::PathBuf;

use app::compare::{By, CompareRequest, Metric};
use app::ranks::RanksRequest;
use app::{Failure, Filters};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::Failed;
use crate::report::NativeReport;
use crate::selection::filters;
use crate::work::work;

/// What got slower or faster; the second value says why a gate failed.
#[pyfunction]
#[pyo3(signature = (base, candidate, *, min_effect = None, confidence = None, value = "total", by = "kernels", fail_on = None, fail_on_point = false, assume_comparable = false, force = false, rules = None, part = None))]
#[allow(clippy::too_many_arguments)]
pub fn compare(
    py: Python<'_>,
    base: Vec<PathBuf>,
    candidate: Vec<PathBuf>,
    min_effect: Option<f64>,
    confidence: Option<f64>,
    value: &str,
    by: &str,
    fail_on: Option<Vec<String>>,
    fail_on_point: bool,
    assume_comparable: bool,
    force: bool,
    rules: Option<PathBuf>,
    part: Option<&Bound<'_, PyDict>>,
) -> Result<(NativeReport, Option<String>), Failed> {
    let usual = CompareRequest::new(base, candidate);
    let request = CompareRequest {
        filters: filters(Filters::default(), part)?,
        min_effect: min_effect.unwrap_or(usual.min_effect),
        confidence: confidence.unwrap_or(usual.confidence),
        metric: one_of("value", value, [("total", Metric::Total), ("mean", Metric::Mean)])?,
        by: one_of("by", by, [("kernels", By::Kernels), ("ops", By::Ops)])?,
        gates: fail_on.unwrap_or_default(),
        gate_on_change: fail_on_point,
        anyway: force,
        assume_comparable,
        rules,
        ..usual
    };
    if !(50.0..100.0).contains(&request.confidence) {
        return Err(Failure::input("`confidence` is a percentage from 50 to below 100").into());
    }
    let answer = work(py, None, move |observer| app::compare(&request, observer))?;
    Ok((NativeReport::of(answer.report), answer.failure.map(|failure| failure.message().to_string())))
}

fn one_of<T>(name: &str, value: &str, known: [(&str, T); 2]) -> Result<T, Failure> {
    let names = known.each_ref().map(|(name, _)| *name).join(" or ");
    let found = known.into_iter().find(|(name, _)| *name == value).map(|(_, meant)| meant);
    found.ok_or_else(|| Failure::input(format!("`{name}={value}` should be {names}")))
}

/// Analyse all ranks of a job together.
#[pyfunction]
pub fn ranks(py: Python<'_>, paths: Vec<PathBuf>) -> Result<NativeReport, Failed> {
    let request = RanksRequest { paths };
    Ok(NativeReport::of(work(py, None, move |observer| app::ranks(&request, observer))?))
}
