//! The run again from its digests: local work between collectives, and collectives that wait for their last member.
//!
//! ```text
//! resume ──local work──► arrival ──(last member, transfer)──► end ──► resume
//! ```
//!
//! A rank's main line resumes when a collective ends that it waited for (no kernel computed at that moment). Local
//! work is the time from there to the next arrival, or to the moment at which it waits again. With other local work or transfers the
//! same rules give another end of the run; the difference is what they cost. Clocks do not matter: local times are those of one clock.

use trace::Map;

use crate::clocks::Clocks;
use crate::digest::{Collective, NONE};
use crate::figures::{AllFigures, Figures};
use crate::fleet::Fleet;
use crate::matching::{Meetings, Part};
use crate::operation::Operation;

/// A collective that starts this soon after the one before it on its stream was queued behind it.
const QUEUED_NS: i64 = 10_000;

/// One collective of a member, in the order of starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub meeting: u32,
    /// Place of the event whose end the main line resumed at before; [`NONE`] at the start.
    pub resumed_at: u32,
    /// Place of the event before it on its stream, where it was queued behind that; else [`NONE`].
    pub queued_behind: u32,
    /// Local time from the resumption to the arrival.
    pub to_arrival: f32,
    /// Local time from `wait_from` to the moment at which the main line waits for this one; NaN where it does not.
    pub to_wait: f32,
    /// Computation up to the wait, or to the arrival where the main line does not wait.
    pub computed: f32,
    /// Place of the event at whose end the main line resumed before it waited for this one; [`NONE`] at the start.
    pub wait_from: u32,
    /// Whether no other event ends the same local work.
    pub is_counted: bool,
    /// Whether its local times were recorded from one end to the other.
    pub is_known: bool,
    /// Whether the member lost its record: it took part, and how its peers did tells when.
    pub is_lost: bool,
    /// What it is.
    pub operation: Operation,
    /// Its step, or that of the event before it.
    pub step: u32,
    /// The how manieth of its operation in its step.
    pub turn: u32,
}

/// One collective of a member with its meeting.
#[derive(Clone, Copy)]
struct Row {
    meeting: u32,
    collective: Collective,
    is_lost: bool,
}

/// The events of every member, and what it does before and after them.
pub(crate) struct StepGraph {
    pub events: Vec<Vec<Event>>,
    /// When each member begins, on the common clock as far as it is known.
    starts: Vec<f64>,
    /// Local time after the last resumption.
    pub tails: Vec<f64>,
    last_resumed: Vec<u32>,
    transfers: Vec<f64>,
    counts: Vec<u32>,
    groups: Vec<u32>,
    steps: Vec<u32>,
}

/// When a simulated run and its steps ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// End of the run.
    pub end: f64,
    /// End of the last collective of each step; NaN of a step without any.
    pub steps: Vec<f64>,
}

impl Outcome {
    /// Times of steps, from the end of one to the end of the next; the whole run where there are not two.
    pub fn step_times(&self) -> Vec<f64> {
        let times: Vec<f64> = self.steps.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if times.is_empty() { vec![self.end] } else { times }
    }
}

/// What is changed in a simulated run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// Local times of members: to the arrival and to the wait by event, and the tail.
    pub local: Map<u32, LocalTimes>,
    /// Factors on the transfers of groups.
    pub transfer_factor: Map<u32, f64>,
}

/// Other local times of one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalTimes {
    pub to_arrival: Vec<f64>,
    pub to_wait: Vec<f64>,
    pub tail: f64,
}

/// The events that a member's main line waited for.
struct Waits {
    /// (end, place) by end.
    ends: Vec<(i64, u32)>,
    /// When the main line began to wait, in the same order.
    begins: Vec<i64>,
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
        let ends = found.iter().map(|&(end, place, _)| (end, place)).collect();
        Self { ends, begins: found.iter().map(|entry| entry.2).collect() }
    }

    /// The last one that ended before a moment, and when; the start of the member where there is none.
    fn before(&self, at: i64, first: i64) -> (u32, i64) {
        let place = self.ends.partition_point(|known| known.0 <= at).checked_sub(1);
        place.map_or((NONE, first), |place| (self.ends[place].1, self.ends[place].0))
    }

    /// Whether the main line did not go on to wait for another one without any work between.
    fn is_last(&self, event: u32, begin: i64) -> bool {
        let place = self.ends.iter().position(|&(_, place)| place == event);
        place.is_none_or(|place| self.begins.get(place + 1).is_none_or(|&next| next > begin))
    }
}

