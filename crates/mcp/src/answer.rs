//! A report as a small answer: the verdict, the first findings and rows with stable keys, within a budget of bytes.

use std::collections::BTreeMap;

use report::{Finding, HealthStatus, Importance, Report, Table, Value};
use serde_json::{Map, Value as Json, json};

use crate::words;

/// Most bytes of an answer.
pub const BUDGET: usize = 8_000;

/// Default number of rows of a table and of findings.
pub const ROWS: usize = 8;

/// (share of the rows asked for, longest text): tried in turn until the answer fits.
const SIZES: [(f64, usize); 8] =
    [(1.0, 240), (1.0, 140), (0.75, 140), (0.5, 120), (0.3, 100), (0.2, 90), (0.1, 80), (0.0, 70)];

/// What is shown of a report.
pub struct View<'a> {
    /// The tool that made it.
    pub tool: &'a str,
    /// The trace's handle, if there is one.
    pub trace: Option<&'a str>,
    /// The id to page by.
    pub answer: &'a str,
    /// Only this table.
    pub table: Option<&'a str>,
    /// Rows of each table, and findings.
    pub limit: usize,
    /// Tools that look closer.
    pub next: Vec<Json>,
    /// Whether tables are left out.
    pub without_tables: bool,
}

/// The answer as text of at most [`BUDGET`] bytes.
pub fn compact(report: &Report, view: &View) -> String {
    for (share, longest) in SIZES {
        let asked = view.limit.max(1);
        let rows = if share == 0.0 { 0 } else { ((asked as f64 * share) as usize).max(1) };
        let text = sized(report, view, rows, longest).to_string();
        if text.len() <= BUDGET {
            return text;
        }
    }
    let names: Vec<&str> = report.tables.iter().map(|table| table.name.as_str()).take(50).collect();
    json!({
        "tool": view.tool,
        "trace": view.trace,
        "answer": view.answer,
        "tables": names,
        "note": "too much for one answer: ask for one table, or page through it",
    })
    .to_string()
}

fn sized(report: &Report, view: &View, rows: usize, longest: usize) -> Json {
    let mut object = Map::new();
    object.insert("tool".into(), json!(view.tool));
    if let Some(trace) = view.trace {
        object.insert("trace".into(), json!(trace));
    }
    object.insert("answer".into(), json!(view.answer));
    if view.table.is_none() {
        object.insert("health".into(), health(report, rows.max(2), longest));
        if let Some(verdict) = &report.verdict {
            let mut verdict = without_nulls(verdict.json());
            // `health` says why; elsewhere it would be in every answer.
            verdict.as_object_mut().and_then(|verdict| verdict.remove("hardware_relevance_reason"));
            object.insert("verdict".into(), shortened(&verdict, longest.max(200), 8));
        }
        if !report.findings.is_empty() {
            let trace = view.trace.unwrap_or_default();
            let shown = report.findings.iter().take(rows.max(1));
            let shown: Vec<Json> = shown.map(|finding| finding_json(finding, trace, longest, 2)).collect();
            object.insert("findings".into(), json!(shown));
            object.insert("findings_in_all".into(), json!(report.findings.len()));
        }
    }
    if !view.without_tables {
        let mut tables = Map::new();
        for table in report.tables.iter().filter(|table| view.table.is_none_or(|name| table.name == name)) {
            // Detail tables are only named; their rows can be asked for.
            let rows = if table.is_detail && view.table.is_none() { 0 } else { rows };
            tables.insert(table.name.clone(), table_json(table, 0, rows, longest));
        }
        object.insert("tables".into(), Json::Object(tables));
    }
    if view.table.is_none() && !report.notes.is_empty() {
        let notes = report.notes.iter().take(4).map(|note| {
            let note = note.clone().spoken(&words::remedy);
            short(&note.text, longest * 2)
        });
        object.insert("notes".into(), json!(notes.collect::<Vec<_>>()));
    }
    if !view.next.is_empty() {
        object.insert("next".into(), json!(view.next));
    }
    Json::Object(object)
}

/// Rows of one table from `offset` on; as many as fit.
pub fn page(table: &Table, answer: &str, offset: usize, limit: usize) -> String {
    let mut rows = limit.max(1);
    loop {
        let longest = if rows > 2 { 240 } else { 120 };
        let mut page = table_json(table, offset, rows, longest);
        page["answer"] = json!(answer);
        page["table"] = json!(table.name);
        let end = offset.saturating_add(rows);
        if end < table.rows.len() {
            page["next_offset"] = json!(end);
        }
        let text = page.to_string();
        if text.len() <= BUDGET || rows == 1 {
            return text;
        }
        rows = (rows * 3 / 4).max(1);
    }
}

