//! Finds which collectives of several ranks are one operation.
//!
//! By number in the group if the trace has one; else by order, as all members run the same operations; if
//! records are lost, by operation and end time (`align`). A collective without a partner is counted and does
//! not shift the others.

mod align;
mod messages;
mod order;

use rayon::prelude::*;

use crate::digest::{Collective, NONE};
use crate::fleet::{Fleet, FleetGroup};

/// What shows that collectives belong together.
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
pub struct MemberRow {
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
    pub parts: Vec<MemberRow>,
    /// Collectives that have no partner.
    pub unmatched: usize,
    /// All collectives of groups with at least two members.
    pub collectives: usize,
    /// Why members of a group were not joined.
    pub not_joined: Vec<String>,
    /// Messages and collectives of two whose partner lost its record, and who that is.
    pub unpaired: Vec<(MemberRow, u32)>,
    /// The meeting of each collective, or [`NONE`]; members one after the other.
    of_row: Vec<u32>,
    /// Where the collectives of each member begin in `of_row`.
    first_row: Vec<usize>,
}

/// Groups that are joined in parallel; their results are briefly held twice.
const BATCH: usize = 4096;

impl Meetings {
    /// The parts of a meeting.
    pub fn parts_of(&self, meeting: &Meeting) -> &[MemberRow] {
        &self.parts[meeting.first as usize..][..meeting.count as usize]
    }

    /// The meetings of a member's collectives, or [`NONE`] for those without a partner.
    pub fn of_member(&self, member: u32) -> &[u32] {
        &self.of_row[self.first_row[member as usize]..self.first_row[member as usize + 1]]
    }

    /// Matches all collectives of a fleet.
    pub fn of(fleet: &Fleet) -> Self {
        let mut meetings = Self::default();
        meetings.parts.reserve_exact(fleet.members.iter().map(|member| member.collectives.len()).sum());
        let groups: Vec<usize> = (0..fleet.groups.len()).collect();
        for batch in groups.chunks(BATCH) {
            let found: Vec<Joined> = batch.par_iter().map(|&group| join(fleet, group)).collect();
            batch.iter().zip(found).for_each(|(&group, joined)| meetings.add(group as u32, joined));
        }
        meetings.all.shrink_to_fit();
        meetings.index(fleet);
        meetings
    }

    fn add(&mut self, group: u32, joined: Joined) {
        self.collectives += joined.collectives;
        self.unmatched += joined.collectives - joined.parts.len().min(joined.collectives);
        let mut first = self.parts.len() as u32;
        for (by, count) in joined.meetings {
            self.all.push(Meeting { group, first, count, by });
            first += count;
        }
        self.parts.extend(joined.parts);
        self.not_joined.extend(joined.not_joined);
        self.unpaired.extend(joined.unpaired);
    }

    fn index(&mut self, fleet: &Fleet) {
        let mut rows = 0;
        self.first_row = vec![0];
        for member in &fleet.members {
            rows += member.collectives.len();
            self.first_row.push(rows);
        }
        self.of_row = vec![NONE; rows];
        for (number, meeting) in self.all.iter().enumerate() {
            for part in &self.parts[meeting.first as usize..][..meeting.count as usize] {
                self.of_row[self.first_row[part.member as usize] + part.row as usize] = number as u32;
            }
        }
    }
}

/// What was found in one group.
#[derive(Default)]
struct Joined {
    /// How each was found, and how many parts it has.
    meetings: Vec<(MatchedBy, u32)>,
    /// The parts of all of them.
    parts: Vec<MemberRow>,
    collectives: usize,
    not_joined: Vec<String>,
    unpaired: Vec<(MemberRow, u32)>,
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

/// Rows of a member in a group: collectives, and messages with both ends known.
fn rows_of(fleet: &Fleet, member: u32, group: u32) -> (Vec<u32>, Vec<u32>) {
    let member = &fleet.members[member as usize];
    let is_own = |row: &Collective| member.groups.get(usize::from(row.group)) == Some(&group);
    let is_message = |row: &Collective| row.operation.is_message() && row.peer != NONE;
    let (mut together, mut messages) = (Vec::new(), Vec::new());
    for (place, row) in member.collectives.iter().enumerate().filter(|(_, row)| is_own(row)) {
        let rows = if is_message(row) { &mut messages } else { &mut together };
        rows.push(place as u32);
    }
    (together, messages)
}

fn row(fleet: &Fleet, member: u32, row: u32) -> &Collective {
    &fleet.members[member as usize].collectives[row as usize]
}

fn has_numbers(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>]) -> bool {
    let mut all =
        group.members.iter().zip(rows).flat_map(|(&member, rows)| rows.iter().map(move |&r| (member, r)));
    all.all(|(member, place)| row(fleet, member, place).number().is_some())
}

/// Equal numbers are one operation; if a member has a number twice, order decides.
fn by_number(fleet: &Fleet, group: &FleetGroup, rows: &[Vec<u32>], joined: &mut Joined) {
    let mut keyed: Vec<(i64, u32, MemberRow)> = Vec::with_capacity(rows.iter().map(Vec::len).sum());
    for (&member, rows) in group.members.iter().zip(rows) {
        let mut own: Vec<(i64, u32)> =
            rows.iter().filter_map(|&place| Some((row(fleet, member, place).number()?, place))).collect();
        own.sort_unstable();
        let mut turn = 0;
        for (at, &(number, place)) in own.iter().enumerate() {
            turn = if at > 0 && own[at - 1].0 == number { turn + 1 } else { 0 };
            keyed.push((number, turn, MemberRow { member, row: place }));
        }
    }
    keyed.sort_unstable_by_key(|&(number, turn, part)| (number, turn, part.member));
    for same in keyed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        match same {
            [(.., alone)] => joined.leave_alone(group, *alone),
            _ => joined.meet(MatchedBy::Sequence, same.iter().map(|entry| entry.2)),
        }
    }
}

impl Joined {
    /// Notes one operation of several members.
    fn meet(&mut self, by: MatchedBy, parts: impl IntoIterator<Item = MemberRow>) {
        let before = self.parts.len();
        self.parts.extend(parts);
        self.meetings.push((by, (self.parts.len() - before) as u32));
    }

    /// Notes a collective without a partner; in a group of two, the other member lost its record.
    fn leave_alone(&mut self, group: &FleetGroup, part: MemberRow) {
        if let [one, two] = group.members[..] {
            self.unpaired.push((part, if part.member == one { two } else { one }));
        }
    }
}
