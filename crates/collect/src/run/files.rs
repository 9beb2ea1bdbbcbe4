//! The run's folder, which never replaces another one, and its files with their checksums.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::error::CollectError;
use super::killed::Killed;
use super::time;
use crate::launcher::{SECRETS, holds_secrets};
use crate::profiler::reason;

/// Default folder of runs, as in madengine.
const RUNS: &str = "rocprof_output";

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// Path below the run's folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 in hex.
    pub sha256: String,
}

/// Creates the folder of a run: the requested one, else one named after the time.
pub(crate) fn make_folder(asked: Option<&Path>, now: SystemTime) -> Result<PathBuf, CollectError> {
    let failed = |path: &Path, error: &io::Error| folder_error(path, error);
    if let Some(path) = asked {
        std::fs::create_dir_all(path).map_err(|error| failed(path, &error))?;
        let mut entries = std::fs::read_dir(path).map_err(|error| failed(path, &error))?;
        if entries.next().is_some() {
            let why = match Killed::of(path) {
                Some(killed) => format!("{}; choose another folder", killed.explain()),
                None => "the folder is not empty; choose another".to_string(),
            };
            return Err(CollectError::Folder { path: path.into(), why });
        }
        return std::path::absolute(path).map_err(|error| failed(path, &error));
    }
    let runs = Path::new(RUNS);
    std::fs::create_dir_all(runs).map_err(|error| failed(runs, &error))?;
    let stamp = time::for_folder(now);
    for number in 1.. {
        let name = if number == 1 { stamp.clone() } else { format!("{stamp}_{number}") };
        let path = runs.join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => return std::path::absolute(&path).map_err(|error| failed(&path, &error)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    Err(CollectError::Usage("cannot create a folder".into()))
}

/// Removes the files with secrets that the scripts of a run read.
pub(crate) fn remove_secrets(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = std::fs::remove_file(path.join(SECRETS));
        } else if holds_secrets(&path) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// The error for a folder: a full disk has its own.
pub(crate) fn folder_error(path: &Path, error: &io::Error) -> CollectError {
    if error.kind() == io::ErrorKind::StorageFull {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        return CollectError::Full { path: folder.into() };
    }
    CollectError::Folder { path: path.into(), why: reason(error) }
}

/// Whether the disk is full.
pub(crate) fn is_full(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: all fields are plain numbers.
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is zero-terminated, and the struct is valid and ours.
    let known = unsafe { libc::statvfs(path.as_ptr(), &raw mut facts) } == 0;
    known && (facts.f_bavail as u64).saturating_mul(facts.f_frsize as u64) < 64 << 10
}

/// All files below a folder except internal ones, by path.
pub(crate) fn list(root: &Path, folder: &Path) -> Vec<FileFact> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => files.extend(fact(root, &path)),
                _ => {}
            }
        }
    }
    files.sort_by(|a: &FileFact, b| a.path.cmp(&b.path));
    files
}

fn fact(root: &Path, path: &Path) -> Option<FileFact> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut file, &mut hash).ok()?;
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(FileFact { path: relative(root, path), bytes, sha256 })
}

/// A path below the run's folder.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        assert!(make_folder(Some(&folder), SystemTime::now()).unwrap().is_absolute());
        std::fs::write(folder.join("x"), "y").unwrap();
        let error = make_folder(Some(&folder), SystemTime::now()).unwrap_err();
        assert!(error.to_string().contains("not empty"), "{error}");
        assert!(make_folder(Some(&folder.join("x")), SystemTime::now()).is_err());
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("a")).unwrap();
        std::fs::write(root.path().join("a/b"), "abc").unwrap();
        let [file] = &list(root.path(), root.path())[..] else { panic!() };
        assert_eq!((file.path.as_str(), file.bytes), ("a/b", 3));
        assert!(file.sha256.starts_with("ba7816bf8f01cfea414140de5dae2223"));
    }
}
