//! The journal: one line per run, synced before the next run begins, so that nothing ever runs twice.
//!
//! It is also the cache. A line is found by the key of what was measured (program, commands, metric, GPU),
//! the configuration and the number of the run; lines of other programs or GPUs never match.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::space::Space;
use crate::tuner::{Limit, Run, Status, Target};

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be used.
    #[error("cannot use the journal `{}`: {error}", path.display())]
    File {
        /// The journal.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// Its runs are from another device.
    #[error("the journal `{}` has runs on {there}, but this is {here}", path.display())]
    Device {
        /// The journal.
        path: PathBuf,
        /// The device of its runs.
        there: String,
        /// The device of this search.
        here: String,
    },
    /// Another process writes to it.
    #[error("another search is using `{}`", path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
}

/// Which runs of a journal belong to this search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    /// What was measured.
    pub key: String,
    /// The device it was measured on.
    pub device: String,
    /// Whether to ignore runs on other devices instead of failing.
    pub forced: bool,
}

/// The journal of a folder.
pub struct Journal {
    path: PathBuf,
    file: File,
    owner: Owner,
    known: HashMap<(String, usize), Run>,
    /// Existing lines with this key.
    pub resumed: usize,
    /// Lines of other keys and devices.
    pub foreign: usize,
    /// Unreadable lines; a killed search leaves at most one, at the end.
    pub damaged: usize,
    /// Why a line could not be written.
    pub failed: Option<std::io::Error>,
}

impl Journal {
    /// Opens or creates the journal; lines with other keys stay but are not used. Lines with the same key
    /// from another device are an error unless forced.
    pub fn open(path: &Path, owner: &Owner) -> Result<Self, JournalError> {
        let wrong = |error| JournalError::File { path: path.into(), error };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path).map_err(wrong)?;
        if !files::lock(&file).map_err(wrong)? {
            return Err(JournalError::Busy { path: path.into() });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(wrong)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut journal = Self {
            path: path.into(),
            file,
            owner: owner.clone(),
            known: HashMap::new(),
            resumed: 0,
            foreign: 0,
            damaged: 0,
            failed: None,
        };
        // A line without an end was being written when the search was killed.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..whole].lines() {
            match read_line(line) {
                Some(line) if line.key != owner.key => journal.foreign += 1,
                Some(line) if line.device != owner.device && owner.forced => journal.foreign += 1,
                Some(line) if line.device != owner.device => {
                    let (there, here) = (line.device, owner.device.clone());
                    return Err(JournalError::Device { path: path.into(), there, here });
                }
                Some(line) => {
                    journal.known.insert((line.configuration, line.number), line.run);
                    journal.resumed += 1;
                }
                None => journal.damaged += 1,
            }
        }
        if whole < bytes.len() {
            journal.damaged += 1;
            journal.file.set_len(whole as u64).map_err(wrong)?;
            journal.file.seek(SeekFrom::End(0)).map_err(wrong)?;
        }
        Ok(journal)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn add(&mut self, configuration: &Json, number: usize, run: &Run) {
        let line = json!({
            "key": self.owner.key,
            "device": self.owner.device,
            "config": configuration,
            "run": number,
            "status": run.status.name(),
            "value": run.value,
            "seconds": run.seconds,
            "spent": run.spent,
            "detail": run.detail,
        });
        let written = writeln!(self.file, "{line}").and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

struct Line {
    key: String,
    device: String,
    configuration: String,
    number: usize,
    run: Run,
}

fn read_line(line: &str) -> Option<Line> {
    let line: Json = serde_json::from_str(line).ok()?;
    let run = Run {
        status: Status::named(line["status"].as_str()?)?,
        value: line["value"].as_f64(),
        seconds: line["seconds"].as_f64()?,
        spent: line["spent"].as_f64()?,
        detail: line["detail"].as_str().unwrap_or_default().to_string(),
    };
    Some(Line {
        key: line["key"].as_str()?.to_string(),
        device: line["device"].as_str().unwrap_or_default().to_string(),
        configuration: line["config"].to_string(),
        number: line["run"].as_u64()? as usize,
        run,
    })
}

/// A target whose runs are first looked up in the journal, and written to it.
pub struct Journalled<'a> {
    /// The target that runs configurations.
    pub target: &'a mut dyn Target,
    /// The journal.
    pub journal: &'a mut Journal,
    /// Names the configurations.
    pub space: &'a Space,
    /// Runs that were taken from the journal.
    pub reused: usize,
    /// Runs done now.
    pub made: usize,
}

impl Journalled<'_> {
    fn is_known(&self, levels: &[u16]) -> bool {
        self.journal.known.contains_key(&(self.space.to_json(levels).to_string(), 0))
    }
}

