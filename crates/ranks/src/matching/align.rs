//! Matches two sequences of operations when either may have lost some.
//!
//! Ends of a collective are at one moment on all ranks, so the differences of the ends of equal operations are almost one number
//! (clocks differ by an offset, and drift slowly). That number is found by voting, and both sequences are walked along with it.
//! Where times are not recorded, the longest common subsequence of operations and sizes decides.

use trace::Ns;

/// One operation: what it is, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub what: u64,
    pub end: Option<Ns>,
}

/// Operations further apart in their sequences than this are not compared when votes are counted.
const REACH: usize = 64;
/// This many operations vote.
const VOTERS: usize = 512;
/// This many of them, spread over all, show whether a vote is worth its time.
const SAMPLED: usize = 48;
/// Sequences do not match if fewer of the sampled operations agree on an offset.
const FEWEST_PCT: usize = 15;
/// Ends of one collective may be this far apart on an aligned clock.
const TOGETHER_NS: Ns = 50_000;
/// The part of the shorter sequence that must be found again.
const ENOUGH_PCT: usize = 60;

/// Whether both have the same operations in the same order, and end them together: nothing was lost.
pub(super) fn in_order(one: &[Item], two: &[Item]) -> bool {
    if one.len() != two.len() || one.iter().zip(two).any(|(a, b)| a.what != b.what) {
        return false;
    }
    let apart = |place: usize| Some(two[place].end? - one[place].end?);
    // Neighbours see the same offset, however far clocks drift in the whole run. One jump is enough: each side may have lost
    // another record.
    let is_jump = |place: usize| {
        apart(place - 1).zip(apart(place)).is_some_and(|(before, after)| (after - before).abs() > TOGETHER_NS)
    };
    !timed(one) || !timed(two) || !(1..one.len()).any(is_jump)
}

/// Pairs of places in both, ascending; `None` if they do not match.
pub(super) fn align(one: &[Item], two: &[Item]) -> Option<Vec<(u32, u32)>> {
    let shorter = one.len().min(two.len());
    if shorter == 0 {
        return None;
    }
    let is_enough = |pairs: &Vec<(u32, u32)>| 100 * pairs.len() >= ENOUGH_PCT * shorter;
    if timed(one) && timed(two) {
        return by_time(one, two).filter(is_enough);
    }
    Some(by_kind(one, two)).filter(is_enough)
}

fn timed(items: &[Item]) -> bool {
    items.iter().all(|item| item.end.is_some())
}

