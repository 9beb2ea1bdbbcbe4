//! Pages: HTML made here, which needs no script. They show what is stored and draw no conclusions.
//!
//! | module | what for |
//! |---|---|
//! | `layout`, `assets` | the frame of every page, styles, script, fonts |
//! | `parts`, `tables`, `charts` | what pages are made of |
//! | `overview`, `experiment`, `trial`, `table`, `compare`, `alerts`, `live`, `login` | one page each |

mod alerts;
mod assets;
mod charts;
mod compare;
mod experiment;
mod layout;
mod live;
mod login;
mod overview;
mod parallel;
mod parts;
mod table;
mod tables;
mod trial;
mod views;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::html;

use self::layout::{Tab, frame};
use crate::access::is_api;
use crate::api;
use crate::error::Problem;
use crate::state::Dashboard;

/// Most bytes of a form.
const FORM: usize = 64 << 10;

/// Routes of the pages.
pub fn routes() -> Router<Dashboard> {
    Router::new()
        .route("/", get(overview::page))
        .route("/alerts", get(alerts::page))
        .route("/live", get(live::page))
        .route("/live/events", get(live::events))
        .route("/login", get(login::page).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/assets/{name}", get(assets::send))
        .route("/experiments/{name}", get(experiment::page))
        .route("/experiments/{name}/compare", get(compare::page))
        .route("/experiments/{name}/alerts/acknowledge", post(alerts::acknowledge))
        .route("/experiments/{name}/alerts/suppress", post(alerts::suppress))
        .route("/experiments/{name}/trials/{trial}", get(trial::page))
        .route("/experiments/{name}/trials/{trial}/tables", get(table::page))
        .route("/experiments/{name}/trials/{trial}/artifacts/{*path}", get(artifact))
        .layer(axum::extract::DefaultBodyLimit::max(FORM))
}

async fn artifact(
    State(state): State<Dashboard>,
    Path((name, trial, path)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    api::send(&state, &name, &trial, &path).await
}

/// No page has this address.
pub async fn not_found() -> Problem {
    Problem::not_found("there is no page with this address")
}

/// Shows problems as pages if a person asked.
pub async fn problems_as_pages(request: Request, next: Next) -> Response {
    let for_programs = is_api(request.uri().path());
    let response = next.run(request).await;
    if for_programs {
        return response;
    }
    let Some(problem) = response.extensions().get::<Problem>().cloned() else { return response };
    let title = match problem.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "Not allowed",
        StatusCode::SERVICE_UNAVAILABLE => "Not available",
        _ if problem.status.is_server_error() => "Something failed",
        _ => "This does not work",
    };
    let body = html! {
        div.empty role="alert" {
            h1 { (title) }
            p { (parts::prose(&problem.message)) }
            @if let Some(help) = &problem.help { p.muted { (parts::prose(help)) } }
            p { a.button href="/" { "Go to the overview" } }
        }
    };
    let mut page = (problem.status, frame(title, Tab::Nowhere, None, body)).into_response();
    // Keep the other headers, above all the security headers.
    for (name, value) in response.headers() {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page
}
