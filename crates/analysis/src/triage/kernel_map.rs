//! `kernel_map.json`: for each stage and kernel name the sites it comes from, to be read by other tools.

use report::{Table, Value};
use serde_json::{Map as JsonMap, Value as Json, json};

/// Version of this document.
const VERSION: u32 = 2;

/// The map, from a kernel table with all rows.
pub(super) fn kernel_map(all_kernels: &Table, generated_from: &[String]) -> Json {
    let mut stages: JsonMap<String, Json> = JsonMap::new();
    for row in &all_kernels.rows {
        let text = |key: &str| match all_kernels.column(key).map(|column| &row[column]) {
            Some(Value::Text(text)) => Json::from(text.as_str()),
            Some(Value::Json(json)) => json.clone(),
            _ => Json::Null,
        };
        let stage = stages
            .entry(text("stage").as_str().unwrap_or_default())
            .or_insert_with(|| json!({"kernels": {}}));
        let entry = json!({
            "category": text("category"),
            "backend": text("backend"),
            "best_location": text("python_location"),
            "sites": text("sites"),
        });
        stage["kernels"][text("kernel_name").as_str().unwrap_or_default()] = entry;
    }
    json!({ "version": VERSION, "generated_from": generated_from, "stages": stages })
}