/// Walks along both with the offset that most pairs vote for.
fn by_time(one: &[Item], two: &[Item]) -> Option<Vec<(u32, u32)>> {
    if !may_agree(one, two)? {
        return None;
    }
    let (mut offset, _) = vote(one, two, 1)?;
    let mut pairs = Vec::with_capacity(one.len().min(two.len()));
    let (mut i, mut j) = (0, 0);
    while i < one.len() && j < two.len() {
        let apart = two[j].end? - one[i].end? - offset;
        if apart.abs() <= TOGETHER_NS && one[i].what == two[j].what {
            pairs.push((i as u32, j as u32));
            // Clocks drift.
            offset += apart / 4;
            (i, j) = (i + 1, j + 1);
        } else if apart > 0 {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(pairs)
}

/// Whether a few voters agree as much as in sequences that match. A job without named groups has many that do
/// not, and a full vote on each pair would take most of the time.
fn may_agree(one: &[Item], two: &[Item]) -> Option<bool> {
    let (shorter, longer) = (one.len().min(two.len()), one.len().max(two.len()));
    let step = one.len().min(VOTERS) / SAMPLED;
    // A short sequence may lie anywhere in a long one.
    if step < 2 || 3 * shorter < 2 * longer {
        return Some(true);
    }
    let (_, agreeing) = vote(one, two, step)?;
    Some(100 * agreeing >= FEWEST_PCT * one.len().min(VOTERS).div_ceil(step))
}

/// The offset around which most differences of the ends of equal operations lie, and how many do; every `step`-th operation votes.
fn vote(one: &[Item], two: &[Item], step: usize) -> Option<(Ns, usize)> {
    let mut votes: Vec<Ns> = Vec::new();
    // Voters come from the start of the shorter one: drift has not moved the offset far there.
    for (i, item) in one.iter().take(VOTERS).enumerate().step_by(step) {
        let near = i.saturating_sub(REACH)..two.len().min(i + REACH + 1);
        for other in two.get(near).unwrap_or_default().iter().filter(|other| other.what == item.what) {
            votes.push(other.end? - item.end?);
        }
    }
    votes.sort_unstable();
    let mut best: Option<(usize, usize)> = None;
    let mut from = 0;
    for to in 0..votes.len() {
        while votes[to] - votes[from] > TOGETHER_NS {
            from += 1;
        }
        if best.is_none_or(|(first, last)| to - from > last - first) {
            best = Some((from, to));
        }
    }
    best.map(|(from, to)| (votes[(from + to) / 2], to - from + 1))
}

/// The longest common subsequence, near the diagonal.
fn by_kind(one: &[Item], two: &[Item]) -> Vec<(u32, u32)> {
    if one.len() == two.len() && one.iter().zip(two).all(|(a, b)| a.what == b.what) {
        return (0..one.len() as u32).map(|place| (place, place)).collect();
    }
    let band = one.len().abs_diff(two.len()) + REACH;
    let width = 2 * band + 1;
    // lengths[i][j - i + band]: longest of one[i..] and two[j..].
    let mut lengths = vec![0u32; (one.len() + 1) * width];
    let at = |i: usize, j: usize| (j + band).checked_sub(i).filter(|&k| k < width).map(|k| i * width + k);
    let get = |lengths: &[u32], i: usize, j: usize| at(i, j).map_or(0, |place| lengths[place]);
    for i in (0..one.len()).rev() {
        for j in (i.saturating_sub(band)..two.len().min(i + band + 1)).rev() {
            let Some(place) = at(i, j) else { continue };
            lengths[place] = if one[i].what == two[j].what {
                1 + get(&lengths, i + 1, j + 1)
            } else {
                get(&lengths, i + 1, j).max(get(&lengths, i, j + 1))
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < one.len() && j < two.len() {
        if one[i].what == two[j].what {
            pairs.push((i as u32, j as u32));
            (i, j) = (i + 1, j + 1);
        } else if get(&lengths, i + 1, j) >= get(&lengths, i, j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::random::Random;

    /// Ends of `count` operations of one kind at irregular times.
    fn run(count: usize, seed: u64) -> Vec<Ns> {
        let mut random = Random::new(seed);
        let mut at = 0;
        let mut next = || {
            at += 200_000 + (random.unit() * 400_000.0) as Ns;
            at
        };
        (0..count).map(|_| next()).collect()
    }

    fn items(ends: &[Ns]) -> Vec<Item> {
        ends.iter().map(|&end| Item { what: 1, end: Some(end) }).collect()
    }

    #[test]
    fn lost_records_of_equal_operations_are_found_by_their_times() {
        for seed in 0..20 {
            let ends = run(400, seed);
            let mut random = Random::new(seed + 100);
            let kept =
                |random: &mut Random| (0..400usize).filter(|_| random.unit() > 0.05).collect::<Vec<_>>();
            let (first, second) = (kept(&mut random), kept(&mut random));
            let one: Vec<Ns> = first.iter().map(|&place| ends[place]).collect();
            // An offset of hours, a drift of 20 ppm and noise.
            let shifted = |end: Ns| end + 7_200_000_000_000 + end / 50_000 + (random.normal() * 500.0) as Ns;
            let two: Vec<Ns> = second.iter().map(|&place| ends[place]).map(shifted).collect();
            let pairs = align(&items(&one), &items(&two)).expect("they go together");
            assert!(pairs.iter().all(|&(i, j)| first[i as usize] == second[j as usize]), "seed {seed}");
            let common = first.iter().filter(|place| second.contains(place)).count();
            assert_eq!(pairs.len(), common, "seed {seed}");
        }
    }

    #[test]
    fn sequences_of_other_groups_do_not_go_together() {
        assert_eq!(align(&items(&run(200, 1)), &items(&run(200, 2))), None);
    }

    #[test]
    fn kinds_decide_where_there_are_no_times() {
        let items = |kinds: &[u64]| kinds.iter().map(|&what| Item { what, end: None }).collect::<Vec<_>>();
        let pairs = align(&items(&[1, 2, 3, 1, 2, 3]), &items(&[2, 3, 1, 3]));
        assert_eq!(pairs, Some(vec![(1, 0), (2, 1), (3, 2), (5, 3)]));
        assert_eq!(align(&items(&[1, 1, 1]), &items(&[2, 2])), None);
        assert_eq!(align(&items(&[]), &items(&[2])), None);
    }
}
