//! Decoded thread traces: the folders `ui_output_agent_A_dispatch_D` and files `stats_ui_output_….csv` of rocprofv3.
//!
//! `code.json` lists the code with sums over waves, one file per wave lists what it issued, `occupancy.json`
//! when waves began and ended. The statistics alone are enough for an instruction mix and hot spots.
//! Unreadable parts are counted.

mod folder;
mod stats;

use std::path::{Path, PathBuf};

use trace::ThreadTrace;

use crate::Error;

/// The thread traces at a path: a folder of one, a folder of several, or a file of statistics.
///
/// Empty if the path holds none, which is not an error: it may be something else.
pub fn find(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return if stats::is_stats(path) { vec![path.to_path_buf()] } else { Vec::new() };
    }
    if path.join("code.json").is_file() {
        return vec![path.to_path_buf()];
    }
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![(path.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten().map(|entry| entry.path()) {
            if entry.is_dir() && entry.join("code.json").is_file() {
                found.push(entry);
            } else if entry.is_dir() && depth < 3 {
                folders.push((entry, depth + 1));
            } else if entry.is_file() && stats::is_stats(&entry) {
                found.push(entry);
            }
        }
    }
    // The statistics of a folder that is also here repeat its contents.
    let names: Vec<String> = found.iter().filter(|p| p.is_dir()).map(|p| name_of(p)).collect();
    found.retain(|path| {
        path.is_dir() || !names.iter().any(|name| name_of(path) == format!("stats_{name}.csv"))
    });
    found.sort();
    found
}

/// Reads one thread trace found by [`find`].
pub fn read(path: &Path) -> Result<ThreadTrace, Error> {
    let mut trace = if path.is_dir() { folder::read(path)? } else { stats::read(path)? };
    trace.path = path.display().to_string();
    (trace.agent, trace.dispatch) = (number_in(path, "agent_"), number_in(path, "dispatch_"));
    Ok(trace)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The number after a word in the name of a folder or file.
fn number_in(path: &Path, word: &str) -> Option<i64> {
    let name = name_of(path);
    let digits: String = name.split_once(word)?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Values above this many cycles are damage: days at any clock, and their sums would overflow.
const MOST: i64 = 1 << 48;

/// A number in the range that a trace can have.
fn within_reason(number: i64) -> Option<i64> {
    (-MOST..=MOST).contains(&number).then_some(number)
}

/// Prefix of rows that name a kernel instead of an instruction.
const MARKER: &str = "; ";

/// Adds a line of code, or the kernel that a marker names.
fn add_line(trace: &mut ThreadTrace, line: trace::CodeLine) {
    match line.isa.strip_prefix(MARKER) {
        Some(mangled) => {
            let name = if line.source.is_empty() { mangled.trim().to_string() } else { line.source };
            trace.kernels.push(name);
        }
        None => trace.code.push(line),
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Unreadable { path: path.to_path_buf(), why: error.to_string() }
}

fn damaged(path: &Path, why: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_path_buf(), format: "a decoded thread trace", why: why.into() }
}
