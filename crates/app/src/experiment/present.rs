//! Tables of what a store holds. Missing values are shown as missing.

use std::time::{Duration, UNIX_EPOCH};

use report::{Column, Table, Unit, Value};
use serde_json::Value as Json;
use store::{
    Alert, Attached, Collected, ExperimentRow, Judgement, Link, Metric, Note, Series, Trial, TrialRow,
};

use super::push::Pushed;

/// Artifacts of the contract that every profile has.
pub const REQUIRED: [&str; 5] = [
    "profile_summary.md",
    "profile_metadata.json",
    "kernel_table.json",
    "overlap_opportunities.json",
    "fuse_opportunities.json",
];

fn time(ns: i64) -> Value {
    Value::Text(collect::run::iso(UNIX_EPOCH + Duration::from_nanos(ns.max(0) as u64)))
}

fn told(text: &str) -> Value {
    if text.is_empty() { Value::absent("unknown") } else { Value::from(text) }
}

fn number(value: Option<f64>, why: &str) -> Value {
    value.map_or_else(|| Value::absent(why), Value::Float)
}

/// Experiments.
pub fn experiments(rows: &[ExperimentRow]) -> Table {
    let columns = vec![
        Column::text("experiment"),
        Column::int("trials", Unit::None).key(),
        Column::int("artifacts", Unit::None),
        Column::text("last_trial").normal(),
        Column::text("changed").normal(),
        Column::text("tags").normal(),
        Column::text("description").detail(),
    ];
    let mut table = Table::new("experiments", "Experiments", columns);
    for row in rows {
        table.push(vec![
            Value::from(row.name.as_str()),
            Value::Int(row.trials),
            Value::Int(row.artifacts),
            row.last_trial.as_deref().map_or_else(|| Value::absent("it has no trial"), Value::from),
            time(row.changed_ns),
            Value::Text(row.tags.join(" ")),
            Value::from(row.description.as_str()),
        ]);
    }
    table
}

/// Trials, with one text for all their figures.
pub fn trials(rows: &[TrialRow]) -> Table {
    let columns = vec![
        Column::text("trial"),
        Column::text("branch").normal(),
        Column::text("testbed").normal(),
        Column::int("artifacts", Unit::None),
        Column::text("figures"),
        Column::text("created").detail(),
        Column::text("tags").normal(),
    ];
    let mut table = Table::new("trials", "Trials", columns);
    for row in rows {
        let figures: Vec<String> = row.metrics.iter().map(figure).collect();
        table.push(vec![
            Value::from(row.name.as_str()),
            told(&row.branch),
            told(&row.testbed),
            Value::Int(row.artifacts),
            Value::Text(figures.join(", ")),
            time(row.created_ns),
            Value::Text(row.tags.join(" ")),
        ]);
    }
    table
}

fn figure(metric: &Metric) -> String {
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
    format!("{} {}{unit}", metric.name, shown(metric.value))
}

/// A number with four significant digits.
fn shown(value: f64) -> String {
    let digits = value.abs().max(1e-9).log10().floor();
    let decimals = (3.0 - digits).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Figures.
pub fn metrics(metrics: &[Metric]) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::int("value", Unit::None).key(),
        Column::text("unit"),
        Column::int("low", Unit::None),
        Column::int("high", Unit::None),
        Column::text("better").detail(),
    ];
    let mut table = Table::new("metrics", "Metrics", columns);
    for metric in metrics {
        let why = "it was reported without an interval";
        table.push(vec![
            Value::from(metric.name.as_str()),
            Value::Float(metric.value),
            Value::from(metric.unit.as_str()),
            number(metric.low, why),
            number(metric.high, why),
            Value::from(if metric.higher_is_better { "higher" } else { "lower" }),
        ]);
    }
    table
}

/// Series with their first and last values and their changes.
pub fn series(series: &[Series]) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::text("branch").normal(),
        Column::text("testbed").normal(),
        Column::text("unit"),
        Column::int("trials", Unit::None),
        Column::int("first_value", Unit::None),
        Column::int("last_value", Unit::None).key(),
        Column::int("best_value", Unit::None).key(),
        Column::text("best_trial").normal(),
        Column::int("changes", Unit::None),
    ];
    let mut table = Table::new("series", "Metrics over trials", columns);
    for one in series {
        let (Some(first), Some(last)) = (one.points.first(), one.points.last()) else { continue };
        let signed = |metric: &Metric| if metric.higher_is_better { -metric.value } else { metric.value };
        let best = one.points.iter().min_by(|a, b| signed(&a.metric).total_cmp(&signed(&b.metric)));
        let best = best.unwrap_or(last);
        table.push(vec![
            Value::from(one.key.metric.as_str()),
            told(&one.key.branch),
            told(&one.key.testbed),
            Value::from(last.metric.unit.as_str()),
            Value::from(one.points.len()),
            Value::Float(first.metric.value),
            Value::Float(last.metric.value),
            Value::Float(best.metric.value),
            Value::from(best.trial.as_str()),
            Value::from(one.changes.len()),
        ]);
    }
    table
}

