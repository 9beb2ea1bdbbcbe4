//! The files that a run writes for its check. A run that writes nothing must not be judged by an earlier
//! run's files.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Shows whether a file was written to: the system's own change time, which programs cannot set.
type Stamp = (u64, u64, i64, i64);

fn stamp(facts: &Metadata) -> Stamp {
    (facts.ino(), facts.size(), facts.ctime(), facts.ctime_nsec())
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file).map(|facts| stamp(&facts))
}

/// Files as they are before a run.
pub(crate) struct CheckedOutputs {
    before: Vec<(PathBuf, Option<Stamp>)>,
}

impl CheckedOutputs {
    /// Removes what earlier runs wrote, and remembers the other files.
    pub fn before(files: Vec<PathBuf>, written: &mut BTreeSet<PathBuf>) -> Self {
        written.iter().for_each(|path| drop(fs::remove_file(path)));
        let before = files.into_iter().map(|path| (stamp_of(&path), path)).map(|(stamp, path)| (path, stamp));
        Self { before: before.collect() }
    }

    /// Adds the files that the run has written.
    pub fn after(self, written: &mut BTreeSet<PathBuf>) {
        let changed = self.before.into_iter().filter(|(path, before)| {
            let now = stamp_of(path);
            now.is_some() && now != *before
        });
        written.extend(changed.map(|(path, _)| path));
    }
}

/// All files below a folder before a run; for copies, in which everything may be removed.
pub(crate) struct FilesOfCopy {
    root: PathBuf,
    before: Vec<(PathBuf, Stamp)>,
}

impl FilesOfCopy {
    /// The files as they are now.
    pub fn of(root: &Path) -> Self {
        let mut before = Vec::new();
        walk(root, root, &mut before);
        before.sort();
        Self { root: root.into(), before }
    }

    /// Files that are new or changed, relative to the folder.
    pub fn written_since(&self) -> Vec<PathBuf> {
        let now = Self::of(&self.root).before;
        now.into_iter()
            .filter(|file| self.before.binary_search(file).is_err())
            .map(|(path, _)| path)
            .collect()
    }
}

fn walk(root: &Path, folder: &Path, into: &mut Vec<(PathBuf, Stamp)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(facts) = entry.metadata() else { continue };
        let path = entry.path();
        if facts.is_dir() {
            walk(root, &path, into);
        } else if facts.is_file()
            && let Ok(relative) = path.strip_prefix(root)
        {
            into.push((relative.into(), stamp(&facts)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g5_a_run_that_writes_nothing_finds_no_output_of_an_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let (output, reference) = (folder.path().join("out.bin"), folder.path().join("reference.bin"));
        fs::write(&output, "old").unwrap();
        fs::write(&reference, "right").unwrap();
        let mut written = BTreeSet::new();
        let files = || vec![output.clone(), reference.clone()];
        let first = CheckedOutputs::before(files(), &mut written);
        fs::write(&output, "right").unwrap();
        first.after(&mut written);
        let second = CheckedOutputs::before(files(), &mut written);
        assert!(!output.exists(), "it would be checked again");
        assert!(reference.exists(), "nobody wrote it");
        second.after(&mut written);
        assert_eq!(written.into_iter().collect::<Vec<_>>(), [output]);
    }

    #[test]
    fn new_and_changed_files_of_a_copy_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a", "1");
        write("deep/b", "1");
        write("c", "1");
        let files = FilesOfCopy::of(folder.path());
        assert_eq!(files.written_since(), Vec::<PathBuf>::new());
        std::thread::sleep(std::time::Duration::from_millis(20));
        write("a", "2");
        write("deep/new", "1");
        assert_eq!(files.written_since(), [PathBuf::from("a"), PathBuf::from("deep/new")]);
    }
}
