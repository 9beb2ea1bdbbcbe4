//! `rocprof`: the older profiler. No separator: the first word that is not an option is the application.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::log::{self, Recording};
use crate::machine::part_of;
use crate::{counters, settings};

/// Options that take a value.
const VALUES: [&str; 8] = ["-i", "-o", "-d", "-t", "-m", "--timestamp", "--basenames", "--trace-period"];

#[derive(Default)]
struct Request {
    input: Option<String>,
    output: Option<PathBuf>,
    folder: Option<PathBuf>,
    stats: bool,
    hip: bool,
    base_names: bool,
    application: Vec<String>,
}

/// Runs as `rocprof`.
pub fn main(arguments: &[String]) -> ExitCode {
    let request = match parse(arguments) {
        Ok(request) => request,
        Err(code) => return code,
    };
    let passes = match request.input.as_deref().map(counter_lines) {
        None => vec![Vec::new()],
        Some(Ok(lines)) => lines,
        Some(Err(e)) => {
            eprintln!("rocprof: error: {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut rows = Vec::new();
    let mut code = 0;
    for names in &passes {
        let Ok(folder) = tempfile::tempdir() else { return ExitCode::FAILURE };
        let status = Command::new(&request.application[0])
            .args(&request.application[1..])
            .env("STAND_IN_HIP_LOG", folder.path())
            .status();
        match status {
            Ok(status) => code = status.code().unwrap_or(1),
            Err(e) => {
                eprintln!("rocprof: {}: {e}", request.application[0]);
                return ExitCode::from(127);
            }
        }
        rows.push((names.clone(), log::read_folder(folder.path())));
    }
    if let Err(e) = write(&request, &rows) {
        eprintln!("rocprof: error: {e}");
        return ExitCode::FAILURE;
    }
    // Whatever the application did, the script succeeds.
    if code != 0 {
        eprintln!("Profiling data corrupted: ' {}'", request.application.join(" "));
    }
    ExitCode::SUCCESS
}

fn parse(arguments: &[String]) -> Result<Request, ExitCode> {
    let mut request = Request::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = if VALUES.contains(&word.as_str()) { words.next() } else { None };
        match word.as_str() {
            "-h" | "--help" => {
                println!(
                    "rocprof [-h] [--list-basic] [--list-derived] [-i <input .txt/.xml>] [-o <output>] <app command line>"
                );
                return Err(ExitCode::SUCCESS);
            }
            "--version" => {
                println!("ROCm version: {}\nROCProfiler version: 1.0", settings::rocm_version());
                return Err(ExitCode::SUCCESS);
            }
            "--list-basic" | "--list-derived" => {
                for name in counters::all(&settings::arch()) {
                    println!("  gpu-agent2 : {name} : stand-in");
                }
                return Err(ExitCode::SUCCESS);
            }
            "-i" => request.input = value.cloned(),
            "-o" => request.output = value.map(PathBuf::from),
            "-d" => request.folder = value.map(PathBuf::from),
            "--basenames" => request.base_names = value.is_some_and(|v| v == "on"),
            "--stats" => request.stats = true,
            "--hip-trace" | "--sys-trace" => request.hip = true,
            option if option.starts_with('-') => {}
            application => {
                request.application =
                    std::iter::once(application.to_string()).chain(words.cloned()).collect();
                break;
            }
        }
    }
    if request.application.is_empty() {
        eprintln!("rocprof: error: no application");
        return Err(ExitCode::FAILURE);
    }
    Ok(request)
}

fn counter_lines(path: &str) -> std::io::Result<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(path)?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or(""));
    let counters = lines.filter_map(|line| line.trim().strip_prefix("pmc")?.trim_start().strip_prefix(':'));
    Ok(counters.map(|names| names.split_whitespace().map(String::from).collect()).collect())
}

