//! Experiments in a store.

use std::path::PathBuf;

use app::experiment::{self, AttachRequest, GateRequest, StoreLocation};
use app::{Failure, Observer, Report};
use pyo3::prelude::*;

use crate::failure::Failed;
use crate::report::NativeReport;
use crate::work::work;

/// A store of experiments; it is opened for each call.
#[pyclass(frozen, module = "rocm_perf._rocm_perf")]
pub struct NativeStore(StoreLocation);

#[pymethods]
impl NativeStore {
    #[new]
    #[pyo3(signature = (database = None, artifacts = None))]
    fn new(database: Option<String>, artifacts: Option<PathBuf>) -> Self {
        Self(StoreLocation { database, artifacts })
    }

    #[pyo3(signature = (removed = false, tag = None))]
    fn experiments(
        &self,
        py: Python<'_>,
        removed: bool,
        tag: Option<String>,
    ) -> Result<NativeReport, Failed> {
        self.ask(py, move |place, _| experiment::list(&place, removed, tag.as_deref()))
    }

    #[pyo3(signature = (name, description = String::new()))]
    fn new_experiment(
        &self,
        py: Python<'_>,
        name: String,
        description: String,
    ) -> Result<NativeReport, Failed> {
        self.ask(py, move |place, _| experiment::new_experiment(&place, &name, &description))
    }

    #[pyo3(signature = (name, trial = None))]
    fn show(&self, py: Python<'_>, name: String, trial: Option<String>) -> Result<NativeReport, Failed> {
        self.ask(py, move |place, _| experiment::show(&place, &name, trial.as_deref()))
    }

    #[pyo3(signature = (experiment, trial, paths, branch = None, testbed = None, metrics = None, replace = false, analyse = true))]
    #[allow(clippy::too_many_arguments)]
    fn attach(
        &self,
        py: Python<'_>,
        experiment: String,
        trial: String,
        paths: Vec<PathBuf>,
        branch: Option<String>,
        testbed: Option<String>,
        metrics: Option<Vec<String>>,
        replace: bool,
        analyse: bool,
    ) -> Result<NativeReport, Failed> {
        let metrics = metrics.unwrap_or_default();
        let metrics = metrics.iter().map(|text| experiment::metric_of_text(text));
        let metrics = metrics.collect::<Result<_, _>>().map_err(Failure::input)?;
        self.ask(py, move |place, observer| {
            let request = AttachRequest {
                place,
                experiment,
                trial,
                paths,
                branch,
                testbed,
                metrics,
                replace,
                without_analyses: !analyse,
            };
            experiment::attach(&request, observer)
        })
    }

    fn compare(
        &self,
        py: Python<'_>,
        experiment: String,
        base: String,
        candidate: String,
    ) -> Result<NativeReport, Failed> {
        self.ask(py, move |place, _| experiment::compare(&place, &experiment, &base, &candidate))
    }

    fn alerts(&self, py: Python<'_>, name: String) -> Result<NativeReport, Failed> {
        self.ask(py, move |place, _| experiment::alerts(&place, &name))
    }

    /// Judges a trial; the second value says why it does not pass.
    #[pyo3(signature = (experiment, trial = None, metrics = None))]
    fn gate(
        &self,
        py: Python<'_>,
        experiment: String,
        trial: Option<String>,
        metrics: Option<Vec<String>>,
    ) -> Result<(NativeReport, Option<String>), Failed> {
        let request =
            GateRequest { place: self.0.clone(), experiment, trial, metrics: metrics.unwrap_or_default() };
        let answer = work(py, None, move |_| experiment::gate(&request))?;
        Ok((NativeReport::of(answer.report), answer.failure.map(|failure| failure.message().to_string())))
    }

    #[pyo3(signature = (name, text, trial = None, link = None))]
    fn note(
        &self,
        py: Python<'_>,
        name: String,
        text: String,
        trial: Option<String>,
        link: Option<String>,
    ) -> Result<NativeReport, Failed> {
        self.ask(py, move |place, _| {
            experiment::note(&place, &name, trial.as_deref(), &text, link.as_deref())
        })
    }
}

impl NativeStore {
    fn ask(
        &self,
        py: Python<'_>,
        request: impl FnOnce(StoreLocation, &dyn Observer) -> Result<Report, Failure> + Send + 'static,
    ) -> Result<NativeReport, Failed> {
        let place = self.0.clone();
        Ok(NativeReport::of(work(py, None, move |observer| request(place, observer))?))
    }
}
