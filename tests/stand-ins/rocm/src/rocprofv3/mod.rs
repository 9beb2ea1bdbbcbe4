//! `rocprofv3`: parses, runs the application once per pass, and writes what its runtime logged.

mod application;
mod attach;
mod jobs;
mod messages;
mod naming;
mod options;
mod output;
mod pc_samples;
mod services;
mod stats;
mod thread_trace;
mod yaml;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

pub(crate) use messages::library_line;
pub(crate) use naming::hostname;

use application::Ended;
use jobs::Pass;
use options::{CommandLine, Stop};
use output::Output;
use services::Services;

use crate::settings::{self, Version, fault};
use crate::{counters, log};

/// Runs as `rocprofv3`.
pub fn main(arguments: &[String]) -> ExitCode {
    match run(arguments) {
        Ok(ended) => end_as(ended),
        Err(stop) => {
            eprintln!("{}", stop.message);
            ExitCode::from(stop.code)
        }
    }
}

/// Ends this process the way the application ended.
fn end_as(ended: Ended) -> ExitCode {
    match ended {
        Ended::Exit(code) => ExitCode::from(code as u8),
        Ended::Signal(signal) => {
            // SAFETY: resets the disposition of a signal and raises it here.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            ExitCode::from(128u8.wrapping_add(signal as u8))
        }
    }
}

fn run(arguments: &[String]) -> Result<Ended, Stop> {
    let version = settings::rocm_version();
    let line = options::parse(arguments, version)?;
    let on = |key: &str| line.values.get(key) == Some(&Value::Bool(true));
    if on("help") || (arguments.is_empty() && version >= Version(7, 13, 0)) {
        println!("usage: rocprofv3 [-h] [OPTIONS] -- <application> [application options]");
        return Ok(Ended::Exit(0));
    }
    if on("version") {
        print!("{}", version_text(version));
        return Ok(Ended::Exit(0));
    }
    if on("list_avail") && line.application.is_empty() {
        crate::avail::main(&["info".into(), "--pc-sampling".into()]);
        crate::avail::main(&["info".into(), "--pmc".into()]);
        return Ok(Ended::Exit(0));
    }
    if let Some(pid) = line.values.get("pid").and_then(Value::as_i64) {
        return attach::run(&line, pid, version);
    }
    if line.application.is_empty() {
        return Err(Stop::fatal("No application provided"));
    }
    if on("echo") {
        println!("command: {:?}", line.application);
        return Ok(Ended::Exit(0));
    }
    run_passes(&line, version)
}

fn run_passes(line: &CommandLine, version: Version) -> Result<Ended, Stop> {
    let passes = jobs::passes(line, version)?;
    let single = passes.len() == 1;
    for (number, pass) in passes.iter().enumerate() {
        let ended = run_pass(line, pass, number, version)?;
        if single {
            return Ok(ended);
        }
        let code = match ended {
            Ended::Exit(0) => continue,
            Ended::Exit(code) => code,
            Ended::Signal(signal) => -signal,
        };
        let words: Vec<String> = line.application.iter().map(|word| format!("'{word}'")).collect();
        let command = words.join(", ");
        return Err(Stop::fatal(format!("Command '[{command}]' returned non-zero exit status {code}.")));
    }
    // A text file without a counter line: nothing was run, and nothing is printed.
    Ok(Ended::Exit(0))
}

