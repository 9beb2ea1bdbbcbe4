//! Replays a run from its digests: local work, and collectives that wait for their last member.
//!
//! ```text
//! resume ──local work──► arrival ──(last member, transfer)──► end ──► resume
//! ```
//!
//! A rank's main line resumes when a collective ends that it waited for (no kernel computed at that moment). Local
//! work is the time from there to the next arrival, or to the moment at which it waits again. With other local work or transfers the
//! same rules give another end of the run; the difference is what they cost. Clocks do not matter: local times are those of one clock.

mod build;
mod gaps;

use trace::Map;

use crate::digest::NONE;
use crate::operation::Operation;

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
    /// Whether the member lost its record: it took part, and its peers show when.
    pub is_lost: bool,
    /// The operation.
    pub operation: Operation,
    /// Its step, or that of the event before it.
    pub step: u32,
    /// Position among the same operations of its step.
    pub turn: u32,
}

/// The main line of one member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    /// Its collectives.
    pub events: Vec<Event>,
    /// When it begins, on the common clock; NaN where that is not known.
    start: f64,
    /// Local time after the last resumption.
    pub tail: f64,
    last_resumed: u32,
}

/// The tracks of all members, and the operations at which they meet.
pub(crate) struct StepGraph {
    /// By member.
    pub tracks: Vec<Track>,
    transfers: Vec<f32>,
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
    /// Times of steps, from the end of one to the end of the next; the whole run if there are fewer than two.
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

impl Change {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.local.is_empty() && self.transfer_factor.is_empty()
    }
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
        f64::from(if self.to_wait.is_finite() { self.to_wait } else { self.to_arrival })
    }
}

impl StepGraph {
    /// All events with their member and their place there.
    pub fn all_events(&self) -> impl Iterator<Item = (u32, u32, &Event)> {
        let tracks = self.tracks.iter().enumerate();
        tracks.flat_map(|(member, track)| {
            track.events.iter().enumerate().map(move |(place, event)| (member as u32, place as u32, event))
        })
    }

    /// How long the run takes with some of it changed; `None` if the order of collectives contradicts itself.
    pub fn run(&self, change: &Change) -> Option<Outcome> {
        let known = self.tracks.iter().map(|track| track.start).filter(|start| start.is_finite());
        let begin = known.fold(f64::INFINITY, f64::min);
        let start = |track: &Track| if track.start.is_finite() { track.start - begin } else { 0.0 };
        let mut missing: Vec<u32> = self.counts.clone();
        let mut last_arrival = vec![0.0f64; self.counts.len()];
        let mut ends = vec![f64::NAN; self.counts.len()];
        // By event of a member: when its main line resumed after it.
        let mut resumed: Vec<Vec<f64>> =
            self.tracks.iter().map(|track| vec![f64::NAN; track.events.len()]).collect();
        let mut next = vec![0usize; self.tracks.len()];
        // Members that wait for a meeting are a chain: a member waits for one at a time.
        let mut first_waiting = vec![NONE; self.counts.len()];
        let mut also_waiting = vec![NONE; self.tracks.len()];
        let mut ready: Vec<u32> = (0..self.tracks.len() as u32).collect();
        while let Some(member) = ready.pop() {
            let own = member as usize;
            let track = &self.tracks[own];
            let local = change.local.get(&member);
            while let Some(event) = track.events.get(next[own]) {
                let queued = track.events.get(event.queued_behind as usize).map(|event| event.meeting);
                let from = track.resume(event.resumed_at, local, &ends, &mut resumed[own], start(track));
                let unknown = from.err().or(queued.filter(|&meeting| ends[meeting as usize].is_nan()));
                let (None, Ok(from)) = (unknown, from) else {
                    let before = &mut first_waiting[unknown.unwrap_or_default() as usize];
                    also_waiting[own] = std::mem::replace(before, member);
                    break;
                };
                let to_arrival =
                    local.map_or(f64::from(event.to_arrival), |local| local.to_arrival[next[own]]);
                let arrival = queued.map_or(from + to_arrival, |before| ends[before as usize]);
                let meeting = event.meeting as usize;
                let last = &mut last_arrival[meeting];
                *last = last.max(arrival);
                missing[meeting] = missing[meeting].saturating_sub(1);
                if missing[meeting] == 0 {
                    let factor = change.transfer_factor.get(&self.groups[meeting]).copied().unwrap_or(1.0);
                    ends[meeting] = *last + f64::from(self.transfers[meeting]) * factor;
                    let mut waiting = std::mem::replace(&mut first_waiting[meeting], NONE);
                    while waiting != NONE {
                        ready.push(waiting);
                        waiting = also_waiting[waiting as usize];
                    }
                }
                next[own] += 1;
            }
        }
        let mut end = 0.0f64;
        for (own, track) in self.tracks.iter().enumerate() {
            if next[own] < track.events.len() {
                return None;
            }
            let local = change.local.get(&(own as u32));
            let from =
                track.resume(track.last_resumed, local, &ends, &mut resumed[own], start(track)).ok()?;
            end = end.max(from + local.map_or(track.tail, |local| local.tail));
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
}

impl Track {
    /// When the main line resumes after an event, or the meeting whose end must be known first.
    fn resume(
        &self,
        event: u32,
        local: Option<&LocalTimes>,
        ends: &[f64],
        resumed: &mut [f64],
        start: f64,
    ) -> Result<f64, u32> {
        if event == NONE {
            return Ok(start);
        }
        if !resumed[event as usize].is_nan() {
            return Ok(resumed[event as usize]);
        }
        // Walk back to the last resumption that is known, then forward.
        let mut chain = vec![event];
        while let Some(&at) = chain.last().filter(|&&at| resumed[at as usize].is_nan()) {
            match self.events[at as usize].wait_from {
                NONE => break,
                before => chain.push(before),
            }
        }
        for &at in chain.iter().rev() {
            let place = at as usize;
            if resumed[place].is_nan() {
                let event = &self.events[place];
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
