//! What the artifacts of a trial conclude: the verdict, and whether it was the right hardware.

use serde_json::Value;
use store::Conclusion;

use super::known;

/// What an artifact concludes; `None` if it concludes nothing.
pub fn of_artifact(path: &str, document: &Value) -> Option<Conclusion> {
    let text = |at: &str| document.pointer(at).and_then(Value::as_str).map(String::from);
    let found = if known::file_name(path) == formats::run::PROFILE_METADATA_FILE {
        Conclusion {
            architecture: text("/observed_arch"),
            arch_match: text("/arch_match"),
            arch_reason: text("/hardware_relevance_reason"),
            ..Conclusion::default()
        }
    } else {
        Conclusion {
            verdict: text("/verdict/text"),
            bound_by: text("/verdict/bound_by"),
            architecture: text("/verdict/architecture"),
            arch_match: text("/verdict/arch_match"),
            arch_reason: text("/verdict/hardware_relevance_reason"),
        }
    };
    (found != Conclusion::default()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn verdicts_and_hardware_are_found_where_they_stand() {
        let verdict = json!({ "verdict": { "text": "launch bound", "arch_match": "exact" }, "tables": {} });
        let found = of_artifact("explain.json", &verdict).expect("a conclusion");
        assert_eq!(
            (found.verdict.as_deref(), found.arch_match.as_deref()),
            (Some("launch bound"), Some("exact"))
        );
        let profile = json!({ "observed_arch": "gfx942", "arch_match": "compatible" });
        let found = of_artifact("decode/profile_metadata.json", &profile).expect("a conclusion");
        assert_eq!(found.architecture.as_deref(), Some("gfx942"));
        assert_eq!(of_artifact("summary.json", &json!({ "tables": {} })), None);
    }
}
