//! The benchmark: `scripts/bench` builds the release binary and runs this on it. Every row is a ratio against a stated
//! target or a baseline measured in the same run, since absolute times mean little on a shared machine.

mod baseline;
mod collect;
mod convert;
mod cores;
mod critical_path;
mod jax;
mod measure;
mod memory;
mod occupancy;
mod older;
mod panels;
mod report;
mod searching;
mod sequential;
mod surfaces;
mod tuning;
mod verdicts;
mod versions;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use measure::{Cost, best_of};

const GB: f64 = 1e9;

struct Bench {
    binary: PathBuf,
    data: PathBuf,
    /// Size of the torch trace, in bytes.
    torch_bytes: u64,
    kernels: u64,
    /// How many limits were missed.
    missed: usize,
}

fn main() -> ExitCode {
    // Runs as a separate process, so that it is measured like any other command.
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, verb, path] = arguments.as_slice()
        && verb == "one-pass-sql"
    {
        return match baseline::one_pass_sql(Path::new(path)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error.to_string()),
        };
    }
    if let [_, verb, how, path] = arguments.as_slice()
        && verb == "inflate"
    {
        return match cores::inflate_file(how, Path::new(path)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        };
    }
    let full = arguments.iter().any(|a| a == "--full");
    let quick = arguments.iter().any(|a| a == "--quick");
    let scale = if quick { 10 } else { 1 };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut bench = Bench {
        binary: root.join("target/release/rocm-perf"),
        data: root.join("target/bench-data"),
        torch_bytes: 1_000_000_000 / scale,
        kernels: 1_000_000 / scale,
        missed: 0,
    };
    let behind =
        |option: &str| arguments.iter().position(|a| a == option).and_then(|at| arguments.get(at + 1));
    let done = match (behind("--against"), behind("--cores")) {
        (Some(older), _) => bench.against(Path::new(older)),
        (None, Some(older)) => bench.cores(Path::new(older)),
        (None, None) if arguments.iter().any(|a| a == "--sequential") => bench.sequential(),
        (None, None) => bench.run(full),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::FAILURE
}

impl Bench {
    fn run(&mut self, full: bool) -> Result<(), String> {
        println!("{:44} {:>8} {:>8} {:>9}  measured / limit", "work", "CPU s", "wall s", "memory");
        self.start_up()?;
        self.occupancy()?;
        self.collect()?;
        self.panels()?;
        self.searching(self.kernels < 1_000_000)?;
        self.tuning()?;
        self.torch()?;
        self.torch_without_frames()?;
        self.jax()?;
        if full {
            self.growth()?;
        }
        self.memory_and_collectives()?;
        self.rocpd()?;
        if full {
            self.convert_growth()?;
        }
        self.sequential()?;
        println!("\n{} limits missed", self.missed);
        Ok(())
    }

    fn rocm_perf(&self, arguments: &[&str], input: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg(input);
        command
    }

    fn add(&mut self, work: &str, cost: Cost, limits: Vec<(&'static str, f64, f64)>) {
        let shown: Vec<String> = limits
            .iter()
            .map(|(what, is, limit)| {
                let mark = if is <= limit { "" } else { "  MISSED" };
                format!("{what} {is:.3} / {limit:.3}{mark}")
            })
            .collect();
        let megabytes = format!("{:.0} MB", cost.anonymous as f64 / 1e6);
        println!("{work:44} {:8.3} {:8.3} {megabytes:>9}  {}", cost.cpu, cost.wall, shown.join("; "));
        self.missed += limits.iter().filter(|(_, is, limit)| is > limit).count();
    }

    fn start_up(&mut self) -> Result<(), String> {
        let cost = best_of(20, || {
            let mut command = Command::new(&self.binary);
            command.arg("--version");
            command
        })?;
        self.add("--version", cost, vec![("wall s", cost.wall, 0.010)]);
        Ok(())
    }

    /// The first file with that ending below the data folder `name`, made by `synth` if it does not exist.
    fn data(&mut self, name: &str, arguments: &[&str], ending: &str) -> Result<PathBuf, String> {
        let folder = self.data.join(name);
        if find(&folder, ending).is_none() {
            let _ = std::fs::remove_dir_all(&folder);
            let cost = best_of(1, || {
                let mut command = Command::new(&self.binary);
                command.arg("synth").args(arguments).arg("--out").arg(&folder);
                command
            })?;
            let path = find(&folder, ending).ok_or_else(|| format!("synth wrote no {ending} file"))?;
            let rate = std::fs::metadata(&path).map_err(|e| e.to_string())?.len() as f64 / cost.wall / 1e6;
            self.add(&format!("synth {name}"), cost, vec![("200 MB/s over its rate", 200.0 / rate, 1.0)]);
        }
        find(&folder, ending).ok_or_else(|| format!("synth wrote no {ending} file"))
    }

    fn torch(&mut self) -> Result<(), String> {
        let size = self.torch_bytes.to_string();
        let json = self.data("torch", &["--to", "torch", "--ranks", "1", "--size", &size], ".json")?;
        let bytes = std::fs::metadata(&json).map_err(|e| e.to_string())?.len() as f64;
        let cost = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &json))?;
        let limits = vec![
            ("CPU s/GB", cost.cpu / (bytes / GB), 2.5),
            ("0.7 GB/s over its rate", 0.7 / (bytes / GB / cost.wall), 1.0),
            ("MB", cost.anonymous as f64 / 1e6, 500.0),
        ];
        self.add("summary torch.json", cost, limits);
        self.verdicts(&json, "torch.json")?;

