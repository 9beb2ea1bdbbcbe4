//! Local work of a member compared with that of its peers: the other members of the same collective.

use rayon::prelude::*;
use trace::Map;

use crate::digest::NONE;
use crate::fleet::Fleet;
use crate::matching::Meetings;
use crate::operation::Operation;
use crate::simulate::{Event, LocalTimes, StepGraph};

/// Local times beyond those of the peers, summed over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Excess {
    /// Total.
    pub local_ns: f64,
    /// The part in which kernels computed.
    pub compute_ns: f64,
    /// Collectives that were compared.
    pub collectives: usize,
}

/// Median local times, and a peer's event that shows which events it follows.
#[derive(Clone, Copy, Debug)]
struct Typical {
    to_arrival: f32,
    to_wait: f32,
    computed: f32,
    /// A member, or [`NONE`] if no peer has the event.
    member: u32,
    /// Place of its event.
    place: u32,
}

/// An event on any member: step, operation, and its position among the same operations of that step.
type EventKey = (u32, Operation, u32);

/// Work that corresponds on several ranks: pipeline stage, step, operation, and its position among the same operations.
type Turn = (Option<u32>, u32, Operation, u32);

/// Meetings that one thread takes at a time.
const CHUNK: usize = 4096;

/// Typical local times: of the members of a collective, and of the messages of one turn in a pipeline stage.
pub(crate) struct Peers {
    of_meeting: Vec<Typical>,
    of_turn: Map<Turn, Typical>,
}

impl Peers {
    pub fn of(fleet: &Fleet, meetings: &Meetings, graph: &StepGraph) -> Self {
        let of_meeting = of_meetings(meetings, graph);
        // The two ends of a message do different work, and some collectives have no known event.
        let is_told = |event: &Event| {
            !event.operation.is_message()
                && of_meeting.get(event.meeting as usize).is_some_and(|typical| typical.member != NONE)
        };
        let wanted = || graph.all_events().filter(|(_, _, event)| !is_told(event));
        let mut by_turn: Map<Turn, Vec<(u32, u32)>> =
            wanted().map(|(member, _, event)| (turn_of(fleet, member as usize, event), Vec::new())).collect();
        if !by_turn.is_empty() {
            for (member, place, event) in graph.all_events().filter(|(_, _, event)| event.is_known) {
                if let Some(entries) = by_turn.get_mut(&turn_of(fleet, member as usize, event)) {
                    entries.push((member, place));
                }
            }
        }
        let of_turn = by_turn.into_iter().map(|(turn, entries)| (turn, typical(graph, &entries)));
        let of_turn = of_turn.filter(|(_, typical)| typical.member != NONE).collect();
        Self { of_meeting, of_turn }
    }

    fn typical_of(&self, fleet: &Fleet, member: usize, event: &Event) -> Option<&Typical> {
        // The two ends of a message do different work.
        let meeting = self.of_meeting.get(event.meeting as usize).filter(|_| !event.operation.is_message());
        let meeting = meeting.filter(|typical| typical.member != NONE);
        meeting.or_else(|| self.of_turn.get(&turn_of(fleet, member, event)))
    }

    /// How much more local work a member does than its peers.
    pub fn excess(&self, fleet: &Fleet, graph: &StepGraph, member: usize) -> Excess {
        let mut excess = Excess::default();
        for (_, beyond, computed) in self.told(fleet, graph, member) {
            excess.local_ns += beyond;
            excess.compute_ns += computed;
            excess.collectives += 1;
        }
        excess
    }

