//! The JSON contract: one object, stable keys, absent numbers as `null` with their reason.

use serde_json::{Map, Number, Value as Json, json};

use crate::{Finding, Report, Table, Value};

/// Version of the contract; a change of meaning bumps it.
const SCHEMA: u32 = 1;

/// The report as one JSON object, ending in a newline.
pub fn json(report: &Report, version: &str) -> String {
    let inputs: Vec<Json> = report
        .inputs
        .iter()
        .map(|i| json!({ "path": i.path, "format": i.format, "bytes": i.bytes, "rank": i.rank }))
        .collect();
    let checks: Vec<Json> = report
        .health
        .iter()
        .map(|c| {
            let value =
                c.value.map_or(Json::Null, |v| if v.fract() == 0.0 { json!(v as i64) } else { float(v) });
            json!({ "id": c.id, "status": c.status.name(), "value": value, "message": c.message })
        })
        .collect();
    let mut object = Map::new();
    object.insert("tool".into(), "rocm-perf".into());
    object.insert("version".into(), version.into());
    object.insert("command".into(), report.command.clone().into());
    object.insert("schema".into(), SCHEMA.into());
    object.insert("inputs".into(), inputs.into());
    object.insert("health".into(), json!({ "status": report.health_status().name(), "checks": checks }));
    let tables: Map<String, Json> = report.tables.iter().map(|t| (t.name.clone(), json_rows(t))).collect();
    object.insert("tables".into(), tables.into());
    object.insert("findings".into(), report.findings.iter().map(finding).collect::<Vec<_>>().into());
    if let Some(result) = &report.result {
        object.insert("result".into(), result.clone());
    }
    if !report.notes.is_empty() {
        object.insert("notes".into(), report.notes.clone().into());
    }
    if !report.charts.is_empty() {
        object
            .insert("charts".into(), report.charts.iter().map(crate::chart::json).collect::<Vec<_>>().into());
    }
    let mut text = serde_json::to_string_pretty(&Json::Object(object)).unwrap_or_default();
    text.push('\n');
    text
}

/// The rows of a table as JSON objects.
pub fn json_rows(table: &Table) -> Json {
    let row = |row: &Vec<Value>| {
        let mut object = Map::new();
        let mut absent = Map::new();
        for (column, value) in table.columns.iter().zip(row) {
            if let Value::Absent(why) = value {
                absent.insert(column.key.clone(), why.clone().into());
            }
            object.insert(column.key.clone(), cell(value));
        }
        if !absent.is_empty() {
            object.insert("absent".into(), absent.into());
        }
        Json::Object(object)
    };
    table.rows.iter().map(row).collect::<Vec<_>>().into()
}

fn finding(finding: &Finding) -> Json {
    let evidence: Map<String, Json> =
        finding.evidence.iter().map(|(key, value)| (key.clone(), cell(value))).collect();
    json!({
        "id": finding.id,
        "severity": finding.severity.name(),
        "title": finding.title,
        "evidence": evidence,
        "gain_ceiling_ns": finding.gain_ceiling_ns,
        "recommendation": finding.recommendation,
    })
}

fn cell(value: &Value) -> Json {
    match value {
        Value::Int(n) => (*n).into(),
        Value::Float(f) => float(*f),
        Value::Text(text) => text.clone().into(),
        Value::Absent(_) => Json::Null,
        Value::Json(json) => json.clone(),
    }
}

fn float(f: f64) -> Json {
    Number::from_f64(f).map_or(Json::Null, Json::Number)
}
