//! A cached answer: what changes rarely is not queried for every page.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer stays valid.
const MOMENT: Duration = Duration::from_secs(2);

/// The last answer, and when it was made.
pub struct Recent<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Recent<T> {
    /// The answer, if it is still valid.
    pub fn get(&self) -> Option<Arc<T>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(at, _)| at.elapsed() < MOMENT).map(|(_, answer)| Arc::clone(answer))
    }

    /// Keeps an answer.
    pub fn set(&self, answer: T) -> Arc<T> {
        let answer = Arc::new(answer);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((Instant::now(), Arc::clone(&answer)));
        answer
    }
}