    /// Events that end local work and that peers have too, with the local time and the computation beyond theirs.
    fn told<'a>(
        &'a self,
        fleet: &'a Fleet,
        graph: &'a StepGraph,
        member: usize,
    ) -> impl Iterator<Item = (&'a Event, f64, f64)> {
        let events = &graph.tracks[member].events;
        // Work hidden behind collectives ends where the main line waits; without any wait, use arrivals.
        let waits = events.iter().any(|event| event.to_wait.is_finite());
        let ends_work = move |event: &&Event| !waits || (event.to_wait.is_finite() && event.is_counted);
        let known = events.iter().filter(|event| event.is_known).filter(ends_work);
        known.filter_map(move |event| {
            let typical = self.typical_of(fleet, member, event)?;
            let local = f64::from(if waits { typical.to_wait } else { typical.to_arrival });
            let computed = f64::from(event.computed) - f64::from(typical.computed);
            local.is_finite().then(|| (event, event.local() - local, computed))
        })
    }

    /// Local times of a member if it were like its peers; without peers, its own times, equally shortened.
    pub fn typical(&self, fleet: &Fleet, graph: &StepGraph, member: usize, fallback: f64) -> LocalTimes {
        let (mut own, mut theirs) = (0.0, 0.0);
        for (event, beyond, _) in self.told(fleet, graph, member) {
            own += event.local();
            theirs += event.local() - beyond;
        }
        let factor = if own > 0.0 { (theirs / own).min(1.0) } else { fallback };
        let events = &graph.tracks[member].events;
        let pick = |event: &Event, value: f64, of: fn(&Typical) -> f32| {
            let typical = self.typical_of(fleet, member, event).map(of).filter(|ns| ns.is_finite());
            typical.map_or(value * factor, f64::from)
        };
        LocalTimes {
            to_arrival: events
                .iter()
                .map(|event| pick(event, f64::from(event.to_arrival), |of| of.to_arrival))
                .collect(),
            to_wait: events
                .iter()
                .map(|event| pick(event, f64::from(event.to_wait), |of| of.to_wait))
                .collect(),
            tail: graph.tracks[member].tail * factor,
        }
    }

    /// Gives events whose record is lost, or that are next to a lost one, the local times of their peers.
    pub fn fill_lost(&self, fleet: &Fleet, graph: &mut StepGraph) {
        for member in 0..graph.tracks.len() {
            if graph.tracks[member].events.iter().all(|event| event.is_known) {
                continue;
            }
            let events = graph.tracks[member].events.iter().enumerate();
            let places: Map<EventKey, u32> = events
                .map(|(place, event)| ((event.step, event.operation, event.turn), place as u32))
                .collect();
            for number in 0..graph.tracks[member].events.len() {
                let event = graph.tracks[member].events[number];
                let Some(typical) = self.typical_of(fleet, member, &event).filter(|_| !event.is_known) else {
                    continue;
                };
                let typical = *typical;
                let event = &mut graph.tracks[member].events[number];
                event.to_arrival = typical.to_arrival;
                if event.to_wait.is_finite() {
                    let wait = if typical.to_wait.is_finite() { typical.to_wait } else { typical.to_arrival };
                    event.to_wait = wait;
                }
                if !event.is_lost {
                    continue;
                }
                // A lost one comes after the same event as on its peers; an event cannot come after itself.
                let peer = &graph.tracks[typical.member as usize].events;
                let after = |of: fn(&Event) -> u32| {
                    let event = peer.get(of(&peer[typical.place as usize]) as usize)?;
                    let place = places.get(&(event.step, event.operation, event.turn)).copied();
                    place.filter(|&place| (place as usize) < number)
                };
                let [resumed_at, wait_from, queued_behind] = [
                    after(|event| event.resumed_at),
                    after(|event| event.wait_from),
                    after(|event| event.queued_behind),
                ];
                let event = &mut graph.tracks[member].events[number];
                event.resumed_at = resumed_at.unwrap_or(event.resumed_at);
                event.wait_from = wait_from.unwrap_or(event.wait_from);
                event.queued_behind = queued_behind.unwrap_or(NONE);
            }
        }
    }
}

fn turn_of(fleet: &Fleet, member: usize, event: &Event) -> Turn {
    (fleet.members[member].place.pipeline, event.step, event.operation, event.turn)
}

/// By meeting: the median of its known events.
fn of_meetings(meetings: &Meetings, graph: &StepGraph) -> Vec<Typical> {
    let count = meetings.all.len();
    let known = || {
        let known =
            graph.all_events().filter(|(_, _, event)| event.is_known && !event.operation.is_message());
        known.filter(|(_, _, event)| (event.meeting as usize) < count)
    };
    // The events of each meeting one after the other.
    let mut ends = vec![0u32; count + 1];
    known().for_each(|(_, _, event)| ends[event.meeting as usize + 1] += 1);
    (0..count).for_each(|meeting| ends[meeting + 1] += ends[meeting]);
    let mut entries = vec![(0, 0); ends[count] as usize];
    // Filling moves each start to its end, which is the start of the next.
    for (member, place, event) in known() {
        let at = &mut ends[event.meeting as usize];
        entries[*at as usize] = (member, place);
        *at += 1;
    }
    let of_chunk = |chunk: usize| {
        let meetings = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
        let start = |meeting: usize| meeting.checked_sub(1).map_or(0, |before| ends[before] as usize);
        let own = |meeting: usize| &entries[start(meeting)..ends[meeting] as usize];
        meetings.map(|meeting| typical(graph, own(meeting))).collect::<Vec<_>>()
    };
    (0..count.div_ceil(CHUNK)).into_par_iter().flat_map_iter(of_chunk).collect()
}

fn typical(graph: &StepGraph, entries: &[(u32, u32)]) -> Typical {
    let event = |&(member, place): &(u32, u32)| &graph.tracks[member as usize].events[place as usize];
    let middle = |value: fn(&Event) -> f32| lower_median(entries.iter().map(event).map(value));
    // Most members are like the first: the order of operations is that of the program.
    let (member, place) = entries.first().copied().unwrap_or((NONE, NONE));
    Typical {
        to_arrival: middle(|event| event.to_arrival),
        to_wait: middle(|event| event.to_wait),
        computed: middle(|event| event.computed),
        member,
        place,
    }
}

/// The lower middle: of two members, the one that is not late.
fn lower_median(values: impl Iterator<Item = f32>) -> f32 {
    let mut values: Vec<f32> = values.filter(|value| value.is_finite()).collect();
    if values.is_empty() {
        return f32::NAN;
    }
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}
