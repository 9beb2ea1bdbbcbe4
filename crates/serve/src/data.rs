//! Store queries for the pages and the API. Nothing else calls the store.

use std::sync::Arc;

use app::Report;
use app::experiment::compare_trials;
use store::{
    Alert, Artifact, Choices, ExperimentRow, Link, Note, OverviewFilter, OverviewOrder, OverviewRow, Page,
    PageRequest, Progress, Series, SeriesKey, Store, StoreError, Trial, TrialRow,
};

use crate::documents::{Document, MOST_BYTES};
use crate::error::Problem;
use crate::state::Dashboard;

/// Experiments whose alerts are shown on one page.
pub const ALERT_EXPERIMENTS: usize = 100;

/// An experiment with all that its page shows.
pub struct Experiment {
    /// Its row in the list of experiments.
    pub row: ExperimentRow,
    /// Its row in the overview.
    pub standing: OverviewRow,
    /// Its trials, oldest first.
    pub trials: Vec<TrialRow>,
    /// Metrics over trials.
    pub series: Vec<Series>,
    /// Changes for the worse, the latest first.
    pub alerts: Vec<Alert>,
    /// (trial, artifact).
    pub artifacts: Vec<(String, String)>,
    /// Its own notes.
    pub notes: Vec<Note>,
    /// Its own links.
    pub links: Vec<Link>,
}

/// Alerts of one experiment.
pub type ExperimentAlerts = (String, Vec<Alert>);

impl Dashboard {
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.pool.with(work).await
    }

    /// A page of the overview.
    pub(crate) async fn overview(
        &self,
        filter: OverviewFilter,
        page: PageRequest,
    ) -> Result<Page<OverviewRow>, Problem> {
        self.ask(move |store| store.overview(&filter, page)).await
    }

    /// A page of the overview, and the choices for its filters.
    pub(crate) async fn overview_with_choices(
        &self,
        filter: OverviewFilter,
        page: PageRequest,
    ) -> Result<(Page<OverviewRow>, Arc<Choices>), Problem> {
        let state = self.clone();
        self.ask(move |store| {
            let found = store.overview(&filter, page)?;
            let choices = match state.choices.get() {
                Some(choices) => choices,
                None => state.choices.set(store.choices()?),
            };
            Ok((found, choices))
        })
        .await
    }

    /// Makes an experiment.
    pub(crate) async fn new_experiment(&self, name: String, description: String) -> Result<(), Problem> {
        self.ask(move |store| store.new_experiment(&name, &description)).await
    }

    /// An experiment with its trials.
    pub(crate) async fn experiment(&self, name: &str) -> Result<Experiment, Problem> {
        let name = name.to_string();
        self.ask(move |store| {
            Ok(Experiment {
                row: store.experiment(&name)?,
                standing: store.overview_of(&name)?,
                trials: store.trials(&name, false)?,
                series: store.series(&name)?,
                alerts: store.alerts(&name)?,
                artifacts: store.artifact_names(&name)?,
                notes: store.notes(&name, None)?,
                links: store.links(&name, None)?,
            })
        })
        .await
    }

    /// A trial with all that was attached.
    pub(crate) async fn trial(&self, experiment: &str, trial: &str) -> Result<Trial, Problem> {
        let (experiment, trial) = (experiment.to_string(), trial.to_string());
        self.ask(move |store| store.trial(&experiment, &trial)).await
    }

    /// One artifact, and the file with its bytes.
    pub(crate) async fn artifact(
        &self,
        experiment: &str,
        trial: &str,
        path: &str,
    ) -> Result<(Artifact, std::path::PathBuf), Problem> {
        let (experiment, trial, path) = (experiment.to_string(), trial.to_string(), path.to_string());
        let missing = Problem::not_found(format!("trial `{trial}` has no artifact `{path}`"));
        let found = self.ask(move |store| {
            let artifact = store.artifact(&experiment, &trial, &path)?;
            Ok(artifact.map(|artifact| (store.content_path(&artifact.sha256), artifact)))
        });
        found.await?.map(|(file, artifact)| (artifact, file)).ok_or(missing)
    }

    /// The JSON in an artifact.
    pub(crate) async fn document(&self, artifact: &Artifact) -> Result<Arc<Document>, Problem> {
        if let Some(document) = self.documents.kept(&artifact.sha256) {
            return Ok(document);
        }
        if artifact.bytes > MOST_BYTES {
            let message = format!("`{}` is too large to show; download it", artifact.path);
            return Err(Problem::too_large(message));
        }
        let (state, artifact) = (self.clone(), artifact.clone());
        self.pool
            .with(move |store| -> Result<Arc<Document>, Problem> {
                let name = artifact.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
                let bytes = || Ok(store.content(&artifact.sha256)?);
                state.documents.read(&artifact.sha256, artifact.bytes, name, bytes)
            })
            .await
    }

    /// Two trials of an experiment side by side.
    pub(crate) async fn compare(&self, name: &str, base: &str, candidate: &str) -> Result<Report, Problem> {
        let (name, base, candidate) = (name.to_string(), base.to_string(), candidate.to_string());
        // Checked first, so that a missing trial is reported as such.
        let (trials, names) = (name.clone(), [base.clone(), candidate.clone()]);
        self.ask(move |store| names.iter().try_for_each(|trial| store.trial(&trials, trial).map(|_| ())))
            .await?;
        self.pool.with(move |store| compare_trials(store, &name, &base, &candidate)).await
    }

    /// Alerts of an experiment.
    pub(crate) async fn alerts(&self, name: &str) -> Result<Vec<Alert>, Problem> {
        let name = name.to_string();
        self.ask(move |store| store.alerts(&name)).await
    }

    /// Alerts of all experiments with open ones, and whether there are more experiments.
    pub(crate) async fn open_alerts(&self) -> Result<(Vec<ExperimentAlerts>, bool), Problem> {
        self.ask(|store| {
            let order = OverviewOrder::Alerts;
            let page = PageRequest { offset: 0, limit: ALERT_EXPERIMENTS, order };
            let found = store.overview(&OverviewFilter::default(), page)?;
            let alerting = found.rows.iter().filter(|row| row.open_alerts > 0);
            let mut alerts = Vec::new();
            for row in alerting {
                let name = row.experiment.name.clone();
                alerts.push((name.clone(), store.alerts(&name)?));
            }
            let more = alerts.len() == ALERT_EXPERIMENTS;
            Ok((alerts, more))
        })
        .await
    }

    /// Acknowledges alerts; returns how many.
    pub(crate) async fn acknowledge(
        &self,
        name: String,
        first_trial: String,
        metric: Option<String>,
        reason: String,
    ) -> Result<usize, Problem> {
        self.ask(move |store| store.acknowledge(&name, &first_trial, metric.as_deref(), &reason)).await
    }

    /// Suppresses the alerts of a series, or enables them again if no reason is given.
    pub(crate) async fn suppress(
        &self,
        name: String,
        key: SeriesKey,
        reason: Option<String>,
    ) -> Result<(), Problem> {
        self.ask(move |store| store.suppress(&name, &key, reason.as_deref())).await
    }

    /// Runs that reported something after a time.
    pub(crate) async fn progress(
        &self,
        experiment: Option<String>,
        since_ns: i64,
    ) -> Result<Vec<Progress>, Problem> {
        self.ask(move |store| store.progress(experiment.as_deref(), since_ns)).await
    }
}
