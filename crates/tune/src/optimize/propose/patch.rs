//! A proposal from a patch file (unified diff of the source).

use std::path::Path;

use super::{NoProposal, Proposal};

/// The proposal in a patch file.
pub fn proposal(source: &str, path: &Path, flags: &[String]) -> Result<Proposal, NoProposal> {
    let wrong = |why: String| NoProposal(format!("`{}` {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let text = apply(source, &text).map_err(wrong)?;
    let description = format!("patch {}", path.file_name().unwrap_or_default().to_string_lossy());
    Ok(Proposal::of_source("patch", description, text, flags))
}

/// Applies a unified diff.
pub fn apply(source: &str, patch: &str) -> Result<String, String> {
    // What git and mail put before the first file name is not part of the patch.
    let start = if patch.starts_with("--- ") { Some(0) } else { patch.find("\n--- ").map(|at| at + 1) };
    let patch = &patch[start.ok_or("is not a unified diff")?..];
    let parsed = diffy::Patch::from_str(patch).map_err(|error| format!("is not a unified diff: {error}"))?;
    diffy::apply(source, &parsed).map_err(|error| format!("does not apply to the source: {error}"))
}

/// The difference between two texts as a patch.
pub fn difference(name: &str, before: &str, after: &str) -> String {
    let mut options = diffy::DiffOptions::new();
    options.set_original_filename(format!("a/{name}")).set_modified_filename(format!("b/{name}"));
    options.create_patch(before, after).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_applied_gives_the_new_text() {
        let (before, after) = ("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n");
        let patch = difference("k.cu", before, after);
        assert!(patch.starts_with("--- a/k.cu\n+++ b/k.cu\n"), "{patch}");
        assert_eq!(apply(before, &patch).as_deref(), Ok(after));
        assert_eq!(
            apply(before, &format!("diff --git a/k.cu b/k.cu\nindex 1..2\n{patch}")).as_deref(),
            Ok(after)
        );
        assert!(apply("other\n", &patch).unwrap_err().starts_with("does not apply"));
        assert!(apply(before, "hello").unwrap_err().starts_with("is not a unified diff"));
    }
}