fn write(request: &Request, passes: &[(Vec<String>, Vec<Recording>)]) -> std::io::Result<()> {
    let part = part_of(&settings::arch());
    let kernels = |recordings: &[Recording]| -> Vec<(i64, crate::log::Kernel)> {
        recordings.iter().flat_map(|r| r.kernels.iter().map(|k| (r.pid, k.clone()))).collect()
    };
    let first = kernels(&passes[0].1);
    if first.is_empty() {
        return Ok(());
    }
    let folder = request.folder.clone().unwrap_or_else(|| ".".into());
    std::fs::create_dir_all(&folder)?;
    let base = request.output.clone().unwrap_or_else(|| folder.join("results.csv"));
    let names: Vec<&String> =
        passes.iter().flat_map(|(names, _)| names).filter(|n| counters::exists(n, part.arch)).collect();
    let mut out = String::from(
        "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"pid\",\"tid\",\"grd\",\"wgr\",\"lds\",\"scr\",\"arch_vgpr\",\"accum_vgpr\",\"sgpr\",\"wave_size\"",
    );
    names.iter().for_each(|name| out.push_str(&format!(",\"{name}\"")));
    out.push_str(",\"BeginNs\",\"EndNs\",\"DurationNs\"\n");
    for (n, (pid, kernel)) in first.iter().enumerate() {
        let (vgpr, agpr, sgpr) = counters::registers(&kernel.symbol);
        let product = |sizes: [u32; 3]| sizes.iter().product::<u32>();
        let values =
            names.iter().map(|name| format!(",{}", counters::value(name, kernel, &part))).collect::<String>();
        let (start, end) = (kernel.when.start, kernel.when.end);
        out.push_str(&format!(
            "{n},\"{}\",{},{},{pid},{},{},{},{},0,{vgpr},{agpr},{sgpr},{}{values},{start},{end},{}\n",
            shown(&kernel.symbol, request),
            2 + kernel.device,
            kernel.stream,
            kernel.when.thread,
            product(kernel.grid),
            product(kernel.workgroup),
            kernel.static_lds,
            part.wave_size,
            end - start
        ));
    }
    std::fs::write(&base, out)?;
    if request.stats || request.hip {
        let rows =
            first.iter().map(|(_, k)| (shown(&k.symbol, request), k.when.end - k.when.start)).collect();
        stats(&base.with_extension("stats.csv"), rows)?;
    }
    if request.hip {
        let calls = passes[0].1.iter().flat_map(|r| &r.calls).filter(|c| c.domain.starts_with("HIP"));
        stats(
            &base.with_extension("hip_stats.csv"),
            calls.map(|c| (c.name.clone(), c.when.end - c.when.start)).collect(),
        )?;
        std::fs::write(base.with_extension("json"), chrome(&passes[0].1, request))?;
    }
    Ok(())
}

fn shown(symbol: &str, request: &Request) -> String {
    let name = cpp_demangle::Symbol::new(symbol)
        .ok()
        .and_then(|s| s.demangle().ok())
        .unwrap_or_else(|| symbol.into());
    if request.base_names {
        name.split(['(', '<']).next().unwrap_or("").into()
    } else {
        format!("{name} [clone .kd]")
    }
}

fn stats(path: &Path, rows: Vec<(String, i64)>) -> std::io::Result<()> {
    let mut totals: std::collections::BTreeMap<String, (i64, i64)> = std::collections::BTreeMap::new();
    for (name, duration) in &rows {
        let total = totals.entry(name.clone()).or_default();
        *total = (total.0 + 1, total.1 + duration);
    }
    let all: i64 = rows.iter().map(|(_, duration)| duration).sum();
    let mut sorted: Vec<_> = totals.into_iter().collect();
    sorted.sort_by_key(|(_, (_, total))| std::cmp::Reverse(*total));
    let mut out = String::from("\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n");
    for (name, (calls, total)) in sorted {
        let share = 100.0 * total as f64 / all.max(1) as f64;
        out.push_str(&format!("\"{name}\",{calls},{total},{},{share}\n", total / calls));
    }
    std::fs::write(path, out)
}

fn chrome(recordings: &[Recording], request: &Request) -> String {
    let kernels = recordings.iter().flat_map(|r| &r.kernels).map(|k| {
        serde_json::json!({"ph": "X", "name": shown(&k.symbol, request), "pid": 6 + k.device, "tid": k.stream,
            "ts": k.when.start as f64 / 1000.0, "dur": (k.when.end - k.when.start) as f64 / 1000.0})
    });
    let calls = recordings.iter().flat_map(|r| r.calls.iter().map(move |c| (r.pid, c))).map(|(_, c)| {
        serde_json::json!({"ph": "X", "name": c.name, "pid": 2, "tid": c.when.thread,
            "ts": c.when.start as f64 / 1000.0, "dur": (c.when.end - c.when.start) as f64 / 1000.0})
    });
    serde_json::json!({"traceEvents": kernels.chain(calls).collect::<Vec<_>>()}).to_string()
}
