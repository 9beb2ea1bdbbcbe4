//! Large outputs: writes to disk start early, and replaced files are freed in the background.
//!
//! Waiting until hundreds of megabytes are on disk, and freeing the pages of a file that large, takes longer
//! than writing them. Nothing here can fail an output: errors show up when the file is made durable.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;

/// Bytes per request to write to disk.
const PART: u64 = 32 << 20;

/// Starts writing dirty pages to disk, without waiting.
const SYNC_FILE_RANGE_WRITE: libc::c_uint = 2;

/// How much of a file was written, and how much of that was requested to go to disk.
#[derive(Default)]
pub(crate) struct Progress {
    written: u64,
    begun: u64,
}

impl Progress {
    /// Counts written bytes; once there are enough, starts writing them to disk.
    pub fn add(&mut self, file: &File, bytes: usize) {
        self.written += bytes as u64;
        let part = self.written - self.begun;
        if part < PART {
            return;
        }
        let (from, length) = (self.begun as libc::off64_t, part as libc::off64_t);
        self.begun = self.written;
        let Ok(file) = file.try_clone() else { return };
        // The call itself takes time: it collects the pages.
        let begin = move || {
            // SAFETY: the descriptor is open until the call returns.
            unsafe {
                libc::syscall(
                    libc::SYS_sync_file_range,
                    file.as_raw_fd(),
                    from,
                    length,
                    SYNC_FILE_RANGE_WRITE,
                )
            };
        };
        on_the_side("write-back", begin);
    }
}

/// A large file that is about to be replaced: dropping this frees it on a background thread.
pub(crate) struct Replaced(Option<File>);

impl Replaced {
    /// The file at `target`, if it exists and is large.
    pub fn at(target: &Path) -> Self {
        let is_large = target.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.len() > PART);
        // `O_PATH` keeps the file open, whatever its permissions.
        let open = || OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(target).ok();
        Self(is_large.then(open).flatten())
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            on_the_side("free-replaced", move || drop(file));
        }
    }
}

/// Runs something on a thread; skipped if no thread can be created.
fn on_the_side(name: &str, work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().name(name.into()).stack_size(64 << 10);
    let _ = thread.spawn(work);
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use crate::{OutputFile, TemporaryFolder};

    #[test]
    fn a_large_file_replaces_another_whole() {
        let folder = TemporaryFolder::of_system().unwrap();
        let target = folder.path().join("out");
        for byte in [1u8, 2] {
            let mut output = OutputFile::create(&target).unwrap();
            let part = vec![byte; 7 << 20];
            (0..11).for_each(|_| output.write_all(&part).unwrap());
            output.commit().unwrap();
            let bytes = std::fs::read(&target).unwrap();
            assert_eq!(bytes.len(), 77 << 20);
            assert!(bytes.iter().all(|&found| found == byte));
        }
    }
}
