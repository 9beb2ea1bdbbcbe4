//! What a trace looked like on disk when it was opened, to notice that it changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders below this depth are not looked at.
const DEEPEST: usize = 16;
const MOST_FILES: usize = 10_000;

/// Names, sizes, times and inodes of a trace's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp(Vec<(PathBuf, u64, Option<SystemTime>, u64)>);

impl Stamp {
    /// The stamp of a file, or of all files in a folder.
    pub fn of(path: &Path) -> Self {
        let mut files = Vec::new();
        collect(path, 0, &mut files);
        files.sort();
        Self(files)
    }

    /// Bytes in all files.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|file| file.1).sum()
    }
}

fn collect(path: &Path, depth: usize, files: &mut Vec<(PathBuf, u64, Option<SystemTime>, u64)>) {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = fs::metadata(path) else { return };
    if meta.is_dir() {
        if depth < DEEPEST {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                let path = entry.path();
                // Links to folders can form a loop.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if !(is_link && path.is_dir()) {
                    collect(&path, depth + 1, files);
                }
            }
        }
    } else if files.len() < MOST_FILES {
        files.push((path.to_path_buf(), meta.len(), meta.modified().ok(), meta.ino()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_or_added_changes_the_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("a.json"), folder.path().join("b.json"));
        fs::write(&one, "1234").unwrap();
        let first = Stamp::of(folder.path());
        assert_eq!(first, Stamp::of(folder.path()));
        assert_eq!(first.bytes(), 4);
        // The same size, and possibly the same clock tick.
        fs::write(&two, "4321").unwrap();
        fs::rename(&two, &one).unwrap();
        let second = Stamp::of(folder.path());
        assert_ne!(first, second);
        fs::write(&two, "").unwrap();
        assert_ne!(second, Stamp::of(folder.path()));
    }
}