/// The row or finding with this key, with all its columns.
pub fn whole(report: &Report, key: &str, trace: &str) -> Option<Json> {
    let sizes = [(2_000, 20), (500, 10), (200, 5), (80, 2)];
    let shown = |&(longest, items): &(usize, usize)| found(report, key, trace, longest, items);
    let fits = |shown: &Json| shown.to_string().len() <= BUDGET - 200;
    sizes.iter().filter_map(shown).find(fits).or_else(|| shown(&sizes[sizes.len() - 1]))
}

fn found(report: &Report, key: &str, trace: &str, longest: usize, items: usize) -> Option<Json> {
    if let Some(finding) = report.findings.iter().find(|finding| finding_key(finding) == key) {
        return Some(finding_json(finding, trace, longest, items));
    }
    for table in &report.tables {
        if let Some(at) = row_keys(table, usize::MAX).iter().position(|row| row == key) {
            let columns = table.columns.iter().zip(&table.rows[at]);
            let mut row: Map<String, Json> = columns
                .map(|(column, value)| (column.key.clone(), shortened(&cell(value), longest, items)))
                .collect();
            row.insert("key".into(), json!(key));
            row.insert("table".into(), json!(table.name));
            return Some(Json::Object(row));
        }
    }
    None
}

fn health(report: &Report, most: usize, longest: usize) -> Json {
    let open = report.health.iter().filter(|check| check.status != HealthStatus::Pass);
    let checks: Vec<Json> = open
        .take(most)
        .map(|check| {
            json!({ "id": check.id, "status": check.status.name(), "message": short(&check.message, longest * 2) })
        })
        .collect();
    json!({ "status": report.health_status().name(), "checks": checks })
}

/// Health with the checks that passed too.
pub fn all_checks(report: &Report) -> Json {
    let checks: Vec<Json> = report
        .health
        .iter()
        .map(|check| {
            json!({ "id": check.id, "status": check.status.name(), "value": check.value, "message": short(&check.message, 300) })
        })
        .collect();
    json!({ "status": report.health_status().name(), "checks": checks })
}

fn finding_key(finding: &Finding) -> &str {
    if finding.key.is_empty() { &finding.id } else { &finding.key }
}

fn finding_json(finding: &Finding, trace: &str, longest: usize, items: usize) -> Json {
    let evidence: Map<String, Json> = finding
        .evidence
        .iter()
        .filter(|(_, value)| !matches!(value, Value::Absent(_)))
        .map(|(name, value)| (name.clone(), shortened(&cell(value), longest, items)))
        .collect();
    let mut object = json!({
        "key": finding_key(finding),
        "rule": finding.id,
        "severity": finding.severity.name(),
        "title": short(&finding.title, longest * 2),
        "gain_ceiling_ns": finding.gain_ceiling_ns,
        "gain_gpu_ns": finding.gain_gpu_ns,
        "gain_host_ns": finding.gain_host_ns,
        "evidence": evidence,
        "recommendation": short(&finding.recommendation, longest * 2),
    });
    if let Some(step) = &finding.next_step {
        object["next"] = words::next(step, trace);
    }
    object
}

fn table_json(table: &Table, offset: usize, rows: usize, longest: usize) -> Json {
    let keys = row_keys(table, offset.saturating_add(rows));
    let mut absent: BTreeMap<&str, &str> = BTreeMap::new();
    let mut shown = Vec::new();
    for (row, key) in table.rows.iter().zip(&keys).skip(offset).take(rows) {
        let mut object = Map::new();
        object.insert("key".into(), json!(key));
        for (column, value) in table.columns.iter().zip(row) {
            match value {
                Value::Absent(why) if !why.is_empty() => {
                    absent.entry(&column.key).or_insert(why);
                }
                Value::Absent(_) => {}
                Value::Text(text) if text.is_empty() => {}
                _ if column.importance == Importance::Data => {}
                value => {
                    object.insert(column.key.clone(), shortened(&cell(value), longest, 2));
                }
            }
        }
        shown.push(Json::Object(object));
    }
    let mut object = json!({ "rows_in_all": table.rows.len(), "rows": shown });
    if !absent.is_empty() {
        object["absent"] = json!(absent);
    }
    object
}

/// A short key for each of the first rows: the same trace gives the same one, whatever its rank among the rows.
fn row_keys(table: &Table, most: usize) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut keys = Vec::with_capacity(most.min(table.rows.len()));
    for row in table.rows.iter().take(most) {
        let mut hash = Fnv::default();
        for (column, value) in table.columns.iter().zip(row) {
            match value {
                Value::Text(text) => hash.add(&column.key, text.as_bytes()),
                Value::Int(number) if is_identity(&column.key) => {
                    hash.add(&column.key, &number.to_le_bytes())
                }
                _ => {}
            }
        }
        let key = format!("{}:{:08x}", table.name, hash.0 as u32 ^ (hash.0 >> 32) as u32);
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        keys.push(if *count == 1 { key } else { format!("{key}-{count}") });
    }
    keys
}

