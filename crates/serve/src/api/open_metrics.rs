//! Metrics for Prometheus and Grafana, in the text format of OpenMetrics.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use store::{OverviewFilter, OverviewOrder, OverviewRow, PageRequest};

use crate::error::Problem;
use crate::state::Dashboard;

/// Experiments per query to the store.
const PAGE: usize = 500;
/// Most experiments to report: those that changed last.
const MOST: usize = 10_000;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The last value of each metric of each experiment, their alerts, and the server's own state.
pub async fn scrape(State(state): State<Dashboard>) -> Result<Response, Problem> {
    let mut rows = Vec::new();
    let mut left_out = 0;
    while rows.len() < MOST {
        let page = PageRequest { offset: rows.len(), limit: PAGE, order: OverviewOrder::Changed };
        let found = state.overview(OverviewFilter::default(), page).await?;
        let is_last = found.rows.len() < PAGE;
        rows.extend(found.rows);
        left_out = found.total.saturating_sub(rows.len());
        if is_last {
            break;
        }
    }
    let mut text = String::new();
    figures(&mut text, &rows);
    gauge(&mut text, "rocm_perf_open_alerts", "Alerts of an experiment that nobody answered.");
    for row in &rows {
        let name = escaped(&row.experiment.name);
        _ = writeln!(text, "rocm_perf_open_alerts{{experiment=\"{name}\"}} {}", row.open_alerts);
    }
    let own = [
        ("rocm_perf_experiments_left_out", "Experiments beyond those listed here.", left_out as u64),
        (
            "rocm_perf_server_uptime_seconds",
            "Seconds since the server started.",
            state.began.elapsed().as_secs(),
        ),
        (
            "rocm_perf_server_watchers",
            "Browsers that watch live runs.",
            state.watchers.load(Ordering::Relaxed),
        ),
    ];
    for (name, help, value) in own {
        gauge(&mut text, name, help);
        _ = writeln!(text, "{name} {value}");
    }
    for (name, help, value) in [
        ("rocm_perf_server_requests", "Requests so far.", &state.requests),
        ("rocm_perf_server_failures", "Requests that the server failed.", &state.failures),
    ] {
        _ = writeln!(text, "# TYPE {name} counter\n# HELP {name} {help}");
        _ = writeln!(text, "{name}_total {}", value.load(Ordering::Relaxed));
    }
    text.push_str("# EOF\n");
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn gauge(text: &mut String, name: &str, help: &str) {
    _ = writeln!(text, "# TYPE {name} gauge\n# HELP {name} {help}");
}

fn figures(text: &mut String, rows: &[OverviewRow]) {
    gauge(text, "rocm_perf_metric", "The last value of a metric of an experiment.");
    for row in rows {
        for trend in &row.summary.trends {
            let labels = [
                ("experiment", &row.experiment.name),
                ("metric", &trend.last.name),
                ("unit", &trend.last.unit),
                ("branch", &row.summary.branch),
                ("testbed", &row.summary.testbed),
            ];
            let labels = labels.map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).join(",");
            _ = writeln!(text, "rocm_perf_metric{{{labels}}} {}", trend.last.value);
        }
    }
}

/// A label's value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
