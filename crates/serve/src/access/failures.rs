//! Limits failed logins.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures within the window after which an address must wait.
const MOST: u32 = 10;
/// How long failures count.
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses that are remembered; the oldest are forgotten.
const ADDRESSES: usize = 10_000;

/// Failed attempts by address.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl Failures {
    /// Seconds that an address must still wait.
    pub fn wait(&self, peer: IpAddr) -> Option<u64> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, first) = failures.get(&peer)?;
        let left = WINDOW.checked_sub(first.elapsed())?;
        (*count >= MOST).then(|| left.as_secs() + 1)
    }

    /// Counts a failure.
    pub fn count(&self, peer: IpAddr) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= ADDRESSES {
            failures.retain(|_, (_, first)| first.elapsed() < WINDOW);
            if failures.len() >= ADDRESSES {
                failures.clear();
            }
        }
        let entry = failures.entry(peer).or_insert((0, Instant::now()));
        if entry.1.elapsed() >= WINDOW {
            *entry = (0, Instant::now());
        }
        entry.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_too_often_waits_and_others_do_not() {
        let failures = Failures::default();
        let (a, b) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for _ in 0..MOST {
            assert_eq!(failures.wait(a), None);
            failures.count(a);
        }
        assert!(failures.wait(a).is_some_and(|seconds| (1..=60).contains(&seconds)));
        assert_eq!(failures.wait(b), None);
    }
}
