//! The first pass: the slices of every lane, the names of lanes, and the numbers in use.

use std::collections::BTreeSet;

use trace::{Map, Ns};

use super::event::{Event, integer};
use super::plan::Slice;
use super::scan::unquoted;

/// How to treat categories of slices; all others are host work.
const CATEGORIES: &[(&[u8], CategoryFacts)] = &[
    (b"kernel", CategoryFacts { gpu: true, annotation: false }),
    (b"gpu_memcpy", CategoryFacts { gpu: true, annotation: false }),
    (b"gpu_memset", CategoryFacts { gpu: true, annotation: false }),
    (b"gpu_user_annotation", CategoryFacts { gpu: true, annotation: true }),
    (b"user_annotation", CategoryFacts { gpu: false, annotation: true }),
];

#[derive(Clone, Copy)]
struct CategoryFacts {
    gpu: bool,
    annotation: bool,
}

/// A lane of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Lane {
    /// `pid` as JSON.
    pub pid: Vec<u8>,
    /// `tid` as JSON.
    pub tid: Vec<u8>,
    /// Its name, as the inside of a JSON string.
    pub name: Vec<u8>,
    /// Its sort index, as JSON.
    pub sort_index: Vec<u8>,
}

/// What the first pass finds.
#[derive(Default)]
pub(super) struct Survey {
    /// Number of events.
    pub events: u64,
    /// Complete events whose times cannot be read; they stay unchanged.
    pub unreadable: u64,
    /// Slices of work.
    pub work: Vec<Slice>,
    /// Slices that annotate work.
    pub annotations: Vec<Slice>,
    /// Correlation ids, by event number.
    correlations: Vec<(u32, i64)>,
    /// All lanes.
    pub lanes: Vec<Lane>,
    /// Whether the lane has GPU work.
    pub is_gpu: Vec<bool>,
    by_key: Map<Vec<u8>, u32>,
    numbers: BTreeSet<i64>,
    key: Vec<u8>,
    last: u32,
    last_key: Vec<u8>,
}

impl Survey {
    /// Examines the next event.
    pub fn see(&mut self, bytes: &[u8]) {
        let number = self.events as u32;
        self.events += 1;
        let event = Event::of(bytes);
        match event.phase {
            b'X' => self.slice(&event, number),
            b'M' => self.metadata(&event),
            _ => {
                self.lane(&event);
            }
        }
    }

    /// The lane of an event, if it is known.
    pub fn find_lane(&mut self, event: &Event<'_>) -> Option<u32> {
        event.lane_key(&mut self.key);
        self.by_key.get(&self.key).copied()
    }

    /// The correlation of an event.
    pub fn correlation(&self, event: u32) -> Option<i64> {
        let at = self.correlations.binary_search_by_key(&event, |(event, _)| *event).ok()?;
        Some(self.correlations[at].1)
    }

    /// Integers that no process or thread of the file uses, small enough for every viewer.
    pub fn free_numbers(&self) -> impl Iterator<Item = i64> {
        const LIMIT: i64 = 1 << 31;
        let room = self.lanes.len() as i64 + 1;
        let highest = self.numbers.range(..LIMIT / 2 - room).next_back().map_or(0, |n| (*n).max(0));
        (highest + 1..).filter(|n| !self.numbers.contains(n))
    }

    fn lane(&mut self, event: &Event<'_>) -> u32 {
        event.lane_key(&mut self.key);
        if self.key == self.last_key {
            return self.last;
        }
        let lane = match self.by_key.get(&self.key) {
            Some(lane) => *lane,
            None => self.add_lane(event),
        };
        std::mem::swap(&mut self.last_key, &mut self.key);
        self.last = lane;
        lane
    }

    fn add_lane(&mut self, event: &Event<'_>) -> u32 {
        let (pid, tid) = (event.pid.unwrap_or(b"0"), event.tid.unwrap_or(b"0"));
        self.numbers.extend([pid, tid].iter().filter_map(|n| integer(unquoted(n))));
        let lane = self.lanes.len() as u32;
        self.lanes.push(Lane { pid: pid.to_vec(), tid: tid.to_vec(), ..Lane::default() });
        self.is_gpu.push(false);
        self.by_key.insert(self.key.clone(), lane);
        lane
    }

