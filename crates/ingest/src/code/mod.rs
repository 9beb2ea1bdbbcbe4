//! Files of other tools about the code of kernels: Omniprobe's memory analysis and Nexus' listings.
//!
//! Both are JSON without times, so they are not traces: they are read separately and joined to kernels by
//! name and dispatch.

mod nexus;
mod omniprobe;

use std::io::Read;
use std::path::{Path, PathBuf};

use trace::CodeFacts;

use crate::bytes::read_whole;
use crate::{Error, Progress};

/// Names of these tools, for messages.
pub(crate) fn tool_of(keys: &[String]) -> Option<&'static str> {
    let has = |wanted: &str| keys.iter().any(|key| key == wanted);
    if has("kernel_analysis") || has("kernel_analyses") {
        Some(OMNIPROBE)
    } else if has("kernels") {
        Some(NEXUS)
    } else {
        None
    }
}

const OMNIPROBE: &str = "Omniprobe's memory analysis";
const NEXUS: &str = "Nexus' code listing";

/// Files at a path with facts about code: the file itself, or those in a folder.
pub fn find(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return kind_of(path).map(|_| path.to_path_buf()).into_iter().collect();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_json = |path: &PathBuf| path.is_file() && path.extension().is_some_and(|end| end == "json");
    let mut found: Vec<PathBuf> = entries.filter(is_json).filter(|path| kind_of(path).is_some()).collect();
    found.sort();
    found
}

/// Reads a file found by [`find`].
pub fn read(path: &Path) -> Result<CodeFacts, Error> {
    let bytes = read_whole(path, &Progress::default())?;
    let text = String::from_utf8_lossy(&bytes);
    let format = kind_of(path).unwrap_or(OMNIPROBE);
    let mut facts = CodeFacts { path: path.display().to_string(), format, ..CodeFacts::default() };
    let read = match format {
        NEXUS => nexus::read(&text, &mut facts),
        _ => omniprobe::read(&text, &mut facts),
    };
    read.map_err(|why| Error::Damaged { path: path.into(), format, why })?;
    Ok(facts)
}

/// The keys that identify the format are within this many bytes.
const HEAD_BYTES: u64 = 4096;

fn kind_of(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start();
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if !text.starts_with(['{', '[', ',']) {
        None
    } else if has("kernel_analysis") || has("kernel_analyses") {
        Some(OMNIPROBE)
    } else if text.starts_with('{') && has("kernels") && (has("assembly") || has("signature")) {
        Some(NEXUS)
    } else {
        None
    }
}
