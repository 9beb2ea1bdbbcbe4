//! Whether this machine can profile.

use std::path::{Path, PathBuf};

use collect::doctor::{Machine, examine};
use report::HealthStatus;

use crate::Answer;
use crate::failure::Failure;

/// Checks driver, permissions, profiler and the space in a folder; `root` has the files of another machine.
pub fn doctor(out: &Path, root: Option<&PathBuf>) -> Answer {
    let this = Machine::this(out);
    let machine = match root {
        Some(root) => Machine { path: this.path, identity: this.identity, ..Machine::below(root, out) },
        None => this,
    };
    let checks = examine(&machine);
    let failed = checks.iter().filter(|check| check.status == HealthStatus::Fail);
    let failed: Vec<&str> = failed.map(|check| check.title).collect();
    let failure = (!failed.is_empty())
        .then(|| Failure::gate(format!("this machine cannot profile yet: {}", failed.join(", "))));
    let mut report = collect::doctor::report(&checks);
    report.result = Some(collect::doctor::facts(&machine, &checks).into());
    Answer { report, failure }
}
