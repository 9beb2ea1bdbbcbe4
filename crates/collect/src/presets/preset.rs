//! A preset: what to record, independent of the GPU and the profiler's version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::slurm::SlurmOptions;

/// What kind of preset it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PresetKind {
    /// One way to run the profiler.
    Tool,
    /// Tools and monitors for one question.
    Profile,
    /// A tool that is also a profile.
    Both,
    /// A user's own.
    #[default]
    Own,
}

impl PresetKind {
    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            PresetKind::Tool => "tool",
            PresetKind::Profile => "profile",
            PresetKind::Both => "profile, tool",
            PresetKind::Own => "own",
        }
    }
}

/// How the program counter is sampled on some GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcSampling {
    /// The GPUs.
    pub archs: Vec<String>,
    /// `stochastic` or `host_trap`.
    pub method: String,
    /// `cycles` or `time`.
    pub unit: String,
    /// Distance between two samples, in that unit.
    pub interval: u64,
}

/// What to record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// Tool or profile.
    #[serde(default)]
    pub kind: PresetKind,
    /// One-line description.
    #[serde(default)]
    pub title: String,
    /// Other names, such as those of madengine.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Presets whose traces, counters and so on are included.
    #[serde(default)]
    pub uses: Vec<String>,
    /// Traces: `kernel` for `--kernel-trace`.
    #[serde(default)]
    pub trace: Vec<String>,
    /// Counters.
    #[serde(default)]
    pub counters: Vec<String>,
    /// Also the counters of panels: which ones depends on the GPU and the requested panels.
    #[serde(default)]
    pub panels: bool,
    /// `rocpd`, `json`, `csv`, `pftrace`, `otf2`.
    #[serde(default)]
    pub formats: Vec<String>,
    /// The profiler's own statistics (csv and json only).
    #[serde(default)]
    pub statistics: bool,
    /// PC sampling.
    #[serde(default)]
    pub pc_sampling: Vec<PcSampling>,
    /// More options of rocprofv3, as words.
    #[serde(default)]
    pub options: Vec<String>,
    /// What it costs.
    #[serde(default)]
    pub overhead: String,
    /// `power`, `vram`, `clocks`, `temperature`, `utilisation`.
    #[serde(default)]
    pub monitors: Vec<String>,
    /// Seconds between two samples of the monitors.
    #[serde(default)]
    pub monitor_interval: Option<f64>,
    /// `rocblas`, `hipblaslt`, `miopen`.
    #[serde(default)]
    pub library_calls: Vec<String>,
    /// Environment variables of the application.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Options of a SLURM job.
    #[serde(default)]
    pub slurm: SlurmOptions,
    /// `torchrun`, `mpirun`, `srun`.
    #[serde(default)]
    pub launcher: Option<String>,
    /// Ranks that the launcher starts.
    #[serde(default)]
    pub ranks: Option<u32>,
}

impl Preset {
    /// A preset of traces and counters.
    pub fn of(name: &str, trace: &[&str], counters: &[&str]) -> Self {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        Self { name: name.into(), trace: owned(trace), counters: owned(counters), ..Self::default() }
    }

    /// Whether `name` is its name or an alias.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// Adds what another preset has; own values take precedence.
    pub fn take(&mut self, other: &Preset) {
        append(&mut self.trace, &other.trace);
        append(&mut self.counters, &other.counters);
        self.panels |= other.panels;
        append(&mut self.formats, &other.formats);
        append(&mut self.monitors, &other.monitors);
        append(&mut self.library_calls, &other.library_calls);
        if self.pc_sampling.is_empty() {
            self.pc_sampling.clone_from(&other.pc_sampling);
        }
        self.options.extend(other.options.iter().cloned());
        self.statistics |= other.statistics;
        if self.overhead.is_empty() {
            self.overhead.clone_from(&other.overhead);
        }
        self.monitor_interval = self.monitor_interval.or(other.monitor_interval);
        for (name, value) in &other.env {
            self.env.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self.slurm.take(&other.slurm);
        self.launcher = self.launcher.take().or_else(|| other.launcher.clone());
        self.ranks = self.ranks.or(other.ranks);
    }
}

fn append(to: &mut Vec<String>, more: &[String]) {
    for word in more {
        if !to.contains(word) {
            to.push(word.clone());
        }
    }
}
