//! Memory snapshots and the output of RCCL's Inspector: cost per gigabyte, and memory.

use crate::measure::best_of;
use crate::{Bench, GB};

/// Bytes of the Inspector's output.
const INSPECTOR_BYTES: &str = "100MB";

impl Bench {
    /// A snapshot of 1 GB takes at most 10 CPU seconds and 500 MB; collectives come in at 300 MB/s.
    pub fn memory_and_collectives(&mut self) -> Result<(), String> {
        let size = self.torch_bytes.to_string();
        let arguments = ["--to", "snapshot", "--ranks", "1", "--size", &size];
        let snapshot = self.data("snapshot", &arguments, ".pickle")?;
        let bytes = std::fs::metadata(&snapshot).map_err(|e| e.to_string())?.len() as f64;
        let cost = best_of(3, || self.rocm_perf(&["memory", "--format", "json"], &snapshot))?;
        let limits =
            vec![("CPU s/GB", cost.cpu / (bytes / GB), 10.0), ("MB", cost.anonymous as f64 / 1e6, 500.0)];
        self.add("memory snapshot.pickle", cost, limits);
        let arguments =
            ["--scenario", "straggler", "--to", "inspector", "--ranks", "1", "--size", INSPECTOR_BYTES];
        let lines = self.data("inspector", &arguments, ".jsonl")?;
        let bytes = std::fs::metadata(&lines).map_err(|e| e.to_string())?.len() as f64;
        let cost = best_of(3, || self.rocm_perf(&["info", "--format", "json"], &lines))?;
        let rate = bytes / 1e6 / cost.wall;
        self.add("info inspector.jsonl", cost, vec![("300 MB/s over its rate", 300.0 / rate, 1.0)]);
        Ok(())
    }
}
