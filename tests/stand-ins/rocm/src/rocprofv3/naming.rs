//! Names of output files: the placeholders that each process resolves when it writes.

use std::path::{Path, PathBuf};

use crate::log::Recording;
use crate::settings::{self, Version};

/// Resolves placeholders in a folder or file name.
pub(super) fn resolve(pattern: &str, recording: &Recording) -> String {
    let mut text = pattern.to_string();
    for (open, close) in [("%env{", "}%"), ("$env{", "}"), ("$ENV{", "}")] {
        while let Some(at) = text.find(open) {
            let Some(end) = text[at..].find(close).map(|n| at + n) else { break };
            let name = &text[at + open.len()..end];
            let value = recording.environment.get(name).map_or("", String::as_str);
            text = format!("{}{}{}", &text[..at], clean(value), &text[end + close.len()..]);
        }
    }
    // Documented, but the release takes the wrong part of the match and drops it.
    while let Some(at) = text.find("%q{") {
        let Some(end) = text[at..].find('}').map(|n| at + n) else { break };
        text = format!("{}{}", &text[..at], &text[end + 1..]);
    }
    let variable = |names: &[&str]| names.iter().find_map(|name| recording.environment.get(*name)).cloned();
    let rank = variable(rank_variables()).unwrap_or_else(|| "0".into());
    let size = variable(&["SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_SIZE"])
        .unwrap_or_else(|| "1".into());
    let (date, time) = super::messages::date_and_time(now_seconds());
    let program = recording
        .command
        .first()
        .map(|p| clean(Path::new(p).file_name().and_then(|n| n.to_str()).unwrap_or("")));
    let (pid, ppid) = (recording.pid.to_string(), recording.ppid.to_string());
    let values = [
        ("hostname", hostname()),
        ("h", hostname()),
        ("pid", pid.clone()),
        ("p", pid.clone()),
        ("ppid", ppid.clone()),
        ("pgid", ppid.clone()),
        ("psid", ppid),
        ("job", variable(&["SLURM_JOB_ID"]).unwrap_or_else(|| "0".into())),
        ("j", variable(&["SLURM_JOB_ID"]).unwrap_or_else(|| "0".into())),
        ("rank", rank.clone()),
        ("r", rank.clone()),
        // Meant to fall back to the pid, but the default rank counts as set.
        ("nid", rank),
        ("size", size.clone()),
        ("s", size),
        ("cwd", std::env::current_dir().unwrap_or_default().display().to_string()),
        ("launch_date", format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..])),
        ("launch_time", time.replace(':', ".")[..5].to_string()),
        ("argt", program.clone().unwrap_or_default()),
        ("argv", clean(&recording.command.join("_"))),
        ("args", clean(&recording.command.get(1..).unwrap_or_default().join("_"))),
        ("tag", program.unwrap_or_default()),
    ];
    for (key, value) in &values {
        text = text.replace(&format!("%{key}%"), value).replace(&format!("{{{key}}}"), value);
    }
    for (key, value) in values.iter().filter(|(key, _)| key.len() == 1) {
        text = text.replace(&format!("%{key}"), value);
    }
    text
}

/// Variables that hold the rank, in order. torchrun's are not among them.
fn rank_variables() -> &'static [&'static str] {
    if settings::rocm_version() >= Version(7, 13, 0) {
        &[
            "PBS_NODENUM",
            "SLURM_PROCID",
            "PMI_RANK",
            "MV2_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_RANK",
            "MPI_RANKID",
            "MPI_LOCALRANKID",
            "MPI_RANK",
        ]
    } else {
        &[
            "SLURM_PROCID",
            "OMPI_COMM_WORLD_RANK",
            "MV2_COMM_WORLD_RANK",
            "MPI_RANKID",
            "MPI_LOCALRANKID",
            "MPI_RANK",
        ]
    }
}

fn clean(value: &str) -> String {
    value.replace([' ', '/'], "_")
}

fn now_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The host's name.
pub(crate) fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "localhost".into(), |name| name.trim().into())
}

/// `FOLDER/NAME`, to which `_<stem>` is added.
pub(super) fn prefix(folder: &str, pass: Option<&str>, name: Option<&str>, recording: &Recording) -> PathBuf {
    let folder = resolve(folder, recording);
    let name = resolve(name.unwrap_or("%hostname%/%pid%"), recording);
    let mut path = PathBuf::from(folder);
    path.extend(pass);
    path.join(name)
}

/// A file with that prefix.
pub(super) fn file(prefix: &Path, ending: &str) -> PathBuf {
    let name = prefix.file_name().unwrap_or_default().to_string_lossy();
    prefix.with_file_name(format!("{name}_{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_holders_come_from_the_process_that_writes() {
        let environment = [("RANK", "3"), ("SLURM_PROCID", "1"), ("A_B", "x/y z")];
        let environment = environment.map(|(k, v)| (k.to_string(), v.to_string())).into();
        let recording = Recording { pid: 42, environment, ..Recording::default() };
        let resolved = |pattern| resolve(pattern, &recording);
        assert_eq!(resolved("r%env{RANK}%_%pid%"), "r3_42");
        assert_eq!(resolved("%rank%-%nid%-{pid}-%p"), "1-1-42-42");
        assert_eq!(resolved("$env{A_B}%q{RANK}"), "x_y_z");
        assert_eq!(prefix("out", Some("pmc_1"), Some("a/b"), &recording), PathBuf::from("out/pmc_1/a/b"));
        assert_eq!(file(Path::new("d/7"), "results.db"), PathBuf::from("d/7_results.db"));
    }
}
