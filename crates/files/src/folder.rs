//! Output folders: filled next to their target, then renamed into place.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::output::{OutputFile, remove};
use crate::private::{create_private_folder, publish};

/// Lists the files of a folder that this program wrote, one relative path per line. A folder is replaced only
/// if this file exists and lists everything in it.
pub const MARKER: &str = ".rocm-perf-folder";

/// A folder filled next to its target and renamed into place by [`OutputFolder::commit`]; without a commit it
/// is removed on drop.
pub struct OutputFolder {
    output: OutputFile,
}

impl OutputFolder {
    /// Creates an empty partial folder next to `target`; fails if `target` must not be replaced.
    pub fn create(target: &Path) -> io::Result<Self> {
        check_replaceable(target)?;
        Ok(Self { output: empty_folder(target)? })
    }

    /// Where the files go until `commit`.
    pub fn partial(&self) -> &Path {
        self.output.partial()
    }

    /// Makes the files durable and renames the folder, replacing an earlier one of ours.
    pub fn commit(self) -> io::Result<()> {
        self.swap()?.finish();
        Ok(())
    }

    /// Like `commit`, but the earlier folder can still be restored.
    pub(crate) fn swap(self) -> io::Result<Swapped> {
        let (partial, target) = (&self.output.partial, &self.output.target);
        list_as_ours(partial)?;
        make_durable(partial)?;
        publish(partial, target)?;
        let Some(old) = check_replaceable(target)? else {
            fs::rename(partial, target)?;
            return Ok(Swapped { target: target.clone(), old: None });
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let aside = target.with_file_name(format!(".{name}.{}.replaced", std::process::id()));
        if exchange(partial, target).is_ok() {
            fs::rename(partial, &aside)?;
        } else {
            // Some file systems cannot exchange names: move the old folder aside, and back if the new one
            // cannot be renamed.
            fs::rename(target, &aside)?;
            if let Err(error) = fs::rename(partial, target) {
                let _ = fs::rename(&aside, target);
                return Err(error);
            }
        }
        Ok(Swapped { target: target.clone(), old: Some((aside, old)) })
    }
}

/// A folder with its final name, and the one that it replaced.
pub(crate) struct Swapped {
    target: PathBuf,
    /// Where the old folder is, and its files.
    old: Option<(PathBuf, Vec<PathBuf>)>,
}

impl Swapped {
    /// Removes the old folder.
    pub fn finish(self) {
        if let Some((aside, files)) = self.old {
            remove_listed(&aside, &files);
        }
    }

    /// Restores the old folder and removes the new one.
    pub fn undo(self) {
        let Some((aside, _)) = self.old else { return drop(remove_ours(&self.target)) };
        if exchange(&aside, &self.target).is_ok() {
            let _ = remove_ours(&aside);
        } else if remove_ours(&self.target).is_ok() {
            let _ = fs::rename(&aside, &self.target);
        }
    }
}

/// Above this many files, one call for the whole file system is faster than a call for each.
pub(crate) const MOST_SYNCED_ONE_BY_ONE: usize = 64;

/// Waits until all files in a folder tree are on disk.
fn make_durable(folder: &Path) -> io::Result<()> {
    let files = contents(folder)?;
    if files.len() > MOST_SYNCED_ONE_BY_ONE && sync_file_system(folder) {
        return Ok(());
    }
    files
        .iter()
        .map(|path| folder.join(path))
        .filter(|path| path.is_file())
        .try_for_each(|path| fs::File::open(path)?.sync_all())
}

/// Waits until the whole file system of a folder is on disk; returns whether that worked.
pub(crate) fn sync_file_system(folder: &Path) -> bool {
    // SAFETY: the descriptor is open until the call returns.
    fs::File::open(folder).is_ok_and(|open| unsafe { libc::syncfs(open.as_raw_fd()) } == 0)
}

/// Exchanges two names atomically, so that a kill at any moment leaves the old folder or the new one.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
    let (one, other) = (path(one)?, path(other)?);
    // SAFETY: both paths are NUL-terminated and outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A private folder of this process, created next to `near`; removed on drop and on interrupts.
pub struct TemporaryFolder {
    output: OutputFile,
}

impl TemporaryFolder {
    /// Creates an empty folder next to `near`, whether or not `near` exists.
    pub fn beside(near: &Path) -> io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let mut name = near.file_name().unwrap_or_default().to_os_string();
        name.push(format!("-{}", MADE.fetch_add(1, Ordering::Relaxed)));
        Ok(Self { output: empty_folder(&near.with_file_name(name))? })
    }

    /// Creates an empty folder in the system's temporary directory.
    pub fn of_system() -> io::Result<Self> {
        Self::beside(&std::env::temp_dir().join("rocm-perf"))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.output.partial()
    }
}

fn empty_folder(near: &Path) -> io::Result<OutputFile> {
    let output = OutputFile::reserve(near)?;
    remove(output.partial());
    create_private_folder(output.partial())?;
    Ok(output)
}

