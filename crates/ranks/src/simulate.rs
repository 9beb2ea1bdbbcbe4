//! The run again from its digests: local work between collectives, and collectives that wait for their last member.
//!
//! ```text
//! resume ──local work──► arrival ──(last member, transfer)──► end ──► resume
//! ```
//!
//! A rank's main line resumes when a collective ends that it waited for (no kernel computed at that moment on most members). Local
//! work is the time from there to the next arrival, or to the moment at which it waits again. With other local work or transfers the
//! same rules give another end of the run; the difference is what they cost. Clocks do not matter: local times are those of one clock.

use trace::Map;

use crate::clocks::Clocks;
use crate::digest::{Collective, NONE};
use crate::figures::AllFigures;
use crate::fleet::Fleet;
use crate::matching::Meetings;

/// A collective that starts this soon after the one before it on its stream was queued behind it.
const QUEUED_NS: f64 = 10_000.0;

/// One collective of a member, in the order of starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub meeting: u32,
    /// Place of the event whose end the main line resumed at before; [`NONE`] at the start.
    pub resumed_at: u32,
    /// Place of the event before it on its stream, where it was queued behind that; else [`NONE`].
    pub queued_behind: u32,
    /// Local time from the resumption to the arrival.
    pub to_arrival: f64,
    /// Local time from the resumption to the moment at which the main line waits for this one; NaN where it does not.
    pub to_wait: f64,
    /// Computation up to the wait, or to the arrival where the main line does not wait.
    pub computed: f64,
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

impl Event {
    /// Local time that this event ends: to the wait, or to the arrival where the main line does not wait.
    pub fn local(&self) -> f64 {
        if self.to_wait.is_finite() { self.to_wait } else { self.to_arrival }
    }
}

