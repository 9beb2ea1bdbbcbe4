//! The stage in a file's name or its folders.

use super::Stage;
use super::patterns::StageRules;

/// The stage a path names: `x-TP-0-EXTEND.trace.json.gz`, `runs/decode/trace.json`.
///
/// The innermost part of the path with a word for exactly one stage decides. Words are separated by anything
/// but letters, so `prefilldecode` is not a label, nor is `prefill_decode`.
pub fn label(path: &str) -> Option<Stage> {
    let labels = &StageRules::built_in().labels;
    let parts = path.split(['/', '\\']).rev().filter(|part| !part.is_empty()).take(labels.depth);
    parts.map(|part| part.to_lowercase()).find_map(|part| {
        let has = |words: &[String]| {
            part.split(|c: char| !c.is_alphabetic()).any(|word| words.iter().any(|known| known == word))
        };
        match (has(&labels.prefill), has(&labels.decode)) {
            (true, false) => Some(Stage::Prefill),
            (false, true) => Some(Stage::Decode),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_path_decide_nearest_first() {
        let cases = [
            ("1772-TP-0-EXTEND.trace.json.gz", Some(Stage::Prefill)),
            ("1772-TP-0-DECODE.trace.json.gz", Some(Stage::Decode)),
            ("runs/decode/rank0.json", Some(Stage::Decode)),
            ("runs/decode_bench/prefill-0.json", Some(Stage::Prefill)),
            ("sglang_prefilldecode.json.gz", None),
            ("a/prefill_decode/x.json", None),
            ("decoder/x.json", None),
            ("decode/a/b/c/d/e/f/x.json", None),
            ("x.json", None),
        ];
        for (path, stage) in cases {
            assert_eq!(label(path), stage, "{path}");
        }
    }
}
