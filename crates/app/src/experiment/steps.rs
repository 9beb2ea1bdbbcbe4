//! Optimisation steps as JSON lines, for training and evaluating agents: what was known, what it suggested,
//! what was done and what measurably changed. Secrets are removed.

use formats::secrets::redact_json;
use serde_json::{Map, Value, json};
use store::{Store, Trial};

use super::known;
use crate::failure::Failure;

/// The file of the steps in an export.
pub const FILE: &str = "steps.jsonl";

/// Version of a line.
const SCHEMA_VERSION: u32 = 1;

/// Findings that are kept as evidence.
const MOST_FINDINGS: usize = 10;

/// One line each.
pub fn lines(steps: &[Value]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}

/// The steps of an experiment: each candidate of `optimize`, each configuration of `autotune`, and each trial
/// that follows another one of its testbed.
pub fn steps(store: &mut Store, experiment: &str) -> Result<Vec<Value>, Failure> {
    let mut steps: Vec<Value> = Vec::new();
    let mut before: Vec<Trial> = Vec::new();
    for row in store.trials(experiment, false)? {
        let trial = store.trial(experiment, &row.name)?;
        let mut documents = Map::new();
        for artifact in &trial.artifacts {
            let name = known::file_name(&artifact.path);
            if ["explain.json", "optimize.json", "autotune.json"].contains(&name) {
                let document = serde_json::from_slice(&store.content(&artifact.sha256)?);
                documents.insert(name.to_string(), document.unwrap_or(Value::Null));
            }
        }
        let evidence = evidence(&documents);
        let mut push = |kind: &str, action: Value, outcome: Value| {
            let step = json!({
                "schema_version": SCHEMA_VERSION,
                "experiment": experiment,
                "trial": row.name,
                "step": steps.len() + 1,
                "kind": kind,
                "context": context(&trial),
                "evidence": evidence,
                "action": action,
                "outcome": outcome,
            });
            steps.push(redact_json(&step).0);
        };
        for candidate in rows(&documents, "optimize.json", "candidates") {
            let action = pick(candidate, &["kernel", "proposal", "origin"]);
            let outcome = pick(candidate, &["status", "reason", "speedup", "ci_low", "ci_high", "pairs"]);
            push("candidate", action, outcome);
        }
        let tuned = documents.get("autotune.json").and_then(|document| document.get("result"));
        for configuration in rows(&documents, "autotune.json", "configurations") {
            let mut outcome = configuration.as_object().cloned().unwrap_or_default();
            ["parameters", "configuration", "rank", "phase"].iter().for_each(|name| {
                outcome.remove(*name);
            });
            for name in ["metric", "direction"] {
                outcome.insert(
                    name.into(),
                    tuned.and_then(|result| result.get(name)).cloned().unwrap_or_default(),
                );
            }
            push("configuration", pick(configuration, &["parameters", "phase"]), Value::Object(outcome));
        }
        let previous = before.iter().rev().find(|other| other.row.testbed == trial.row.testbed);
        if let Some(previous) = previous {
            push("trial", action(previous, &trial), outcome(previous, &trial));
        }
        before.push(trial);
    }
    Ok(steps)
}

fn context(trial: &Trial) -> Value {
    json!({
        "branch": trial.row.branch,
        "testbed": trial.row.testbed,
        "metadata": trial.metadata,
    })
}

/// The verdict and the findings of the trial, if it has them.
fn evidence(documents: &Map<String, Value>) -> Value {
    let explained = documents.get("explain.json");
    let findings = explained.and_then(|document| document.get("findings")).and_then(Value::as_array);
    let findings: Vec<Value> = findings
        .into_iter()
        .flatten()
        .take(MOST_FINDINGS)
        .map(|finding| {
            pick(finding, &["id", "severity", "title", "evidence", "gain_ceiling_ns", "recommendation"])
        })
        .collect();
    json!({
        "verdict": explained.and_then(|document| document.get("verdict")).cloned().unwrap_or_default(),
        "findings": findings,
    })
}

fn rows<'a>(documents: &'a Map<String, Value>, file: &str, table: &str) -> &'a [Value] {
    let rows = documents.get(file).and_then(|document| document.pointer(&format!("/tables/{table}")));
    rows.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn pick(from: &Value, names: &[&str]) -> Value {
    let field = |name: &&str| (name.to_string(), from.get(*name).cloned().unwrap_or_default());
    Value::Object(names.iter().map(field).collect())
}

/// What is different in a trial: its branch, fields of its profile, and what people wrote.
fn action(previous: &Trial, trial: &Trial) -> Value {
    let mut changed = Map::new();
    for name in previous.metadata.keys().chain(trial.metadata.keys()) {
        let (from, to) = (previous.metadata.get(name), trial.metadata.get(name));
        if from != to && !["trial_id", "source_trace_path", "field_sources"].contains(&name.as_str()) {
            changed.insert(name.clone(), json!({ "from": from, "to": to }));
        }
    }
    json!({
        "after_trial": previous.row.name,
        "branch": { "from": previous.row.branch, "to": trial.row.branch },
        "changed": changed,
        "notes": trial.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(),
        "tags": trial.row.tags,
    })
}

/// The figures that both trials have, before and after.
fn outcome(previous: &Trial, trial: &Trial) -> Value {
    let metrics = trial.row.metrics.iter().filter_map(|after| {
        let before = previous.row.metrics.iter().find(|before| before.name == after.name)?;
        Some(json!({
            "metric": after.name,
            "unit": after.unit,
            "higher_is_better": after.higher_is_better,
            "before": { "value": before.value, "low": before.low, "high": before.high },
            "after": { "value": after.value, "low": after.low, "high": after.high },
        }))
    });
    json!({ "metrics": metrics.collect::<Vec<_>>() })
}
