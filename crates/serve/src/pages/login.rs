//! Logging in with a token, and out.

use axum::Form;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::layout::{Asking, Tab, frame};
use crate::access;
use crate::error::Problem;
use crate::state::Dashboard;

/// Where to go afterwards.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LoginQuery {
    next: String,
}

/// What the form sends.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LoginForm {
    token: String,
    next: String,
}

/// The path if it is on this server, else the overview.
pub fn local(next: &str) -> &str {
    let is_local = next.starts_with('/') && !next.starts_with("//") && !next.contains(['\\', '\r', '\n']);
    if is_local { next } else { "/" }
}

/// The page.
pub async fn page(State(state): State<Dashboard>, Query(query): Query<LoginQuery>) -> Response {
    if !state.access.needs_token() {
        return Redirect::to("/").into_response();
    }
    form(&query.next, None).into_response()
}

fn form(next: &str, problem: Option<&str>) -> axum::response::Html<String> {
    let body = html! {
        div.sign-in {
            h1 { "Log in" }
            p.sub { "Ask the administrator of this server for a token." }
            form method="post" action="/login" {
                input type="hidden" name="next" value=(local(next));
                label {
                    "Token"
                    input type="password" name="token" required autofocus autocomplete="current-password"
                        aria-describedby=[problem.map(|_| "problem")];
                }
                @if let Some(problem) = problem { p.error #problem role="alert" { (problem) } }
                button.main { "Log in" }
            }
        }
    };
    frame("Log in", Tab::Nowhere, None, body)
}

/// Begins a session.
pub async fn log_in(State(state): State<Dashboard>, request: Request) -> Result<Response, Problem> {
    let peer = access::peer(&request);
    let secure = request.headers().get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let read =
        <Form<LoginForm> as axum::extract::FromRequest<Dashboard>>::from_request(request, &state).await;
    let Form(sent) = read.map_err(|error| Problem::bad_request(error.body_text()))?;
    match state.access.log_in(peer, sent.token.trim(), secure) {
        Ok(cookie) => Ok(([(header::SET_COOKIE, cookie)], Redirect::to(local(&sent.next))).into_response()),
        Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {
            Ok((StatusCode::UNAUTHORIZED, form(&sent.next, Some("This token is not known."))).into_response())
        }
        Err(problem) => Err(problem),
    }
}

/// What the form sends.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LogoutForm {
    word: String,
}

/// Ends a session.
pub async fn log_out(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    headers: HeaderMap,
    Form(sent): Form<LogoutForm>,
) -> Result<Response, Problem> {
    viewer.check_form(&sent.word)?;
    Ok(([(header::SET_COOKIE, state.access.log_out(&headers))], Redirect::to("/login")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        assert_eq!(local("/experiments/a?x=1"), "/experiments/a?x=1");
        for next in ["https://evil.example", "//evil.example", "/\\evil.example", "", "javascript:x"] {
            assert_eq!(local(next), "/", "{next}");
        }
    }
}
