//! Operations without numbers: by order, and by alignment where the orders differ.

use super::align::{Item, align, in_order};
use super::{Joined, MatchedBy, MemberRow, row};
use crate::fleet::{Fleet, FleetGroup};

/// Members whose operations match, and what they agree on.
struct Cluster {
    /// The operations in order, each with its parts; times are on the clock of the first member.
    slots: Vec<Slot>,
    by: MatchedBy,
    members: usize,
}

struct Slot {
    item: Item,
    parts: Vec<MemberRow>,
}

/// Joins the members of a group. Streams that share a number may belong to several groups, so members are put
/// together with those they agree with.
pub(super) fn join(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>], joined: &mut Joined) {
    let items = |at: usize| -> Vec<Item> {
        let member = group.members[at];
        let item = |&place: &u32| {
            let found = row(fleet, member, place);
            let what = (found.operation as u64) << 56 ^ (found.bytes as u64 & ((1 << 56) - 1));
            Item { what, end: found.end() }
        };
        rows[at].iter().map(item).collect()
    };
    let mut order: Vec<usize> = (0..rows.len()).filter(|&at| !rows[at].is_empty()).collect();
    // The member with the most records lost the fewest.
    order.sort_by_key(|&at| std::cmp::Reverse(rows[at].len()));
    let mut clusters: Vec<Cluster> = Vec::new();
    for at in order {
        let own = items(at);
        let parts: Vec<MemberRow> =
            rows[at].iter().map(|&row| MemberRow { member: group.members[at], row }).collect();
        if !clusters.iter_mut().any(|cluster| cluster.take(&own, &parts)) {
            clusters.push(Cluster::new(&own, &parts));
        }
    }
    let alone = clusters.iter().filter(|cluster| cluster.members == 1).count();
    if alone > 0 && group.members.len() > 1 {
        let label = &group.label;
        joined.not_joined.push(format!(
            "{alone} of {} ranks of group {label} share no collectives with the others: operations or ends differ",
            group.members.len()
        ));
    }
    for cluster in clusters {
        for mut slot in cluster.slots {
            match slot.parts[..] {
                [alone] if cluster.members > 1 => joined.leave_alone(group, alone),
                [_] => {}
                _ => {
                    slot.parts.sort_unstable_by_key(|part| part.member);
                    joined.meet(cluster.by, slot.parts);
                }
            }
        }
    }
}

impl Cluster {
    fn new(items: &[Item], parts: &[MemberRow]) -> Self {
        let slots = items.iter().zip(parts).map(|(&item, &part)| Slot { item, parts: vec![part] }).collect();
        Self { slots, by: MatchedBy::Order, members: 1 }
    }

    /// Adds a member if its operations match those of the others.
    fn take(&mut self, items: &[Item], parts: &[MemberRow]) -> bool {
        let known: Vec<Item> = self.slots.iter().map(|slot| slot.item).collect();
        let pairs = if in_order(&known, items) {
            (0..items.len() as u32).map(|place| (place, place)).collect()
        } else {
            let Some(pairs) = align(&known, items) else { return false };
            pairs
        };
        if pairs.len() < items.len() || pairs.len() < known.len() {
            self.by = MatchedBy::Alignment;
        }
        self.members += 1;
        let mut partner: Vec<Option<u32>> = vec![None; items.len()];
        for &(slot, own) in &pairs {
            self.slots[slot as usize].parts.push(parts[own as usize]);
            partner[own as usize] = Some(slot);
        }
        // Operations that the others lost are inserted after the last common one, on their clock.
        let mut new: Vec<(usize, Slot)> = Vec::new();
        let mut last: Option<(usize, Option<i64>)> = None;
        for (own, item) in items.iter().enumerate() {
            match partner[own] {
                Some(slot) => {
                    let offset = known[slot as usize].end.zip(item.end).map(|(there, here)| there - here);
                    last = Some((slot as usize, offset));
                }
                None => {
                    let Some((slot, offset)) = last else { continue };
                    let end = item.end.zip(offset).map(|(end, offset)| end + offset);
                    let item = Item { end, ..*item };
                    new.push((slot, Slot { item, parts: vec![parts[own]] }));
                }
            }
        }
        if !new.is_empty() {
            self.insert(new);
        }
        true
    }

    /// Puts slots behind those at the given places.
    fn insert(&mut self, new: Vec<(usize, Slot)>) {
        let mut slots = Vec::with_capacity(self.slots.len() + new.len());
        let mut new = new.into_iter().peekable();
        for (place, slot) in std::mem::take(&mut self.slots).into_iter().enumerate() {
            slots.push(slot);
            while let Some((_, slot)) = new.next_if(|(at, _)| *at == place) {
                slots.push(slot);
            }
        }
        self.slots = slots;
        // Walking along both needs rising times.
        if self.slots.iter().all(|slot| slot.item.end.is_some()) {
            self.slots.sort_by_key(|slot| slot.item.end);
        }
    }
}
