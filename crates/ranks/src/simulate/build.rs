//! The step graph of a job: what each member did between the collectives that it took part in.

use rayon::prelude::*;
use trace::Map;

use super::gaps::Gaps;
use super::{Event, StepGraph, Track};
use crate::clocks::Clocks;
use crate::digest::{Collective, NONE};
use crate::figures::{AllFigures, Figures};
use crate::fleet::Fleet;
use crate::matching::{Meetings, MemberRow};
use crate::operation::Operation;

/// A collective that starts this soon after the one before it on its stream was queued behind it.
const QUEUED_NS: i64 = 10_000;

/// One collective of a member with its meeting.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub meeting: u32,
    pub collective: Collective,
    pub is_lost: bool,
}

impl StepGraph {
    /// The graph of all members.
    pub fn of(fleet: &Fleet, meetings: &Meetings, figures: &AllFigures, clocks: &Clocks) -> Self {
        // What members lost, and recorded collectives whose partner lost its record, with a meeting of their own.
        let mut lost_rows: Map<u32, Vec<Row>> = Map::default();
        let mut alone: Map<u32, Vec<(u32, u32)>> = Map::default();
        let mut counts = vec![0u32; meetings.all.len()];
        for (number, meeting) in meetings.all.iter().enumerate() {
            let one = &figures.meetings[number];
            // A meeting without known times delays nobody.
            if !one.transfer_ns.is_finite() {
                continue;
            }
            let parts = meetings.parts_of(meeting);
            let is_timed = |part: &&MemberRow| row(fleet, part).end().is_some();
            counts[number] = parts.iter().filter(is_timed).count() as u32;
            for member in lost(fleet, parts, one) {
                let line = clocks.line(member);
                let Some((line, end)) = line.zip(one.end()) else { continue };
                let end = line.own(end) as i64;
                let own = &fleet.members[member as usize];
                if own.span.is_some_and(|span| span.0 < end && end < span.1) {
                    let time_ns = one.transfer_ns as i64;
                    let tail_ns = if is_blocking(fleet, parts) { time_ns } else { 0 };
                    let (start, stream) = (end - time_ns, u16::MAX);
                    let (operation, step) = (one.operation, one.step);
                    let collective = Collective {
                        start,
                        time_ns,
                        tail_ns,
                        stream,
                        operation,
                        step,
                        group: own.group_number(one.group),
                        ..Collective::default()
                    };
                    let row = Row { meeting: number as u32, collective, is_lost: true };
                    lost_rows.entry(member).or_default().push(row);
                    counts[number] += 1;
                }
            }
        }
        let mut transfers: Vec<f32> = figures.meetings.iter().map(|figures| figures.transfer_ns).collect();
        let mut groups: Vec<u32> = meetings.all.iter().map(|meeting| meeting.group).collect();
        let mut steps: Vec<u32> = figures.meetings.iter().map(|figures| figures.step).collect();
        let usual = if meetings.unpaired.is_empty() { Map::default() } else { usual_times(figures) };
        for &(part, peer) in &meetings.unpaired {
            let found = *row(fleet, &part);
            let times = (
                found.end(),
                clocks.line(part.member),
                clocks.line(peer),
                usual.get(&(found.operation.is_message(), found.sent())),
            );
            let (Some(end), Some(own), Some(other), Some(&transfer)) = times else { continue };
            let end = other.own(own.common(end)) as i64;
            if fleet.members[peer as usize].span.is_none_or(|span| end <= span.0 || span.1 <= end) {
                continue;
            }
            let operation = match found.operation {
                Operation::Send => Operation::Receive,
                Operation::Receive => Operation::Send,
                other => other,
            };
            let time_ns = transfer as i64;
            let peer_row = Collective {
                start: end - time_ns,
                time_ns,
                tail_ns: time_ns,
                stream: u16::MAX,
                operation,
                peer: part.member,
                step: found.step,
                group: {
                    let group = fleet.members[part.member as usize].groups[usize::from(found.group)];
                    fleet.members[peer as usize].group_number(group)
                },
                ..Collective::default()
            };
            let meeting = counts.len() as u32;
            alone.entry(part.member).or_default().push((part.row, meeting));
            lost_rows.entry(peer).or_default().push(Row { meeting, collective: peer_row, is_lost: true });
            counts.push(2);
            transfers.push(transfer as f32);
            groups.push(NONE);
            steps.push(NONE);
        }
        let is_used = |meeting: u32| transfers.get(meeting as usize).is_some_and(|time| time.is_finite());
        let of_member = |member: u32| {
            let own = &fleet.members[member as usize].collectives;
            let met = meetings.of_member(member).iter().copied().enumerate();
            let met = met.filter(|(row, meeting)| is_used(*meeting) && own[*row].end().is_some());
            let alone =
                alone.get(&member).into_iter().flatten().map(|&(row, meeting)| (row as usize, meeting));
            let recorded = met.chain(alone);
            let recorded =
                recorded.map(|(row, meeting)| Row { meeting, collective: own[row], is_lost: false });
            let mut rows: Vec<Row> = recorded.collect();
            rows.extend(lost_rows.get(&member).into_iter().flatten());
            rows.sort_by_key(|row| (row.collective.start, row.meeting));
            Track::of(fleet, clocks, member, &rows)
        };
        let tracks = (0..fleet.members.len() as u32).into_par_iter().map(of_member).collect();
        Self { tracks, transfers, counts, groups, steps }
    }
}

