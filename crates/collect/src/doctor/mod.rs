//! The doctor: can this machine profile? Each check reports what it found, why it matters and the command that
//! fixes it.
//!
//! ```no_run
//! use rocm_perf_collect::doctor::{Machine, examine};
//!
//! let checks = examine(&Machine::this(std::path::Path::new(".")));
//! assert!(checks.iter().all(|check| !check.why.is_empty()));
//! ```

mod facts;
mod hardware;
mod known;
mod machine;
mod probe;
mod report;
mod rpath;
mod software;
mod stack;
mod system;

pub use facts::{facts, preflight};
pub use known::{Hit, KnownIssue, known_issues};
pub use machine::{Identity, Machine};
pub use probe::{Probe, ProbeError, ProbedWork, probe};
pub use report::{issues_table, report};

use std::sync::LazyLock;

use ::report::HealthStatus;
use serde::Deserialize;

/// One check of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Stable name.
    pub id: &'static str,
    /// What was looked at.
    pub title: &'static str,
    /// The outcome: profiling works, works with a limit, or does not.
    pub status: HealthStatus,
    /// What was found.
    pub found: String,
    /// Why it matters.
    pub why: &'static str,
    /// The command that fixes it.
    pub fix: &'static str,
}

/// What a check found.
struct CheckResult(HealthStatus, String);

impl CheckResult {
    fn pass(found: impl Into<String>) -> Self {
        Self(HealthStatus::Pass, found.into())
    }

    fn warn(found: impl Into<String>) -> Self {
        Self(HealthStatus::Warn, found.into())
    }

    fn fail(found: impl Into<String>) -> Self {
        Self(HealthStatus::Fail, found.into())
    }
}

/// The texts of a check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    id: String,
    title: String,
    why: String,
    fix: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    check: Vec<Words>,
}

static WORDS: LazyLock<Vec<Words>> = LazyLock::new(|| {
    // The table is part of the program; a test reads it.
    formats::tables::built_in::<Table>(include_str!("checks.toml"))
        .map(|table| table.check)
        .unwrap_or_default()
});

/// The function of each check, by its id.
type Finder = fn(&Machine) -> CheckResult;
const FINDERS: [(&str, Finder); 24] = [
    ("driver", hardware::driver),
    ("gpus", hardware::gpus),
    ("kfd", hardware::kfd),
    ("render", hardware::render),
    ("rocm", software::rocm),
    ("profiler", software::profiler),
    ("features", software::features),
    ("known_issues", known::check),
    ("python", software::python),
    ("counters", software::counters),
    ("pc_sampling", hardware::pc_sampling),
    ("perf_events", system::perf_events),
    ("ptrace", system::ptrace),
    ("container", system::container),
    ("other_profiler", system::other_profiler),
    ("visibility", system::visibility),
    ("output", system::output),
    ("open_files", system::open_files),
    ("clocks", hardware::clocks),
    ("idle", hardware::idle),
    ("telemetry", hardware::telemetry),
    ("decoder", software::decoder),
    ("time", system::time),
    ("slurm", software::slurm),
];

/// Runs every check, in order.
pub fn examine(machine: &Machine) -> Vec<Check> {
    examine_these(machine, |_| true)
}

/// Runs the checks with the wanted ids.
fn examine_these(machine: &Machine, wanted: impl Fn(&str) -> bool) -> Vec<Check> {
    let check = |words: &'static Words| {
        let (_, finder) = FINDERS.iter().find(|(id, _)| *id == words.id)?;
        let CheckResult(status, found) = finder(machine);
        let Words { id, title, why, fix } = words;
        Some(Check { id, title, status, found, why, fix })
    };
    WORDS.iter().filter(|words| wanted(&words.id)).filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_words_and_a_finder() {
        let table: Table = toml::from_str(include_str!("checks.toml")).unwrap();
        let ids: Vec<&str> = table.check.iter().map(|words| words.id.as_str()).collect();
        let finders: Vec<&str> = FINDERS.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, finders);
        for words in &table.check {
            assert!(!words.title.is_empty() && !words.why.is_empty() && !words.fix.is_empty(), "{words:?}");
        }
    }
}
