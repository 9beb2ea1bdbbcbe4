//! Experiments, trials, comparisons and uploads.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use report::render;
use serde::Deserialize;
use store::{OverviewFilter, OverviewOrder, PageRequest, Status};
use utoipa::{IntoParams, ToSchema};

use super::types::{ExperimentDetails, ExperimentList, TrialDetails};
use crate::error::Problem;
use crate::state::Dashboard;
use crate::upload::{self, Destination, Limits, Uploaded};

/// Which experiments.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Part of the name or the description.
    pub q: String,
    /// Tag of the experiment or of a trial.
    pub tag: String,
    /// Branch of a trial.
    pub branch: String,
    /// Testbed of a trial.
    pub testbed: String,
    /// `regressed`, `passing`, `unjudged` or `empty`.
    pub status: String,
    /// `1`: only those where something runs now.
    pub running: String,
    /// `changed` (default), `name`, `alerts` or `trials`.
    pub sort: String,
    /// Experiments before the first.
    pub offset: Option<usize>,
    /// Most experiments, at most 500.
    pub limit: Option<usize>,
}

impl ListQuery {
    /// The filter that is meant.
    pub fn filter(&self) -> Result<OverviewFilter, Problem> {
        let some = |text: &str| Some(text.to_string()).filter(|text| !text.is_empty());
        let status = match self.status.as_str() {
            "" => None,
            name => {
                let status = Status::of_name(name);
                Some(status.ok_or_else(|| Problem::bad_request(format!("`{name}` is not a status")))?)
            }
        };
        Ok(OverviewFilter {
            search: some(&self.q),
            tag: some(&self.tag),
            branch: some(&self.branch),
            testbed: some(&self.testbed),
            status,
            running: !self.running.is_empty(),
            removed: false,
        })
    }

    /// The order that is meant.
    pub fn order(&self) -> OverviewOrder {
        match self.sort.as_str() {
            "name" => OverviewOrder::Name,
            "alerts" => OverviewOrder::Alerts,
            "trials" => OverviewOrder::Trials,
            _ => OverviewOrder::Changed,
        }
    }
}

/// List experiments
#[utoipa::path(get, path = "/api/v1/experiments", params(ListQuery), responses((status = 200, body = ExperimentList)), security(("token" = [])))]
pub async fn list(
    State(state): State<Dashboard>,
    Query(query): Query<ListQuery>,
) -> Result<Json<ExperimentList>, Problem> {
    let page = PageRequest {
        offset: query.offset.unwrap_or(0),
        limit: query.limit.unwrap_or(50),
        order: query.order(),
    };
    let found = state.overview(query.filter()?, page).await?;
    let experiments = found.rows.iter().map(Into::into).collect();
    Ok(Json(ExperimentList { total: found.total, offset: found.offset, experiments }))
}

/// A new experiment.
#[derive(Deserialize, ToSchema)]
pub struct NewExperiment {
    /// Its name.
    name: String,
    /// What it is about.
    #[serde(default)]
    description: String,
}

/// Make an experiment
#[utoipa::path(post, path = "/api/v1/experiments", request_body = NewExperiment, responses((status = 201, body = ExperimentDetails), (status = 409, description = "the name is taken")), security(("token" = [])))]
pub async fn create(
    State(state): State<Dashboard>,
    Json(new): Json<NewExperiment>,
) -> Result<Response, Problem> {
    state.new_experiment(new.name.clone(), new.description).await?;
    let made = state.experiment(&new.name).await?;
    Ok((StatusCode::CREATED, Json(ExperimentDetails::from(&made))).into_response())
}

/// Show an experiment with its trials, series and alerts
#[utoipa::path(get, path = "/api/v1/experiments/{name}", params(("name" = String, Path)), responses((status = 200, body = ExperimentDetails)), security(("token" = [])))]
pub async fn show(
    State(state): State<Dashboard>,
    Path(name): Path<String>,
) -> Result<Json<ExperimentDetails>, Problem> {
    Ok(Json(ExperimentDetails::from(&state.experiment(&name).await?)))
}

/// Show a trial with all that was attached
#[utoipa::path(get, path = "/api/v1/experiments/{name}/trials/{trial}", params(("name" = String, Path), ("trial" = String, Path)), responses((status = 200, body = TrialDetails)), security(("token" = [])))]
pub async fn show_trial(
    State(state): State<Dashboard>,
    Path((name, trial)): Path<(String, String)>,
) -> Result<Json<TrialDetails>, Problem> {
    Ok(Json(TrialDetails::from(&state.trial(&name, &trial).await?)))
}

/// Two trials.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct CompareQuery {
    /// The trial to compare with.
    pub base: String,
    /// The trial that is compared.
    pub candidate: String,
}

/// Compare two trials: comparability first, then the figures
#[utoipa::path(get, path = "/api/v1/experiments/{name}/compare", params(("name" = String, Path), CompareQuery), responses((status = 200, description = "as `rocm-perf experiment compare --format json` prints it")), security(("token" = [])))]
pub async fn compare(
    State(state): State<Dashboard>,
    Path(name): Path<String>,
    Query(query): Query<CompareQuery>,
) -> Result<Response, Problem> {
    let found = state.compare(&name, &query.base, &query.candidate).await?;
    let text = render::json(&found, env!("CARGO_PKG_VERSION"));
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// How an upload is attached.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct UploadQuery {
    /// Replace files of the same name that differ.
    pub replace: bool,
}

/// Upload artifacts: a tar archive, plain or gzip
///
/// Plain files only. The file `trial.json` holds facts instead of being an artifact: `branch`, `testbed`, `tags`, `metrics`, `metadata`,
/// `notes`, `links`. The experiment and the trial are made where they are new. Sending the same again changes nothing.
#[utoipa::path(post, path = "/api/v1/experiments/{name}/trials/{trial}/bundle", params(("name" = String, Path), ("trial" = String, Path), UploadQuery), request_body(content = Vec<u8>, content_type = "application/x-tar"), responses((status = 200, body = Uploaded), (status = 400, description = "the archive or an artifact is malformed"), (status = 409, description = "the trial has another file of that name"), (status = 413, description = "too large, too many files, or it grows too much")), security(("token" = [])))]
pub async fn upload(
    State(state): State<Dashboard>,
    Path((experiment, trial)): Path<(String, String)>,
    Query(query): Query<UploadQuery>,
    body: Body,
) -> Result<Json<Uploaded>, Problem> {
    let destination = Destination { experiment, trial, replace: query.replace };
    Ok(Json(upload::take(&state, body, destination, Limits::default()).await?))
}