impl Track {
    /// The track of a member from its collectives by start.
    fn of(fleet: &Fleet, clocks: &Clocks, member: u32, rows: &[Row]) -> Self {
        let own = &fleet.members[member as usize];
        let first =
            own.span.map_or_else(|| rows.first().map_or(0, |row| row.collective.start), |span| span.0);
        let gaps = Gaps::of(&own.collectives, rows);
        let waits = Waits::of(rows);
        let mut events: Vec<Event> = Vec::with_capacity(rows.len());
        let mut last_on_stream: Map<u16, u32> = Map::default();
        let mut turns: Map<(u32, Operation), u32> = Map::default();
        let mut step = NONE;
        for (place, &Row { meeting, collective: ref row, is_lost }) in rows.iter().enumerate() {
            let end = row.end().unwrap_or(row.start);
            let (resumed_at, arrival_from) = waits.before(row.start, first);
            let behind = last_on_stream.insert(row.stream, place as u32).filter(|&event| {
                let gap = row.start - rows[event as usize].collective.end().unwrap_or(i64::MIN);
                (0..QUEUED_NS).contains(&gap) && gap < (row.start - arrival_from).max(1)
            });
            step = if row.step == NONE { step } else { row.step };
            let turns = turns.entry((step, row.operation)).or_insert(0);
            *turns += 1;
            let is_waited_for = row.tail_ns > 0;
            let until = if is_waited_for { end - row.tail_ns } else { row.start };
            let (wait_from, from) =
                if is_waited_for { waits.before(until, first) } else { (resumed_at, arrival_from) };
            let (before, is_after_lost) = match rows.get(wait_from as usize) {
                Some(Row { collective, is_lost, .. }) => {
                    (collective.compute_ns + collective.time_ns - collective.exposed_ns, *is_lost)
                }
                None => (0, false),
            };
            let beside = if is_waited_for { row.time_ns - row.exposed_ns } else { 0 };
            events.push(Event {
                meeting,
                resumed_at,
                queued_behind: behind.unwrap_or(NONE),
                wait_from,
                to_arrival: (row.start - arrival_from) as f32,
                to_wait: if is_waited_for { (until - from).max(0) as f32 } else { f32::NAN },
                computed: (row.compute_ns + beside - before).max(0) as f32,
                is_known: !is_lost && !is_after_lost && !gaps.meet(from, end),
                is_lost,
                is_counted: waits.is_last(place as u32, until),
                operation: row.operation,
                step,
                turn: *turns,
            });
        }
        let last = waits.ends.last().copied();
        let until = own.span.map_or(first, |span| span.1);
        Self {
            events,
            start: clocks.common(member, first).unwrap_or(f64::NAN),
            tail: (until - last.map_or(first, |last| last.0)).max(0) as f64,
            last_resumed: last.map_or(NONE, |last| last.1),
        }
    }
}

/// The events that a member's main line waited for.
struct Waits {
    /// (end, place) by end.
    ends: Vec<(i64, u32)>,
    /// When the main line began to wait, in the same order.
    begins: Vec<i64>,
    /// By place: where it is in `ends`, or [`NONE`].
    of_place: Vec<u32>,
}

impl Waits {
    fn of(rows: &[Row]) -> Self {
        let waited = rows.iter().enumerate().filter(|(_, row)| row.collective.tail_ns > 0);
        let mut found: Vec<(i64, u32, i64)> = waited
            .filter_map(|(place, row)| {
                let end = row.collective.end()?;
                Some((end, place as u32, end - row.collective.tail_ns))
            })
            .collect();
        found.sort_unstable();
        let mut of_place = vec![NONE; rows.len()];
        found.iter().enumerate().for_each(|(at, &(_, place, _))| of_place[place as usize] = at as u32);
        let ends = found.iter().map(|&(end, place, _)| (end, place)).collect();
        Self { ends, begins: found.iter().map(|entry| entry.2).collect(), of_place }
    }

    /// The last one that ended before a moment, and when; the start of the member if there is none.
    fn before(&self, at: i64, first: i64) -> (u32, i64) {
        let place = self.ends.partition_point(|known| known.0 <= at).checked_sub(1);
        place.map_or((NONE, first), |place| (self.ends[place].1, self.ends[place].0))
    }

    /// Whether the main line did some work before its next wait.
    fn is_last(&self, event: u32, begin: i64) -> bool {
        let next = self.begins.get((self.of_place[event as usize] as usize).saturating_add(1));
        next.is_none_or(|&next| next > begin)
    }
}

/// What messages and collectives of a size usually take.
fn usual_times(figures: &AllFigures) -> Map<(bool, Option<u64>), f64> {
    let mut found: Map<(bool, Option<u64>), Vec<f64>> = Map::default();
    for one in figures.meetings.iter().filter(|one| one.transfer_ns.is_finite()) {
        found.entry((one.operation.is_message(), one.bytes())).or_default().push(f64::from(one.transfer_ns));
    }
    found.into_iter().map(|(key, times)| (key, stats::robust::median(&times))).collect()
}

/// Members of a group that took part in one of its operations and lost their record of it.
fn lost(fleet: &Fleet, parts: &[MemberRow], figures: &Figures) -> Vec<u32> {
    let group = &fleet.groups[figures.group as usize];
    if figures.operation.is_message() || !group.is_told || parts.len() >= group.members.len() {
        return Vec::new();
    }
    group.without(parts)
}

/// Whether most members computed nothing when an operation ended, so that their main line waited for it.
fn is_blocking(fleet: &Fleet, parts: &[MemberRow]) -> bool {
    2 * parts.iter().filter(|part| row(fleet, part).tail_ns > 0).count() >= parts.len()
}

fn row<'a>(fleet: &'a Fleet, part: &MemberRow) -> &'a Collective {
    &fleet.members[part.member as usize].collectives[part.row as usize]
}
