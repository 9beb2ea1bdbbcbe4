//! A lake of four ranks on two nodes.

use std::path::{Path, PathBuf};

use rocm_perf_lake::build::{BuildRequest, Built, Hooks, build};
use rocm_perf_lake::rows::{Cell, collect};
use rocm_perf_lake::{Address, Engine};

pub fn request(inputs: &[PathBuf], lake: &Address, node: &str) -> BuildRequest {
    BuildRequest {
        inputs: inputs.to_vec(),
        lake: lake.clone(),
        run: Some("job".into()),
        node: Some(node.into()),
        rank: None,
        existing: false,
    }
}

pub fn build_one(request: &BuildRequest) -> Built {
    let hooks = Hooks { progress: &Default::default(), cancelled: &|| false, digests: None };
    build(request, &hooks).unwrap()
}

/// Builds the lake node by node, as nodes of a cluster would.
pub fn build_all(traces: &Path, lake: &Address) -> Vec<Built> {
    let nodes = testing::lake::write_ranks(traces);
    let each = nodes.iter().zip(["n0", "n1"]);
    each.map(|(node, name)| build_one(&request(std::slice::from_ref(node), lake, name))).collect()
}

/// Rows in the format of the SQL test files.
pub fn rows(engine: &dyn Engine, sql: &str) -> Result<Vec<String>, String> {
    let found = collect(engine, sql).map_err(|error| error.to_string())?;
    Ok(found.rows.iter().map(|row| row.iter().map(show).collect::<Vec<_>>().join(" ")).collect())
}

fn show(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".into(),
        Cell::Int(number) => number.to_string(),
        Cell::Real(number) => format!("{number:?}"),
        Cell::Text(text) if text.is_empty() => "(empty)".into(),
        Cell::Text(text) => text.clone(),
    }
}
