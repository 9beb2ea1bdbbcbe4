//! Whether this machine can profile.

use std::path::PathBuf;

use collect::doctor::{Machine, examine, issues_table, known_issues};
use report::{HealthStatus, Report};

use crate::Answer;
use crate::failure::Failure;

/// What to check.
#[derive(Clone, Debug)]
pub struct DoctorRequest {
    /// Where traces would go.
    pub out: PathBuf,
    /// A folder with the files of another machine.
    pub root: Option<PathBuf>,
    /// Also run a small program under the profiler.
    pub probe: bool,
}

/// Checks driver, permissions, profiler, known issues and the space in a folder.
pub fn doctor(request: &DoctorRequest) -> Answer {
    let DoctorRequest { out, root, probe } = request;
    let this = Machine::this(out);
    let machine = match root {
        Some(root) => Machine { path: this.path, identity: this.identity, ..Machine::below(root, out) },
        None => this,
    };
    let checks = examine(&machine);
    let failed = checks.iter().filter(|check| check.status == HealthStatus::Fail);
    let failed: Vec<&str> = failed.map(|check| check.title).collect();
    let mut failure = (!failed.is_empty())
        .then(|| Failure::gate(format!("this machine cannot profile yet: {}", failed.join(", "))));
    let mut report = collect::doctor::report(&checks);
    let issues = issues_table(&known_issues(&machine));
    report.tables.extend((!issues.rows.is_empty()).then_some(issues));
    if *probe {
        failure = failure.or(add_probe(&mut report));
    }
    report.result = Some(collect::doctor::facts(&machine, &checks).into());
    Answer { report, failure }
}

/// Runs the probe and adds what it found; returns why the profiler cannot be trusted.
fn add_probe(report: &mut Report) -> Option<Failure> {
    let probe = match collect::doctor::probe() {
        Ok(probe) => probe,
        Err(error) => {
            report.notes.push(error.to_string().into());
            return Some(Failure::gate(error.to_string()));
        }
    };
    report.tables.push(probe.table());
    let (lost, launched) = (probe.lost(), probe.launched());
    let said = match lost {
        0 => format!("the profiler recorded all {launched} kernels of the probe"),
        lost => format!("the profiler lost {lost} of {launched} kernels of the probe"),
    };
    report.notes.push(said.clone().into());
    (lost > 0).then(|| Failure::gate(said))
}
