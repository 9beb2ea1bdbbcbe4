//! Which launch of a sequence each replayed row belongs to: by position, checked by name.

use std::rc::Rc;

use trace::{Map, StreamId};

use super::align::{NONE, align, pair_leftovers};
use super::sequence::{Sequence, Token, UNKNOWN};

/// A replay joined to a sequence.
#[derive(Clone)]
pub(super) struct Joined {
    /// The sequence's index.
    pub sequence: usize,
    /// For each row the index of its launch in the sequence, or `NONE`; `None` if row `i` is launch `i`.
    partner: Option<Rc<[u32]>>,
    /// Rows with a launch.
    pub matched: usize,
    /// Confidence of the match, in percent.
    pub confidence_pct: u8,
}

impl Joined {
    /// The index of row `i`'s launch in the sequence.
    pub fn place(&self, i: usize) -> Option<usize> {
        match &self.partner {
            None => Some(i),
            Some(partner) => Some(partner[i]).filter(|p| *p != NONE).map(|p| p as usize),
        }
    }
}

/// Rows of a replay, in time order.
pub(super) struct Replayed<'a> {
    pub tokens: &'a [Token],
    pub streams: &'a [StreamId],
    /// Requests of the step it was launched in, if known.
    pub batch: Option<u64>,
}

/// Sequences to look replays up in.
pub(super) struct Library<'a> {
    sequences: &'a [Sequence],
    by_names: Map<&'a [Token], Vec<usize>>,
    /// The sequence after the last exact match: the pieces of one step's graph follow one another.
    next: usize,
    inexact: Map<Vec<Token>, Option<Joined>>,
}

/// How many sequences are aligned in full if none is equal.
const CANDIDATES: usize = 4;

/// Confidence of a match without names to check it.
const UNVERIFIED_PCT: u8 = 50;

impl<'a> Library<'a> {
    pub fn new(sequences: &'a [Sequence]) -> Self {
        let mut by_names: Map<&[Token], Vec<usize>> = Map::default();
        for (place, sequence) in sequences.iter().enumerate() {
            by_names.entry(&sequence.tokens).or_default().push(place);
        }
        Self { sequences, by_names, next: 0, inexact: Map::default() }
    }

    /// The sequence a replay comes from.
    pub fn find(&mut self, replay: &Replayed) -> Option<Joined> {
        if let Some(equal) = self.by_names.get(replay.tokens) {
            let sequence = self.choose(equal, replay.batch);
            self.next = sequence + 1;
            let matched = replay.tokens.len();
            return Some(Joined { sequence, partner: None, matched, confidence_pct: 100 });
        }
        if let Some(known) = self.inexact.get(replay.tokens) {
            return known.clone();
        }
        let found = self.unnamed(replay).or_else(|| self.nearest(replay));
        self.inexact.insert(replay.tokens.to_vec(), found.clone());
        found
    }

    /// Picks from equal sequences: the smallest batch that the step fits in, then the next in order.
    fn choose(&self, equal: &[usize], batch: Option<u64>) -> usize {
        let fits = |place: usize| match (self.sequences[place].batch, batch) {
            (Some(captured), Some(wanted)) if captured >= wanted => captured - wanted,
            (None, _) | (_, None) => 0,
            _ => u64::MAX,
        };
        let count = self.sequences.len();
        let ahead = |place: usize| (place + count - self.next % count) % count;
        equal.iter().copied().min_by_key(|&place| (fits(place), ahead(place))).unwrap_or(0)
    }

    /// Launches of a CUDA capture do not name their kernels, so only their count is compared.
    fn unnamed(&self, replay: &Replayed) -> Option<Joined> {
        let len = replay.tokens.len();
        let fits = |s: &Sequence| {
            let launches = s.tokens.iter().filter(|t| **t == UNKNOWN).count();
            s.tokens.len() == len && launches > 0 && s.tokens.iter().zip(replay.tokens).all(agree)
        };
        let sequence = self.sequences.iter().position(fits)?;
        Some(Joined { sequence, partner: None, matched: len, confidence_pct: UNVERIFIED_PCT })
    }

