//! Resources: whole reports of earlier answers, and the schemas that they follow.

use report::render;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::desk::Desk;
use crate::refusal::Refusal;

const ANSWERS: &str = "rocm-perf://answers/";
const SCHEMAS: &str = "rocm-perf://schemas/";
const JSON: &str = "application/json";

/// Schemas of the reports that tools make: (command, text).
const SCHEMA_FILES: &[(&str, &str)] = &[
    ("breakdown", include_str!("../../../schemas/breakdown.json")),
    ("compare", include_str!("../../../schemas/compare.json")),
    ("critical-path", include_str!("../../../schemas/critical-path.json")),
    ("efficiency", include_str!("../../../schemas/efficiency.json")),
    ("explain", include_str!("../../../schemas/explain.json")),
    ("info", include_str!("../../../schemas/info.json")),
    ("memory", include_str!("../../../schemas/memory.json")),
    ("ops", include_str!("../../../schemas/ops.json")),
    ("overlap", include_str!("../../../schemas/overlap.json")),
    ("query", include_str!("../../../schemas/query.json")),
    ("ranks", include_str!("../../../schemas/ranks.json")),
    ("roofline", include_str!("../../../schemas/roofline.json")),
    ("summary", include_str!("../../../schemas/summary.json")),
    ("triage", include_str!("../../../schemas/triage.json")),
];

/// What can be read now.
pub fn list(desk: &Desk) -> Vec<Resource> {
    let answers = desk.answers().into_iter().map(|answer| {
        let about = match &answer.trace {
            Some(trace) => format!("The whole report of {} on {trace}", answer.tool),
            None => format!("The whole report of {}", answer.tool),
        };
        Resource::new(format!("{ANSWERS}{}", answer.id), answer.id.clone())
            .with_description(about)
            .with_mime_type(JSON)
    });
    let schemas = SCHEMA_FILES.iter().map(|(command, text)| {
        Resource::new(format!("{SCHEMAS}{command}"), format!("{command}.json"))
            .with_description(format!("JSON schema of the reports of {command}"))
            .with_mime_type(JSON)
            .with_size(text.len() as u64)
    });
    answers.chain(schemas).collect()
}

/// Address templates of resources that appear with answers.
pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{ANSWERS}{{answer}}"), "report")
            .with_description(
                "The whole report behind an answer, as `--format json` prints it; it may be large",
            )
            .with_mime_type(JSON),
    ]
}

/// The contents at an address.
pub fn read(desk: &Desk, uri: &str) -> Result<ResourceContents, Refusal> {
    if let Some(id) = uri.strip_prefix(ANSWERS) {
        let (_, report) = desk.kept(id)?;
        let text = render::json(&report, env!("CARGO_PKG_VERSION"));
        return Ok(ResourceContents::text(text, uri).with_mime_type(JSON));
    }
    let schema = uri.strip_prefix(SCHEMAS);
    let schema = schema.and_then(|name| SCHEMA_FILES.iter().find(|(command, _)| *command == name));
    match schema {
        Some((_, text)) => Ok(ResourceContents::text(*text, uri).with_mime_type(JSON)),
        None => Err(Refusal::new(format!("there is no resource `{uri}`"))),
    }
}
