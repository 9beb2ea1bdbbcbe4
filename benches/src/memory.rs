//! Memory snapshots and the output of RCCL's Inspector: cost per gigabyte, and memory.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::measure::best_of;
use crate::{Bench, GB, find};

/// Bytes of the Inspector's output.
const INSPECTOR_BYTES: usize = 300_000_000;

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
        let lines = self.inspector_lines()?;
        let bytes = std::fs::metadata(&lines).map_err(|e| e.to_string())?.len() as f64;
        let cost = best_of(3, || self.rocm_perf(&["info", "--format", "json"], &lines))?;
        let rate = bytes / 1e6 / cost.wall;
        self.add("info inspector.jsonl", cost, vec![("300 MB/s over its rate", 300.0 / rate, 1.0)]);
        Ok(())
    }

    /// The collectives of a short run, written repeatedly.
    fn inspector_lines(&self) -> Result<PathBuf, String> {
        let folder = self.data.join("inspector");
        let large = folder.join("large").join("node-pid1.jsonl");
        if large.is_file() {
            return Ok(large);
        }
        let _ = std::fs::remove_dir_all(&folder);
        let arguments = ["synth", "--scenario", "training", "--to", "inspector", "--ranks", "1", "--out"];
        let done = Command::new(&self.binary).args(arguments).arg(&folder).output();
        done.map_err(|e| e.to_string())?;
        let small = find(&folder, ".jsonl").ok_or("synth wrote no .jsonl file")?;
        let lines = std::fs::read(small).map_err(|e| e.to_string())?;
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder.join("large"))?;
            let mut file = std::io::BufWriter::new(std::fs::File::create(&large)?);
            for _ in 0..INSPECTOR_BYTES.div_ceil(lines.len()) {
                file.write_all(&lines)?;
            }
            file.flush()
        };
        write().map_err(|e| e.to_string())?;
        Ok(large)
    }
}