/// Columns of numbers that say what a row is about, not how much it is.
fn is_identity(column: &str) -> bool {
    ["rank", "agent", "stream", "index", "step", "pid", "node", "start_ns", "factor"].contains(&column)
}

/// FNV-1a: short, stable, and no dependency.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, name: &str, bytes: &[u8]) {
        for byte in name.bytes().chain([0]).chain(bytes.iter().copied()).chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn cell(value: &Value) -> Json {
    match value {
        Value::Int(number) => json!(number),
        Value::Float(number) => json!(rounded(*number)),
        Value::Text(text) => json!(text),
        Value::Absent(_) => Json::Null,
        Value::Json(json) => json.clone(),
    }
}

/// Six digits: traces are not more precise.
fn rounded(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let digits = 5 - number.abs().log10().floor() as i32;
    if !(-300..=300).contains(&digits) {
        return number;
    }
    let scale = 10f64.powi(digits);
    (number * scale).round() / scale
}

fn without_nulls(json: Json) -> Json {
    match json {
        Json::Object(object) => object
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

/// The JSON with short texts, short lists and round numbers.
fn shortened(json: &Json, longest: usize, items: usize) -> Json {
    match json {
        Json::String(text) => Json::String(short(text, longest)),
        Json::Number(number) => match number.as_i64() {
            Some(_) => json.clone(),
            None => number.as_f64().map_or(Json::Null, |number| json!(rounded(number))),
        },
        Json::Array(list) => {
            let mut shown: Vec<Json> =
                list.iter().take(items).map(|one| shortened(one, longest, items)).collect();
            if list.len() > items {
                shown.push(json!(format!("… {} more", list.len() - items)));
            }
            Json::Array(shown)
        }
        Json::Object(object) => object
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), shortened(value, longest, items)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Cuts the middle out of a long text: what distinguishes kernels is at both ends.
fn short(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_string();
    }
    let kept = longest.saturating_sub(1);
    let head = kept - kept / 3;
    let tail = kept / 3;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Column, Unit};

    fn table(rows: usize, width: usize) -> Table {
        let mut table =
            Table::new("kernels", "Kernels", vec![Column::text("name"), Column::int("total_ns", Unit::Ns)]);
        for at in 0..rows {
            table.push(vec![Value::Text(format!("{at}{}", "k".repeat(width))), Value::Int(at as i64)]);
        }
        table
    }

    fn view<'a>(limit: usize) -> View<'a> {
        View {
            tool: "summary",
            trace: Some("t1"),
            answer: "a1",
            table: None,
            limit,
            next: Vec::new(),
            without_tables: false,
        }
    }

    #[test]
    fn an_answer_stays_within_its_budget_whatever_is_asked() {
        for (rows, width, limit) in [(3, 5, 8), (20_000, 900, 5_000), (500, 3_000, 500)] {
            let report = Report { tables: vec![table(rows, width); 4], ..Report::default() };
            let text = compact(&report, &view(limit));
            assert!(text.len() <= BUDGET, "{}", text.len());
            let json: Json = serde_json::from_str(&text).expect("JSON");
            assert_eq!(json["tables"]["kernels"]["rows_in_all"], rows);
        }
    }

    #[test]
    fn pages_show_every_row_once() {
        let table = table(317, 300);
        let (mut offset, mut seen) = (0, Vec::new());
        loop {
            let text = page(&table, "a1", offset, 50);
            assert!(text.len() <= BUDGET);
            let page: Json = serde_json::from_str(&text).expect("JSON");
            seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["total_ns"].as_i64().unwrap()));
            match page["next_offset"].as_u64() {
                Some(next) => offset = next as usize,
                None => break,
            }
        }
        assert_eq!(seen, (0..317).collect::<Vec<i64>>());
    }

    #[test]
    fn a_key_finds_its_row_wherever_it_stands() {
        let mut table = table(9, 5);
        let keys = row_keys(&table, usize::MAX);
        table.rows.reverse();
        assert_eq!(row_keys(&table, usize::MAX).last(), keys.first());
        let report = Report { tables: vec![table], ..Report::default() };
        assert_eq!(whole(&report, &keys[3], "t1").unwrap()["total_ns"], 3);
        assert_eq!(whole(&report, "kernels:no", "t1"), None);
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        let name = format!("Cijk_{}_WG16_4_4", "x".repeat(500));
        let shown = short(&name, 60);
        assert!(shown.starts_with("Cijk_") && shown.ends_with("_WG16_4_4") && shown.chars().count() == 60);
    }
}
