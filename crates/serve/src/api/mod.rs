//! JSON for programs under `/api/v1`, described by `/api/v1/openapi.json`; metrics for Prometheus under `/metrics`.

mod alerts;
mod downloads;
mod experiments;
mod open_metrics;
mod progress;
mod tables;
mod types;

use axum::Router;
use axum::routing::{get, post};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::state::Dashboard;

pub use self::downloads::send;
pub use self::experiments::{CompareQuery, ListQuery};
pub use self::progress::{ProgressEntry, state as run_state};
pub use self::tables::{TablePlace, csv};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "rocm-perf dashboard",
        description = "Experiments, trials and their artifacts. Every answer that is not 2xx is \
                       `{\"error\": {\"code\", \"message\", \"help\"}}`."
    ),
    paths(
        experiments::list,
        experiments::create,
        experiments::show,
        experiments::show_trial,
        experiments::compare,
        experiments::upload,
        downloads::artifact,
        tables::table,
        alerts::list,
        alerts::acknowledge,
        alerts::suppress,
        progress::list,
    ),
    modifiers(&Tokens)
)]
struct Description;

/// Tokens are needed where the server has any.
struct Tokens;

impl utoipa::Modify for Tokens {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// The description of the API as JSON.
pub fn openapi() -> String {
    Description::openapi().to_pretty_json().unwrap_or_default()
}

/// Routes of the API.
pub fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/api/v1/openapi.json", get(description))
        .route("/api/v1/experiments", get(experiments::list).post(experiments::create))
        .route("/api/v1/experiments/{name}", get(experiments::show))
        .route("/api/v1/experiments/{name}/compare", get(experiments::compare))
        .route("/api/v1/experiments/{name}/alerts", get(alerts::list))
        .route("/api/v1/experiments/{name}/alerts/acknowledge", post(alerts::acknowledge))
        .route("/api/v1/experiments/{name}/alerts/suppress", post(alerts::suppress))
        .route("/api/v1/experiments/{name}/trials/{trial}", get(experiments::show_trial))
        .route("/api/v1/experiments/{name}/trials/{trial}/bundle", post(experiments::upload))
        .route("/api/v1/experiments/{name}/trials/{trial}/tables", get(tables::table))
        .route("/api/v1/experiments/{name}/trials/{trial}/artifacts/{*path}", get(downloads::artifact))
        .route("/api/v1/progress", get(progress::list))
        .route("/metrics", get(open_metrics::scrape))
}

async fn description() -> impl axum::response::IntoResponse {
    ([(axum::http::header::CONTENT_TYPE, "application/json")], openapi())
}