impl StepGraph {
    pub fn of(fleet: &Fleet, meetings: &Meetings, figures: &AllFigures, clocks: &Clocks) -> Self {
        let blocks = blocking(fleet, meetings);
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); fleet.members.len()];
        for (number, meeting) in meetings.all.iter().enumerate() {
            // A meeting that nothing is known of holds nobody up.
            if figures.meetings[number].transfer_ns.is_finite() {
                for part in meetings.parts_of(meeting) {
                    rows[part.member as usize].push((part.row, number as u32));
                }
            }
        }
        let mut graph = Self {
            events: Vec::with_capacity(rows.len()),
            starts: Vec::with_capacity(rows.len()),
            tails: Vec::with_capacity(rows.len()),
            last_resumed: Vec::with_capacity(rows.len()),
            transfers: figures.meetings.iter().map(|figures| figures.transfer_ns).collect(),
            counts: meetings.all.iter().map(|meeting| meeting.count).collect(),
        };
        for (member, mut rows) in rows.into_iter().enumerate() {
            rows.sort_unstable();
            graph.add_member(fleet, clocks, member, &rows, &blocks);
        }
        graph
    }

    fn add_member(
        &mut self,
        fleet: &Fleet,
        clocks: &Clocks,
        member: usize,
        rows: &[(u32, u32)],
        blocks: &[bool],
    ) {
        let own = &fleet.members[member];
        let timed: Vec<(&Collective, u32)> = rows
            .iter()
            .map(|&(row, meeting)| (&own.collectives[row as usize], meeting))
            .filter(|(row, _)| row.end().is_some())
            .collect();
        let first = own.span.map_or_else(|| timed.first().map_or(0, |(row, _)| row.start), |span| span.0);
        let mut events: Vec<Event> = Vec::with_capacity(timed.len());
        let mut last_on_stream: Map<u16, u32> = Map::default();
        // Ends of those that the main line waited for, rising; the current one is the last that ended before the next start.
        let mut ended: Vec<(i64, u32)> = Vec::new();
        let mut done = 0;
        for (place, &(row, meeting)) in timed.iter().enumerate() {
            while done < ended.len() && ended[done].0 <= row.start {
                done += 1;
            }
            let resumed = done.checked_sub(1).map(|last| ended[last]);
            let (from, computed) = match resumed {
                Some((end, event)) => {
                    let before = timed[event as usize].0;
                    (end, before.compute_ns + before.time_ns - before.exposed_ns)
                }
                None => (first, 0),
            };
            let behind = last_on_stream.insert(row.stream, place as u32).filter(|&event| {
                let end = timed[event as usize].0.end().unwrap_or(i64::MIN);
                ((row.start - end) as f64) < QUEUED_NS && (row.start - end) < (row.start - from).max(1)
            });
            let end = row.end().unwrap_or(row.start);
            let is_waited_for = blocks[meeting as usize];
            let to_wait = if is_waited_for { (end - row.tail_ns - from).max(0) as f64 } else { f64::NAN };
            let beside = if is_waited_for { row.time_ns - row.exposed_ns } else { 0 };
            events.push(Event {
                meeting,
                resumed_at: resumed.map_or(NONE, |(_, event)| event),
                queued_behind: behind.unwrap_or(NONE),
                to_arrival: (row.start - from) as f64,
                to_wait,
                computed: (row.compute_ns + beside - computed).max(0) as f64,
            });
            if is_waited_for {
                let at = ended.partition_point(|known| known.0 <= end);
                ended.insert(at.max(done), (end, place as u32));
            }
        }
        let last = ended.last().copied();
        let until = own.span.map_or(first, |span| span.1);
        self.tails.push((until - last.map_or(first, |last| last.0)).max(0) as f64);
        self.last_resumed.push(last.map_or(NONE, |last| last.1));
        self.starts.push(clocks.common(member as u32, first).unwrap_or(f64::NAN));
        self.events.push(events);
    }

    /// How long the run takes with some of it changed; none where the order of collectives contradicts itself.
    pub fn run(&self, change: &Change, group_of: impl Fn(u32) -> u32) -> Option<f64> {
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
        let mut resumed: Vec<Vec<f64>> = self.events.iter().map(|events| vec![f64::NAN; events.len()]).collect();
        let mut next = vec![0usize; self.events.len()];
        let mut waiting: Map<u32, Vec<u32>> = Map::default();
        let mut ready: Vec<u32> = (0..self.events.len() as u32).collect();
        while let Some(member) = ready.pop() {
            let own = member as usize;
            let local = change.local.get(&member);
            while let Some(event) = self.events[own].get(next[own]) {
                let needed = [event.resumed_at, event.queued_behind];
                let unknown = needed.into_iter().filter(|&event| event != NONE).find_map(|event| {
                    let meeting = self.events[own][event as usize].meeting;
                    ends[meeting as usize].is_nan().then_some(meeting)
                });
                if let Some(meeting) = unknown {
                    waiting.entry(meeting).or_default().push(member);
                    break;
                }
                let from = match event.resumed_at {
                    NONE => start(own),
                    event => self.resume(own, event, local, &ends, &mut resumed[own], start(own)),
                };
                let to_arrival = local.map_or(event.to_arrival, |local| local.to_arrival[next[own]]);
                let mut arrival = from + to_arrival;
                if event.queued_behind != NONE {
                    let before = self.events[own][event.queued_behind as usize].meeting;
                    arrival = ends[before as usize];
                }
                let meeting = event.meeting as usize;
                last_arrival[meeting] = last_arrival[meeting].max(arrival);
                missing[meeting] = missing[meeting].saturating_sub(1);
                if missing[meeting] == 0 {
                    let factor = change.transfer_factor.get(&group_of(event.meeting)).copied().unwrap_or(1.0);
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
            let from = match self.last_resumed[own] {
                NONE => start(own),
                event if ends[self.events[own][event as usize].meeting as usize].is_nan() => return None,
                event => self.resume(own, event, local, &ends, &mut resumed[own], start(own)),
            };
            end = end.max(from + local.map_or(self.tails[own], |local| local.tail));
        }
        Some(end)
    }

    /// When the main line of a member resumes after an event.
    fn resume(
        &self,
        own: usize,
        event: u32,
        local: Option<&LocalTimes>,
        ends: &[f64],
        resumed: &mut [f64],
        start: f64,
    ) -> f64 {
        // Walk back to the last resumption that is known, then forward.
        let mut chain = vec![event];
        while let Some(&at) = chain.last().filter(|&&at| resumed[at as usize].is_nan()) {
            match self.events[own][at as usize].resumed_at {
                NONE => break,
                before => chain.push(before),
            }
        }
        for &at in chain.iter().rev() {
            let place = at as usize;
            if resumed[place].is_nan() {
                let event = &self.events[own][place];
                let from = if event.resumed_at == NONE { start } else { resumed[event.resumed_at as usize] };
                let to_wait = local.map_or(event.to_wait, |local| local.to_wait[place]);
                resumed[place] = (from + to_wait).max(ends[event.meeting as usize]);
            }
        }
        resumed[event as usize]
    }
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