    fn slice(&mut self, event: &Event<'_>, number: u32) {
        let lane = self.lane(event);
        let times = event.start().zip(event.duration());
        let Some((start, duration)) = times.filter(|(start, length)| start.checked_add(*length).is_some())
        else {
            self.unreadable += 1;
            return;
        };
        if let Some(correlation) = event.correlation() {
            self.correlations.push((number, correlation));
        }
        let known = CATEGORIES.iter().find(|(name, _)| *name == event.category);
        let kind = known.map_or(CategoryFacts { gpu: false, annotation: false }, |(_, kind)| *kind);
        self.is_gpu[lane as usize] |= kind.gpu;
        let slices = if kind.annotation { &mut self.annotations } else { &mut self.work };
        slices.push(Slice { start, duration, lane, event: number });
    }

    fn metadata(&mut self, event: &Event<'_>) {
        let lane = self.lane(event) as usize;
        match event.name {
            b"thread_name" => {
                let name = event.arg(b"name").map(unquoted).unwrap_or_default();
                self.lanes[lane].name = name.trim_ascii_end().to_vec();
            }
            b"thread_sort_index" => {
                self.lanes[lane].sort_index = event.arg(b"sort_index").unwrap_or_default().to_vec();
            }
            _ => {}
        }
    }
}

/// New lanes for the flows of moved slices.
#[derive(Default)]
pub(super) struct FlowMoves {
    /// The slices that start at a lane and time.
    starts: Map<(u32, Ns), Vec<Start>>,
}

/// A slice that starts at the same place as one that moves.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// Its correlation.
    pub correlation: Option<i64>,
    /// Its new lane, if it moves.
    pub to: Option<u32>,
    /// Flows that were assigned to it.
    pub flows: u32,
}

impl FlowMoves {
    /// Adds a slice.
    pub fn add(&mut self, lane: u32, start: Ns, slice: Start) {
        self.starts.entry((lane, start)).or_default().push(slice);
    }

    /// Whether no flow can move.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The added lane for a flow that starts or ends there: that of the slice with the same id (the n-th flow
    /// belongs to the n-th slice), or the only lane that all slices of that time moved to.
    pub fn destination(&mut self, lane: u32, time: Ns, id: Option<i64>) -> Option<u32> {
        let starts = self.starts.get_mut(&(lane, time))?;
        let same = starts.iter_mut().filter(|start| id.is_some() && start.correlation == id);
        if let Some(start) = same.min_by_key(|start| start.flows) {
            start.flows += 1;
            return start.to;
        }
        let first = starts.first()?.to;
        first.filter(|_| starts.iter().all(|start| start.to == first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_numbers_meet_nobody() {
        let mut survey = Survey::default();
        for (pid, tid) in
            [("2", "7"), ("\"[TP00] 9\"", "\"12\""), ("13", "15"), ("1", "4294967295"), ("-1", "-3")]
        {
            survey.see(format!(r#"{{"ph":"X","ts":1,"dur":1,"pid":{pid},"tid":{tid}}}"#).as_bytes());
        }
        assert_eq!(survey.free_numbers().take(3).collect::<Vec<_>>(), [16, 17, 18]);
        assert_eq!(survey.lanes.len(), 5);
    }

    #[test]
    fn flows_of_one_number_and_time_follow_the_order_of_slices() {
        let mut moves = FlowMoves::default();
        for to in [None, Some(3)] {
            moves.add(0, 50, Start { correlation: Some(9), to, flows: 0 });
        }
        assert_eq!(moves.destination(0, 50, Some(9)), None);
        assert_eq!(moves.destination(0, 50, Some(9)), Some(3));
        assert_eq!(moves.destination(0, 50, Some(8)), None);
        assert_eq!(moves.destination(0, 51, Some(9)), None);
    }
}
