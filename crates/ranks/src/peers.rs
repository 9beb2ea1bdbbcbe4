//! Local work of a member against that of its peers: the other members of the same collective.

use crate::digest::NONE;
use crate::fleet::Fleet;
use crate::matching::Meetings;
use crate::simulate::{LocalTimes, StepGraph};

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

/// For every meeting the middle of its members' local times.
pub(crate) struct Peers {
    to_arrival: Vec<f64>,
    to_wait: Vec<f64>,
    computed: Vec<f64>,
    /// Whether its members do the same work: not the two ends of a message.
    is_alike: Vec<bool>,
}

impl Peers {
    pub fn of(fleet: &Fleet, meetings: &Meetings, graph: &StepGraph) -> Self {
        let count = meetings.all.len();
        let mut event_of: Vec<u32> = vec![NONE; meetings.parts.len()];
        let mut part_of = vec![Vec::new(); fleet.members.len()];
        for (number, meeting) in meetings.all.iter().enumerate() {
            for (at, part) in meetings.parts_of(meeting).iter().enumerate() {
                part_of[part.member as usize].push((number as u32, meeting.first + at as u32));
            }
        }
        for (parts, events) in part_of.iter_mut().zip(&graph.events) {
            parts.sort_unstable();
            for (place, event) in events.iter().enumerate() {
                if let Ok(found) = parts.binary_search_by_key(&event.meeting, |part| part.0) {
                    event_of[parts[found].1 as usize] = place as u32;
                }
            }
        }
        let mut peers = Self {
            to_arrival: vec![f64::NAN; count],
            to_wait: vec![f64::NAN; count],
            computed: vec![f64::NAN; count],
            is_alike: vec![false; count],
        };
        let mut values: [Vec<f64>; 3] = Default::default();
        for (number, meeting) in meetings.all.iter().enumerate() {
            values.iter_mut().for_each(Vec::clear);
            let parts = meetings.parts_of(meeting);
            let first = parts.first().map(|part| &fleet.members[part.member as usize].collectives[part.row as usize]);
            peers.is_alike[number] = parts.len() > 1 && first.is_some_and(|row| !row.operation.is_message());
            for (at, part) in parts.iter().enumerate() {
                let place = event_of[meeting.first as usize + at];
                if let Some(event) = graph.events[part.member as usize].get(place as usize) {
                    values[0].push(event.to_arrival);
                    values[1].push(event.to_wait);
                    values[2].push(event.computed);
                }
            }
            peers.to_arrival[number] = lower_median(&mut values[0]);
            peers.to_wait[number] = lower_median(&mut values[1]);
            peers.computed[number] = lower_median(&mut values[2]);
        }
        peers
    }

    /// How much more local work a member does than its peers.
    pub fn excess(&self, graph: &StepGraph, member: usize) -> Excess {
        let mut excess = Excess::default();
        for (_, beyond, computed) in self.told(graph, member) {
            excess.local_ns += beyond;
            excess.compute_ns += computed;
            excess.collectives += 1;
        }
        excess
    }

    /// Events that end local work and that peers have too, with the local time and the computation beyond theirs.
    fn told<'a>(
        &'a self,
        graph: &'a StepGraph,
        member: usize,
    ) -> impl Iterator<Item = (&'a crate::simulate::Event, f64, f64)> {
        let events = &graph.events[member];
        // Work that is hidden beside collectives ends where the main line waits; without any wait, arrivals must do.
        let waits = events.iter().any(|event| event.to_wait.is_finite());
        events.iter().filter(move |event| !waits || event.to_wait.is_finite()).filter_map(move |event| {
            let number = event.meeting as usize;
            let typical = if waits { self.to_wait[number] } else { self.to_arrival[number] };
            let known = self.is_alike[number] && typical.is_finite();
            known.then(|| (event, event.local() - typical, event.computed - self.computed[number]))
        })
    }

    /// Local times of a member as if it were like its peers; where it has none, its own times the same share shorter.
    pub fn typical(&self, graph: &StepGraph, member: usize, fallback: f64) -> LocalTimes {
        let (mut own, mut theirs) = (0.0, 0.0);
        for (event, beyond, _) in self.told(graph, member) {
            own += event.local();
            theirs += event.local() - beyond;
        }
        let factor = if own > 0.0 { (theirs / own).min(1.0) } else { fallback };
        let pick = |event: &crate::simulate::Event, value: f64, typical: f64| {
            if self.is_alike[event.meeting as usize] && typical.is_finite() { typical } else { value * factor }
        };
        let events = &graph.events[member];
        LocalTimes {
            to_arrival: events
                .iter()
                .map(|event| pick(event, event.to_arrival, self.to_arrival[event.meeting as usize]))
                .collect(),
            to_wait: events
                .iter()
                .map(|event| pick(event, event.to_wait, self.to_wait[event.meeting as usize]))
                .collect(),
            tail: graph.tails[member] * factor,
        }
    }
}

/// The lower middle: of two members, the one that is not late.
fn lower_median(values: &mut Vec<f64>) -> f64 {
    values.retain(|value| value.is_finite());
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
