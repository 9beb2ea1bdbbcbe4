//! Conversions, merging and comparing: CPU time, memory beyond the trace, and how they grow.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::{Cost, best_of};
use crate::{Bench, find};

/// (format, limit in CPU seconds for a million dispatches)
const FORMATS: &[(&str, Option<f64>)] =
    &[("pftrace", Some(8.0)), ("csv", Some(6.0)), ("parquet", Some(6.0)), ("otf2", None), ("chrome", None)];

/// CPU time of ten times the dispatches over that of one: linear, within a tenth.
const GROWTH: f64 = 11.0;

/// Formats whose growth is measured.
const GROWING: [&str; 3] = ["pftrace", "csv", "parquet"];

/// Databases that are merged, the few and the many.
const MERGED: [usize; 2] = [100, 800];

impl Bench {
    /// Conversions, with the memory they take beyond what reading the trace takes.
    pub(crate) fn convert(&mut self, db: &Path) -> Result<(), String> {
        let scale = self.kernels as f64 / 1e6;
        let read = best_of(3, || self.rocm_perf(&["info", "--format", "json"], db))?;
        self.add("  baseline: info rocpd", read, vec![]);
        for (format, limit) in FORMATS {
            let cost = self.converted(format, db, 3)?;
            let beyond = cost.anonymous.saturating_sub(read.anonymous) as f64 / 1e6;
            let mut limits = vec![("MB beyond the trace", beyond, 64.0 * scale.max(1.0))];
            limits.extend(limit.map(|limit| ("CPU s", cost.cpu, limit * scale)));
            self.add(&format!("convert to {format}"), cost, limits);
        }
        Ok(())
    }

    fn converted(&self, format: &str, db: &Path, times: usize) -> Result<Cost, String> {
        let out = self.data.join("converted");
        let folder = format!("{}/", out.display());
        let arguments = ["convert", "--to", format, "--force", "--out", &folder];
        let cost = best_of(times, || self.rocm_perf(&arguments, db));
        let _ = std::fs::remove_dir_all(&out);
        cost
    }

    /// Ten times the dispatches: CPU time and memory beyond the trace.
    pub(crate) fn convert_growth(&mut self) -> Result<(), String> {
        let small = self.dispatches("rocpd", self.kernels)?;
        let large = self.dispatches("rocpd-10x", 10 * self.kernels)?;
        let read = best_of(1, || self.rocm_perf(&["info", "--format", "json"], &large))?;
        self.add("  baseline: info rocpd, 10 times as large", read, vec![]);
        for format in GROWING {
            let (one, ten) = (self.converted(format, &small, 3)?, self.converted(format, &large, 2)?);
            let beyond = ten.anonymous.saturating_sub(read.anonymous) as f64 / 1e6;
            let limits = vec![
                ("CPU over that of the small one", ten.cpu / one.cpu, GROWTH),
                ("MB beyond the trace", beyond, 64.0),
            ];
            self.add(&format!("convert to {format}, 10 times as large"), ten, limits);
        }
        Ok(())
    }

    fn dispatches(&mut self, name: &str, kernels: u64) -> Result<PathBuf, String> {
        let kernels = kernels.to_string();
        self.data(name, &["--no-graphs", "--to", "rocpd", "--ranks", "1", "--kernels", &kernels], ".db")
    }

    /// Two runs of one program.
    pub(crate) fn compare(&mut self, db: &Path) -> Result<(), String> {
        let kernels = self.kernels.to_string();
        let other = ["--no-graphs", "--to", "rocpd", "--ranks", "1", "--seed", "2", "--kernels", &kernels];
        let other = self.data("rocpd-other", &other, ".db")?;
        let cost = best_of(3, || {
            let mut command = Command::new(&self.binary);
            command.args(["compare", "--format", "json", "--force"]).arg(db).arg(&other);
            command
        })?;
        self.add("compare two of them", cost, vec![("CPU s", cost.cpu, 10.0 * self.kernels as f64 / 1e6)]);
        Ok(())
    }

    /// Many small databases: the time for each must not depend on how many there are.
    pub(crate) fn merge(&mut self) -> Result<(), String> {
        let mut each = Vec::new();
        for count in MERGED {
            let folder = self.ranks(count)?;
            let target = self.data.join("merged.db");
            let cost = best_of(2, || {
                let mut command = Command::new(&self.binary);
                command.args(["merge", "--force", "--out"]).arg(&target).arg(&folder);
                command
            })?;
            let _ = std::fs::remove_file(&target);
            each.push(cost.cpu / count as f64);
            let limits = match each[..] {
                [few, many] => vec![("CPU a database, over that of few", many / few, 1.3)],
                _ => vec![],
            };
            self.add(&format!("merge {count} databases"), cost, limits);
        }
        Ok(())
    }

    /// A folder with this many databases.
    fn ranks(&mut self, count: usize) -> Result<PathBuf, String> {
        let folder = self.data.join(format!("ranks-{count}"));
        if find(&folder, ".db").is_none() {
            let ranks = count.to_string();
            best_of(1, || {
                let mut command = Command::new(&self.binary);
                command.args([
                    "synth",
                    "--scenario",
                    "training",
                    "--steps",
                    "1",
                    "--to",
                    "rocpd",
                    "--ranks",
                    &ranks,
                ]);
                command.arg("--out").arg(&folder);
                command
            })?;
        }
        Ok(folder)
    }
}
