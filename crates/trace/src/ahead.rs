//! Results that all threads make ahead of the one that uses them in order.

use std::collections::VecDeque;
use std::sync::mpsc;

/// Makes a result of each item on all threads, and takes the results here in the order of the items. At most
/// `ahead` results per thread wait to be taken. The first failure to take one ends it.
pub fn in_order<I: Send, T: Send, E>(
    items: impl Iterator<Item = I>,
    ahead: usize,
    make: impl Fn(I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = rayon::current_num_threads();
    if threads <= 1 {
        return items.map(make).try_for_each(take);
    }
    let make = &make;
    rayon::in_place_scope_fifo(|scope| {
        let mut waiting = VecDeque::new();
        for item in items {
            let (tell, told) = mpsc::channel();
            scope.spawn_fifo(move |_| _ = tell.send(make(item)));
            waiting.push_back(told);
            if waiting.len() > threads * ahead {
                waiting.pop_front().and_then(received).map_or(Ok(()), &mut take)?;
            }
        }
        waiting.into_iter().filter_map(received).try_for_each(take)
    })
}

/// Waits for a result; `None` if making it panicked, which the scope passes on. A thread of the pool makes
/// results meanwhile: otherwise all of them might wait.
fn received<T>(told: mpsc::Receiver<T>) -> Option<T> {
    while rayon::yield_now().is_some() {
        match told.try_recv() {
            Err(mpsc::TryRecvError::Empty) => std::thread::yield_now(),
            told => return told.ok(),
        }
    }
    told.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_from_any_thread_until_one_fails() {
        let slow_if_even = |item: u64| {
            std::thread::sleep(std::time::Duration::from_micros(if item.is_multiple_of(2) {
                200
            } else {
                0
            }));
            item * item
        };
        let taken = |upto: u64| {
            let mut taken = Vec::new();
            let ended = in_order(0..200u64, 2, slow_if_even, |square| {
                taken.push(square);
                if square < upto * upto { Ok(()) } else { Err(square) }
            });
            (taken, ended)
        };
        let squares = |count: u64| (0..count).map(|item| item * item).collect::<Vec<_>>();
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| taken(1000)), (squares(200), Ok(())));
            assert_eq!(pool.install(|| taken(50)), (squares(51), Err(2500)));
        }
        assert_eq!(taken(1000), (squares(200), Ok(())));
    }
}