fn run_pass(line: &CommandLine, pass: &Pass, number: usize, version: Version) -> Result<Ended, Stop> {
    let services = Services::of(&pass.values);
    let on = |key: &str| services.on(key);
    pc_samples::check(&pass.values)?;
    if on("advanced_thread_trace") && !has_decoder(pass) {
        return Err(Stop::fatal("rocprof-trace-decoder library path not found in ['/opt/rocm/lib']"));
    }
    if !services.any() {
        if on("stats") || on("summary") {
            return Err(Stop::fatal("No tracing options were enabled for --stats option."));
        }
        messages::warning("No tracing options were enabled.");
    }
    if fault("permission") {
        let message = "could not lock device: lack of permissions (capability SYS_PERFMON)";
        messages::library('W', "device_counting.cpp:88", message);
    }
    let abort = trouble(&services);
    let folder = tempfile::tempdir().map_err(Stop::fatal)?;
    let ended =
        application::run(&line.application, &pass.values, &services, folder.path(), abort.as_deref())?;
    if fault("hang") {
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    let crashed = matches!(ended, Ended::Signal(_));
    if crashed && (abort.is_some() || fault("no_files_after_crash")) {
        return Ok(ended);
    }
    if let Some(message) = pc_samples::unsupported(&pass.values) {
        messages::library('E', "tool.cpp:1510", message);
        return Ok(Ended::Exit(1));
    }
    warn_of_missing(&services);
    let output = Output { pass, number, services: &services, version };
    write_all(&output, folder.path(), ended)
}

/// Writes the files of every process that logged something, late if asked to.
fn write_all(output: &Output<'_>, folder: &std::path::Path, ended: Ended) -> Result<Ended, Stop> {
    write_recordings(output, log::read_folder(folder), ended, fault("late_files"))
}

fn write_recordings(
    output: &Output<'_>,
    recordings: Vec<log::Recording>,
    ended: Ended,
    late: bool,
) -> Result<Ended, Stop> {
    if late {
        // SAFETY: this process has one thread; the child only writes files and exits.
        if unsafe { libc::fork() } != 0 {
            return Ok(ended);
        }
        std::thread::sleep(Duration::from_millis(400));
    }
    for recording in recordings.iter().filter(|recording| recording.pid != 0) {
        if fault("unwritable") {
            messages::library('F', "output_stream.cpp:98", "Failed to open output folder: Permission denied");
            return Ok(Ended::Signal(libc::SIGABRT));
        }
        if let Err(e) = output.write(recording) {
            let why = match e.kind() {
                std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
                    "already exists and is not a directory".to_string()
                }
                _ => e.to_string(),
            };
            messages::library('F', "output_stream.cpp:98", &why);
            return Ok(Ended::Signal(libc::SIGABRT));
        }
    }
    Ok(ended)
}

/// The message with which the library aborts at the first dispatch, if it does.
fn trouble(services: &Services) -> Option<String> {
    let groups = services.counter_groups.iter().chain([&services.counters]);
    let over = groups.into_iter().find_map(|group| {
        let names: Vec<&str> = group.iter().map(String::as_str).collect();
        counters::over_limit(&names, &settings::arch())
    });
    (over.is_some() || fault("over_limit")).then(|| {
        let message = "Could not construct profile cfg failed with error code 38: Request exceeds the \
                       capabilities of the hardware to collect";
        library_line('F', "tool.cpp:1057", message)
    })
}

fn warn_of_missing(services: &Services) {
    let arch = settings::arch();
    let all: Vec<&String> =
        services.counters.iter().chain(services.counter_groups.iter().flatten()).collect();
    let (found, missing): (Vec<&String>, Vec<&String>) =
        all.iter().partition(|name| services.knows(name, &arch));
    if missing.is_empty() {
        return;
    }
    let list = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    for gpu in 0..settings::gpus() {
        let agent = crate::machine::PROCESSORS + gpu;
        let message = format!(
            "Unable to find all counters for agent {agent} (gpu-{gpu}, {arch}) in [{}]. Found: [{}]. Missing: [{}]",
            list(&all),
            list(&found),
            list(&missing)
        );
        messages::library('W', "tool.cpp:1021", &message);
    }
}

fn has_decoder(pass: &Pass) -> bool {
    let paths = pass.values.get("att_library_path").and_then(Value::as_array).into_iter().flatten();
    let mut paths: Vec<String> = paths.filter_map(|p| p.as_str().map(String::from)).collect();
    paths.extend(settings::value("ROCPROF_ATT_LIBRARY_PATH"));
    paths.iter().any(|path| std::path::Path::new(path).join("librocprof-trace-decoder.so").exists())
}

fn version_text(version: Version) -> String {
    let sdk = match (version.0, version.1) {
        (6, minor) => format!("0.{}.0", minor + 2),
        (7, 0) => "1.0.0".into(),
        (7, 1 | 2) => "1.1.0".into(),
        (7, 13) => "1.3.0".into(),
        (7, _) => "1.3.2".into(),
        _ => "1.3.5".into(),
    };
    let facts = [
        ("version", sdk.as_str()),
        ("git_revision", "0000000000000000000000000000000000000000"),
        ("library_arch", "x86_64-linux-gnu"),
        ("system_name", "Linux"),
        ("system_processor", "x86_64"),
        ("system_version", "6.8.0"),
        ("compiler_id", "GNU"),
        ("compiler_version", "12.2.0"),
    ];
    let mut text: String = facts.iter().map(|(key, value)| format!("{key:>20}: {value}\n")).collect();
    text.push_str(&format!("{:>20}: {version}\n", "rocm_version"));
    text
}