impl Event {
    /// Local time that this event ends: to the wait, or to the arrival where the main line does not wait.
    pub fn local(&self) -> f64 {
        f64::from(if self.to_wait.is_finite() { self.to_wait } else { self.to_arrival })
    }
}

impl StepGraph {
    pub fn of(fleet: &Fleet, meetings: &Meetings, figures: &AllFigures, clocks: &Clocks) -> Self {
        let blocks = blocking(fleet, meetings);
        // By member: (row, meeting) of what it recorded, and what it lost.
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); fleet.members.len()];
        let mut lost_rows: Map<u32, Vec<Row>> = Map::default();
        let mut counts = vec![0u32; meetings.all.len()];
        for (number, meeting) in meetings.all.iter().enumerate() {
            let one = &figures.meetings[number];
            // A meeting that nothing is known of holds nobody up.
            if !one.transfer_ns.is_finite() {
                continue;
            }
            let parts = meetings.parts_of(meeting);
            for part in parts {
                let found = &fleet.members[part.member as usize].collectives[part.row as usize];
                if found.end().is_some() {
                    rows[part.member as usize].push((part.row, number as u32));
                    counts[number] += 1;
                }
            }
            for member in lost(fleet, parts, one) {
                let line = clocks.line(member);
                let Some((line, end)) = line.zip(one.end) else { continue };
                let end = line.own(end) as i64;
                let own = &fleet.members[member as usize];
                if own.span.is_some_and(|span| span.0 < end && end < span.1) {
                    let time_ns = one.transfer_ns as i64;
                    let tail_ns = if blocks[number] { time_ns } else { 0 };
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
        let mut transfers: Vec<f64> = figures.meetings.iter().map(|figures| figures.transfer_ns).collect();
        let mut groups: Vec<u32> = meetings.all.iter().map(|meeting| meeting.group).collect();
        let mut steps: Vec<u32> = figures.meetings.iter().map(|figures| figures.step).collect();
        let usual = usual_times(figures);
        for &(part, peer) in &meetings.unpaired {
            let found = fleet.members[part.member as usize].collectives[part.row as usize];
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
            rows[part.member as usize].push((part.row, meeting));
            lost_rows.entry(peer).or_default().push(Row { meeting, collective: peer_row, is_lost: true });
            counts.push(2);
            transfers.push(transfer);
            groups.push(NONE);
            steps.push(NONE);
        }
        let mut graph = Self {
            events: Vec::with_capacity(rows.len()),
            starts: Vec::with_capacity(rows.len()),
            tails: Vec::with_capacity(rows.len()),
            last_resumed: Vec::with_capacity(rows.len()),
            transfers,
            counts,
            groups,
            steps,
        };
        for (member, recorded) in rows.into_iter().enumerate() {
            let of = &fleet.members[member].collectives;
            let recorded = recorded.into_iter().map(|(row, meeting)| Row {
                meeting,
                collective: of[row as usize],
                is_lost: false,
            });
            let mut rows: Vec<Row> = recorded.collect();
            rows.extend(lost_rows.remove(&(member as u32)).unwrap_or_default());
            rows.sort_by_key(|row| (row.collective.start, row.meeting));
            graph.add_member(fleet, clocks, member, &rows);
        }
        graph
    }

    fn add_member(&mut self, fleet: &Fleet, clocks: &Clocks, member: usize, rows: &[Row]) {
        let own = &fleet.members[member];
        let first =
            own.span.map_or_else(|| rows.first().map_or(0, |row| row.collective.start), |span| span.0);
        let gaps = gaps(&own.collectives, rows);
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
            let is_beside_gap = gaps.iter().any(|&(start, stop)| start < end && from < stop);
            events.push(Event {
                meeting,
                resumed_at,
                queued_behind: behind.unwrap_or(NONE),
                wait_from,
                to_arrival: (row.start - arrival_from) as f32,
                to_wait: if is_waited_for { (until - from).max(0) as f32 } else { f32::NAN },
                computed: (row.compute_ns + beside - before).max(0) as f32,
                is_known: !is_lost && !is_after_lost && !is_beside_gap,
                is_lost,
                is_counted: waits.is_last(place as u32, until),
                operation: row.operation,
                step,
                turn: *turns,
            });
        }
        let last = waits.ends.last().copied();
        let until = own.span.map_or(first, |span| span.1);
        self.tails.push((until - last.map_or(first, |last| last.0)).max(0) as f64);
        self.last_resumed.push(last.map_or(NONE, |last| last.1));
        self.starts.push(clocks.common(member as u32, first).unwrap_or(f64::NAN));
        self.events.push(events);
    }

    /// How long the run takes with some of it changed; none where the order of collectives contradicts itself.
    pub fn run(&self, change: &Change) -> Option<Outcome> {
        let known = self.starts.iter().copied().filter(|start| start.is_finite());
        let begin = known.fold(f64::INFINITY, f64::min);
        let start = |member: usize| {
            let start = self.starts[member] - begin;
            if start.is_finite() { start } else { 0.0 }
        };
        let mut missing: Vec<u32> = self.counts.clone();
        let mut last_arrival = vec![0.0f64; self.counts.len()];
        let mut ends = vec![f64::NAN; self.counts.len()];
        // By event of a member: when its main line resumed after it.
        let mut resumed: Vec<Vec<f64>> =
            self.events.iter().map(|events| vec![f64::NAN; events.len()]).collect();
        let mut next = vec![0usize; self.events.len()];
        let mut waiting: Map<u32, Vec<u32>> = Map::default();
        let mut ready: Vec<u32> = (0..self.events.len() as u32).collect();
        while let Some(member) = ready.pop() {
            let own = member as usize;
            let local = change.local.get(&member);
            while let Some(event) = self.events[own].get(next[own]) {
                let queued = self.events[own].get(event.queued_behind as usize).map(|event| event.meeting);
                let resumed = self.resume(own, event.resumed_at, local, &ends, &mut resumed[own], start(own));
                let unknown = resumed.err().or(queued.filter(|&meeting| ends[meeting as usize].is_nan()));
                let (None, Ok(from)) = (unknown, resumed) else {
                    waiting.entry(unknown.unwrap_or_default()).or_default().push(member);
                    break;
                };
                let to_arrival =
                    local.map_or(f64::from(event.to_arrival), |local| local.to_arrival[next[own]]);
                let mut arrival = from + to_arrival;
                if let Some(before) = queued {
                    arrival = ends[before as usize];
                }
                let meeting = event.meeting as usize;
                last_arrival[meeting] = last_arrival[meeting].max(arrival);
                missing[meeting] = missing[meeting].saturating_sub(1);
                if missing[meeting] == 0 {
                    let factor = change.transfer_factor.get(&self.groups[meeting]).copied().unwrap_or(1.0);
                    ends[meeting] = last_arrival[meeting] + self.transfers[meeting] * factor;
                    ready.extend(waiting.remove(&event.meeting).into_iter().flatten());
                }
                next[own] += 1;
            }
        }
        let mut end = 0.0f64;
        for own in 0..self.events.len() {
            if next[own] < self.events[own].len() {
                return None;
            }
            let local = change.local.get(&(own as u32));
            let from =
                self.resume(own, self.last_resumed[own], local, &ends, &mut resumed[own], start(own)).ok()?;
            end = end.max(from + local.map_or(self.tails[own], |local| local.tail));
        }
        let last = self.steps.iter().filter(|&&step| step != NONE).max();
        let mut steps = vec![f64::NAN; last.map_or(0, |&last| last as usize + 1)];
        for (&step, &end) in self.steps.iter().zip(&ends) {
            if let Some(known) = steps.get_mut(step as usize) {
                *known = known.max(end);
            }
        }
        Some(Outcome { end, steps })
    }

    /// When the main line of a member resumes after an event, or the meeting whose end must be known first.
    fn resume(
        &self,
        own: usize,
        event: u32,
        local: Option<&LocalTimes>,
        ends: &[f64],
        resumed: &mut [f64],
        start: f64,
    ) -> Result<f64, u32> {
        if event == NONE {
            return Ok(start);
        }
        // Walk back to the last resumption that is known, then forward.
        let mut chain = vec![event];
        while let Some(&at) = chain.last().filter(|&&at| resumed[at as usize].is_nan()) {
            match self.events[own][at as usize].wait_from {
                NONE => break,
                before => chain.push(before),
            }
        }
        for &at in chain.iter().rev() {
            let place = at as usize;
            if resumed[place].is_nan() {
                let event = &self.events[own][place];
                let end = ends[event.meeting as usize];
                if end.is_nan() {
                    return Err(event.meeting);
                }
                let from = if event.wait_from == NONE { start } else { resumed[event.wait_from as usize] };
                let to_wait = local.map_or(f64::from(event.to_wait), |local| local.to_wait[place]);
                resumed[place] = (from + to_wait).max(end);
            }
        }
        Ok(resumed[event as usize])
    }
}

