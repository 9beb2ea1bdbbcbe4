//! Messages between two ranks: the n-th that one sends to the other is the n-th that the other receives.

use trace::Map;

use super::align::{Item, align, in_order};
use super::{Joined, MatchedBy, Part, row};
use crate::fleet::{Fleet, FleetGroup};
use crate::operation::Operation;

/// By sender and receiver, as members.
type Pairs = Map<(u32, u32), [Vec<Part>; 2]>;

/// Joins messages. A peer is a place in the group or a rank of the job; whichever fits more messages is meant.
pub(super) fn join(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>], joined: &mut Joined) {
    if rows.iter().all(Vec::is_empty) {
        return;
    }
    let of_rank: Map<u32, u32> =
        fleet.members.iter().enumerate().map(|(place, member)| (member.rank, place as u32)).collect();
    let by_rank = pairs(fleet, group, rows, |peer| of_rank.get(&peer).copied());
    let by_place = pairs(fleet, group, rows, |peer| group.members.get(peer as usize).copied());
    let fitting =
        |pairs: &Pairs| -> usize { pairs.values().map(|[sent, got]| sent.len().min(got.len())).sum() };
    let chosen = if fitting(&by_place) > fitting(&by_rank) { by_place } else { by_rank };
    let mut chosen: Vec<_> = chosen.into_iter().collect();
    chosen.sort_unstable_by_key(|(ends, _)| *ends);
    for ((from, to), [sent, got]) in chosen {
        let before = joined.meetings.len();
        join_pair(fleet, &sent, &got, joined);
        let is_met = |part: &Part| joined.meetings[before..].iter().any(|(_, parts)| parts.contains(part));
        let alone = |parts: &[Part]| parts.iter().copied().filter(|part| !is_met(part)).collect::<Vec<_>>();
        if joined.meetings.len() - before < sent.len().max(got.len()) {
            let (sent, got) = (alone(&sent), alone(&got));
            joined.unpaired.extend(sent.into_iter().map(|part| (part, to)));
            joined.unpaired.extend(got.into_iter().map(|part| (part, from)));
        }
    }
}

fn pairs(
    fleet: &Fleet,
    group: &FleetGroup,
    rows: &[Vec<u32>],
    peer_of: impl Fn(u32) -> Option<u32>,
) -> Pairs {
    let mut pairs = Pairs::default();
    for (&member, rows) in group.members.iter().zip(rows) {
        for &place in rows {
            let message = row(fleet, member, place);
            let Some(peer) = peer_of(message.peer).filter(|&peer| peer != member) else { continue };
            let (ends, side) = match message.operation {
                Operation::Receive => ((peer, member), 1),
                _ => ((member, peer), 0),
            };
            pairs.entry(ends).or_default()[side].push(Part { member, row: place });
        }
    }
    pairs
}

fn join_pair(fleet: &Fleet, sent: &[Part], got: &[Part], joined: &mut Joined) {
    let items = |parts: &[Part]| -> Vec<Item> {
        let item = |part: &Part| {
            let found = row(fleet, part.member, part.row);
            Item { what: found.bytes as u64, end: found.end() }
        };
        parts.iter().map(item).collect()
    };
    let (one, two) = (items(sent), items(got));
    let mut meet = |by: MatchedBy, one: Part, two: Part| joined.meetings.push((by, vec![one, two]));
    if in_order(&one, &two) {
        sent.iter().zip(got).for_each(|(&one, &two)| meet(MatchedBy::Order, one, two));
        return;
    }
    for (one, two) in align(&one, &two).unwrap_or_default() {
        meet(MatchedBy::Alignment, sent[one as usize], got[two as usize]);
    }
}
