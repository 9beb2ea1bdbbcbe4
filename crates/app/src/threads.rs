//! How many threads this process uses, and what they free at the end.

use std::sync::{Condvar, Mutex, PoisonError};

use files::LargeBlocks;
use rayon::prelude::*;

/// Sets the number of threads. The default is what the process may use: the processors of its affinity,
/// within the limit of its control group. Results do not depend on it.
///
/// Only the first call counts, and only before any work starts.
pub fn use_threads(threads: usize) {
    // It fails if the threads exist already, and then they stay.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}

/// Frees a value in the background, so that the answer does not wait until a table of millions of cells is
/// freed piece by piece. If the program is about to end, the system frees it with everything else.
pub fn free_beside<T: Send + 'static>(value: T) {
    if files::ends_after_answer() {
        std::mem::forget(value);
    } else {
        rayon::spawn(move || drop(value));
    }
}

/// Number of values being freed.
static GIVEN_BACK: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Drops a value, and returns its columns of millions of rows to the system on all threads while the answer
/// is shown. Call [`wait_until_given_back`] before the program ends: the system would free the rest on one
/// thread.
pub fn give_back<T>(value: T) {
    let (count, changed) = &GIVEN_BACK;
    let blocks = LargeBlocks::of(value);
    *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    rayon::spawn(move || {
        // Memory that was freed before still has its pages.
        rayon::join(
            || blocks.pieces().into_par_iter().for_each(|piece| piece.empty()),
            files::give_back_free,
        );
        drop(blocks);
        *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_all();
    });
}

/// Waits until everything is given back; call it when the program ends.
pub fn wait_until_given_back() {
    let (count, changed) = &GIVEN_BACK;
    let count = count.lock().unwrap_or_else(PoisonError::into_inner);
    let _all = changed.wait_while(count, |count| *count > 0);
}
