//! `scripts/bench --against BINARY`: the same commands by this program and an older build, alternating.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Bench;
use crate::measure::{Cost, best_of};

/// Runs of each, of which the median counts.
const RUNS: usize = 5;

/// A command, its input, and how much more it may cost than before.
const COMMANDS: &[(&[&str], Input, f64)] = &[
    (&["summary"], Input::Torch, 1.1),
    (&["summary"], Input::TorchWithoutFrames, 1.1),
    (&["summary"], Input::Rocpd, 1.1),
    (&["query", "--sql", "SELECT * FROM top"], Input::Rocpd, 1.1),
    (&["breakdown"], Input::Torch, 1.6),
    (&["overlap"], Input::Torch, 1.6),
    (&["triage"], Input::Torch, 1.6),
    (&["explain"], Input::Torch, 1.6),
    (&["explain"], Input::Rocpd, 1.6),
    (&["critical-path"], Input::Torch, 1.1),
    (&["critical-path"], Input::Rocpd, 1.1),
    (&["critical-path", "--what-if", "gemm=0.5"], Input::Rocpd, 1.1),
    (&["roofline"], Input::Torch, 1.1),
    (&["convert", "--to", "pftrace", "--force", "--out", "{OUT}.pftrace"], Input::Rocpd, 1.1),
    (&["convert", "--to", "chrome", "--force", "--out", "{OUT}.json"], Input::Rocpd, 1.1),
    (&["convert", "--to", "csv", "--force", "--out", "{OUT}-csv"], Input::Rocpd, 1.1),
    (&["report", "--force", "--out", "{OUT}.html"], Input::Rocpd, 1.1),
];

/// Data that several benchmarks use.
#[derive(Clone, Copy)]
pub(crate) enum Input {
    Torch,
    TorchWithoutFrames,
    Rocpd,
}

impl Bench {
    /// CPU of this program over that of the older one.
    pub fn against(&mut self, older: &Path) -> Result<(), String> {
        println!("{:52} {:>9} {:>9}  measured / limit", "work", "older s", "now s");
        for &(arguments, input, limit) in COMMANDS {
            let path = self.input(input)?;
            let name = format!("{} ({})", arguments[..arguments.len().min(3)].join(" "), input.name());
            // An older build may refuse what this one reads.
            if let Err(why) = self.once(older, arguments, &path) {
                println!("{name:52} not compared: {why}");
                continue;
            }
            let (mut before, mut now) = (Vec::new(), Vec::new());
            for _ in 0..RUNS {
                before.push(self.once(older, arguments, &path)?);
                now.push(self.once(&self.binary, arguments, &path)?);
            }
            let (before, now) = (median(before), median(now));
            let ratio = now / before;
            let mark = if ratio <= limit { "" } else { "  MISSED" };
            println!("{name:52} {before:9.3} {now:9.3}  {ratio:.3} / {limit:.3}{mark}");
            self.missed += usize::from(ratio > limit);
        }
        println!("\n{} limits missed", self.missed);
        Ok(())
    }

    fn once(&self, binary: &Path, arguments: &[&str], input: &Path) -> Result<f64, String> {
        // Into a new folder: replacing an output of half a gigabyte frees it, which costs up to a second.
        let outputs = self.data.join("older-out");
        if outputs.exists() {
            std::fs::remove_dir_all(&outputs).map_err(|error| error.to_string())?;
        }
        std::fs::create_dir_all(&outputs).map_err(|error| error.to_string())?;
        let out = outputs.join("out");
        let cost: Cost = best_of(1, || {
            let mut command = Command::new(binary);
            command
                .args(arguments.iter().map(|word| word.replace("{OUT}", &out.to_string_lossy())))
                .arg(input);
            command
        })?;
        Ok(cost.cpu)
    }

    /// The file of an input, made if it does not exist.
    pub(crate) fn input(&mut self, input: Input) -> Result<PathBuf, String> {
        let (size, kernels) = (self.torch_bytes.to_string(), self.kernels.to_string());
        match input {
            Input::Torch => self.data("torch", &["--to", "torch", "--ranks", "1", "--size", &size], ".json"),
            Input::TorchWithoutFrames => {
                let arguments =
                    ["--to", "torch", "--ranks", "1", "--no-stacks", "--no-graphs", "--size", &size];
                self.data("torch-no-frames", &arguments, ".json")
            }
            Input::Rocpd => {
                let arguments = ["--no-graphs", "--to", "rocpd", "--ranks", "1", "--kernels", &kernels];
                self.data("rocpd", &arguments, ".db")
            }
        }
    }
}

impl Input {
    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Input::Torch => "torch",
            Input::TorchWithoutFrames => "torch without frames",
            Input::Rocpd => "rocpd",
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