/// Stretches of a member's time in which records are missing on all ranks: their numbers show it.
fn gaps(recorded: &[Collective], rows: &[Row]) -> Vec<(i64, i64)> {
    let mut numbered: Vec<(u16, bool, i64, i64)> = recorded
        .iter()
        .filter(|row| row.start != i64::MIN)
        .filter_map(|row| Some((row.group, row.operation.is_message(), row.number()?, row.start)))
        .collect();
    numbered.sort_unstable();
    let mut gaps = Vec::new();
    for pair in numbered.windows(2).filter(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        let lost = pair[1].2 - pair[0].2 - 1;
        let (from, to) = (pair[0].3.min(pair[1].3), pair[0].3.max(pair[1].3));
        let is_between = |other: &&Row| {
            let own = &other.collective;
            let is_same = (own.group, own.operation.is_message()) == (pair[0].0, pair[0].1);
            other.is_lost && is_same && own.start > from && own.start < to
        };
        if lost > 0 && (rows.iter().filter(is_between).count() as i64) < lost {
            // A lost message may lie anywhere between; collectives of a group are far apart, and the lost one is near the next.
            gaps.push(if pair[0].1 { (from, to) } else { (pair[1].3 - 1, pair[1].3) });
        }
    }
    gaps
}

/// What messages and collectives of a size usually take.
fn usual_times(figures: &AllFigures) -> Map<(bool, Option<u64>), f64> {
    let mut found: Map<(bool, Option<u64>), Vec<f64>> = Map::default();
    for one in figures.meetings.iter().filter(|one| one.transfer_ns.is_finite()) {
        found.entry((one.operation.is_message(), one.bytes)).or_default().push(one.transfer_ns);
    }
    found.into_iter().map(|(key, times)| (key, stats::robust::median(&times))).collect()
}

/// Members of a group that took part in an operation of all and lost their record of it.
fn lost(fleet: &Fleet, parts: &[Part], figures: &Figures) -> Vec<u32> {
    let group = &fleet.groups[figures.group as usize];
    if figures.operation.is_message() || !group.is_told || parts.len() >= group.members.len() {
        return Vec::new();
    }
    group.members.iter().copied().filter(|member| parts.iter().all(|part| part.member != *member)).collect()
}

/// By meeting: whether most members computed nothing when it ended, so that their main line waited for it.
fn blocking(fleet: &Fleet, meetings: &Meetings) -> Vec<bool> {
    meetings
        .all
        .iter()
        .map(|meeting| {
            let parts = meetings.parts_of(meeting);
            let waited = parts.iter().filter(|part| {
                fleet.members[part.member as usize].collectives[part.row as usize].tail_ns > 0
            });
            2 * waited.count() >= parts.len()
        })
        .collect()
}
