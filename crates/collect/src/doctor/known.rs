//! Known issues: a dated table (`known.toml`) of stacks that are bad for profiling, matched against a
//! machine.

use std::sync::LazyLock;

use serde::Deserialize;

use super::stack::{Release, Stack};
use super::{CheckResult, Machine};

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownIssues {
    /// The day it was last updated.
    pub as_of: String,
    /// Its rows.
    #[serde(rename = "issue")]
    pub issues: Vec<KnownIssue>,
}

/// One issue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownIssue {
    /// Stable name.
    pub id: String,
    /// What goes wrong, in a few words.
    pub title: String,
    /// The day it was reported.
    pub seen: String,
    /// Link to the report.
    pub link: String,
    /// What goes wrong.
    pub effect: String,
    /// What to do.
    pub remedy: String,
    when: When,
}

/// Conditions; all must hold.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    rocm: Option<Releases>,
    sdk: Option<Releases>,
    python: Option<Releases>,
    gpus: Option<usize>,
    product: Option<String>,
    #[serde(default)]
    shadowed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Releases {
    from: Release,
    before: Option<Release>,
}

impl Releases {
    fn include(&self, release: Release) -> bool {
        release >= self.from && self.before.is_none_or(|before| release < before)
    }
}

static TABLE: LazyLock<KnownIssues> = LazyLock::new(|| {
    // The table is part of the program; a test reads it.
    formats::tables::built_in(include_str!("known.toml")).unwrap_or_default()
});

/// An issue that a machine has, and why it matches.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The issue.
    pub issue: &'static KnownIssue,
    /// Which facts of the machine match.
    pub found: Vec<String>,
}

/// The issues that a machine has.
pub fn known_issues(machine: &Machine) -> Vec<Hit> {
    let stack = Stack::of(machine);
    let hit = |issue: &'static KnownIssue| Some(Hit { issue, found: issue.when.fits(&stack)? });
    TABLE.issues.iter().filter_map(hit).collect()
}

impl When {
    /// The matching facts, if all conditions hold.
    fn fits(&self, stack: &Stack) -> Option<Vec<String>> {
        let mut found = Vec::new();
        let releases = [
            ("ROCm", &self.rocm, stack.rocm),
            ("rocprofiler-sdk", &self.sdk, stack.sdk),
            ("Python", &self.python, stack.python),
        ];
        for (name, wanted, release) in releases {
            if let Some(wanted) = wanted {
                let release = release.filter(|release| wanted.include(*release))?;
                found.push(format!("{name} {release}"));
            }
        }
        if let Some(least) = self.gpus {
            let gpus = stack.products.len();
            (gpus >= least).then(|| found.push(format!("{gpus} GPUs")))?;
        }
        if let Some(word) = &self.product {
            found.push(
                stack.products.iter().flatten().find(|product| product.contains(word.as_str()))?.clone(),
            );
        }
        if !self.shadowed.is_empty() {
            let wanted = |library: &&super::stack::Shadowed| {
                self.shadowed.iter().any(|name| library.name.starts_with(name.as_str()))
            };
            let shadowed: Vec<String> =
                stack.shadowed.iter().filter(wanted).map(ToString::to_string).collect();
            (!shadowed.is_empty()).then(|| found.extend(shadowed))?;
        }
        Some(found)
    }
}

/// The check `known_issues`.
pub(super) fn check(machine: &Machine) -> CheckResult {
    let hits = known_issues(machine);
    if hits.is_empty() {
        return CheckResult::pass(format!("none of {} (as of {})", TABLE.issues.len(), TABLE.as_of));
    }
    let titles: Vec<String> =
        hits.iter().map(|hit| format!("{} ({})", hit.issue.title, hit.found.join(", "))).collect();
    CheckResult::warn(titles.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table: KnownIssues = toml::from_str(include_str!("known.toml")).unwrap();
        assert!(!table.issues.is_empty());
        let is_date = |text: &str| text.len() == 10 && text.split('-').count() == 3;
        assert!(is_date(&table.as_of));
        let mut ids: Vec<&str> = table.issues.iter().map(|issue| issue.id.as_str()).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
        for issue in &table.issues {
            assert!(is_date(&issue.seen) && issue.seen <= table.as_of, "{issue:?}");
            assert!(issue.link.starts_with("https://github.com/"), "{issue:?}");
            assert!(
                !issue.title.is_empty() && !issue.effect.is_empty() && !issue.remedy.is_empty(),
                "{issue:?}"
            );
            let nothing = Stack::default();
            assert_eq!(issue.when.fits(&nothing), None, "`{}` fits a machine that tells nothing", issue.id);
        }
    }
}
