//! Files with a known format: their names and the shipped schemas that they must fit.

use formats::json_schema;
use serde_json::Value;

use crate::failure::Failure;

/// File, name of its schema, the schema.
type KnownArtifact = (&'static str, &'static str, &'static str);

macro_rules! known {
    ($($file:literal $schema:literal,)*) => {
        &[$(($file, $schema, include_str!(concat!("../../../../schemas/", $schema)))),*]
    };
}

/// Artifacts of the contract, and what analyses print as JSON.
const KNOWN: &[KnownArtifact] = known! {
    "profile_metadata.json" "profile_metadata.json",
    "kernel_table.json" "kernel_table.json",
    "overlap_opportunities.json" "overlap_opportunities.json",
    "fuse_opportunities.json" "fuse_opportunities.json",
    "kernel_map.json" "kernel_map.json",
    "metrics.json" "metrics.json",
    "autotune.json" "autotune.json",
    "breakdown.json" "breakdown.json",
    "capture.json" "capture.json",
    "collect.json" "collect.json",
    "compare.json" "compare.json",
    "critical_path.json" "critical-path.json",
    "efficiency.json" "efficiency.json",
    "explain.json" "explain.json",
    "importance.json" "importance.json",
    "memory.json" "memory.json",
    "ops.json" "ops.json",
    "optimize.json" "optimize.json",
    "overlap.json" "overlap.json",
    "panels.json" "panels.json",
    "profile.json" "profile.json",
    "ranks.json" "ranks.json",
    "report.json" "report.json",
    "roofline.json" "roofline.json",
    "summary.json" "summary.json",
    "triage.json" "triage.json",
};

/// The name of a file without its folders.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The document in a file whose format is known, with the name of its schema; `None` for any other file.
pub fn check(path: &str, bytes: &[u8]) -> Result<Option<(&'static str, Value)>, Failure> {
    let name = file_name(path);
    let Some((_, schema, text)) = KNOWN.iter().find(|(file, ..)| *file == name) else { return Ok(None) };
    let wrong = |why: String| Failure::input(format!("`{path}`: {why}"));
    let document: Value =
        serde_json::from_slice(bytes).map_err(|error| wrong(format!("it is not JSON: {error}")))?;
    let rules: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let problems = json_schema::problems(&rules, &document);
    let why = match &problems[..] {
        [] => return Ok(Some((schema, document))),
        [one] => one.clone(),
        [first, more @ ..] => format!("{first}, and {} more problems", more.len()),
    };
    Err(wrong(why).with_help(format!("it must fit schemas/{schema}").as_str()))
}

/// Whether a file's format is known.
pub fn is_known(path: &str) -> bool {
    KNOWN.iter().any(|(file, ..)| *file == file_name(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_artifact_names_its_file_and_field() {
        let failure = check("decode/kernel_table.json", b"[{\"stage\": 1}]").expect_err("no row");
        assert!(failure.message().starts_with("`decode/kernel_table.json`: /0"), "{failure}");
        assert!(check("kernel_table.json", b"[]").expect("rows").is_some());
        assert!(check("notes.txt", b"x").expect("any file").is_none());
        assert!(check("metrics.json", b"{").expect_err("half").message().contains("not JSON"));
    }
}
