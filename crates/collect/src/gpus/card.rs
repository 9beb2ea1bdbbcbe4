//! A card in sysfs: names, clocks, power, partition modes.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// What sysfs says about a card now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Card {
    /// The device's folder.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Marketing name.
    pub product: Option<String>,
    /// `auto`, `high`, `manual` …: decides the clocks, and so the results.
    pub performance_level: Option<String>,
    /// Power cap.
    pub power_cap_watts: Option<f64>,
    /// `SPX`, `CPX` …
    pub compute_partition: Option<String>,
    /// `NPS1` …
    pub memory_partition: Option<String>,
    /// Version of the video BIOS.
    pub vbios: Option<String>,
    /// Nearest NUMA node.
    pub numa_node: Option<i64>,
    /// Share of time that the GPU was busy.
    pub busy_percent: Option<u64>,
    /// Memory in use.
    pub memory_used_bytes: Option<u64>,
    /// Total memory.
    pub memory_total_bytes: Option<u64>,
}

impl Card {
    /// The card behind `/dev/dri/renderD<minor>`.
    pub(super) fn of_render_node(root: &Path, minor: u32) -> Option<Self> {
        let folder = root.join(format!("sys/class/drm/renderD{minor}/device"));
        folder.is_dir().then(|| Self::read(&folder))
    }

    fn read(folder: &Path) -> Self {
        let text = |name: &str| read_text(&folder.join(name));
        let number = |name: &str| text(name).and_then(|value| value.parse().ok());
        let cap = hwmon(folder).and_then(|hwmon| read_text(&hwmon.join("power1_cap"))?.parse::<f64>().ok());
        Self {
            product: text("product_name"),
            performance_level: text("power_dpm_force_performance_level"),
            power_cap_watts: cap.map(|microwatts| microwatts / 1e6),
            compute_partition: text("current_compute_partition"),
            memory_partition: text("current_memory_partition"),
            vbios: text("vbios_version"),
            numa_node: text("numa_node").and_then(|value| value.parse().ok()),
            busy_percent: number("gpu_busy_percent"),
            memory_used_bytes: number("mem_info_vram_used"),
            memory_total_bytes: number("mem_info_vram_total"),
            folder: folder.to_path_buf(),
        }
    }
}

/// Every AMD card, by number.
pub(super) fn all(root: &Path) -> Vec<Card> {
    let Ok(entries) = std::fs::read_dir(root.join("sys/class/drm")) else { return Vec::new() };
    let mut cards: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("card")?.parse().ok()?;
            Some((number, entry.path().join("device")))
        })
        .filter(|(_, folder)| read_text(&folder.join("vendor")).as_deref() == Some("0x1002"))
        .collect();
    cards.sort();
    cards.iter().map(|(_, folder)| Card::read(folder)).collect()
}

/// The folder with the card's sensors.
pub(crate) fn hwmon(device: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(device.join("hwmon")).ok()?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().next()
}

/// A file's trimmed text; `None` if it cannot be read or is empty.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}
