//! A mapped file, read by all cores: each takes stretches that start at a plausible event, and a stretch
//! counts only if the one before ends exactly at its start.

use std::sync::atomic::{AtomicUsize, Ordering};

use trace::Needs;

use super::document::{DocumentPosition, Span, Stop, is_bare, next_event};
use super::worker::{Piece, Worker};
use crate::Progress;

/// Bytes of a stretch: small enough to balance the load, large enough that its border costs nothing.
pub(super) const STRETCH: usize = 4 << 20;

/// Called with the range of bytes (from, until) that was read.
pub(super) type Release<'r> = &'r (dyn Fn(usize, usize) + Sync);

/// Results of all workers for a document.
pub(super) struct Gathered<'n> {
    pub workers: Vec<Worker<'n>>,
    /// In file order.
    pub pieces: Vec<Piece>,
    pub stop: Stop,
    /// Whether the document is just a list of events.
    pub bare: bool,
}

/// Reads a whole document. The stretch size changes the speed, never the result.
pub(super) fn read<'n>(
    text: &[u8],
    stretch: usize,
    needs: &'n Needs,
    progress: &Progress,
    release: Release<'_>,
) -> Gathered<'n> {
    let starts = starts(text, stretch);
    let bare = is_bare(text);
    let next = AtomicUsize::new(0);
    let task = Task { text, starts: &starts, next: &next, bare, release };
    let count = rayon::current_num_threads().min(starts.len()).max(1);
    let mut shares: Vec<Option<Share<'n>>> = (0..count).map(|_| None).collect();
    rayon::scope(|scope| {
        for (number, share) in shares.iter_mut().enumerate() {
            let (starts, next) = (&starts, &next);
            scope.spawn(move |_| {
                *share = Some(work(Task { text, starts, next, bare, release }, number, needs, progress))
            });
        }
    });
    let (mut workers, mut read): (Vec<_>, Vec<_>) = (Vec::new(), (0..starts.len()).map(|_| None).collect());
    for share in shares.into_iter().flatten() {
        workers.push(share.worker);
        for (stretch, piece, stop) in share.read {
            read[stretch] = Some((piece, stop));
        }
    }
    join(task, workers, read, needs)
}

struct Share<'n> {
    worker: Worker<'n>,
    read: Vec<(usize, Piece, Stop)>,
}

#[derive(Clone, Copy)]
struct Task<'t> {
    text: &'t [u8],
    starts: &'t [usize],
    next: &'t AtomicUsize,
    bare: bool,
    release: Release<'t>,
}

fn work<'n>(task: Task<'_>, number: usize, needs: &'n Needs, progress: &Progress) -> Share<'n> {
    let Task { text, starts, next, bare, release } = task;
    let mut share = Share { worker: Worker::new(needs), read: Vec::new() };
    loop {
        let stretch = next.fetch_add(1, Ordering::Relaxed);
        let Some(&at) = starts.get(stretch) else { return share };
        let place = if stretch == 0 { DocumentPosition::Start } else { DocumentPosition::Events };
        let until = starts.get(stretch + 1).copied().unwrap_or(text.len());
        share.worker.begin();
        let stop = share.worker.walk(Span { text, until, last: true, bare }, Stop { at, place });
        share.read.push((stretch, share.worker.end(number), stop));
        release(at, until);
        progress.advance((until - at) as u64);
    }
}

/// Where stretches start: byte 0, then plausible events.
fn starts(text: &[u8], stretch: usize) -> Vec<usize> {
    let mut starts = vec![0];
    let mut border = stretch;
    while border < text.len() {
        let Some(start) = next_event(text, border) else { break };
        starts.push(start);
        border = start + stretch;
    }
    starts
}

/// Follows the walk from stretch to stretch; if it does not arrive at a start, it continues alone.
fn join<'n>(
    task: Task<'_>,
    mut workers: Vec<Worker<'n>>,
    mut read: Vec<Option<(Piece, Stop)>>,
    needs: &'n Needs,
) -> Gathered<'n> {
    let Task { text, starts, bare, .. } = task;
    let mut pieces = Vec::new();
    let mut stop = Stop { at: 0, place: DocumentPosition::Start };
    let mut joiner = Worker::new(needs);
    let joiner_number = workers.len();
    let mut stretch = 0;
    loop {
        while starts.get(stretch).is_some_and(|start| *start < stop.at) {
            stretch += 1;
        }
        let ready = if starts.get(stretch) == Some(&stop.at) { read[stretch].take() } else { None };
        match ready {
            Some((piece, end)) => {
                pieces.push(piece);
                stop = end;
            }
            None => {
                let until = starts.get(stretch).copied().unwrap_or(text.len());
                joiner.begin();
                stop = joiner.walk(Span { text, until, last: true, bare }, stop);
                pieces.push(joiner.end(joiner_number));
            }
        }
        if stop.place != DocumentPosition::Events || stop.at >= text.len() {
            workers.push(joiner);
            return Gathered { workers, pieces, stop, bare };
        }
    }
}