/// Whether an output folder may take this name: it is free (`None`), or a folder that holds only files that
/// this program wrote (its files). Anything else is an error that says what is in the way.
pub fn check_replaceable(target: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(facts) if !facts.is_dir() => {
            return refuse(format!(
                "`{}` is not a folder; move it away or choose another name",
                target.display()
            ));
        }
        Ok(_) => {}
    }
    let found = contents(target)?;
    if found.is_empty() && fs::read_dir(target)?.next().is_none() {
        return Ok(Some(Vec::new()));
    }
    let Ok(marker) = fs::read_to_string(target.join(MARKER)) else {
        return refuse(format!(
            "will not replace the folder `{}`: rocm-perf did not write it; move it away or choose another name",
            target.display()
        ));
    };
    let ours: HashSet<&Path> = marker.lines().map(Path::new).chain([Path::new(MARKER)]).collect();
    match found.iter().find(|path| !ours.contains(&path.as_path())) {
        Some(other) => refuse(format!(
            "will not replace a folder with `{}`, which is not from rocm-perf; move it away or choose another name",
            target.join(other).display()
        )),
        None => Ok(Some(found)),
    }
}

/// Lists everything in a folder as written by this program, so that [`remove_ours`] may remove it later.
pub fn list_as_ours(folder: &Path) -> io::Result<()> {
    let mut files = contents(folder)?;
    files.retain(|path| path != Path::new(MARKER));
    let lines: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
    fs::write(folder.join(MARKER), lines)
}

/// Removes a folder if this program listed every file in it. With any other file the folder is left alone,
/// and the error names that file.
pub fn remove_ours(folder: &Path) -> io::Result<()> {
    if let Some(files) = check_replaceable(folder)? {
        remove_listed(folder, &files);
    }
    Ok(())
}

/// All files in a folder tree, as sorted relative paths; links count as files, and so do empty folders.
fn contents(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fn walk(base: &Path, below: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(base.join(below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() && fs::read_dir(entry.path())?.next().is_some() {
                walk(base, &path, found)?;
            } else {
                found.push(path);
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(folder, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

/// Removes these files and the folders that become empty, never anything that was added meanwhile.
fn remove_listed(folder: &Path, files: &[PathBuf]) {
    for file in files {
        let path = folder.join(file);
        let _ =
            if path.is_dir() && !path.is_symlink() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        let mut parent = path.parent();
        while let Some(empty) = parent.filter(|parent| *parent != folder && fs::remove_dir(parent).is_ok()) {
            parent = empty.parent();
        }
    }
    let _ = fs::remove_dir(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(target: &Path, names: &[&str]) -> io::Result<()> {
        let folder = OutputFolder::create(target)?;
        for name in names {
            let path = folder.partial().join(name);
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(path, name)?;
        }
        folder.commit()
    }

    fn names(folder: &Path) -> Vec<String> {
        contents(folder).unwrap().iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_folder_of_ours_is_replaced_whole() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        write(&target, &["a.evt", "deep/er/b.evt"]).unwrap();
        write(&target, &["c.evt"]).unwrap();
        assert_eq!(names(&target), [MARKER, "c.evt"]);
        assert_eq!(
            names(place.path()),
            [format!("run/{MARKER}"), "run/c.evt".into()],
            "nothing is left beside it"
        );
    }

    #[test]
    fn an_empty_folder_is_replaced() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        fs::create_dir(&target).unwrap();
        write(&target, &["a"]).unwrap();
        assert_eq!(names(&target), [MARKER, "a"]);
    }

    #[test]
    fn a_folder_that_someone_else_made_is_never_removed() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("notes.txt"), "mine").unwrap();
        let error = write(&target, &["a"]).unwrap_err();
        assert!(error.to_string().contains("did not write it"), "{error}");
        assert_eq!(names(place.path()), ["run/notes.txt"]);
    }

    #[test]
    fn a_folder_of_ours_with_a_foreign_file_is_never_removed() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        for foreign in ["notes.txt", "deep/notes.txt"] {
            write(&target, &["a"]).unwrap();
            let foreign = target.join(foreign);
            fs::create_dir_all(foreign.parent().unwrap()).unwrap();
            fs::write(&foreign, "mine").unwrap();
            let error = write(&target, &["b"]).unwrap_err();
            assert!(error.to_string().contains("notes.txt"), "{error}");
            assert_eq!(fs::read_to_string(&foreign).unwrap(), "mine");
            assert!(target.join("a").exists());
            fs::remove_file(foreign).unwrap();
            let _ = fs::remove_dir(target.join("deep"));
        }
    }

    #[test]
    fn a_file_that_appears_while_the_folder_is_written_stays() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        write(&target, &["a"]).unwrap();
        let folder = OutputFolder::create(&target).unwrap();
        fs::write(folder.partial().join("b"), "b").unwrap();
        fs::write(target.join("late.txt"), "mine").unwrap();
        assert!(folder.commit().is_err());
        assert_eq!(names(place.path()), [format!("run/{MARKER}"), "run/a".into(), "run/late.txt".into()]);
    }

    #[test]
    fn a_file_or_link_of_that_name_is_not_replaced_by_a_folder() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("run");
        fs::write(&target, "a file").unwrap();
        assert!(write(&target, &["a"]).is_err());
        fs::remove_file(&target).unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &target).unwrap();
        assert!(write(&target, &["a"]).is_err());
        assert!(elsewhere.is_dir() && target.is_symlink());
    }
}
