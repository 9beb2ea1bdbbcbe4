//! Locks that are released when their process ends, even if it crashes.

use std::fs::File;
use std::io;
use std::time::Duration;

/// A process that is just starting may hold a lock for a moment longer.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Locks an open file for this process alone; false if another one holds it.
pub fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_ends_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = File::create(&path).unwrap();
        let second = File::open(&path).unwrap();
        assert!(lock(&first).unwrap());
        assert!(!lock(&second).unwrap());
        drop(first);
        assert!(lock(&second).unwrap());
    }
}
