//! Killed runs: each run is marked as running, so that the next one finds those that did not end on their
//! own.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use files::leftovers::{in_words, runs};
use files::write_private;
use formats::run::{COLLECT, TOOL, field};
use formats::secrets::redact_words;
use serde_json::{Value, json};

use super::error::CollectError;
use super::files::{folder_error, remove_secrets};
use super::record::FILE;
use super::time;

/// States of a run that has not ended normally.
const RUNNING: &str = "running";
const KILLED: &str = "killed";

/// A run that has started. However it ends, its secrets are removed; a run that could not start leaves no
/// `run.json`.
pub(crate) struct Begun(PathBuf);

impl Drop for Begun {
    fn drop(&mut self) {
        remove_secrets(&self.0);
        let path = self.0.join(FILE);
        if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(&state(RUNNING))) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// The state as written in the file.
fn state(state: &str) -> String {
    format!("\"status\": \"{state}\"")
}

/// Writes a first `run.json`, which the end of the run replaces.
pub(crate) fn begin(
    folder: &Path,
    application: &[String],
    started: SystemTime,
) -> Result<Begun, CollectError> {
    let record = json!({
        field::TOOL: TOOL,
        field::KIND: COLLECT,
        "status": RUNNING,
        "started": time::iso(started),
        "pid": std::process::id(),
        "host": host(),
        "command": redact_words(application),
    });
    let path = folder.join(FILE);
    write_private(&path, &format!("{record:#}\n")).map_err(|error| folder_error(&path, &error))?;
    Ok(Begun(folder.into()))
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

/// A run that was killed before it could record how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Killed {
    /// Its folder.
    pub folder: PathBuf,
    /// How long ago something was written there, as text.
    pub age: String,
    /// Files that it left.
    pub files: usize,
}

impl Killed {
    /// A sentence about it.
    pub fn explain(&self) -> String {
        let Self { folder, age, files } = self;
        format!("the run in `{}` was killed {age} ago; it left {files} files", folder.display())
    }

    /// The folder's run, if it was killed on this machine.
    pub fn of(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(FILE)).ok()?;
        let record: Value = serde_json::from_str(&text).ok()?;
        let pid = libc::pid_t::try_from(record["pid"].as_i64()?).ok()?;
        let ended = record["status"] == RUNNING && record["host"] == host() && !runs(pid);
        if !ended {
            return None;
        }
        let entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().collect();
        let newest = entries.iter().filter_map(|entry| entry.metadata().ok()?.modified().ok()).max();
        let age = newest.and_then(|time| time.elapsed().ok()).unwrap_or_default();
        Some(Self { folder: folder.into(), age: in_words(age), files: entries.len() - 1 })
    }

    /// Removes its secrets and records that it was killed, so that it is reported only once.
    fn settle(&self) {
        remove_secrets(&self.folder);
        let path = self.folder.join(FILE);
        let record =
            std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        if let Some(mut record) = record {
            record["status"] = json!(KILLED);
            let _ = write_private(&path, &format!("{record:#}\n"));
        }
    }
}

/// Finds the runs next to a new one that were killed since the last check.
pub(crate) fn find_beside(folder: &Path) -> Vec<Killed> {
    let beside = folder.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    let found = beside.map(|entry| entry.path()).filter(|path| path != folder);
    let found: Vec<Killed> = found.filter_map(|path| Killed::of(&path)).collect();
    found.iter().for_each(Killed::settle);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g8_the_next_run_says_what_a_killed_one_left() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        };
        let (killed, running, new) = (folder("killed"), folder("running"), folder("new"));
        let words = ["serve", "--api-key", "planted"].map(String::from);
        std::mem::forget(begin(&killed, &words, SystemTime::now()).unwrap());
        let still = begin(&running, &words, SystemTime::now()).unwrap();
        let text = std::fs::read_to_string(killed.join(FILE)).unwrap();
        assert!(!text.contains("planted"), "{text}");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let text =
            text.replace(&format!("\"pid\": {}", std::process::id()), &format!("\"pid\": {}", child.id()));
        std::fs::write(killed.join(FILE), text).unwrap();
        std::fs::write(killed.join("a.db"), "half").unwrap();
        std::fs::write(killed.join(crate::launcher::SECRETS), "secret_1=x").unwrap();
        let [found] = &find_beside(&new)[..] else { panic!("one was killed") };
        assert_eq!((&found.folder, found.files), (&killed, 2));
        assert!(killed.join("a.db").exists() && !killed.join(crate::launcher::SECRETS).exists());
        assert_eq!(find_beside(&new), [], "it is said once");
        drop(still);
        assert!(!running.join(FILE).exists(), "it did not get as far as a record");
    }
}
