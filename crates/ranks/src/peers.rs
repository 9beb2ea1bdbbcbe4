//! Local work of a member against that of its peers: the other members of the same collective.

use trace::Map;

use crate::digest::NONE;
use crate::fleet::Fleet;
use crate::matching::Meetings;
use crate::operation::Operation;
use crate::simulate::{Event, LocalTimes, StepGraph};

/// Local times beyond those of the peers, summed over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Excess {
    /// All of it.
    pub local_ns: f64,
    /// The part in which kernels computed.
    pub compute_ns: f64,
    /// Collectives that tell.
    pub collectives: usize,
}

/// The middle of local times, and after which events they begin.
#[derive(Clone, Copy, Debug)]
struct Typical {
    to_arrival: f64,
    to_wait: f64,
    computed: f64,
    resumed_at: Option<Place>,
    wait_from: Option<Place>,
    queued_behind: Option<Place>,
}

/// An event on any member: step, operation, and the how manieth it is there.
type Place = (u32, Operation, u32);

/// What makes work alike on several ranks: pipeline stage, step, operation, and the how manieth it is there.
type Turn = (Option<u32>, u32, Operation, u32);

/// Typical local times: of the members of a collective, and of the messages of one turn in a pipeline stage.
pub(crate) struct Peers {
    of_meeting: Vec<Option<Typical>>,
    of_turn: Map<Turn, Typical>,
}

impl Peers {
    pub fn of(fleet: &Fleet, meetings: &Meetings, graph: &StepGraph) -> Self {
        let mut by_meeting: Vec<Vec<(u32, u32)>> = vec![Vec::new(); meetings.all.len()];
        let mut by_turn: Map<Turn, Vec<(u32, u32)>> = Map::default();
        for (member, events) in graph.events.iter().enumerate() {
            for (place, event) in events.iter().enumerate().filter(|(_, event)| event.is_known) {
                let entry = (member as u32, place as u32);
                by_turn.entry(turn_of(fleet, member, event)).or_default().push(entry);
                let meeting = by_meeting.get_mut(event.meeting as usize);
                if let Some(meeting) = meeting.filter(|_| !event.operation.is_message()) {
                    meeting.push(entry);
                }
            }
        }
        let place_of = |member: u32, place: u32| {
            let event = graph.events[member as usize].get(place as usize)?;
            Some((event.step, event.operation, event.turn))
        };
        let typical = |entries: &[(u32, u32)]| {
            let event = |&(member, place): &(u32, u32)| &graph.events[member as usize][place as usize];
            let middle =
                |value: fn(&Event) -> f64| lower_median(entries.iter().map(event).map(value).collect());
            // Most do as the first: the order of operations is that of the program.
            let first = *entries.first()?;
            let after = |of: fn(&Event) -> u32| place_of(first.0, of(event(&first)));
            Some(Typical {
                resumed_at: after(|event| event.resumed_at),
                wait_from: after(|event| event.wait_from),
                queued_behind: after(|event| event.queued_behind),
                to_arrival: middle(|event| f64::from(event.to_arrival)),
                to_wait: middle(|event| f64::from(event.to_wait)),
                computed: middle(|event| f64::from(event.computed)),
            })
        };
        Self {
            of_meeting: by_meeting.iter().map(|entries| typical(entries)).collect(),
            of_turn: by_turn.iter().filter_map(|(turn, entries)| Some((*turn, typical(entries)?))).collect(),
        }
    }

    fn typical_of(&self, fleet: &Fleet, member: usize, event: &Event) -> Option<&Typical> {
        // The two ends of a message do different work.
        let meeting = self.of_meeting.get(event.meeting as usize).filter(|_| !event.operation.is_message());
        meeting.and_then(Option::as_ref).or_else(|| self.of_turn.get(&turn_of(fleet, member, event)))
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
        let events = &graph.events[member];
        // Work that is hidden beside collectives ends where the main line waits; without any wait, arrivals must do.
        let waits = events.iter().any(|event| event.to_wait.is_finite());
        let ends_work = move |event: &&Event| !waits || (event.to_wait.is_finite() && event.is_counted);
        let known = events.iter().filter(|event| event.is_known).filter(ends_work);
        known.filter_map(move |event| {
            let typical = self.typical_of(fleet, member, event)?;
            let local = if waits { typical.to_wait } else { typical.to_arrival };
            local
                .is_finite()
                .then(|| (event, event.local() - local, f64::from(event.computed) - typical.computed))
        })
    }

    /// Local times of a member as if it were like its peers; where it has none, its own times the same share shorter.
    pub fn typical(&self, fleet: &Fleet, graph: &StepGraph, member: usize, fallback: f64) -> LocalTimes {
        let (mut own, mut theirs) = (0.0, 0.0);
        for (event, beyond, _) in self.told(fleet, graph, member) {
            own += event.local();
            theirs += event.local() - beyond;
        }
        let factor = if own > 0.0 { (theirs / own).min(1.0) } else { fallback };
        let events = &graph.events[member];
        let pick = |event: &Event, value: f64, of: fn(&Typical) -> f64| {
            let typical = self.typical_of(fleet, member, event).map(of).filter(|ns| ns.is_finite());
            typical.unwrap_or(value * factor)
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
            tail: graph.tails[member] * factor,
        }
    }

    /// Gives events whose record is lost, or that lie beside a lost one, the local times of their peers.
    pub fn fill_lost(&self, fleet: &Fleet, graph: &mut StepGraph) {
        for member in 0..graph.events.len() {
            if graph.events[member].iter().all(|event| event.is_known) {
                continue;
            }
            let events = graph.events[member].iter().enumerate();
            let places: Map<Place, u32> = events
                .map(|(place, event)| ((event.step, event.operation, event.turn), place as u32))
                .collect();
            for number in 0..graph.events[member].len() {
                let event = graph.events[member][number];
                let Some(typical) = self.typical_of(fleet, member, &event).filter(|_| !event.is_known) else {
                    continue;
                };
                let typical = *typical;
                let event = &mut graph.events[member][number];
                event.to_arrival = typical.to_arrival as f32;
                if event.to_wait.is_finite() {
                    let wait = if typical.to_wait.is_finite() { typical.to_wait } else { typical.to_arrival };
                    event.to_wait = wait as f32;
                }
                // A lost one comes after the same event as on its peers; an event cannot come after itself.
                let after = |place: Option<Place>| {
                    place
                        .and_then(|place| places.get(&place))
                        .copied()
                        .filter(|&place| (place as usize) < number)
                };
                if event.is_lost {
                    event.resumed_at = after(typical.resumed_at).unwrap_or(event.resumed_at);
                    event.wait_from = after(typical.wait_from).unwrap_or(event.wait_from);
                    event.queued_behind = after(typical.queued_behind).unwrap_or(NONE);
                }
            }
        }
    }
}

fn turn_of(fleet: &Fleet, member: usize, event: &Event) -> Turn {
    (fleet.members[member].place.pipeline, event.step, event.operation, event.turn)
}

/// The lower middle: of two members, the one that is not late.
fn lower_median(mut values: Vec<f64>) -> f64 {
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
