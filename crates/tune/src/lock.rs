//! Locks that end with their process, however it ends.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A lock may be held for a moment more by a process that is just being started.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Locks an open file for this process alone; false when another one holds it.
pub(crate) fn take(file: &File) -> bool {
    for _ in 0..TRIES {
        // SAFETY: a plain system call on a file that we hold open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return true;
        }
        std::thread::sleep(PAUSE);
    }
    false
}
