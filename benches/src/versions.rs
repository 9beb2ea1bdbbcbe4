//! Reading rocpd 4.x, measured against the same run as schema 3.

use std::path::Path;
use std::process::Command;

use crate::measure::best_of;
use crate::{Bench, find};

/// Reading may cost this much more than schema 3.
const LIMIT: f64 = 1.3;

impl Bench {
    /// `db` is the run in schema 3.
    pub fn versions(&mut self, db: &Path) -> Result<(), String> {
        let kernels = self.kernels.to_string();
        let three = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], db))?;
        for format in ["rocpd-4.1", "rocpd-4.0"] {
            let folder = self.data.join(format);
            if find(&folder, ".db").is_none() {
                let _ = std::fs::remove_dir_all(&folder);
                let arguments =
                    ["synth", "--no-graphs", "--to", format, "--ranks", "1", "--kernels", &kernels];
                let made = Command::new(&self.binary).args(arguments).arg("--out").arg(&folder).output();
                made.map_err(|e| format!("synth: {e}"))?;
            }
            let four = find(&folder, ".db").ok_or_else(|| format!("synth wrote no {format} database"))?;
            let cost = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &four))?;
            let limits = match format {
                "rocpd-4.1" => vec![("CPU over that of schema 3", cost.cpu / three.cpu, LIMIT)],
                _ => vec![],
            };
            self.add(&format!("summary {format}"), cost, limits);
        }
        Ok(())
    }
}
