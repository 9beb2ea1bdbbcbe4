//! Runs that are under way.

use axum::Json;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use store::Progress;
use utoipa::{IntoParams, ToSchema};

use crate::error::Problem;
use crate::state::Dashboard;
use crate::time;

/// Which runs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct ProgressQuery {
    /// Only those that reported something after this time.
    since_ns: i64,
    /// Only those of this experiment.
    experiment: Option<String>,
}

/// How far a run is.
#[derive(Serialize, ToSchema)]
pub struct ProgressEntry {
    /// The experiment.
    experiment: String,
    /// The trial that it writes to.
    trial: String,
    /// The command.
    kind: String,
    /// Steps done.
    done: i64,
    /// All steps, where that is known.
    total: Option<i64>,
    /// What it does now.
    message: String,
    /// When it said so.
    at: String,
    /// The same in nanoseconds since 1970.
    at_ns: i64,
    /// `running`, `ended`, or `silent` if it has not reported for long.
    state: &'static str,
}

impl From<&Progress> for ProgressEntry {
    fn from(progress: &Progress) -> Self {
        Self {
            experiment: progress.experiment.clone(),
            trial: progress.trial.clone(),
            kind: progress.kind.clone(),
            done: progress.done,
            total: progress.total,
            message: progress.message.clone(),
            at: time::iso(progress.at_ns),
            at_ns: progress.at_ns,
            state: state(progress),
        }
    }
}

/// The state of a run in one word.
pub fn state(progress: &Progress) -> &'static str {
    match progress {
        _ if progress.ended => "ended",
        _ if progress.is_running() => "running",
        _ => "silent",
    }
}

/// List runs that are under way or ended lately, the oldest word first
#[utoipa::path(get, path = "/api/v1/progress", params(ProgressQuery), responses((status = 200, body = [ProgressEntry])), security(("token" = [])))]
pub async fn list(
    State(state): State<Dashboard>,
    Query(query): Query<ProgressQuery>,
) -> Result<Json<Vec<ProgressEntry>>, Problem> {
    let found = state.progress(query.experiment, query.since_ns).await?;
    Ok(Json(found.iter().map(Into::into).collect()))
}
