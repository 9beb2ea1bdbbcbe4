//! Metrics from sysfs: a few small files per GPU, read anew for every sample.

use std::path::{Path, PathBuf};

use super::Source;
use super::metrics::{METRICS, Metric, derive};
use crate::gpus::{self, hwmon, read_text};

/// The files of every GPU, found once.
pub(super) struct Sysfs {
    /// By GPU, then by metric of [`METRICS`]: the file and its scale.
    files: Vec<Vec<Option<(PathBuf, f64)>>>,
}

impl Sysfs {
    /// Looks for cards; `None` if there are none, or none with any metric.
    pub fn open(root: &Path) -> Option<Self> {
        let topology = gpus::detect(root);
        let known = topology.gpus.iter().filter_map(|gpu| Some(gpu.card.as_ref()?.folder.clone()));
        let mut folders: Vec<PathBuf> = known.collect();
        if folders.is_empty() {
            folders = gpus::cards(root).into_iter().map(|card| card.folder).collect();
        }
        let files: Vec<Vec<_>> =
            folders.iter().map(|card| METRICS.iter().map(|metric| find(card, metric)).collect()).collect();
        files.iter().flatten().any(Option::is_some).then_some(Self { files })
    }
}

impl Source for Sysfs {
    fn name(&self) -> &'static str {
        "sysfs"
    }

    fn gpus(&self) -> usize {
        self.files.len()
    }

    fn read(&mut self, metrics: &[&'static Metric]) -> Vec<Vec<Option<f64>>> {
        let one = |files: &Vec<Option<(PathBuf, f64)>>, metric: &Metric| {
            let at = METRICS.iter().position(|known| known == metric)?;
            let (path, scale) = files[at].as_ref()?;
            number(path).map(|value| value * scale)
        };
        let of_gpu = |files: &Vec<Option<(PathBuf, f64)>>| {
            let mut values: Vec<Option<f64>> = metrics.iter().map(|metric| one(files, metric)).collect();
            derive(metrics, &mut values);
            values
        };
        self.files.iter().map(of_gpu).collect()
    }
}

/// The first file that can be read now, else the first that exists: a suspended GPU may wake.
fn find(card: &Path, metric: &Metric) -> Option<(PathBuf, f64)> {
    let sensors = hwmon(card);
    let mut there = Vec::new();
    for (pattern, scale) in metric.sysfs {
        let path = match pattern.strip_prefix("hwmon/") {
            None => Some(card.join(pattern)),
            Some(name) => sensors.as_ref().and_then(|folder| sensor(folder, name, metric.label)),
        };
        there.extend(path.filter(|path| path.exists()).map(|path| (path, *scale)));
    }
    let readable = there.iter().position(|(path, _)| number(path).is_some());
    (!there.is_empty()).then(|| there.swap_remove(readable.unwrap_or(0)))
}

/// `temp#_input` whose `temp#_label` matches.
fn sensor(folder: &Path, name: &str, label: &str) -> Option<PathBuf> {
    let Some((stem, rest)) = name.split_once('#') else { return Some(folder.join(name)) };
    let labelled = |n: &u32| read_text(&folder.join(format!("{stem}{n}_label"))).as_deref() == Some(label);
    (1..=9).find(labelled).map(|n| folder.join(format!("{stem}{n}{rest}")))
}

/// A number, or the current line of a list of clocks (`1: 1200Mhz *`).
fn number(path: &Path) -> Option<f64> {
    let text = read_text(path)?;
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let current = text.lines().find(|line| line.trim_end().ends_with('*'))?;
    let (_, clock) = current.split_once(':')?;
    let digits: String = clock.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.parse().ok()
}
