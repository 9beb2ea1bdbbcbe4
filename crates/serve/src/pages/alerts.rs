//! Alerts: what got worse, since which trial, and who looks at it.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{Html, Redirect};
use maud::{Markup, html};
use serde::Deserialize;
use store::{Alert, AlertState, SeriesKey};

use super::layout::{Asking, Tab, form_word, frame};
use super::login::local;
use super::parts::{self, change, metric_name, number, plain};
use crate::access::{Role, Viewer};
use crate::data::ALERT_EXPERIMENTS;
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;

/// The page of all open alerts.
pub async fn page(State(state): State<Dashboard>, Asking(viewer): Asking) -> Result<Html<String>, Problem> {
    let (found, more) = state.open_alerts().await?;
    let open: usize =
        found.iter().map(|(_, alerts)| alerts.iter().filter(|alert| is_open(alert)).count()).sum();
    let body = html! {
        div.head {
            div {
                h1 { "Alerts" }
                p.sub {
                    (parts::counted(open, "open alert"))
                    @if more { " in the " (ALERT_EXPERIMENTS) " experiments with most" }
                    ". A metric got worse, beyond what noise explains, and stayed there."
                }
            }
        }
        @if open == 0 {
            (parts::empty("Nothing got worse", "New alerts show up here when a trial is attached.", None))
        }
        @for (experiment, alerts) in &found {
            h2 { a href=(links::experiment(experiment)) { (plain(experiment)) } }
            @for alert in alerts.iter().filter(|alert| is_open(alert)) {
                (card(experiment, alert, &viewer, "/alerts"))
            }
        }
    };
    Ok(frame("Alerts", Tab::Alerts, Some(&viewer), body))
}

fn is_open(alert: &Alert) -> bool {
    alert.state == AlertState::Open
}

/// One alert, with the actions that the viewer may take.
pub fn card(experiment: &str, alert: &Alert, viewer: &Viewer, back: &str) -> Markup {
    let key = &alert.key;
    let (class, may_act) = (state_class(&alert.state), viewer.role == Role::Write && is_open(alert));
    let place =
        [&key.branch, &key.testbed].into_iter().filter(|name| !name.is_empty()).map(|name| plain(name));
    let place = place.collect::<Vec<_>>().join(" on ");
    html! {
        article.card {
            h3 {
                span class=(class) { (alert.state.name()) } " "
                (metric_name(&key.metric)) " "
                span.change { (change(alert.change.change_pct)) }
            }
            p {
                "from " (number(alert.change.before, &alert.unit)) " to " (number(alert.change.after, &alert.unit))
                " since trial "
                a href=(links::trial(experiment, &alert.first_trial)) { (plain(&alert.first_trial)) }
                @if !place.is_empty() { " (" (place) ")" }
                @if alert.found_trial != alert.first_trial { ", found with " (plain(&alert.found_trial)) }
            }
            @if let Some(reason) = alert.state.reason() { p.muted { "“" (plain(reason)) "”" } }
            @if may_act {
                form method="post" action={ (links::experiment(experiment)) "/alerts/acknowledge" } {
                    (form_word(viewer))
                    input type="hidden" name="back" value=(back);
                    input type="hidden" name="first_trial" value=(alert.first_trial);
                    input type="hidden" name="metric" value=(key.metric);
                    input type="hidden" name="branch" value=(key.branch);
                    input type="hidden" name="testbed" value=(key.testbed);
                    input type="text" name="reason" required maxlength="500" aria-label="Reason"
                        placeholder="why it is fine, or who looks at it";
                    button.main { "Acknowledge" }
                    button formaction={ (links::experiment(experiment)) "/alerts/suppress" } { "Suppress this metric" }
                }
            }
        }
    }
}

fn state_class(state: &AlertState) -> &'static str {
    match state {
        AlertState::Open => "chip bad",
        AlertState::Acknowledged(_) => "chip warn",
        AlertState::Suppressed(_) | AlertState::Over => "chip",
    }
}

/// What the forms send.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct AlertForm {
    word: String,
    back: String,
    first_trial: String,
    metric: String,
    branch: String,
    testbed: String,
    reason: String,
}

impl AlertForm {
    fn check(&self, viewer: &Viewer) -> Result<(), Problem> {
        viewer.check_form(&self.word)?;
        match self.reason.trim().is_empty() {
            true => Err(Problem::bad_request("say why: others read it")),
            false => Ok(()),
        }
    }
}

/// Acknowledges an alert.
pub async fn acknowledge(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path(name): Path<String>,
    Form(said): Form<AlertForm>,
) -> Result<Redirect, Problem> {
    said.check(&viewer)?;
    let metric = Some(said.metric).filter(|metric| !metric.is_empty());
    state.acknowledge(name, said.first_trial, metric, said.reason).await?;
    Ok(Redirect::to(local(&said.back)))
}

/// Suppresses the alerts of a series.
pub async fn suppress(
    State(state): State<Dashboard>,
    Asking(viewer): Asking,
    Path(name): Path<String>,
    Form(said): Form<AlertForm>,
) -> Result<Redirect, Problem> {
    said.check(&viewer)?;
    let key = SeriesKey { branch: said.branch, testbed: said.testbed, metric: said.metric };
    state.suppress(name, key, Some(said.reason)).await?;
    Ok(Redirect::to(local(&said.back)))
}
