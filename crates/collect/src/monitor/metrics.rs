//! What can be monitored: a table of metrics, and where to read each.

use super::MonitorError;

/// One number of a GPU.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// The monitor it belongs to.
    pub kind: &'static str,
    /// Name in the samples of a trace.
    pub name: &'static str,
    /// Unit there.
    pub unit: &'static str,
    /// Heading in the seed's CSV file; empty if it is not in that file.
    pub column: &'static str,
    /// Files of a card in sysfs, of which the first existing one is read, and their scale.
    pub(super) sysfs: &'static [(&'static str, f64)],
    /// Label of the sensor, if files are distinguished by labels.
    pub(super) label: &'static str,
    /// Path in a GPU's object of `amd-smi metric --json`.
    pub(super) amd_smi: &'static [&'static str],
}

const fn metric(
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    column: &'static str,
    label: &'static str,
    sysfs: &'static [(&'static str, f64)],
    amd_smi: &'static [&'static str],
) -> Metric {
    Metric { kind, name, unit, column, sysfs, label, amd_smi }
}

/// Every metric. `hwmon/` stands for the card's folder of sensors, `#` for any number.
pub const METRICS: [Metric; 11] = [
    metric(
        "power",
        "GPU power",
        "W",
        "Power(Watt)",
        "",
        &[("hwmon/power1_input", 1e-6), ("hwmon/power1_average", 1e-6)],
        &["power", "socket_power"],
    ),
    metric("vram", "VRAM used share", "%", "vram(%)", "", &[], &[]),
    metric("vram", "VRAM used", "bytes", "", "", &[("mem_info_vram_used", 1.0)], &["mem_usage", "used_vram"]),
    metric(
        "vram",
        "VRAM total",
        "bytes",
        "",
        "",
        &[("mem_info_vram_total", 1.0)],
        &["mem_usage", "total_vram"],
    ),
    metric(
        "clocks",
        "GPU clock",
        "MHz",
        "sclk(MHz)",
        "sclk",
        &[("hwmon/freq#_input", 1e-6), ("pp_dpm_sclk", 1.0)],
        &["clock", "gfx_0", "clk"],
    ),
    metric(
        "clocks",
        "Memory clock",
        "MHz",
        "mclk(MHz)",
        "mclk",
        &[("hwmon/freq#_input", 1e-6), ("pp_dpm_mclk", 1.0)],
        &["clock", "mem_0", "clk"],
    ),
    metric(
        "temperature",
        "Edge temperature",
        "°C",
        "edge(C)",
        "edge",
        &[("hwmon/temp#_input", 1e-3)],
        &["temperature", "edge"],
    ),
    metric(
        "temperature",
        "Hotspot temperature",
        "°C",
        "junction(C)",
        "junction",
        &[("hwmon/temp#_input", 1e-3)],
        &["temperature", "hotspot"],
    ),
    metric(
        "temperature",
        "Memory temperature",
        "°C",
        "mem(C)",
        "mem",
        &[("hwmon/temp#_input", 1e-3)],
        &["temperature", "mem"],
    ),
    metric(
        "utilisation",
        "GPU busy",
        "%",
        "gpu(%)",
        "",
        &[("gpu_busy_percent", 1.0)],
        &["usage", "gfx_activity"],
    ),
    metric(
        "utilisation",
        "Memory busy",
        "%",
        "mem(%)",
        "",
        &[("mem_busy_percent", 1.0)],
        &["usage", "umc_activity"],
    ),
];

/// The metrics of some monitors.
pub(super) fn of_kinds<S: AsRef<str>>(kinds: &[S]) -> Result<Vec<&'static Metric>, MonitorError> {
    let known = |kind: &str| METRICS.iter().any(|metric| metric.kind == kind);
    if let Some(kind) = kinds.iter().map(AsRef::as_ref).find(|kind| !known(kind)) {
        return Err(MonitorError::UnknownKind(kind.into()));
    }
    let wanted = |metric: &&Metric| kinds.iter().any(|kind| kind.as_ref() == metric.kind);
    Ok(METRICS.iter().filter(wanted).collect())
}

/// Fills in metrics that follow from others: the share of the memory in use.
pub(super) fn derive(metrics: &[&'static Metric], values: &mut [Option<f64>]) {
    let at = |name: &str| metrics.iter().position(|metric| metric.name == name);
    if let (Some(share), Some(used), Some(total)) = (at("VRAM used share"), at("VRAM used"), at("VRAM total"))
    {
        values[share] = match (values[used], values[total]) {
            (Some(used), Some(total)) if total > 0.0 => Some(100.0 * used / total),
            _ => None,
        };
    }
}
