//! The JSON contract: one object, stable keys, absent numbers as `null`, with their reason if there is one.
//!
//! Rows are written as they are visited: building a tree for a table with many rows would cost more than
//! everything else.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};

use crate::{Finding, Report, Table, Value};

/// Version of the contract; any change of meaning increments it.
const SCHEMA: u32 = 1;

/// The report as one JSON object, ending in a newline.
pub fn json(report: &Report, version: &str) -> String {
    let mut text = serde_json::to_string_pretty(&Object { report, version }).unwrap_or_default();
    text.push('\n');
    text
}

/// The rows of a table as JSON objects.
pub fn json_rows(table: &Table) -> Json {
    serde_json::to_value(Rows(table)).unwrap_or_default()
}

/// A report in the form of the contract.
struct Object<'a> {
    report: &'a Report,
    version: &'a str,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Object { report, version } = *self;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("tool", "rocm-perf")?;
        object.serialize_entry("version", version)?;
        object.serialize_entry("command", &report.command)?;
        object.serialize_entry("schema", &SCHEMA)?;
        let inputs = report
            .inputs
            .iter()
            .map(|i| json!({ "path": i.path, "format": i.format, "bytes": i.bytes, "rank": i.rank }));
        object.serialize_entry("inputs", &inputs.collect::<Vec<_>>())?;
        object.serialize_entry("health", &health(report))?;
        if let Some(verdict) = &report.verdict {
            object.serialize_entry("verdict", &verdict.json())?;
        }
        object.serialize_entry("tables", &Tables(&report.tables))?;
        object.serialize_entry("findings", &report.findings.iter().map(finding).collect::<Vec<_>>())?;
        if let Some(result) = &report.result {
            object.serialize_entry("result", result)?;
        }
        if !report.notes.is_empty() {
            let notes: Vec<&str> = report.notes.iter().map(|note| note.text.as_str()).collect();
            object.serialize_entry("notes", &notes)?;
        }
        if !report.charts.is_empty() {
            let charts: Vec<Json> = report.charts.iter().map(crate::chart::json).collect();
            object.serialize_entry("charts", &charts)?;
        }
        object.end()
    }
}

fn health(report: &Report) -> Json {
    let check = |check: &crate::HealthCheck| {
        let whole = |value: f64| if value.fract() == 0.0 { json!(value as i64) } else { json!(value) };
        let value = check.value.map_or(Json::Null, whole);
        json!({ "id": check.id, "status": check.status.name(), "value": value, "message": check.message })
    };
    let checks: Vec<Json> = report.health.iter().map(check).collect();
    json!({ "status": report.health_status().name(), "checks": checks })
}

fn finding(finding: &Finding) -> Json {
    let evidence: Map<String, Json> = finding
        .evidence
        .iter()
        .map(|(key, value)| (key.clone(), serde_json::to_value(Cell(value)).unwrap_or_default()))
        .collect();
    json!({
        "id": finding.id,
        "rule": finding.id,
        "key": if finding.key.is_empty() { &finding.id } else { &finding.key },
        "severity": finding.severity.name(),
        "title": finding.title,
        "evidence": evidence,
        "gain_ceiling_ns": finding.gain_ceiling_ns,
        "gain_gpu_ns": finding.gain_gpu_ns,
        "gain_host_ns": finding.gain_host_ns,
        "recommendation": finding.recommendation,
        "next": if finding.next.is_empty() { Json::Null } else { json!(finding.next) },
    })
}

struct Tables<'a>(&'a [Table]);

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|table| (&table.name, Rows(table))))
    }
}

struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = &self.0.columns;
        // An object has each key once.
        let last = |at: &usize| columns[at + 1..].iter().all(|later| later.key != columns[*at].key);
        let shown: Vec<usize> = (0..columns.len()).filter(last).collect();
        serializer.collect_seq(self.0.rows.iter().map(|row| Row { table: self.0, shown: &shown, row }))
    }
}

struct Row<'a> {
    table: &'a Table,
    /// Columns, each key once.
    shown: &'a [usize],
    row: &'a [Value],
}

impl Row<'_> {
    fn reasons(&self) -> impl Iterator<Item = (&str, &str)> {
        let cells = self.shown.iter().filter_map(|&at| Some((&self.table.columns[at], self.row.get(at)?)));
        cells.filter_map(|(column, value)| match value {
            Value::Absent(why) if !why.is_empty() => Some((column.key.as_str(), why.as_str())),
            _ => None,
        })
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for &at in self.shown {
            if let Some(value) = self.row.get(at) {
                object.serialize_entry(&self.table.columns[at].key, &Cell(value))?;
            }
        }
        if self.reasons().next().is_some() {
            object.serialize_entry("absent", &Absent(self))?;
        }
        object.end()
    }
}

/// The reasons of a row's absent cells.
struct Absent<'a>(&'a Row<'a>);

impl Serialize for Absent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.reasons())
    }
}

struct Cell<'a>(&'a Value);

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Int(number) => serializer.serialize_i64(*number),
            // Numbers that JSON cannot represent become null.
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Absent(_) => serializer.serialize_unit(),
            Value::Json(json) => json.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit};

    #[test]
    fn rows_have_each_key_once_and_say_why_cells_are_absent() {
        let columns = vec![
            Column::text("a"),
            Column::int("n", Unit::None),
            Column::int("n", Unit::None),
            Column::int("f", Unit::None),
        ];
        let mut table = Table::new("t", "T", columns);
        table.push(vec!["x".into(), Value::absent("first"), Value::absent("second"), Value::Float(f64::NAN)]);
        table.push(vec!["y".into(), Value::Int(1), Value::Int(2), Value::Float(0.5)]);
        let expected = json!([
            { "a": "x", "n": null, "f": null, "absent": { "n": "second" } },
            { "a": "y", "n": 2, "f": 0.5 },
        ]);
        assert_eq!(json_rows(&table), expected);
        let report = Report { command: "c".into(), tables: vec![table], ..Report::default() };
        let text = json(&report, "1");
        let whole: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(whole["tables"]["t"], expected);
        assert_eq!(text.matches("\"n\":").count(), 3);
    }
}