/// The tables of a trial.
pub fn trial(trial: &Trial) -> Vec<Table> {
    let columns = vec![
        Column::text("artifact"),
        Column::int("bytes", Unit::Bytes).key(),
        Column::text("schema").normal(),
        Column::text("attached").detail(),
        Column::text("sha256").data(),
    ];
    let mut artifacts = Table::new("artifacts", "Artifacts", columns);
    for artifact in &trial.artifacts {
        artifacts.push(vec![
            Value::from(artifact.path.as_str()),
            Value::Int(artifact.bytes),
            artifact.schema.as_deref().map_or_else(|| Value::absent("its form is not checked"), Value::from),
            time(artifact.attached_ns),
            Value::from(artifact.sha256.as_str()),
        ]);
    }
    let mut metadata = Table::new("metadata", "Profile", vec![Column::text("field"), Column::text("value")]);
    for (field, value) in &trial.metadata {
        let value = match value {
            Json::Null => Value::absent("not known"),
            Json::String(text) => Value::from(text.as_str()),
            other => Value::Text(other.to_string()),
        };
        metadata.push(vec![Value::from(field.as_str()), value]);
    }
    let mut tables = vec![trials(std::slice::from_ref(&trial.row)), metrics(&trial.row.metrics)];
    tables.extend((!trial.metadata.is_empty()).then_some(metadata));
    tables.push(artifacts);
    tables.extend(remarks(&trial.notes, &trial.links));
    tables
}

/// What the contract requires and a trial does not have.
pub fn missing(trial: &Trial) -> Vec<String> {
    let has = |name: &str| trial.artifacts.iter().any(|there| super::known::file_name(&there.path) == name);
    let missing: Vec<&str> = REQUIRED.into_iter().filter(|name| !has(name)).collect();
    match missing.len() {
        0 => Vec::new(),
        _ => vec![format!("artifacts of the contract that are missing: {}", missing.join(", "))],
    }
}

