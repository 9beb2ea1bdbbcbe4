//! The files of a triage, for other programs and people to read later.

use report::{Report, Table, render};
use serde_json::Value as Json;

use super::kernel_table::kernel_rows;
use super::metadata::{SCHEMA_VERSION, StatedFacts, WrongField, metadata};
use super::{Triage, kernel_map, summary};
use model::Run;

/// One file: its name and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// `kernel_table.json`
    pub name: &'static str,
    /// Its content.
    pub text: String,
}

/// The JSON Schemas of the files, by file name.
pub const SCHEMAS: [(&str, &str); 6] = [
    (formats::run::PROFILE_METADATA_FILE, include_str!("../../../../../schemas/profile_metadata.json")),
    ("kernel_table.json", include_str!("../../../../../schemas/kernel_table.json")),
    ("overlap_opportunities.json", include_str!("../../../../../schemas/overlap_opportunities.json")),
    ("fuse_opportunities.json", include_str!("../../../../../schemas/fuse_opportunities.json")),
    ("kernel_map.json", include_str!("../../../../../schemas/kernel_map.json")),
    ("perfetto_fixed_trace.json", include_str!("../../../../../schemas/perfetto_fixed_trace.json")),
];

/// The files of a triage; `report` is the report for people, with all notes.
pub fn artifacts(
    context: &Run,
    triage: &Triage,
    report: &Report,
    told: &StatedFacts,
) -> Result<Vec<Artifact>, WrongField> {
    let metadata = metadata(context, told)?;
    let (all_kernels, _) = kernel_rows(context, 0.0);
    let map = kernel_map::kernel_map(&all_kernels, &told.source_paths);
    Ok(vec![
        Artifact { name: "profile_summary.md", text: summary::summary(context, report, &metadata) },
        Artifact { name: formats::run::PROFILE_METADATA_FILE, text: pretty(&metadata) },
        rows("kernel_table.json", &triage.kernels_table()),
        rows("overlap_opportunities.json", &triage.overlap.table()),
        rows("fuse_opportunities.json", &triage.fuse.table()),
        Artifact { name: "kernel_map.json", text: pretty(&map) },
    ])
}

/// A file with the rows of a table, as an array.
fn rows(name: &'static str, table: &Table) -> Artifact {
    let mut rows = render::json_rows(table);
    for row in rows.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        row.insert("schema_version".into(), SCHEMA_VERSION.into());
    }
    Artifact { name, text: pretty(&rows) }
}

fn pretty(json: &Json) -> String {
    let mut text = serde_json::to_string_pretty(json).unwrap_or_default();
    text.push('\n');
    text
}