impl Target for Journalled<'_> {
    fn run(&mut self, levels: &[u16], number: usize, limit: Limit) -> Run {
        let configuration = self.space.to_json(levels);
        let name = (configuration.to_string(), number);
        if let Some(run) = self.journal.known.get(&name) {
            self.reused += 1;
            return run.clone();
        }
        let run = self.target.run(levels, number, limit);
        self.journal.add(&configuration, number, &run);
        self.journal.known.insert(name, run.clone());
        self.made += 1;
        run
    }

    fn lookahead(&self) -> usize {
        self.target.lookahead()
    }

    fn prepare(&mut self, next: &[&[u16]]) {
        if next.first().is_some_and(|first| !self.is_known(first)) {
            let new: Vec<&[u16]> = next.iter().copied().filter(|levels| !self.is_known(levels)).collect();
            self.target.prepare(&new);
        }
    }
}

/// A key made of named parts; files count by their contents.
#[derive(Default)]
pub struct Key(Sha256);

impl Key {
    /// Adds a text.
    pub fn text(&mut self, name: &str, text: &str) -> &mut Self {
        for part in [name, text] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// Adds the contents of a file, if it exists.
    pub fn file(&mut self, path: &Path) -> &mut Self {
        let mut contents = Sha256::new();
        let read = File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut contents));
        match read {
            Ok(_) => self.text(&path.display().to_string(), &hex(&contents.finalize())),
            Err(_) => self,
        }
    }

    /// The key.
    pub fn finish(self) -> String {
        hex(&self.0.finalize())[..32].to_string()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Counting(usize);

    impl Target for Counting {
        fn run(&mut self, levels: &[u16], number: usize, _: Limit) -> Run {
            self.0 += 1;
            let value = Some(f64::from(levels[0]) + number as f64);
            Run { status: Status::Ok, value, seconds: 0.5, spent: 0.75, detail: String::new() }
        }
    }

    const LIMIT: Limit = Limit { time: Duration::from_secs(1), by_best: false };

    fn owner(key: &str, device: &str) -> Owner {
        Owner { key: key.into(), device: device.into(), forced: false }
    }

    fn runs(path: &Path, key: &str) -> (usize, usize, Vec<Run>) {
        let space = Space::parse(r#"{"A": [1, 2, 3], "word": ["x", "y"]}"#).unwrap();
        let mut journal = Journal::open(path, &owner(key, "gfx942")).unwrap();
        let mut target = Counting(0);
        let mut journalled =
            Journalled { target: &mut target, journal: &mut journal, space: &space, reused: 0, made: 0 };
        let runs = (0..6).map(|i| journalled.run(&[i as u16 / 2, 1], i % 2, LIMIT)).collect();
        let reused = journalled.reused;
        (target.0, reused, runs)
    }

    #[test]
    fn nothing_is_run_twice_whatever_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/journal.jsonl");
        let (made, reused, first) = runs(&path, "k");
        assert_eq!((made, reused), (6, 0));
        assert_eq!(runs(&path, "k"), (0, 6, first.clone()));
        let whole = std::fs::read(&path).unwrap();
        // Killed at any byte: whole lines are kept, the rest runs again, and the journal is whole afterwards.
        for cut in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(runs(&path, "k"), (6 - lines, lines, first.clone()), "{cut}");
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn another_key_is_never_taken_for_this_one_and_two_searches_never_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        assert_eq!(runs(&path, "k").0, 6);
        assert_eq!(runs(&path, "other").0, 6);
        let journal = Journal::open(&path, &owner("k", "gfx942")).unwrap();
        assert_eq!((journal.resumed, journal.foreign), (6, 6));
        assert!(matches!(Journal::open(&path, &owner("k", "gfx942")), Err(JournalError::Busy { .. })));
    }

    #[test]
    fn runs_on_another_device_are_refused_unless_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        assert_eq!(runs(&path, "k").0, 6);
        let error = Journal::open(&path, &owner("k", "gfx90a")).err().unwrap();
        assert!(error.to_string().ends_with("has runs on gfx942, but this is gfx90a"), "{error}");
        let forced = Owner { forced: true, ..owner("k", "gfx90a") };
        let journal = Journal::open(&path, &forced).unwrap();
        assert_eq!((journal.resumed, journal.foreign), (0, 6));
        drop(journal);
        assert!(
            Journal::open(&path, &owner("other", "gfx90a")).is_ok(),
            "another search is none of its business"
        );
    }

    #[test]
    fn keys_tell_parts_and_contents_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let of = |parts: &[(&str, &str)]| {
            let mut key = Key::default();
            parts.iter().for_each(|(name, text)| _ = key.text(name, text));
            key.file(&path);
            key.finish()
        };
        assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
        std::fs::write(&path, "one").unwrap();
        let one = of(&[("a", "b")]);
        assert_eq!(one, of(&[("a", "b")]));
        std::fs::write(&path, "two").unwrap();
        assert_ne!(one, of(&[("a", "b")]));
    }
}
