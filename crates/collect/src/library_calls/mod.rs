//! Calls of rocBLAS, hipBLASLt and MIOpen, from the logs of these libraries, joined to the kernels they
//! launched.
//!
//! ```text
//! environment() ──► application ──► logs ──► LibraryCalls ──► library_trace.csv
//!                                                 └─ join(trace) ──► which kernels, how long
//! ```
//!
//! A library logs a call just before it launches the kernels. Lines read live (MIOpen's, on stderr) have a
//! time and are joined by it; lines from a file do not, and are joined by order if the counts agree.

mod join;
mod lines;

pub use join::{How, Joined, report};
pub use lines::{LIBRARIES, Library};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use files::OutputFile;
use std::io::Write;

/// The file of counted calls, as madengine names it.
pub const FILE: &str = "library_trace.csv";

/// One call that a library logged.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which library.
    pub library: Library,
    /// What was called and with which arguments, as the library logged it.
    pub config: String,
    /// When the line was printed, in nanoseconds since boot, if it was read live.
    pub time_ns: Option<i64>,
    /// The process that logged it, if known.
    pub pid: Option<u32>,
}

/// All calls of a run, in the order they were logged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LibraryCalls {
    /// The calls.
    pub calls: Vec<Call>,
    /// Logs that could not be read, and why.
    pub notes: Vec<String>,
}

/// Why the counted calls could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{path}`: {why}", path = path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub why: std::io::Error,
}

/// Variables that make libraries log, into files below `folder` if they can.
pub fn environment<S: AsRef<str>>(libraries: &[S], folder: &Path) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for library in
        LIBRARIES.iter().filter(|library| libraries.iter().any(|name| name.as_ref() == library.name()))
    {
        for (name, value) in library.variables() {
            let value = value.replace("{folder}", &folder.display().to_string());
            variables.push((name.to_string(), value));
        }
    }
    variables
}

impl LibraryCalls {
    /// Reads the logs that libraries left below a folder.
    pub fn read_folder(folder: &Path) -> Self {
        let mut found = Self::default();
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "log") && lines::is_log_name(path))
            .collect();
        paths.sort();
        for path in paths {
            let pid = lines::pid_of_name(&path);
            match std::fs::read(&path) {
                Ok(bytes) => {
                    for line in String::from_utf8_lossy(&bytes).lines() {
                        found.calls.extend(lines::parse(line).map(|call| Call { pid, ..call }));
                    }
                }
                Err(why) => found.notes.push(format!("cannot read `{}`: {why}", path.display())),
            }
        }
        found
    }

    /// Adds lines that the application printed, with the time when they were read.
    pub fn take_line(&mut self, text: &str, time_ns: i64) {
        let calls = text.lines().filter_map(lines::parse);
        self.calls.extend(calls.map(|call| Call { time_ns: Some(time_ns), ..call }));
    }

    /// How often each library was called with each configuration, most often first.
    pub fn counted(&self) -> Vec<(Library, String, u64)> {
        let mut counts: BTreeMap<(Library, &str), u64> = BTreeMap::new();
        for call in &self.calls {
            *counts.entry((call.library, call.config.as_str())).or_default() += 1;
        }
        let mut rows: Vec<(Library, String, u64)> = counts
            .into_iter()
            .map(|((library, config), calls)| (library, config.to_string(), calls))
            .collect();
        rows.sort_by_key(|(library, _, calls)| (*library, std::cmp::Reverse(*calls)));
        rows
    }

    /// Writes madengine's `library_trace.csv`; `model` is what ran, `date` is when.
    pub fn write(&self, path: &Path, job: &str, date: &str, model: &str) -> Result<(), WriteError> {
        let failed = |why| WriteError { path: path.into(), why };
        let mut out = OutputFile::create(path).map_err(failed)?;
        let mut text = String::from("jobid,created_date,model,library,config,calls\n");
        for (library, config, calls) in self.counted() {
            let cells = [job, date, model, library.name(), &config].map(quoted);
            text.push_str(&format!("{},{calls}\n", cells.join(",")));
        }
        out.write_all(text.as_bytes()).map_err(failed)?;
        out.commit().map_err(failed)
    }
}

/// A CSV cell, quoted if needed.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
