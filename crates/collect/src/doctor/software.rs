//! Checks of ROCm and the programs around it.

use super::{CheckResult, Machine};

/// The version in ROCm's folder.
pub(super) fn rocm_version(machine: &Machine) -> Option<String> {
    let file = machine.rocm_folders().into_iter().map(|folder| folder.join(".info/version"));
    file.filter_map(|path| crate::gpus::read_text(&path)).next()
}

/// The ROCm version that the profiler reports.
fn profiler_version(machine: &Machine) -> Option<String> {
    profiler_field(machine, "rocm_version")
}

/// A line of the profiler's version output.
pub(super) fn profiler_field(machine: &Machine, name: &str) -> Option<String> {
    let text = machine.output(&machine.program("rocprofv3")?, &["--version"])?;
    let field = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_string())
    };
    text.lines().find_map(field).filter(|value| !value.is_empty())
}

/// Major and minor number of `7.0.2-12345`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

pub(super) fn rocm(machine: &Machine) -> CheckResult {
    match rocm_version(machine).or_else(|| profiler_version(machine)) {
        Some(version) => CheckResult::pass(version),
        None => CheckResult::warn("no version in $ROCM_PATH or /opt/rocm"),
    }
}

pub(super) fn profiler(machine: &Machine) -> CheckResult {
    if let Some(path) = machine.program("rocprofv3") {
        let runs = machine.output(&path, &["--version"]).or_else(|| machine.output(&path, &["--help"]));
        return match runs {
            Some(_) => CheckResult::pass(format!("rocprofv3 at {}", shown(machine, &path))),
            None => CheckResult::fail(format!("{} does not run", shown(machine, &path))),
        };
    }
    match machine.program("rocprof") {
        Some(path) => CheckResult::warn(format!("only the older rocprof at {}", shown(machine, &path))),
        None => CheckResult::fail("neither rocprofv3 nor rocprof is installed"),
    }
}

/// A path as seen on the machine itself.
fn shown(machine: &Machine, path: &std::path::Path) -> String {
    match path.strip_prefix(&machine.root) {
        Ok(rest) => format!("/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

pub(super) fn features(machine: &Machine) -> CheckResult {
    if machine.program("rocprofv3").is_none() {
        return CheckResult::warn("no rocprofv3");
    }
    let Some(version) = profiler_version(machine).or_else(|| rocm_version(machine)) else {
        return CheckResult::warn("rocprofv3 does not report a version, so it is older than 7.0");
    };
    match numbers(&version) {
        Some(numbers) if numbers >= (7, 0) => CheckResult::pass(format!("ROCm {version}")),
        Some(_) => CheckResult::warn(format!("ROCm {version} is older than 7.0")),
        None => CheckResult::warn(format!("cannot parse the version `{version}`")),
    }
}

pub(super) fn python(machine: &Machine) -> CheckResult {
    match machine.program("python3") {
        Some(_) => CheckResult::pass("python3 found"),
        None => CheckResult::warn("python3 is not on PATH"),
    }
}

pub(super) fn counters(machine: &Machine) -> CheckResult {
    let Some(tool) = machine.program("rocprofv3-avail") else {
        return CheckResult::warn("rocprofv3-avail is not installed");
    };
    let Some(text) = machine.output(&tool, &["list", "--pmc"]) else {
        return CheckResult::warn("rocprofv3-avail does not run");
    };
    let is_name = |word: &&str| {
        let letters = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        letters && word.contains('_') && word.starts_with(|c: char| c.is_ascii_uppercase())
    };
    let names: std::collections::BTreeSet<&str> = text.split_whitespace().filter(is_name).collect();
    match names.len() {
        0 => CheckResult::warn("rocprofv3-avail lists no counters"),
        count => CheckResult::pass(format!("{count} listed")),
    }
}

pub(super) fn decoder(machine: &Machine) -> CheckResult {
    const LIBRARY: &str = "librocprof-trace-decoder.so";
    let own = ["ROCPROF_ATT_LIBRARY_PATH", "LD_LIBRARY_PATH"];
    let own = own.iter().filter_map(|name| machine.variable(name)).flat_map(std::env::split_paths);
    let own = own.map(|folder| machine.root.join(folder.strip_prefix("/").unwrap_or(&folder)));
    let rocm = machine.rocm_folders().into_iter().map(|folder| folder.join("lib"));
    match own.chain(rocm).find(|folder| folder.join(LIBRARY).exists()) {
        Some(folder) => CheckResult::pass(format!("in {}", shown(machine, &folder))),
        None => CheckResult::warn("not installed; only thread traces need it"),
    }
}

pub(super) fn slurm(machine: &Machine) -> CheckResult {
    let programs = ["sbatch", "srun", "squeue", "scontrol"];
    let missing: Vec<&str> = programs.into_iter().filter(|name| machine.program(name).is_none()).collect();
    match missing.len() {
        0 => CheckResult::pass("sbatch, srun, squeue and scontrol found"),
        4 => CheckResult::pass("not installed"),
        _ => CheckResult::warn(format!("missing {}", missing.join(", "))),
    }
}
