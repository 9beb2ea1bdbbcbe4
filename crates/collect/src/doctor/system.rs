//! Checks of the system and the environment.

use super::{CheckResult, Machine};

/// Numbers of capabilities.
const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;

/// Below the first, nothing useful can be recorded; below the second, a long run is at risk.
const TOO_LITTLE: u64 = 200 << 20;
const LITTLE: u64 = 5 << 30;

pub(super) fn perf_events(machine: &Machine) -> CheckResult {
    if machine.has_capability(PERFMON) || machine.has_capability(SYS_ADMIN) {
        return CheckResult::pass("allowed by capability");
    }
    match machine.text("proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse::<i64>().ok()) {
        Some(level) if level <= 2 => CheckResult::pass(format!("perf_event_paranoid is {level}")),
        Some(level) => CheckResult::warn(format!("perf_event_paranoid is {level}")),
        None => CheckResult::warn("perf_event_paranoid unknown"),
    }
}

pub(super) fn ptrace(machine: &Machine) -> CheckResult {
    if machine.has_capability(SYS_PTRACE) {
        return CheckResult::pass("allowed by capability");
    }
    match machine.text("proc/sys/kernel/yama/ptrace_scope").as_deref() {
        None | Some("0") => CheckResult::pass("allowed for own processes"),
        Some(scope) => CheckResult::warn(format!("ptrace_scope is {scope}")),
    }
}

pub(super) fn container(machine: &Machine) -> CheckResult {
    if !crate::environment::in_container(&machine.root) {
        return CheckResult::pass("none");
    }
    let status = machine.text("proc/self/status").unwrap_or_default();
    let filtered = status.lines().any(|line| line.starts_with("Seccomp:") && line.trim_end().ends_with('2'));
    let shm = shm_bytes(machine).filter(|bytes| *bytes < 1 << 30);
    let mut faults = Vec::new();
    faults.extend(shm.map(|bytes| format!("/dev/shm has {} MiB", bytes >> 20)));
    faults.extend(filtered.then(|| "a seccomp filter is active".to_string()));
    if faults.is_empty() {
        CheckResult::pass("enough shared memory, no seccomp filter")
    } else {
        CheckResult::warn(faults.join(", "))
    }
}

/// Size of `/dev/shm`, from its mount options.
fn shm_bytes(machine: &Machine) -> Option<u64> {
    let mounts = machine.text("proc/self/mounts")?;
    let options = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words.get(1) == Some(&"/dev/shm")).then(|| words.get(3).map(|options| options.to_string()))?
    })?;
    let size = options.split(',').find_map(|option| option.strip_prefix("size="))?;
    let (digits, scale) = match size.strip_suffix('k') {
        Some(digits) => (digits, 10),
        None => (size.trim_end_matches('m'), if size.ends_with('m') { 20 } else { 0 }),
    };
    digits.parse::<u64>().ok().map(|number| number << scale)
}

pub(super) fn other_profiler(machine: &Machine) -> CheckResult {
    let names = ["ROCP_TOOL_LIBRARIES", "HSA_TOOLS_LIB"];
    let set = names.into_iter().find(|name| machine.variable(name).is_some());
    let preloaded = machine.variable("LD_PRELOAD").filter(|list| list.contains("rocprof"));
    match (set, preloaded) {
        (Some(name), _) => CheckResult::warn(format!("{name} is set")),
        (None, Some(_)) => CheckResult::warn("LD_PRELOAD loads a profiler"),
        (None, None) => CheckResult::pass("none"),
    }
}

pub(super) fn visibility(machine: &Machine) -> CheckResult {
    let mut count = machine.topology.gpus.len();
    let mut said = Vec::new();
    // ROCR filters first; the other two number what it leaves.
    for name in ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"] {
        let Some(list) = machine.variable(name) else { continue };
        let entries: Vec<&str> = list.split(',').map(str::trim).collect();
        let unknown = entries.iter().find(|entry| match entry.parse::<usize>() {
            Ok(number) => number >= count,
            Err(_) => !entry.starts_with("GPU-"),
        });
        if let Some(entry) = unknown.filter(|_| count > 0) {
            return CheckResult::fail(format!("{name}={list}, but there is no GPU `{entry}` among {count}"));
        }
        if name == "ROCR_VISIBLE_DEVICES" {
            count = count.min(entries.len());
        }
        said.push(format!("{name}={list}"));
    }
    let (hip, cuda) = (machine.variable("HIP_VISIBLE_DEVICES"), machine.variable("CUDA_VISIBLE_DEVICES"));
    match (said.is_empty(), hip.zip(cuda)) {
        (_, Some((hip, cuda))) if hip != cuda => {
            CheckResult::warn(format!("HIP_VISIBLE_DEVICES={hip} differs from CUDA_VISIBLE_DEVICES={cuda}"))
        }
        (true, _) => CheckResult::pass("all"),
        (false, _) => CheckResult::pass(said.join(", ")),
    }
}

pub(super) fn output(machine: &Machine) -> CheckResult {
    let folder = &machine.out_dir;
    if folder.exists() && !folder.is_dir() {
        return CheckResult::fail(format!("{} is a file", folder.display()));
    }
    let nearest = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(std::path::Path::new("."));
    let Some((free, network)) = space(nearest) else {
        return CheckResult::warn(format!("cannot read the free space of {}", nearest.display()));
    };
    let free = machine.free_bytes.unwrap_or(free);
    let text = format!("{:.1} GB free", free as f64 / 1e9);
    match free {
        free if free < TOO_LITTLE => CheckResult::fail(text),
        free if free < LITTLE => CheckResult::warn(text),
        _ if network => {
            CheckResult::warn(format!("{text}, but on a network share: record to a local disk, then copy"))
        }
        _ => CheckResult::pass(text),
    }
}

/// Free bytes of a folder's file system, and whether it is a network file system.
fn space(folder: &std::path::Path) -> Option<(u64, bool)> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(match folder.as_os_str().as_bytes() {
        b"" => b".",
        bytes => bytes,
    })
    .ok()?;
    // NFS, SMB2, CIFS, Lustre, FUSE (sshfs and others), Ceph, BeeGFS.
    const NETWORK: [i64; 7] =
        [0x6969, 0xfe53_4d42, 0xff53_4d42, 0x0bd0_0bd0, 0x6573_5546, 0x00c3_6400, 0x1983_0326];
    // SAFETY: all zeros is a valid `statfs`, the path ends in a zero byte, and both outlive the call.
    unsafe {
        let mut facts: libc::statfs = std::mem::zeroed();
        let answer = libc::statfs(path.as_ptr(), &mut facts);
        (answer == 0)
            .then(|| (facts.f_bavail * facts.f_bsize as u64, NETWORK.contains(&(facts.f_type as i64))))
    }
}

pub(super) fn open_files(machine: &Machine) -> CheckResult {
    match machine.open_files {
        limit if limit < 4096 => CheckResult::warn(format!("at most {limit}")),
        libc::RLIM_INFINITY => CheckResult::pass("no limit"),
        limit => CheckResult::pass(format!("at most {limit}")),
    }
}

pub(super) fn time(machine: &Machine) -> CheckResult {
    match machine.synchronised {
        Some(true) => CheckResult::pass("the clock is synchronised"),
        Some(false) => CheckResult::warn("the clock is not synchronised"),
        None => CheckResult::warn("clock synchronisation unknown"),
    }
}
