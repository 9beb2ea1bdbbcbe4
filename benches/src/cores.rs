//! `scripts/bench --cores BINARY`: one and two cores, alternating with an older build, other inflaters.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::measure::{Cost, best_of};
use crate::older::Input;
use crate::{Bench, packed};

/// Runs of each, of which the median by CPU time counts.
const RUNS: usize = 5;

/// Commands and what they read.
const COMMANDS: &[(&[&str], From)] = &[
    (&["summary"], From::Trace(Input::Torch)),
    (&["summary"], From::Gzip(1)),
    (&["summary"], From::Gzip(6)),
    (&["triage"], From::Trace(Input::Torch)),
    (&["ops"], From::Trace(Input::Torch)),
    (&["critical-path"], From::Trace(Input::Torch)),
    (&["critical-path"], From::Trace(Input::Rocpd)),
    (&["explain"], From::Trace(Input::Rocpd)),
    (&["convert", "--to", "pftrace", "--force", "--out", "{OUT}.pftrace"], From::Trace(Input::Rocpd)),
];

/// Programs that inflate; `{N}` stands for the number of cores.
const PROGRAMS: &[&[&str]] =
    &[&["gzip", "-dc"], &["zcat"], &["pigz", "-dc", "-p", "{N}"], &["rapidgzip", "-d", "-c", "-P", "{N}"]];

#[derive(Clone, Copy)]
enum From {
    Trace(Input),
    /// The torch trace, packed at this level.
    Gzip(u8),
}

impl Bench {
    /// CPU and wall time on one and on two cores.
    pub fn cores(&mut self, older: &Path) -> Result<(), String> {
        for cores in [1, 2] {
            println!(
                "\n{:44} {:>9} {:>9} {:>9} {:>9} {:>7}",
                format!("{cores} of the cores"),
                "older CPU",
                "now CPU",
                "older s",
                "now s",
                "CPU"
            );
            for &(arguments, from) in COMMANDS {
                let (path, input) = self.path(from)?;
                let (mut before, mut now) = (Vec::new(), Vec::new());
                for _ in 0..RUNS {
                    // An older build may not know how to write what a newer one does.
                    before.extend(self.on_cores(cores, older, arguments, &path).ok());
                    now.push(self.on_cores(cores, &self.binary, arguments, &path)?);
                }
                let name = format!("{} {input}", arguments[..arguments.len().min(3)].join(" "));
                let now = median(now).ok_or("nothing was run")?;
                let (cpu, wall, ratio) = match median(before) {
                    Some(before) => (
                        format!("{:.3}", before.cpu),
                        format!("{:.3}", before.wall),
                        format!("{:.2}", now.cpu / before.cpu),
                    ),
                    None => ("–".into(), "–".into(), "–".into()),
                };
                println!("{name:44} {cpu:>9} {:9.3} {wall:>9} {:9.3} {ratio:>7}", now.cpu, now.wall);
            }
            for level in [1, 6] {
                self.inflating(cores, level)?;
            }
        }
        Ok(())
    }

    /// The cost of inflating a file, compared with other programs.
    fn inflating(&mut self, cores: usize, level: u8) -> Result<(), String> {
        let (path, input) = self.path(From::Gzip(level))?;
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        let ours = |how: &str| [this.to_string_lossy().into_owned(), "inflate".into(), how.into()].to_vec();
        let mut programs: Vec<(String, Vec<String>)> = PROGRAMS
            .iter()
            .map(|words| words.iter().map(|word| word.replace("{N}", &cores.to_string())).collect::<Vec<_>>())
            .map(|words| (words.join(" "), words))
            .collect();
        programs.push(("ours, one thread".into(), ours("1")));
        if cores > 1 {
            programs.push((format!("ours, {cores} workers"), ours(&format!("{cores}x"))));
        }
        for (name, words) in programs {
            let runs: Result<Vec<Cost>, String> =
                (0..RUNS).map(|_| best_of(1, || on(cores, &words, &path))).collect();
            match runs.ok().and_then(median) {
                Some(cost) => {
                    let name = format!("{name} {input}");
                    println!("{name:44} {:>9} {:9.3} {:>9} {:9.3}", "", cost.cpu, "", cost.wall);
                }
                None => println!("{name:44} not installed"),
            }
        }
        Ok(())
    }

    fn path(&mut self, from: From) -> Result<(PathBuf, String), String> {
        Ok(match from {
            From::Trace(input) => (self.input(input)?, input.name().to_string()),
            From::Gzip(level) => {
                (packed(&self.input(Input::Torch)?, level)?, format!("torch.json.gz -{level}"))
            }
        })
    }

    fn on_cores(&self, cores: usize, binary: &Path, arguments: &[&str], path: &Path) -> Result<Cost, String> {
        let out = self.data.join("cores-out");
        let mut words = vec![binary.to_string_lossy().into_owned()];
        words.extend(arguments.iter().map(|word| word.replace("{OUT}", &out.to_string_lossy())));
        best_of(1, || on(cores, &words, path))
    }
}

/// A command on the first cores.
fn on(cores: usize, words: &[String], path: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &format!("0-{}", cores - 1)]).args(words).arg(path);
    command.env("RAYON_NUM_THREADS", cores.to_string());
    command
}

/// Inflates a file as a separate process: `1` in order, `2x` with two workers.
pub fn inflate_file(how: &str, path: &Path) -> Result<(), String> {
    let data = std::fs::read(path).map_err(|e| e.to_string())?;
    let mut reader: Box<dyn Read> = match how.strip_suffix('x') {
        Some(workers) => {
            let workers = workers.parse().map_err(|_| format!("`{how}` is not a number of workers"))?;
            Box::new(inflate::Parallel::new(Arc::new(data), workers))
        }
        None => Box::new(inflate::Sequential::new(std::io::Cursor::new(data))),
    };
    let mut block = vec![0; 4 << 20];
    while reader.read(&mut block).map_err(|e| e.to_string())? > 0 {}
    Ok(())
}

fn median(mut costs: Vec<Cost>) -> Option<Cost> {
    costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    costs.get(costs.len() / 2).copied()
}
