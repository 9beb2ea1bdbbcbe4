//! Which parameters of a tuning matter, as a separate artifact that pages show as is.

use serde_json::{Value, json};

/// The artifact.
pub const FILE: &str = "importance.json";

/// The artifact for the result of a search; `None` if it has no importance.
pub fn of_search(document: &Value) -> Option<Value> {
    let rows = document.pointer("/tables/parameters")?.as_array()?;
    if rows.is_empty() {
        return None;
    }
    let result = |name: &str| document.pointer(&format!("/result/{name}")).cloned().unwrap_or_default();
    let parameters: Vec<Value> = rows
        .iter()
        .map(|row| {
            let of = |name: &str| row.get(name).cloned().unwrap_or_default();
            json!({
                "parameter": of("parameter"),
                "share_pct": of("share_pct"),
                "range_pct": of("range_pct"),
                "best_on_average": of("best_on_average"),
                "in_best": of("in_best"),
            })
        })
        .collect();
    // The shares come from predictions: they mean little without a good model, so its quality is stored with
    // them.
    Some(json!({
        "schema": 1,
        "tables": { "importance": parameters },
        "result": {
            "metric": result("metric"),
            "direction": result("direction"),
            "evaluated_configs": result("evaluated_configs"),
            "model": result("model"),
        },
    }))
}
