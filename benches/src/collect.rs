//! What `collect` costs beyond the profiler: the same commands, with and without it.

use std::cell::Cell;
use std::process::Command;

use serde_json::Value;
use stand_in_rocm::StandIns;

use crate::Bench;
use crate::measure::{Cost, best_of};

/// Seconds that a pass may cost beyond the profiler.
const LIMIT: f64 = 0.050;

impl Bench {
    /// Two passes of counters on a small program, against the stand-in profiler.
    pub fn collect(&mut self) -> Result<(), String> {
        if !stand_in_rocm::can_compile() {
            println!("collect: skipped, there is no C++ compiler");
            return Ok(());
        }
        let stand_ins = StandIns::install().map_err(|error| error.to_string())?;
        let folder = self.data.join("collect");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let app = stand_ins.example("vector_add", &folder).map_err(|error| error.to_string())?;
        let runs = Cell::new(0);
        let collect = || {
            runs.set(runs.get() + 1);
            let mut command = stand_ins.command(&self.binary);
            command.args(["collect", "--quiet", "--preset", "compute", "--arch", "gfx942", "--out"]);
            command.arg(folder.join(runs.get().to_string())).arg("--").arg(&app);
            command
        };
        let cost = best_of(10, collect)?;
        let text = std::fs::read_to_string(folder.join("1/run.json")).map_err(|error| error.to_string())?;
        let run: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let passes = run["passes"].as_array().map_or(&[][..], Vec::as_slice);
        let mut alone = 0.0;
        for pass in passes {
            let words: Vec<&str> =
                pass["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let direct: Cost = best_of(10, || {
                let mut command = Command::new(words.first().unwrap_or(&""));
                command.args(words.get(1..).unwrap_or_default()).env("PATH", stand_ins.path());
                command
            })?;
            alone += direct.wall;
        }
        let beyond = (cost.wall - alone) / passes.len().max(1) as f64;
        self.add("collect, two passes", cost, vec![("wall s of a pass beyond the profiler", beyond, LIMIT)]);
        Ok(())
    }
}