    fn nearest(&self, replay: &Replayed) -> Option<Joined> {
        let mut wanted: Map<Token, i32> = Map::default();
        for token in replay.tokens {
            *wanted.entry(*token).or_default() += 1;
        }
        let mut scored: Vec<(usize, usize, usize)> = Vec::new();
        for (place, sequence) in self.sequences.iter().enumerate() {
            let mut left = wanted.clone();
            let mut shared = 0;
            for token in &sequence.tokens {
                if let Some(count) = left.get_mut(token).filter(|count| **count > 0) {
                    *count -= 1;
                    shared += 1;
                }
            }
            scored.push((shared, sequence.tokens.len(), place));
        }
        // Most names in common first, then the shortest.
        scored.sort_by_key(|&(shared, len, place)| (std::cmp::Reverse(shared), len, place));
        let mut best: Option<Joined> = None;
        for &(shared, _, place) in scored.iter().take(CANDIDATES) {
            if shared > best.as_ref().map_or(0, |joined| joined.matched) {
                let joined = join(replay, place, &self.sequences[place].tokens);
                if best.as_ref().is_none_or(|best| joined.matched > best.matched) {
                    best = Some(joined);
                }
            }
        }
        best
    }
}

fn agree((captured, replayed): (&Token, &Token)) -> bool {
    captured == replayed || *captured == UNKNOWN
}

/// Aligns a replay with one sequence.
fn join(replay: &Replayed, sequence: usize, launched: &[Token]) -> Joined {
    let window = window(replay.tokens, launched);
    let launched = &launched[window.clone()];
    let mut partner = align(replay.tokens, launched);
    let count = |partner: &[u32]| partner.iter().filter(|p| **p != NONE).count();
    if count(&partner) < replay.tokens.len() {
        let by_stream = by_streams(replay, launched);
        if count(&by_stream) > count(&partner) {
            partner = by_stream;
        }
    }
    let in_order = count(&partner);
    let out_of_order = pair_leftovers(replay.tokens, launched, &mut partner);
    let matched = in_order + out_of_order;
    for place in partner.iter_mut().filter(|p| **p != NONE) {
        *place += window.start as u32;
    }
    // Names out of order count less than those in order.
    let sure = in_order as f64 + 0.8 * out_of_order as f64;
    let confidence_pct = (100.0 * sure / replay.tokens.len().max(1) as f64) as u8;
    Joined { sequence, partner: Some(partner.into()), matched, confidence_pct: confidence_pct.min(99) }
}

/// The part of a long sequence most like the replay: a sequence without steps repeats it many times.
fn window(replay: &[Token], launched: &[Token]) -> std::ops::Range<usize> {
    let size = replay.len() + replay.len() / 4 + 16;
    if launched.len() <= 2 * size {
        return 0..launched.len();
    }
    let mut missing: Map<Token, i64> = Map::default();
    for token in replay {
        *missing.entry(*token).or_default() += 1;
    }
    let (mut shared, mut best, mut best_at) = (0i64, -1i64, 0);
    for at in 0..launched.len() {
        if let Some(count) = missing.get_mut(&launched[at]) {
            shared += i64::from(*count > 0);
            *count -= 1;
        }
        if let Some(count) = at.checked_sub(size).and_then(|out| missing.get_mut(&launched[out])) {
            *count += 1;
            shared -= i64::from(*count > 0);
        }
        if shared > best {
            (best, best_at) = (shared, at);
        }
    }
    let end = best_at + 1;
    end.saturating_sub(size)..end
}

