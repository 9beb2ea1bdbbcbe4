//! Progress of a read, for progress bars. Readers add to it, the command line polls it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes to read and bytes read so far, shared between threads.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Announces more bytes to read.
    pub fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Reports bytes as read.
    pub fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// (bytes read, bytes to read).
    pub fn get(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
