//! Output files that are complete or absent, never partial.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::folder::{MOST_SYNCED_ONE_BY_ONE, exchange, sync_file_system};
use crate::large::{Progress, Replaced};
use crate::leftovers::remove_abandoned;
use crate::private::{create_private, publish};

/// Partial files of this process, removed when it is interrupted.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file written next to its target and renamed into place by [`OutputFile::commit`]; without a commit it is
/// removed on drop.
pub struct OutputFile {
    pub(crate) target: PathBuf,
    pub(crate) partial: PathBuf,
    file: Option<File>,
    progress: Progress,
}

impl OutputFile {
    /// Opens a partial file next to `target`, creating its folder.
    pub fn create(target: &Path) -> io::Result<Self> {
        let mut output = Self::reserve(target)?;
        output.file = Some(create_private(&output.partial)?);
        Ok(output)
    }

    /// Only reserves the partial path, for writers that open it themselves (SQLite).
    pub fn reserve(target: &Path) -> io::Result<Self> {
        if let Some(folder) = target.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let partial = target.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        let _ = std::fs::remove_file(&partial);
        remove_abandoned(target, &name);
        PARTIAL.lock().unwrap_or_else(|e| e.into_inner()).push(partial.clone());
        Ok(Self { target: target.to_path_buf(), partial, file: None, progress: Progress::default() })
    }

    /// Where the bytes are written until `commit`.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// The open file.
    pub fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the writer opens this file itself"))
    }

    /// Makes the file durable and renames it to its target.
    pub fn commit(mut self) -> io::Result<()> {
        self.make_durable()?;
        publish(&self.partial, &self.target)?;
        let _old = Replaced::at(&self.target);
        std::fs::rename(&self.partial, &self.target)
    }

    /// Waits until the file is on disk. No more bytes may be written.
    fn make_durable(&mut self) -> io::Result<()> {
        match self.file.take() {
            Some(file) => file.sync_all(),
            None => File::open(&self.partial)?.sync_all(),
        }
    }
}

/// How many files [`write_each`] makes durable at a time.
const TOGETHER: usize = 256;

/// Writes many small files, each of them complete or absent. They are made durable in groups: waiting for the
/// disk once per file takes minutes for thousands. An error names its file.
pub fn write_each(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> Result<(), (PathBuf, io::Error)> {
    let mut group = Vec::new();
    for (target, bytes) in files {
        let written = OutputFile::create(&target).and_then(|mut output| {
            output.write_all(&bytes)?;
            // Thousands of open files are more than most systems allow.
            output.file = None;
            Ok(output)
        });
        group.push(written.map_err(|error| (target, error))?);
        if group.len() == TOGETHER {
            name_group(std::mem::take(&mut group))?;
        }
    }
    name_group(group)
}

fn name_group(mut group: Vec<OutputFile>) -> Result<(), (PathBuf, io::Error)> {
    let folder = group.first().and_then(|file| file.target.parent()).map(Path::to_path_buf);
    let is_one = group.iter().all(|file| file.target.parent() == folder.as_deref());
    let together = folder.filter(|_| is_one && group.len() > MOST_SYNCED_ONE_BY_ONE);
    let is_durable = together.is_some_and(|folder| sync_file_system(&folder));
    for file in &mut group {
        let named = if is_durable { Ok(()) } else { file.make_durable() }
            .and_then(|()| publish(&file.partial, &file.target))
            .and_then(|()| std::fs::rename(&file.partial, &file.target));
        named.map_err(|error| (file.target.clone(), error))?;
    }
    Ok(())
}

/// Renames all files of a set, or none: replaced files are restored if one of them cannot be renamed.
pub fn commit_all(mut files: Vec<OutputFile>) -> io::Result<()> {
    prepare(&mut files)?;
    name_all(files)
}

/// Does the slow part before files are renamed.
pub(crate) fn prepare(files: &mut [OutputFile]) -> io::Result<()> {
    files.iter_mut().try_for_each(|file| {
        file.make_durable()?;
        publish(&file.partial, &file.target)
    })
}

/// Renames all of them, or none.
pub(crate) fn name_all(files: Vec<OutputFile>) -> io::Result<()> {
    let existed: Vec<bool> = files.iter().map(|file| file.target.exists()).collect();
    for at in 0..files.len() {
        let OutputFile { partial, target, .. } = &files[at];
        // An old file is exchanged with the new one, so that it still exists.
        if exchange(partial, target).is_ok() {
            continue;
        }
        if let Err(error) = std::fs::rename(partial, target) {
            for (done, existed) in files[..at].iter().zip(&existed).rev() {
                if exchange(&done.partial, &done.target).is_err() && !existed {
                    let _ = std::fs::remove_file(&done.target);
                }
            }
            return Err(error);
        }
    }
    Ok(())
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file()?.write(bytes)?;
        if let Some(file) = &self.file {
            self.progress.add(file, written);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        remove(&self.partial);
        PARTIAL.lock().unwrap_or_else(|e| e.into_inner()).retain(|p| *p != self.partial);
    }
}

/// Removes a partial file or folder; only called with names that this process created.
pub(crate) fn remove(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

/// Removes every partial file of this process; for the handler of Ctrl-C.
pub fn remove_partial_files() {
    PARTIAL.lock().unwrap_or_else(|e| e.into_inner()).iter().for_each(|path| remove_under_writers(path));
}

/// Like `remove_partial_files`, if memory is short: skipped while another thread adds or removes one.
pub(crate) fn remove_partial_files_if_free() {
    if let Ok(partial) = PARTIAL.try_lock() {
        partial.iter().for_each(|path| remove_under_writers(path));
    }
}

/// Removes a partial file or folder while other threads may write to it: it is renamed first, so that they
/// cannot add files to it.
fn remove_under_writers(path: &Path) {
    let aside = path.with_extension("removed");
    let moved = path.is_dir() && std::fs::rename(path, &aside).is_ok();
    remove(if moved { &aside } else { path });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_committed_file_exists() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("sub/out.txt");
        let mut output = OutputFile::create(&target).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path().join("sub")).unwrap().count(), 0);
        let mut output = OutputFile::create(&target).unwrap();
        output.write_all(b"whole").unwrap();
        output.commit().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(folder.path().join("sub")).unwrap().count(), 1);
    }

    #[test]
    fn many_files_are_each_written_whole_and_an_error_names_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: usize| folder.path().join(format!("rank-{number}"));
        write_each((0..600).map(|number| (path(number), number.to_string().into_bytes()))).unwrap();
        for number in 0..600 {
            assert_eq!(std::fs::read_to_string(path(number)).unwrap(), number.to_string());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 600);
        std::fs::create_dir(path(601)).unwrap();
        let (named, _) = write_each([(path(600), vec![1]), (path(601), vec![1])]).unwrap_err();
        assert_eq!((named, std::fs::read(path(600)).unwrap()), (path(601), vec![1]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 602, "nothing partial is left");
    }

    #[test]
    fn g8_a_folder_that_is_still_written_to_is_removed_whole() {
        let folder = tempfile::tempdir().unwrap();
        let partial = folder.path().join(".run.partial");
        std::fs::create_dir(&partial).unwrap();
        let (begun, wait) = std::sync::mpsc::channel();
        let into = partial.clone();
        let writer = std::thread::spawn(move || {
            for number in 0.. {
                if std::fs::write(into.join(format!("{number}.evt")), "x").is_err() {
                    return;
                }
                let _ = begun.send(());
            }
        });
        wait.iter().take(100).count();
        remove_under_writers(&partial);
        writer.join().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
