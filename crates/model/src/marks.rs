//! A mark for each row or name, set by several threads at once.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::ROWS_AT_ONCE;

/// One mark per place.
pub(crate) struct Marks(Vec<AtomicBool>);

impl Marks {
    /// Creates `places` marks, all unset.
    pub fn new(places: usize) -> Self {
        let places = (0..places).into_par_iter().with_min_len(ROWS_AT_ONCE);
        Self(places.map(|_| AtomicBool::new(false)).collect())
    }

    /// Whether a place is marked.
    #[inline]
    pub fn get(&self, place: usize) -> bool {
        self.0[place].load(Ordering::Relaxed)
    }

    /// Marks a place and returns whether it was marked before. Reads do not contend for the cache line; of
    /// two threads that set a mark at the same time both may get `false`.
    #[inline]
    pub fn set(&self, place: usize) -> bool {
        let before = self.get(place);
        if !before {
            self.0[place].store(true, Ordering::Relaxed);
        }
        before
    }

    /// Marks a place; `true` for exactly one of the threads that do.
    #[inline]
    pub fn claim(&self, place: usize) -> bool {
        !self.0[place].swap(true, Ordering::Relaxed)
    }
}
