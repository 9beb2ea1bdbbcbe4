//! Checks of the GPUs and their driver.

use super::{CheckResult, Machine};
use crate::gpus::{Card, hwmon};

pub(super) fn driver(machine: &Machine) -> CheckResult {
    if !machine.exists("sys/module/amdgpu") && !machine.topology.readable {
        return CheckResult::fail("module amdgpu is not loaded");
    }
    let version = machine.text("sys/module/amdgpu/version");
    let kernel = machine.text("proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into());
    CheckResult::pass(version.map_or_else(
        || format!("amdgpu of Linux {kernel}"),
        |version| format!("amdgpu {version} on Linux {kernel}"),
    ))
}

pub(super) fn gpus(machine: &Machine) -> CheckResult {
    let topology = &machine.topology;
    if !topology.readable {
        return CheckResult::fail("no KFD topology in sysfs");
    }
    let hidden = match topology.masked.len() {
        0 => String::new(),
        count => format!(", {count} hidden from this container"),
    };
    let Some(first) = topology.gpus.first() else {
        return CheckResult::fail(format!("none found{hidden}"));
    };
    let name = first.product.as_deref().unwrap_or("unknown product");
    let count = topology.gpus.len();
    CheckResult::pass(format!("{count} × {name} ({}, {} CUs){hidden}", first.arch, first.compute_units))
}

pub(super) fn kfd(machine: &Machine) -> CheckResult {
    match machine.may_open("dev/kfd") {
        Ok(()) => CheckResult::pass("accessible"),
        Err(why) => CheckResult::fail(why),
    }
}

pub(super) fn render(machine: &Machine) -> CheckResult {
    let minors: Vec<u32> = machine.topology.gpus.iter().filter_map(|gpu| gpu.render_minor).collect();
    if minors.is_empty() {
        return CheckResult::fail("no GPU has a render node");
    }
    let closed = minors.iter().find_map(|minor| {
        let why = machine.may_open(&format!("dev/dri/renderD{minor}")).err()?;
        Some(format!("renderD{minor}: {why}"))
    });
    closed.map_or_else(|| CheckResult::pass(format!("{} accessible", minors.len())), CheckResult::fail)
}

pub(super) fn pc_sampling(machine: &Machine) -> CheckResult {
    let Some(gpu) = machine.topology.gpus.first() else {
        return CheckResult::warn("no GPU found");
    };
    let known = ["gfx90a", "gfx94", "gfx95"].iter().any(|start| gpu.arch.starts_with(start));
    match (known, machine.kfd_interface) {
        (false, _) => CheckResult::warn(format!("{} does not support it", gpu.arch)),
        (true, Some((major, minor))) if (major, minor) < (1, 16) => {
            CheckResult::warn(format!("KFD interface {major}.{minor} is older than 1.16"))
        }
        (true, Some((major, minor))) => CheckResult::pass(format!("KFD interface {major}.{minor}")),
        (true, None) => CheckResult::warn("KFD interface version unknown"),
    }
}

fn cards(machine: &Machine) -> Vec<&Card> {
    machine.topology.gpus.iter().filter_map(|gpu| gpu.card.as_ref()).collect()
}

pub(super) fn clocks(machine: &Machine) -> CheckResult {
    let cards = cards(machine);
    let levels: Vec<&str> = cards.iter().filter_map(|card| card.performance_level.as_deref()).collect();
    let Some(level) = levels.first() else {
        return CheckResult::warn("performance level not in sysfs");
    };
    let mut facts = vec![format!("level {level}")];
    facts.extend(cards[0].power_cap_watts.map(|watts| format!("cap {watts} W")));
    facts.extend(cards[0].compute_partition.clone());
    facts.extend(cards[0].memory_partition.clone());
    let mixed = levels.iter().any(|other| other != level);
    let text = facts.join(", ");
    match (*level, mixed) {
        (_, true) => CheckResult::warn(format!("GPUs differ: {}", levels.join(", "))),
        ("auto", _) => CheckResult::warn(text),
        _ => CheckResult::pass(text),
    }
}

pub(super) fn idle(machine: &Machine) -> CheckResult {
    let cards = cards(machine);
    if cards.iter().all(|card| card.busy_percent.is_none() && card.memory_used_bytes.is_none()) {
        return CheckResult::warn("GPU utilisation not in sysfs");
    }
    let busy: Vec<String> = machine
        .topology
        .gpus
        .iter()
        .filter_map(|gpu| {
            let card = gpu.card.as_ref()?;
            let busy = card.busy_percent.unwrap_or(0);
            let share = match (card.memory_used_bytes, card.memory_total_bytes) {
                (Some(used), Some(total)) if total > 0 => 100 * used / total,
                _ => 0,
            };
            (busy > 5 || share > 5)
                .then(|| format!("GPU {} is {busy} % busy, {share} % of its memory in use", gpu.type_index))
        })
        .collect();
    match busy.len() {
        0 => CheckResult::pass(format!("{} idle", cards.len())),
        1 => CheckResult::warn(busy[0].clone()),
        more => CheckResult::warn(format!("{}, and {} more", busy[0], more - 1)),
    }
}

pub(super) fn telemetry(machine: &Machine) -> CheckResult {
    let cards = cards(machine);
    let powered = cards.iter().any(|card| {
        let files = ["power1_input", "power1_average"];
        hwmon(&card.folder).is_some_and(|folder| files.iter().any(|file| folder.join(file).exists()))
    });
    if powered {
        return CheckResult::pass("power, clocks and temperature in sysfs");
    }
    let Some(tool) = machine.program("amd-smi") else {
        return CheckResult::warn("no sensors in sysfs, and amd-smi is not installed");
    };
    match machine.output(&tool, &["metric", "--json"]).and_then(|text| crate::monitor::gpus_in(&text)) {
        Some(count) => CheckResult::pass(format!("amd-smi reports metrics of {count} GPUs")),
        None => CheckResult::warn("no sensors in sysfs, and `amd-smi metric --json` prints no JSON"),
    }
}