        let gzip = packed(&json, 1)?;
        let baseline = best_of(3, || {
            let mut command = Command::new("gzip");
            command.arg("-dc").arg(&gzip);
            command
        })?;
        self.add("  baseline: gzip -dc", baseline, vec![]);
        let cost = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &gzip))?;
        let limits = vec![
            ("wall over gzip's", cost.wall / baseline.wall, 0.6),
            ("MB", cost.anonymous as f64 / 1e6, 500.0),
        ];
        self.add("summary torch.json.gz", cost, limits);
        Ok(())
    }

    /// The same size without Python frames: every event becomes a row.
    fn torch_without_frames(&mut self) -> Result<(), String> {
        let size = self.torch_bytes.to_string();
        let arguments = ["--to", "torch", "--ranks", "1", "--no-stacks", "--no-graphs", "--size", &size];
        let json = self.data("torch-no-frames", &arguments, ".json")?;
        let bytes = std::fs::metadata(&json).map_err(|e| e.to_string())?.len() as f64;
        let cost = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &json))?;
        let limits = vec![
            ("CPU s/GB", cost.cpu / (bytes / GB), 2.5),
            ("0.7 GB/s over its rate", 0.7 / (bytes / GB / cost.wall), 1.0),
            ("MB", cost.anonymous as f64 / 1e6, 500.0),
        ];
        self.add("summary torch.json without frames", cost, limits);
        Ok(())
    }

    fn growth(&mut self) -> Result<(), String> {
        let size = (4 * self.torch_bytes).to_string();
        let small = find(&self.data.join("torch"), ".json").ok_or("no torch trace")?;
        let large = self.data("torch-4x", &["--to", "torch", "--ranks", "1", "--size", &size], ".json")?;
        let bytes = |path: &Path| std::fs::metadata(path).map(|m| m.len() as f64).unwrap_or(1.0);
        let grown = bytes(&large) / bytes(&small);
        let one = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &small))?;
        let four = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &large))?;
        // About 285 bytes of text per event.
        let allowance = 150.0 + 110.0 * bytes(&large) / 285.0 / 1e6;
        let limits = vec![
            ("CPU over that of the small one, per 4x", four.cpu / one.cpu / grown * 4.0, 4.4),
            ("MB", four.anonymous as f64 / 1e6, allowance),
        ];
        self.add("summary torch.json, 4 times as large", four, limits);
        Ok(())
    }

    fn rocpd(&mut self) -> Result<(), String> {
        let kernels = self.kernels.to_string();
        let arguments = ["--no-graphs", "--to", "rocpd", "--ranks", "1", "--kernels", &kernels];
        let db = self.data("rocpd", &arguments, ".db")?;
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        let baseline = best_of(3, || {
            let mut command = Command::new(&this);
            command.arg("one-pass-sql").arg(&db);
            command
        })?;
        self.add("  baseline: plain one-pass SQL", baseline, vec![]);
        let scale = self.kernels as f64 / 1e6;
        let cost = best_of(3, || self.rocm_perf(&["summary", "--format", "json"], &db))?;
        let limits = vec![
            ("CPU s", cost.cpu, 2.0 * scale),
            ("CPU over plain SQL, which does less", cost.cpu / baseline.cpu, 1.0),
            ("MB", cost.anonymous as f64 / 1e6, 400.0),
        ];
        self.add("summary rocpd", cost, limits);
        self.versions(&db)?;
        for (view, limit) in [("top_kernels", 1.5), ("top", 3.0)] {
            let sql = format!("SELECT * FROM {view}");
            let cost = best_of(3, || self.rocm_perf(&["query", "--sql", &sql, "--format", "json"], &db))?;
            self.add(&format!("query {view}"), cost, vec![("CPU s", cost.cpu, limit * scale)]);
        }
        self.verdicts(&db, "rocpd")?;
        self.critical_path(&db)?;
        self.convert(&db)?;
        self.compare(&db)?;
        self.report(&db)?;
        self.merge()
    }
}

/// The same file packed by `gzip` at this level, made if it does not exist.
fn packed(json: &Path, level: u8) -> Result<PathBuf, String> {
    let gzip =
        json.with_extension(if level == 1 { "json.gz".to_string() } else { format!("{level}.json.gz") });
    if !gzip.exists() {
        let output = std::fs::File::create(&gzip).map_err(|e| e.to_string())?;
        let done = Command::new("gzip").arg(format!("-{level}")).arg("-c").arg(json).stdout(output).status();
        done.map_err(|e| format!("gzip: {e}"))?;
    }
    Ok(gzip)
}

/// The first file with that ending in a folder, or else below it.
fn find(folder: &Path, ending: &str) -> Option<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let wanted = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && name.ends_with(ending) && !name.contains("truth")
    };
    let here = entries.iter().find(wanted).cloned();
    here.or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, ending)))
}
