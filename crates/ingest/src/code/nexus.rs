//! Nexus: `kernels.<name>` with `assembly`, `files`, `lines` and `hip` (the source text).

use serde_json::Value;
use trace::{CodeFacts, CodeListing};

/// Reads a listing; the file is rewritten after every launch, so it is complete or damaged.
pub(super) fn read(text: &str, facts: &mut CodeFacts) -> Result<(), String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let kernels = document.get("kernels").and_then(Value::as_object).ok_or("it has no kernels")?;
    for (kernel, code) in kernels {
        let list = |key: &str| code.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let places = list("files").iter().zip(list("lines"));
        let places = places.map(|(file, line)| format!("{}:{line}", text(file)));
        let texts = list("hip").iter().map(text).chain(std::iter::repeat_with(String::new));
        facts.listings.push(CodeListing {
            kernel: kernel.clone(),
            instructions: list("assembly").iter().map(text).collect(),
            lines: places.zip(texts).collect(),
        });
    }
    Ok(())
}