/// Notes and links, if there are any.
pub fn remarks(notes: &[Note], links: &[Link]) -> Vec<Table> {
    let mut noted = Table::new("notes", "Notes", vec![Column::text("created"), Column::text("text")]);
    for note in notes {
        noted.push(vec![time(note.created_ns), Value::from(note.text.as_str())]);
    }
    let mut linked = Table::new("links", "Links", vec![Column::text("url"), Column::text("text")]);
    for link in links {
        linked.push(vec![Value::from(link.url.as_str()), Value::from(link.text.as_str())]);
    }
    [noted, linked].into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Tags.
pub fn tags(tags: &[String]) -> Table {
    let mut table = Table::new("tags", "Tags", vec![Column::text("tag")]);
    tags.iter().for_each(|tag| table.push(vec![Value::from(tag.as_str())]));
    table
}

/// The outcome for each file.
pub fn attached(attached: &Attached, trial: &Trial) -> Table {
    let columns = vec![
        Column::text("artifact"),
        Column::text("status"),
        Column::int("bytes", Unit::Bytes).key(),
        Column::text("schema").normal(),
    ];
    let mut table = Table::new("attached", "Attached", columns);
    let lists =
        [(&attached.added, "added"), (&attached.replaced, "replaced"), (&attached.unchanged, "unchanged")];
    for (name, status) in
        lists.into_iter().flat_map(|(names, status)| names.iter().map(move |name| (name, status)))
    {
        let artifact = trial.artifacts.iter().find(|artifact| artifact.path == *name);
        table.push(vec![
            Value::from(name.as_str()),
            Value::from(status),
            Value::int_or(artifact.map(|artifact| artifact.bytes), "it is gone"),
            artifact
                .and_then(|artifact| artifact.schema.as_deref())
                .map_or_else(|| Value::absent("its form is not checked"), Value::from),
        ]);
    }
    table
}

/// What a collection freed.
pub fn collected(collected: &Collected) -> Table {
    let columns = vec![
        Column::int("experiments", Unit::None).key(),
        Column::int("trials", Unit::None).key(),
        Column::int("files", Unit::None).key(),
        Column::int("bytes", Unit::Bytes).key(),
    ];
    let mut table = Table::new("collected", "Deleted for good", columns);
    table.push(vec![
        Value::Int(collected.experiments),
        Value::Int(collected.trials),
        Value::from(collected.files),
        Value::Int(collected.bytes as i64),
    ]);
    table
}

/// What was exported.
pub fn exported(folder: &str, trials: usize, artifacts: usize, steps: usize) -> Table {
    let columns = vec![
        Column::text("path"),
        Column::int("trials", Unit::None).key(),
        Column::int("artifacts", Unit::None).key(),
        Column::int("steps", Unit::None).key(),
    ];
    let mut table = Table::new("exported", "Exported", columns);
    table.push(vec![Value::from(folder), Value::from(trials), Value::from(artifacts), Value::from(steps)]);
    table
}

/// Trials that were sent to a server.
pub fn pushed(pushed: &[Pushed]) -> Table {
    let columns = vec![
        Column::text("trial"),
        Column::text("status"),
        Column::int("files", Unit::None).key(),
        Column::int("new_files", Unit::None).key(),
        Column::int("bytes", Unit::Bytes).key(),
    ];
    let mut table = Table::new("pushed", "Sent", columns);
    for one in pushed {
        let status = match (one.is_new, one.added) {
            (None, _) => Value::absent("the server does not report it"),
            (Some(true), _) => Value::from("new"),
            (Some(false), 0) => Value::from("unchanged"),
            (Some(false), _) => Value::from("changed"),
        };
        table.push(vec![
            Value::from(one.trial.as_str()),
            status,
            Value::from(one.files),
            Value::from(one.added),
            Value::Int(one.bytes as i64),
        ]);
    }
    table
}

/// Regressions.
pub fn alerts(alerts: &[Alert]) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::text("branch").normal(),
        Column::text("testbed").normal(),
        Column::text("first_bad_trial"),
        Column::text("found_with").detail(),
        Column::int("before", Unit::None),
        Column::int("after", Unit::None),
        Column::text("unit"),
        Column::int("change_pct", Unit::Pct).key(),
        Column::int("chance", Unit::None).detail(),
        Column::text("state"),
        Column::text("reason").normal(),
    ];
    let mut table = Table::new("alerts", "Changes for the worse", columns);
    for alert in alerts {
        table.push(vec![
            Value::from(alert.key.metric.as_str()),
            told(&alert.key.branch),
            told(&alert.key.testbed),
            Value::from(alert.first_trial.as_str()),
            Value::from(alert.found_trial.as_str()),
            Value::Float(alert.change.before),
            Value::Float(alert.change.after),
            Value::from(alert.unit.as_str()),
            number(alert.change.change_pct, "the level before is zero"),
            Value::Float(alert.change.chance),
            Value::from(alert.state.name()),
            Value::from(alert.state.reason().unwrap_or_default()),
        ]);
    }
    table
}

/// What the gate says.
pub fn judgements(judgements: &[Judgement]) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::text("branch").detail(),
        Column::text("testbed").detail(),
        Column::int("value", Unit::None).key(),
        Column::text("unit"),
        Column::text("verdict"),
        Column::text("reason"),
        Column::text("first_bad_trial").detail(),
    ];
    let mut table = Table::new("gate", "Gate", columns);
    for one in judgements {
        let metric = one.metric.as_ref();
        table.push(vec![
            Value::from(one.key.metric.as_str()),
            told(&one.key.branch),
            told(&one.key.testbed),
            number(metric.map(|metric| metric.value), "the trial does not have it"),
            Value::from(metric.map_or("", |metric| metric.unit.as_str())),
            Value::from(one.verdict.name()),
            Value::from(one.reason.as_str()),
            one.first_trial.as_deref().map_or_else(|| Value::absent("nothing got worse"), Value::from),
        ]);
    }
    table
}

/// Bounds of metrics.
pub fn limits(limits: &[store::Limit]) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::text("branch"),
        Column::text("testbed"),
        Column::int("least", Unit::None).key(),
        Column::int("most", Unit::None).key(),
    ];
    let mut table = Table::new("limits", "Limits", columns);
    let all = |name: &str| if name.is_empty() { Value::absent("all") } else { Value::from(name) };
    for limit in limits {
        table.push(vec![
            Value::from(limit.key.metric.as_str()),
            all(&limit.key.branch),
            all(&limit.key.testbed),
            number(limit.least, "no limit"),
            number(limit.most, "no limit"),
        ]);
    }
    table
}
