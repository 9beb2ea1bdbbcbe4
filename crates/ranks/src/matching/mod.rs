//! Which collectives of several ranks are one operation.
//!
//! By number in the group where the trace has one; else by order, as all members run the same operations; where records are
//! lost, by when they ended and what they are (`align`). What finds no partner is counted, and nothing is shifted by it.

mod align;
mod messages;
mod order;

use rayon::prelude::*;

use crate::digest::Collective;
use crate::fleet::{Fleet, FleetGroup};

/// What tells that collectives belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchedBy {
    /// The number in the group.
    Sequence,
    /// The order of operations, which all members agree on.
    Order,
    /// Operations and times, where records are lost.
    Alignment,
}

impl MatchedBy {
    /// Its word in tables.
    pub fn name(self) -> &'static str {
        match self {
            MatchedBy::Sequence => "sequence number",
            MatchedBy::Order => "order",
            MatchedBy::Alignment => "alignment",
        }
    }
}

/// One operation of several members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Place in [`Fleet::groups`].
    pub group: u32,
    /// Its first place in [`Meetings::parts`].
    pub first: u32,
    /// How many members took part.
    pub count: u32,
    /// How it was found.
    pub by: MatchedBy,
}

/// A member's part in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Place in [`Fleet::members`].
    pub member: u32,
    /// Place in its collectives.
    pub row: u32,
}

/// All operations of a fleet.
#[derive(Clone, Debug, Default)]
pub struct Meetings {
    /// By group, in the order of the operations.
    pub all: Vec<Meeting>,
    /// The parts of all of them.
    pub parts: Vec<Part>,
    /// Collectives that have no partner.
    pub unmatched: usize,
    /// All collectives of groups with at least two members.
    pub collectives: usize,
    /// Why members of a group were not joined.
    pub not_joined: Vec<String>,
    /// Messages and collectives of two whose partner lost its record, and who that is.
    pub unpaired: Vec<(Part, u32)>,
}

impl Meetings {
    /// The parts of a meeting.
    pub fn parts_of(&self, meeting: &Meeting) -> &[Part] {
        &self.parts[meeting.first as usize..][..meeting.count as usize]
    }

    /// Matches all collectives of a fleet.
    pub fn of(fleet: &Fleet) -> Self {
        let found: Vec<Joined> =
            (0..fleet.groups.len()).into_par_iter().map(|group| join(fleet, group)).collect();
        let mut meetings = Self::default();
        for (group, joined) in found.into_iter().enumerate() {
            meetings.collectives += joined.collectives;
            let mut matched = 0;
            for (by, parts) in joined.meetings {
                let (first, count) = (meetings.parts.len() as u32, parts.len() as u32);
                matched += parts.len();
                meetings.all.push(Meeting { group: group as u32, first, count, by });
                meetings.parts.extend(parts);
            }
            meetings.unmatched += joined.collectives - matched.min(joined.collectives);
            meetings.not_joined.extend(joined.not_joined);
            meetings.unpaired.extend(joined.unpaired);
        }
        meetings
    }
}

/// What was found of one group.
#[derive(Default)]
struct Joined {
    meetings: Vec<(MatchedBy, Vec<Part>)>,
    collectives: usize,
    not_joined: Vec<String>,
    unpaired: Vec<(Part, u32)>,
}

fn join(fleet: &Fleet, group: usize) -> Joined {
    let mut joined = Joined::default();
    let of_group = &fleet.groups[group];
    if of_group.members.len() < 2 {
        return joined;
    }
    let (together, messages): (Vec<Vec<u32>>, Vec<Vec<u32>>) =
        of_group.members.iter().map(|&member| rows_of(fleet, member, group as u32)).unzip();
    joined.collectives = together.iter().chain(&messages).map(Vec::len).sum();
    messages::join(fleet, of_group, &messages, &mut joined);
    if has_numbers(fleet, of_group, &together) {
        by_number(fleet, of_group, &together, &mut joined);
    } else {
        order::join(fleet, of_group, &together, &mut joined);
    }
    joined
}

/// Rows of a member in a group: collectives, and messages of which both ends are told.
fn rows_of(fleet: &Fleet, member: u32, group: u32) -> (Vec<u32>, Vec<u32>) {
    let member = &fleet.members[member as usize];
    let is_own = |row: &Collective| member.groups.get(usize::from(row.group)) == Some(&group);
    let rows = || member.collectives.iter().enumerate().filter(|(_, row)| is_own(row));
    let is_message = |row: &Collective| row.operation.is_message() && row.peer != crate::digest::NONE;
    let places = |wanted: bool| {
        rows().filter(|(_, row)| is_message(row) == wanted).map(|(place, _)| place as u32).collect()
    };
    (places(false), places(true))
}

fn row(fleet: &Fleet, member: u32, row: u32) -> &Collective {
    &fleet.members[member as usize].collectives[row as usize]
}

fn has_numbers(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>]) -> bool {
    let mut all =
        group.members.iter().zip(rows).flat_map(|(&member, rows)| rows.iter().map(move |&r| (member, r)));
    all.all(|(member, place)| row(fleet, member, place).number().is_some())
}

/// Equal numbers are one operation; a number that a member has twice is told apart by order.
fn by_number(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>], joined: &mut Joined) {
    let mut keyed: Vec<(i64, u32, Part)> = Vec::with_capacity(rows.iter().map(Vec::len).sum());
    for (&member, rows) in group.members.iter().zip(rows) {
        let mut own: Vec<(i64, u32)> =
            rows.iter().filter_map(|&place| Some((row(fleet, member, place).number()?, place))).collect();
        own.sort_unstable();
        let mut turn = 0;
        for (at, &(number, place)) in own.iter().enumerate() {
            turn = if at > 0 && own[at - 1].0 == number { turn + 1 } else { 0 };
            keyed.push((number, turn, Part { member, row: place }));
        }
    }
    keyed.sort_unstable_by_key(|&(number, turn, part)| (number, turn, part.member));
    for same in keyed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        match same {
            [(.., alone)] => joined.leave_alone(group, *alone),
            _ => joined.meetings.push((MatchedBy::Sequence, same.iter().map(|entry| entry.2).collect())),
        }
    }
}

impl Joined {
    /// Notes a collective without a partner; of a group of two, the other one took part and lost its record.
    fn leave_alone(&mut self, group: &FleetGroup, part: Part) {
        if let [one, two] = group.members[..] {
            self.unpaired.push((part, if part.member == one { two } else { one }));
        }
    }
}
