//! How many threads this process works with.

/// Works with so many threads from now on. Without this it is as many as the process may use: the processors of its
/// affinity, within the limit of its control group. Results do not depend on it.
///
/// Only the first call counts, and only before any work.
pub fn use_threads(threads: usize) {
    // It fails when the threads are there already, and then they stay.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}

/// Frees a value on a thread of its own time: the answer need not wait until a trace of millions of rows, or a table of as
/// many cells, is given back piece by piece.
pub fn free_beside<T: Send + 'static>(value: T) {
    rayon::spawn(move || drop(value));
}
