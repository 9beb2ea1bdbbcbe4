//! Output files that are complete or absent, never partial.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Partial files of this process, removed when it is interrupted.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file written beside its target and renamed into place by [`OutputFile::commit`]; dropped without it,
/// it leaves nothing behind.
pub struct OutputFile {
    pub(crate) target: PathBuf,
    pub(crate) partial: PathBuf,
    file: Option<File>,
}

impl OutputFile {
    /// Opens a partial file beside `target`, creating its folder.
    pub fn create(target: &Path) -> io::Result<Self> {
        let mut output = Self::reserve(target)?;
        output.file = Some(File::create(&output.partial)?);
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
        Ok(Self { target: target.to_path_buf(), partial, file: None })
    }

    /// Where the bytes go until `commit`.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// The open file.
    pub fn file(&mut self) -> io::Result<&mut File> {
        self.file.as_mut().ok_or_else(|| io::Error::other("the writer opens this file itself"))
    }

    /// Makes the file durable and gives it its name.
    pub fn commit(mut self) -> io::Result<()> {
        match self.file.take() {
            Some(file) => file.sync_all()?,
            None => File::open(&self.partial)?.sync_all()?,
        }
        std::fs::rename(&self.partial, &self.target)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
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

/// Removes a partial file or folder; only ever called on names that this process made up.
pub(crate) fn remove(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

/// Removes every partial file of this process; for the handler of Ctrl-C.
pub fn remove_partial_files() {
    PARTIAL.lock().unwrap_or_else(|e| e.into_inner()).iter().for_each(|path| remove_under_writers(path));
}

/// Removes a partial file or folder while other threads go on writing: under another name first, so that they find no
/// folder to put more files into.
fn remove_under_writers(path: &Path) {
    let aside = path.with_extension("removed");
    let moved = path.is_dir() && std::fs::rename(path, &aside).is_ok();
    remove(if moved { &aside } else { path });
}

/// What a killed process wrote to is left alone for this long: it may be one of another machine that still runs.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes partial files for the same target that killed processes left.
fn remove_abandoned(target: &Path, name: &str) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let start = format!(".{name}.");
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let pid = found.to_str().and_then(|found| found.strip_prefix(&start)?.strip_suffix(".partial"));
        let Some(pid) = pid.and_then(|pid| pid.parse::<libc::pid_t>().ok()) else { continue };
        // SAFETY: signal 0 only asks whether the process is there.
        let runs = unsafe { libc::kill(pid, 0) } == 0
            || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH);
        let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > ABANDONED);
        if !runs && entry.metadata().and_then(|facts| facts.modified()).is_ok_and(is_old) {
            remove(&entry.path());
        }
    }
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
    fn g8_partial_files_of_a_killed_run_do_not_stay_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let left = |name: &str, pid: u32, hours: u64| {
            let path = folder.path().join(format!(".{name}.{pid}.partial"));
            let time = SystemTime::now() - Duration::from_secs(3600 * hours);
            File::create(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let abandoned = left("out.db", child.id(), 2);
        let fresh = left("out.db", child.id() + (1 << 23), 0);
        let running = left("out.db", std::os::unix::process::parent_id(), 2);
        let other = left("other.db", child.id(), 2);
        drop(OutputFile::create(&folder.path().join("out.db")).unwrap());
        assert!(!abandoned.exists());
        assert!(fresh.exists() && running.exists() && other.exists());
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
