//! The files of a triage: what other programs and people read afterwards.

use report::{Report, render};
use serde_json::{Value as Json, json};

use super::metadata::{SCHEMA_VERSION, Told, WrongField, metadata};
use super::{kernel_map, kernel_table, summary};
use model::Run;

/// One file: its name and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// `kernel_table.json`
    pub name: &'static str,
    /// All of it.
    pub text: String,
}

/// Files that hold a table of the report, as an array of its rows.
const TABLES: [(&str, &str); 3] = [
    ("kernel_table", "kernel_table.json"),
    ("overlap_opportunities", "overlap_opportunities.json"),
    ("fuse_opportunities", "fuse_opportunities.json"),
];

/// The JSON Schemas of the files, by file name.
pub const SCHEMAS: [(&str, &str); 6] = [
    (formats::run::PROFILE_METADATA_FILE, include_str!("../../../../schemas/profile_metadata.json")),
    ("kernel_table.json", include_str!("../../../../schemas/kernel_table.json")),
    ("overlap_opportunities.json", include_str!("../../../../schemas/overlap_opportunities.json")),
    ("fuse_opportunities.json", include_str!("../../../../schemas/fuse_opportunities.json")),
    ("kernel_map.json", include_str!("../../../../schemas/kernel_map.json")),
    ("perfetto_fixed_trace.json", include_str!("../../../../schemas/perfetto_fixed_trace.json")),
];

/// The files of a finished report.
pub fn artifacts(context: &Run, report: &Report, told: &Told) -> Result<Vec<Artifact>, WrongField> {
    let metadata = metadata(context, told)?;
    let mut files = vec![
        Artifact { name: "profile_summary.md", text: summary::summary(context, report, &metadata) },
        Artifact { name: formats::run::PROFILE_METADATA_FILE, text: pretty(&metadata) },
    ];
    for (table, name) in TABLES {
        let mut rows = report.table(table).map_or_else(|| json!([]), render::json_rows);
        for row in rows.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
            row.insert("schema_version".into(), SCHEMA_VERSION.into());
        }
        files.push(Artifact { name, text: pretty(&rows) });
    }
    let all = kernel_table::kernel_table(context, 0.0);
    let map = kernel_map::kernel_map(&all.table, &told.source_paths);
    files.push(Artifact { name: "kernel_map.json", text: pretty(&map) });
    Ok(files)
}

fn pretty(json: &Json) -> String {
    let mut text = serde_json::to_string_pretty(json).unwrap_or_default();
    text.push('\n');
    text
}
