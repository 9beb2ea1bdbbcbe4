//! `explain` and `triage` relative to the cost of reading the same rows.

use std::path::Path;

use crate::Bench;
use crate::measure::best_of;

impl Bench {
    /// Ratios to `breakdown`, which reads the launches too and does little else.
    pub fn verdicts(&mut self, input: &Path, what: &str) -> Result<(), String> {
        let read = best_of(2, || self.rocm_perf(&["breakdown", "--format", "json"], input))?;
        self.add(&format!("  baseline: breakdown {what}"), read, vec![]);
        for (command, limit) in [("triage", 2.5), ("explain", 3.0)] {
            let cost = best_of(2, || self.rocm_perf(&[command, "--format", "json"], input))?;
            let limits = vec![("CPU over breakdown's", cost.cpu / read.cpu, limit)];
            self.add(&format!("{command} {what}"), cost, limits);
        }
        Ok(())
    }
}