/// Streams of a graph run in parallel, so time order is not launch order; within each stream it is.
///
/// Each launch goes to a stream that waits for its name, the current stream first.
fn by_streams(replay: &Replayed, launched: &[Token]) -> Vec<u32> {
    let mut partner = vec![NONE; replay.tokens.len()];
    let mut lanes: Vec<(StreamId, Vec<usize>, usize)> = Vec::new();
    for (row, &stream) in replay.streams.iter().enumerate() {
        match lanes.iter_mut().find(|lane| lane.0 == stream) {
            Some(lane) => lane.1.push(row),
            None => lanes.push((stream, vec![row], 0)),
        }
    }
    if lanes.len() < 2 {
        return partner;
    }
    let mut in_hand = 0;
    for at in 0..launched.len() {
        // How many of the next launches a stream could take: several streams may wait for one name.
        let run = |lane: &(StreamId, Vec<usize>, usize)| {
            let rest = lane.1[lane.2..].iter().zip(&launched[at..]);
            rest.take(64).take_while(|(row, token)| replay.tokens[**row] == **token).count()
        };
        let best = (0..lanes.len()).max_by_key(|&lane| (run(&lanes[lane]), lane == in_hand));
        if let Some(lane) = best.filter(|&lane| run(&lanes[lane]) > 0) {
            let (_, rows, next) = &mut lanes[lane];
            partner[rows[*next]] = at as u32;
            *next += 1;
            in_hand = lane;
        }
    }
    partner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(tokens: &[Token], batch: Option<u64>) -> Sequence {
        Sequence { tokens: tokens.to_vec(), launches: (0..tokens.len() as u32).collect(), batch, mode: None }
    }

    fn find(library: &mut Library, tokens: &[Token], streams: &[u32], batch: Option<u64>) -> Joined {
        let streams: Vec<_> = (0..tokens.len()).map(|i| StreamId(*streams.get(i).unwrap_or(&0))).collect();
        library.find(&Replayed { tokens, streams: &streams, batch }).unwrap()
    }

    #[test]
    fn pieces_of_one_graph_are_taken_in_order() {
        let sequences = [&[10, 11][..], &[20, 21], &[20, 21], &[20, 21], &[30]].map(|t| sequence(t, None));
        let mut library = Library::new(&sequences);
        let mut order = Vec::new();
        for _ in 0..2 {
            for tokens in [&[10, 11][..], &[20, 21], &[20, 21], &[20, 21], &[30]] {
                order.push(find(&mut library, tokens, &[], None).sequence);
            }
        }
        assert_eq!(order, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_padded_batch_decides_between_equal_names() {
        let sequences = [64, 32, 16].map(|batch| sequence(&[5, 6, 7], Some(batch)));
        let mut library = Library::new(&sequences);
        for (batch, place) in [(16, 2), (17, 1), (32, 1), (33, 0), (64, 0)] {
            assert_eq!(find(&mut library, &[5, 6, 7], &[], Some(batch)).sequence, place);
        }
    }

    #[test]
    fn trailing_and_inner_extra_launches_are_passed_over() {
        let sequences = [sequence(&[5, 6, 9, 7, 8, 4], None)];
        let joined = find(&mut Library::new(&sequences), &[5, 6, 7, 8], &[], None);
        assert_eq!((0..4).map(|i| joined.place(i).unwrap()).collect::<Vec<_>>(), [0, 1, 3, 4]);
        assert_eq!(joined.confidence_pct, 99);
    }

    #[test]
    fn interleaved_streams_find_their_own_launches() {
        // Launched: a b c on one stream, then a b d on another; both run in parallel.
        let sequences = [sequence(&[5, 6, 7, 5, 6, 8], None)];
        let joined = find(&mut Library::new(&sequences), &[5, 5, 6, 6, 8, 7], &[0, 1, 0, 1, 1, 0], None);
        assert_eq!((0..6).map(|i| joined.place(i).unwrap()).collect::<Vec<_>>(), [0, 3, 1, 4, 5, 2]);
    }

    #[test]
    fn a_long_run_is_searched_for_the_replay() {
        let mut run: Vec<Token> = (0..3000).map(|i| 100 + i % 3).collect();
        let replay: Vec<Token> = (0..60).map(|i| 10 + i % 20).collect();
        run.splice(2000..2000, replay.iter().copied());
        let sequences = [sequence(&run, None)];
        let joined = find(&mut Library::new(&sequences), &replay, &[], None);
        assert_eq!(joined.matched, 60);
        assert_eq!(joined.place(0), Some(2000));
    }

    #[test]
    fn launches_without_names_are_counted() {
        let sequences = [sequence(&[UNKNOWN, UNKNOWN, super::super::sequence::COPY], None)];
        let mut library = Library::new(&sequences);
        let joined = find(&mut library, &[8, 9, super::super::sequence::COPY], &[], None);
        assert_eq!((joined.matched, joined.confidence_pct), (3, UNVERIFIED_PCT));
    }
}
