//! Results that all threads make ahead of the one that uses them in order.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, mpsc};

/// Makes a result of each item on all threads, and takes the results here in the order of the items. At most
/// `ahead` results per thread wait to be taken. The first failure to take one ends it.
pub fn in_order<I: Send, T: Send, E>(
    mut items: impl Iterator<Item = I>,
    ahead: usize,
    make: impl Fn(I) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = rayon::current_num_threads();
    if threads <= 1 {
        return items.map(make).try_for_each(take);
    }
    let places = threads * ahead + 1;
    let begun: Vec<Mutex<Option<I>>> = (0..places).map(|_| Mutex::new(None)).collect();
    let made: Vec<Mutex<Option<T>>> = (0..places).map(|_| Mutex::new(None)).collect();
    let mut ended = Ok(());
    in_places(
        places,
        &mut |place| {
            let item = items.next();
            let is_there = item.is_some();
            put(&begun[place], item);
            is_there
        },
        &|place| put(&made[place], taken(&begun[place]).map(&make)),
        &mut |place| {
            ended = taken(&made[place]).map_or(Ok(()), &mut take);
            ended.is_ok()
        },
    );
    ended
}

fn put<T>(place: &Mutex<Option<T>>, value: Option<T>) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// [`in_order`] whatever the types, since every copy of this code takes room in the program: `begin` puts the
/// next item in a place, `make` makes its result there, `take` takes it and says whether to go on.
fn in_places(
    places: usize,
    begin: &mut dyn FnMut(usize) -> bool,
    make: &(dyn Fn(usize) + Sync),
    take: &mut dyn FnMut(usize) -> bool,
) {
    rayon::in_place_scope_fifo(|scope| {
        let mut waiting = VecDeque::new();
        for place in (0..places).cycle() {
            if !begin(place) {
                break;
            }
            let (tell, told) = mpsc::channel();
            scope.spawn_fifo(move |_| {
                make(place);
                _ = tell.send(());
            });
            waiting.push_back((place, told));
            if waiting.len() == places
                && let Some((place, told)) = waiting.pop_front()
                && !(was_made(&told) && take(place))
            {
                return;
            }
        }
        waiting.into_iter().all(|(place, told)| was_made(&told) && take(place));
    });
}

/// Waits for a result; false if making it panicked, which the scope passes on. A thread of the pool makes
/// results meanwhile: otherwise all of them might wait.
fn was_made(told: &mpsc::Receiver<()>) -> bool {
    while rayon::yield_now().is_some() {
        match told.try_recv() {
            Err(mpsc::TryRecvError::Empty) => std::thread::yield_now(),
            told => return told.is_ok(),
        }
    }
    told.recv().is_ok()
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
