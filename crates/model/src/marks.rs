//! A mark for each row or name, set by several threads at once.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::ROWS_AT_ONCE;

/// What is marked, by place.
pub(crate) struct Marks(Vec<AtomicBool>);

impl Marks {
    /// Marks for so many places, none of them set.
    pub fn new(places: usize) -> Self {
        let places = (0..places).into_par_iter().with_min_len(ROWS_AT_ONCE);
        Self(places.map(|_| AtomicBool::new(false)).collect())
    }

    /// Whether a place is marked.
    #[inline]
    pub fn get(&self, place: usize) -> bool {
        self.0[place].load(Ordering::Relaxed)
    }

    /// Marks a place; whether it was marked before. Threads that only read a mark do not take it from each other, and two
    /// that come at once may both be told that it was not.
    #[inline]
    pub fn set(&self, place: usize) -> bool {
        let before = self.get(place);
        if !before {
            self.0[place].store(true, Ordering::Relaxed);
        }
        before
    }

    /// The same where only one thread may be told that it was not.
    #[inline]
    pub fn claim(&self, place: usize) -> bool {
        !self.0[place].swap(true, Ordering::Relaxed)
    }
}
