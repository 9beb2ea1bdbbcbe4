//! How many threads this process works with, and what they free in the end.

use std::sync::{Condvar, Mutex, PoisonError};

use files::LargeBlocks;
use rayon::prelude::*;

/// Works with so many threads from now on. Without this it is as many as the process may use: the processors of its
/// affinity, within the limit of its control group. Results do not depend on it.
///
/// Only the first call counts, and only before any work.
pub fn use_threads(threads: usize) {
    // It fails when the threads are there already, and then they stay.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}

/// Frees a value beside the answer, which need not wait until a table of millions of cells is given back piece by piece. Nor
/// does the program when it ends.
pub fn free_beside<T: Send + 'static>(value: T) {
    rayon::spawn(move || drop(value));
}

/// Values that are being given back.
static GIVEN_BACK: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Drops a value, and gives its columns of millions of rows back to the system on all threads, while the answer is shown.
/// [`wait_until_given_back`] before the program ends: the system would free what is left on one thread.
pub fn give_back<T>(value: T) {
    let (count, changed) = &GIVEN_BACK;
    let blocks = LargeBlocks::of(value);
    *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    rayon::spawn(move || {
        // What was freed on the way still has its pages.
        rayon::join(
            || blocks.pieces().into_par_iter().for_each(|piece| piece.empty()),
            files::give_back_free,
        );
        drop(blocks);
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_all();
    });
}

/// Waits for all that answers gave back; call it when the program ends.
pub fn wait_until_given_back() {
    let (count, changed) = &GIVEN_BACK;
    let count = count.lock().unwrap_or_else(PoisonError::into_inner);
    let _all = changed.wait_while(count, |count| *count > 0);
}
