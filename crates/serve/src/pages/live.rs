//! Progress of running commands.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use futures_util::stream;
use maud::{Markup, html};
use store::Progress;

use super::layout::{Asking, Tab, frame};
use super::parts::{self, plain};
use crate::api::{ProgressEntry, run_state};
use crate::error::Problem;
use crate::links;
use crate::state::Dashboard;
use crate::time;

/// Runs that ended within this time are still shown.
const LATELY_NS: i64 = 24 * 3_600_000_000_000;
/// How often the store is polled.
const TICK: Duration = Duration::from_secs(1);
/// Clocks of machines differ: updates are looked for this far back.
const BACK_NS: i64 = 30_000_000_000;
/// Browsers that may watch at the same time.
const MOST_WATCHERS: u64 = 64;

/// The page.
pub async fn page(State(state): State<Dashboard>, Asking(viewer): Asking) -> Result<Html<String>, Problem> {
    let mut runs = state.progress(None, time::now_ns() - LATELY_NS).await?;
    runs.sort_by_key(|run| (run_state(run) != "running", std::cmp::Reverse(run.at_ns)));
    let running = runs.iter().filter(|run| run_state(run) == "running").count();
    let body = html! {
        div.head {
            div {
                h1 { "Live" }
                p.sub {
                    (parts::counted(running, "run")) " under way"
                    " · " span #live-note aria-live="polite" { "reloads every 10 s" }
                }
            }
        }
        div #live {
            @for run in &runs { (card(run)) }
        }
        @if runs.is_empty() {
            (parts::empty(
                "Nothing ran in the last 24 hours",
                "`collect`, `autotune` and `optimize` report here while they run.",
                Some("rocm-perf autotune --space space.json --cmd-template './gemm --bm {BLOCK_M}' \\\n  --experiment gemm --trial tune-1"),
            ))
        }
    };
    Ok(frame("Live", Tab::Live, Some(&viewer), body))
}

fn card(run: &Progress) -> Markup {
    let state = run_state(run);
    let class = if state == "running" { "chip live" } else { "chip" };
    let steps = match run.total {
        Some(total) => format!("{} of {total}", run.done),
        None => run.done.to_string(),
    };
    let most = run.total.unwrap_or(run.done).max(1);
    let value = (run.total.is_some() || state != "running").then(|| run.done.clamp(0, most));
    html! {
        article.card id={ "run-" (run.experiment) "/" (run.trial) "/" (run.kind) } {
            h2 {
                span class=(class) data-part="state" { (state) } " "
                (plain(&run.kind)) " · "
                a href=(links::experiment(&run.experiment)) { (plain(&run.experiment)) } " / "
                a href=(links::trial(&run.experiment, &run.trial)) { (plain(&run.trial)) }
            }
            progress max=(most) value=[value] aria-label={ "progress of " (plain(&run.trial)) } {}
            p.muted {
                span data-part="steps" { (steps) } " · "
                span data-part="message" { (plain(&run.message)) } " · "
                span data-part="at" { (time::short(run.at_ns)) } " UTC"
            }
        }
    }
}

/// Counts a watching browser while it exists.
struct Watcher(Dashboard);

impl Watcher {
    fn new(state: &Dashboard) -> Result<Self, Problem> {
        let watcher = Self(state.clone());
        let before = state.watchers.fetch_add(1, Ordering::Relaxed);
        if before >= MOST_WATCHERS {
            return Err(Problem::unavailable("too many browsers watch already"));
        }
        Ok(watcher)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// State of an event stream: who watches, and the last update sent for each run.
struct Watch {
    watcher: Watcher,
    told: HashMap<(String, String, String), Progress>,
    news: Vec<Progress>,
}

/// Updates of runs as server-sent events, one JSON object each.
pub async fn events(State(state): State<Dashboard>) -> Result<Response, Problem> {
    let mut watch = Watch { watcher: Watcher::new(&state)?, told: HashMap::new(), news: Vec::new() };
    // The page already shows these.
    watch.look(LATELY_NS).await?;
    watch.news.clear();
    let events = stream::unfold(watch, |mut watch| async move {
        loop {
            if let Some(run) = watch.news.pop() {
                let data = serde_json::to_string(&ProgressEntry::from(&run)).unwrap_or_default();
                return Some((Ok::<_, Infallible>(Event::default().data(data)), watch));
            }
            tokio::time::sleep(TICK).await;
            // If the store is unreachable for a while, it is asked again.
            let _ = watch.look(BACK_NS).await;
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

impl Watch {
    /// Asks the store for updates.
    async fn look(&mut self, back_ns: i64) -> Result<(), Problem> {
        let found = self.watcher.0.progress(None, time::now_ns() - back_ns).await?;
        for run in found {
            let key = (run.experiment.clone(), run.trial.clone(), run.kind.clone());
            if self.told.get(&key) != Some(&run) {
                self.told.insert(key, run.clone());
                self.news.insert(0, run);
            }
        }
        Ok(())
    }
}
