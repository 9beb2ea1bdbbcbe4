//! Alerts: seen, acknowledged, suppressed.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use store::SeriesKey;
use utoipa::ToSchema;

use super::types::AlertEntry;
use crate::error::Problem;
use crate::state::Dashboard;

/// List the alerts of an experiment, the latest first
#[utoipa::path(get, path = "/api/v1/experiments/{name}/alerts", params(("name" = String, Path)), responses((status = 200, body = [AlertEntry])), security(("token" = [])))]
pub async fn list(
    State(state): State<Dashboard>,
    Path(name): Path<String>,
) -> Result<Json<Vec<AlertEntry>>, Problem> {
    Ok(Json(state.alerts(&name).await?.iter().map(Into::into).collect()))
}

/// Which alerts are known.
#[derive(Deserialize, ToSchema)]
pub struct Acknowledge {
    /// The first bad trial.
    first_trial: String,
    /// The metric [default: all that got worse with that trial].
    metric: Option<String>,
    /// Why it is fine, or who looks at it.
    reason: String,
}

/// How many alerts were acknowledged.
#[derive(Serialize, ToSchema)]
pub struct Acknowledged {
    /// So many.
    acknowledged: usize,
}

/// Acknowledge alerts
#[utoipa::path(post, path = "/api/v1/experiments/{name}/alerts/acknowledge", params(("name" = String, Path)), request_body = Acknowledge, responses((status = 200, body = Acknowledged)), security(("token" = [])))]
pub async fn acknowledge(
    State(state): State<Dashboard>,
    Path(name): Path<String>,
    Json(said): Json<Acknowledge>,
) -> Result<Json<Acknowledged>, Problem> {
    let acknowledged = state.acknowledge(name, said.first_trial, said.metric, said.reason).await?;
    Ok(Json(Acknowledged { acknowledged }))
}

/// Which alerts to suppress.
#[derive(Deserialize, ToSchema)]
pub struct Suppress {
    /// The metric.
    metric: String,
    /// Branch [default: all].
    #[serde(default)]
    branch: String,
    /// Testbed [default: all].
    #[serde(default)]
    testbed: String,
    /// Why; absent: enable them again.
    reason: Option<String>,
}

/// Suppress the alerts of a metric, or hear of them again
#[utoipa::path(post, path = "/api/v1/experiments/{name}/alerts/suppress", params(("name" = String, Path)), request_body = Suppress, responses((status = 204)), security(("token" = [])))]
pub async fn suppress(
    State(state): State<Dashboard>,
    Path(name): Path<String>,
    Json(said): Json<Suppress>,
) -> Result<StatusCode, Problem> {
    let key = SeriesKey { branch: said.branch, testbed: said.testbed, metric: said.metric };
    state.suppress(name, key, said.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
