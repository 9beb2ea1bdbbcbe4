//! `--version -v`: which build this is, for bug reports.

/// Commit, target, features and dates of the built-in tables, one fact a line.
pub fn details() -> String {
    facts(
        env!("ROCM_PERF_COMMIT"),
        env!("ROCM_PERF_TARGET"),
        env!("ROCM_PERF_FEATURES"),
        env!("ROCM_PERF_TABLES"),
    )
}

fn facts(commit: &str, target: &str, features: &str, tables: &str) -> String {
    let or =
        |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_string() } else { text.to_string() };
    let mut text = format!("rocm-perf {}\n", env!("CARGO_PKG_VERSION"));
    text += &format!("commit:   {}\n", or(commit, "unknown (not built from a git checkout in release mode)"));
    text += &format!("target:   {target}\n");
    text += &format!("features: {}\n", or(features, "none"));
    let dated: Vec<(&str, &str)> = tables.split(';').filter_map(|table| table.split_once('=')).collect();
    if dated.is_empty() {
        return text + "tables:   dates unknown\n";
    }
    text += "tables last changed:\n";
    let width = dated.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    dated.iter().for_each(|(name, date)| text += &format!("  {name:width$}  {date}\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_what_it_is_and_what_it_does_not_know() {
        let release = facts(
            "1a2b3c4 (2026-11-16)",
            "x86_64-unknown-linux-musl",
            "pdf",
            "panels=2026-11-15;presets=2026-09-01",
        );
        let expected = "commit:   1a2b3c4 (2026-11-16)\ntarget:   x86_64-unknown-linux-musl\nfeatures: pdf\n\
                        tables last changed:\n  panels   2026-11-15\n  presets  2026-09-01\n";
        assert_eq!(release.split_once('\n').unwrap().1, expected);
        let unknown = facts("", "t", "", "");
        assert!(unknown.contains("commit:   unknown") && unknown.contains("features: none"));
        assert!(unknown.contains("dates unknown"));
    }
}
