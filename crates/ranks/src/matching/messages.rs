//! Messages between two ranks: the n-th that one sends to the other is the n-th that the other receives.

use trace::Map;

use super::align::{Item, align, in_order};
use super::{Joined, MatchedBy, MemberRow, row};
use crate::fleet::{Fleet, FleetGroup};
use crate::operation::Operation;

/// By sender and receiver, as members.
type Pairs = Map<(u32, u32), [Vec<MemberRow>; 2]>;

/// Joins messages. A peer is a place in the group or a rank of the job; whichever fits more messages is meant.
pub(super) fn join(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>], joined: &mut Joined) {
    if rows.iter().all(Vec::is_empty) {
        return;
    }
    let by_rank = pairs(fleet, group, rows, |peer| fleet.member_of_rank(peer));
    let by_place = pairs(fleet, group, rows, |peer| group.members.get(peer as usize).copied());
    let fitting =
        |pairs: &Pairs| -> usize { pairs.values().map(|[sent, got]| sent.len().min(got.len())).sum() };
    let chosen = if fitting(&by_place) > fitting(&by_rank) { by_place } else { by_rank };
    let mut chosen: Vec<_> = chosen.into_iter().collect();
    chosen.sort_unstable_by_key(|(ends, _)| *ends);
    for ((from, to), [sent, got]) in chosen {
        let met = join_pair(fleet, &sent, &got, joined);
        if met.len() < sent.len().max(got.len()) {
            let (mut is_sent, mut is_got) = (vec![false; sent.len()], vec![false; got.len()]);
            met.iter().for_each(|&(one, two)| (is_sent[one as usize], is_got[two as usize]) = (true, true));
            let alone = |parts: Vec<MemberRow>, is_met: Vec<bool>| {
                parts.into_iter().zip(is_met).filter(|(_, is_met)| !is_met).map(|(part, _)| part)
            };
            joined.unpaired.extend(alone(sent, is_sent).map(|part| (part, to)));
            joined.unpaired.extend(alone(got, is_got).map(|part| (part, from)));
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
            pairs.entry(ends).or_default()[side].push(MemberRow { member, row: place });
        }
    }
    pairs
}

/// Joins the messages of one pair; returns the places of those that met.
fn join_pair(fleet: &Fleet, sent: &[MemberRow], got: &[MemberRow], joined: &mut Joined) -> Vec<(u32, u32)> {
    let items = |parts: &[MemberRow]| -> Vec<Item> {
        let item = |part: &MemberRow| {
            let found = row(fleet, part.member, part.row);
            Item { what: found.bytes as u64, end: found.end() }
        };
        parts.iter().map(item).collect()
    };
    let (one, two) = (items(sent), items(got));
    let (by, met) = if in_order(&one, &two) {
        (MatchedBy::Order, (0..sent.len() as u32).map(|place| (place, place)).collect())
    } else {
        (MatchedBy::Alignment, align(&one, &two).unwrap_or_default())
    };
    for &(one, two) in &met {
        joined.meet(by, [sent[one as usize], got[two as usize]]);
    }
    met
}
