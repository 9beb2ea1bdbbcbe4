//! `critical-path` on a million dispatches and two million calls, with and without questions, and how it grows.

use std::path::Path;

use crate::Bench;
use crate::measure::best_of;

impl Bench {
    /// CPU seconds and memory of the whole command, what a question adds, and the cost of a tenth of the run.
    pub fn critical_path(&mut self, db: &Path) -> Result<(), String> {
        let scale = self.kernels as f64 / 1e6;
        let plain = best_of(2, || self.rocm_perf(&["critical-path"], db))?;
        let limits = vec![
            ("CPU s", plain.cpu, 6.0 * scale),
            ("MB", plain.anonymous as f64 / 1e6, 1000.0 * scale.max(0.1)),
        ];
        self.add("critical-path rocpd", plain, limits);
        let questions = ["critical-path", "--what-if", "gemm=0.5"];
        let asked = best_of(2, || self.rocm_perf(&questions, db))?;
        let more = (asked.cpu - plain.cpu).max(0.0);
        self.add("critical-path --what-if", asked, vec![("CPU s more", more, scale)]);
        let tenth = (self.kernels / 10).to_string();
        let arguments = ["--no-graphs", "--to", "rocpd", "--ranks", "1", "--kernels", &tenth];
        let small = self.data("rocpd-tenth", &arguments, ".db")?;
        let tenth = best_of(2, || self.rocm_perf(&["critical-path"], &small))?;
        let growth = plain.cpu / (10.0 * tenth.cpu);
        self.add("  the same, a tenth of the run", tenth, vec![("growth over linear", growth, 1.5)]);
        Ok(())
    }
}
