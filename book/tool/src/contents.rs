//! The table of contents: written by hand, except lines of generated pages and of pages that are not listed.

use std::path::Path;

use crate::{Failure, check};

/// The table of contents, with the lines below one of its lines replaced.
pub fn below(summary: &str, line_with: &str, chapters: &str) -> String {
    let (mut text, mut inside) = (String::new(), false);
    for line in summary.lines() {
        inside &= line.starts_with("  ");
        if !inside {
            text.push_str(line);
            text.push('\n');
        }
        if line.contains(line_with) {
            inside = true;
            text.push_str(chapters);
        }
    }
    text
}

/// Adds a line for each page of `docs` that has none, at the end of the guide.
pub fn complete(summary: &str, docs: &Path) -> Result<String, Failure> {
    let mut missing = String::new();
    for path in check::below(docs, "md") {
        let page = path.strip_prefix(docs)?;
        if page == Path::new("SUMMARY.md") || summary.contains(&format!("({})", page.display())) {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
        let title = title.split(':').next().unwrap_or(title).replace('`', "");
        missing.push_str(&format!("- [{title}]({})\n", page.display()));
    }
    Ok(summary.replacen("\n# Reference\n", &format!("{missing}\n# Reference\n"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_nobody_listed_are_added_to_the_guide() {
        let docs = tempfile::tempdir().unwrap();
        std::fs::write(docs.path().join("a.md"), "# `a`: what it is\n").unwrap();
        std::fs::write(docs.path().join("b.md"), "# B\n").unwrap();
        let summary = "# Guide\n\n- [B](b.md)\n\n# Reference\n\n- [C](x/c.md)\n  - [old](x/old.md)\n";
        let now = complete(summary, docs.path()).unwrap();
        assert_eq!(now, summary.replace("(b.md)\n", "(b.md)\n- [a](a.md)\n"));
        assert!(
            below(&now, "(x/c.md)", "  - [new](x/new.md)\n").ends_with("(x/c.md)\n  - [new](x/new.md)\n")
        );
    }
}
