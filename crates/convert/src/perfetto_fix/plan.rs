//! Moves slices so that they nest on every lane: viewers drop or cut a slice that starts inside another one
//! and ends after it.

use std::cmp::Reverse;
use std::ops::Range;

use trace::{Map, Ns};

/// A complete event on a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub start: Ns,
    pub duration: Ns,
    /// Number of the lane.
    pub lane: u32,
    /// Number of the event in the file.
    pub event: u32,
}

impl Slice {
    fn end(&self) -> Ns {
        self.start + self.duration
    }

    fn order(&self) -> (u32, Ns, Reverse<Ns>, u32) {
        (self.lane, self.start, Reverse(self.duration), self.event)
    }
}

/// What happens to a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Edit {
    /// The added lane it goes to.
    pub to: Option<u32>,
    /// Its new duration, if its end is trimmed.
    pub duration: Option<Ns>,
}

/// The content of an added lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Slices that crossed others.
    Overlap(u32),
    /// Annotations that crossed the work they annotate, and, above the first lane, each other.
    Annotations(u32),
}

/// A lane to add.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Addition {
    /// The lane it is split from.
    pub parent: u32,
    /// Its content.
    pub content: Content,
    /// How many slices go there.
    pub slices: u64,
}

/// All changes to a trace.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// By event number; every other event stays unchanged.
    pub edits: Map<u32, Edit>,
    /// Lanes, ordered by parent.
    pub added: Vec<Addition>,
    /// Slices that move.
    pub moved: u64,
    /// Slices whose end is trimmed.
    pub snapped: u64,
}

/// Plans every lane. Slices are `work`, or `annotations` of it; a crossing of at most `snap` is trimmed, a
/// slice that crosses by more moves. `is_gpu` marks lanes of GPUs.
pub(super) fn plan(work: &mut [Slice], annotations: &mut [Slice], snap: Ns, is_gpu: &[bool]) -> Plan {
    work.sort_unstable_by_key(Slice::order);
    annotations.sort_unstable_by_key(Slice::order);
    let mut plan = Plan::default();
    let (mut work_from, mut notes_from) = (0, 0);
    for (lane, is_gpu) in is_gpu.iter().enumerate() {
        let own = range(work, work_from, lane as u32);
        let notes = range(annotations, notes_from, lane as u32);
        (work_from, notes_from) = (own.end, notes.end);
        plan.lane(lane as u32, &work[own], &annotations[notes], snap, *is_gpu);
    }
    plan.snapped = plan.edits.values().filter(|edit| edit.duration.is_some()).count() as u64;
    plan.moved = plan.added.iter().map(|lane| lane.slices).sum();
    plan
}

fn range(slices: &[Slice], from: usize, lane: u32) -> Range<usize> {
    from..from + slices[from..].partition_point(|slice| slice.lane <= lane)
}

impl Plan {
    fn lane(&mut self, lane: u32, work: &[Slice], notes: &[Slice], snap: Ns, is_gpu: bool) {
        if work.is_empty() {
            return self.spread(lane, notes, Track::new(None), Content::Overlap, snap);
        }
        self.spread(lane, work, Track::new(None), Content::Overlap, snap);
        let (crossing, trims) = self.crossing_notes(work, notes, snap);
        if crossing.is_empty() || !is_gpu {
            for (event, duration) in trims {
                self.edits.entry(event).or_default().duration = Some(duration);
            }
        }
        if crossing.is_empty() {
            return;
        }
        // All annotations of a GPU belong together and move together; on a host, only those that cross move.
        let moving = if is_gpu { notes } else { &crossing };
        let own_lane = self.add(lane, Content::Annotations(0));
        self.spread(lane, moving, Track::new(Some(own_lane)), Content::Annotations, snap);
    }

    fn add(&mut self, parent: u32, content: Content) -> u32 {
        self.added.push(Addition { parent, content, slices: 0 });
        (self.added.len() - 1) as u32
    }

    /// Puts sorted slices on the first track where they nest, adding tracks as needed.
    fn spread(&mut self, lane: u32, slices: &[Slice], first: Track, content: fn(u32) -> Content, snap: Ns) {
        let mut tracks = vec![first];
        for slice in slices {
            let free = tracks.iter_mut().position(|track| track.take(slice, snap, &mut self.edits));
            let chosen = free.unwrap_or_else(|| {
                let mut track = Track::new(Some(self.add(lane, content(tracks.len() as u32))));
                track.take(slice, snap, &mut self.edits);
                tracks.push(track);
                tracks.len() - 1
            });
            if let Some(to) = tracks[chosen].added {
                self.edits.entry(slice.event).or_default().to = Some(to);
                self.added[to as usize].slices += 1;
            }
        }
    }

    /// Annotations that cross work that stays on the lane, or each other, by more than `snap`; and the new
    /// durations of those that cross by less. Work is never trimmed for an annotation.
    fn crossing_notes(&self, work: &[Slice], notes: &[Slice], snap: Ns) -> (Vec<Slice>, Vec<(u32, Ns)>) {
        let edit = |slice: &Slice| self.edits.get(&slice.event).copied().unwrap_or_default();
        let staying = work.iter().filter(|slice| edit(slice).to.is_none());
        let mut staying = staying
            .map(|slice| Slice { duration: edit(slice).duration.unwrap_or(slice.duration), ..*slice })
            .peekable();
        let mut notes = notes.iter().copied().peekable();
        let (mut crossing, mut trims): (Vec<Slice>, Vec<(u32, Ns)>) = (Vec::new(), Vec::new());
        let mut open: Vec<(Slice, bool)> = Vec::new();
        loop {
            let from_notes = match (notes.peek(), staying.peek()) {
                (None, None) => break,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(n), Some(s)) => (n.start, Reverse(n.duration)) <= (s.start, Reverse(s.duration)),
            };
            let next = if from_notes { notes.next() } else { staying.next() };
            let Some(slice) = next else { break };
            while open.last().is_some_and(|(top, _)| top.end() <= slice.start) {
                open.pop();
            }
            let crossed = open.iter().rposition(|(top, _)| top.end() >= slice.end()).map_or(0, |i| i + 1);
            let by = |top: &Slice| top.end() - slice.start;
            let trimmable = |(top, is_note): &(Slice, bool)| *is_note && by(top) <= snap;
            if from_notes && !open[crossed..].iter().all(trimmable) {
                crossing.push(slice);
                continue;
            }
            for (top, _) in open.drain(crossed..) {
                if by(&top) <= snap {
                    trims.push((top.event, slice.start - top.start));
                } else {
                    crossing.push(top);
                }
            }
            open.push((slice, from_notes));
        }
        crossing.sort_unstable_by_key(Slice::order);
        (crossing, trims)
    }
}

/// A lane being filled in time order.
struct Track {
    /// The added lane, or `None` for the original one.
    added: Option<u32>,
    /// Slices that have not ended, the innermost last.
    open: Vec<Slice>,
}

impl Track {
    fn new(added: Option<u32>) -> Self {
        Self { added, open: Vec::new() }
    }

    /// Takes the slice if it nests here, trimming crossings of at most `snap`.
    fn take(&mut self, slice: &Slice, snap: Ns, edits: &mut Map<u32, Edit>) -> bool {
        while self.open.last().is_some_and(|top| top.end() <= slice.start) {
            self.open.pop();
        }
        let crossed = self.open.iter().rposition(|top| top.end() >= slice.end()).map_or(0, |i| i + 1);
        if self.open[crossed..].iter().any(|top| top.end() - slice.start > snap) {
            return false;
        }
        for top in self.open.drain(crossed..) {
            edits.entry(top.event).or_default().duration = Some(slice.start - top.start);
        }
        self.open.push(*slice);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices(times: &[(Ns, Ns)], first_event: u32) -> Vec<Slice> {
        let slice = |(i, (start, end)): (usize, &(Ns, Ns))| Slice {
            start: *start,
            duration: end - start,
            lane: 0,
            event: first_event + i as u32,
        };
        times.iter().enumerate().map(slice).collect()
    }

    fn edits(work: &[(Ns, Ns)], notes: &[(Ns, Ns)], snap: Ns, is_gpu: bool) -> (Vec<(u32, Edit)>, Plan) {
        let plan = plan(&mut slices(work, 0), &mut slices(notes, 100), snap, &[is_gpu]);
        let mut edits: Vec<_> = plan.edits.iter().map(|(event, edit)| (*event, *edit)).collect();
        edits.sort_unstable_by_key(|(event, _)| *event);
        (edits, plan)
    }

    fn moved(to: u32) -> Edit {
        Edit { to: Some(to), duration: None }
    }

    #[test]
    fn nested_and_touching_slices_stay() {
        let (edits, _) = edits(&[(0, 10), (10, 20), (0, 5), (2, 5), (12, 12), (20, 20)], &[(0, 20)], 0, true);
        assert_eq!(edits, []);
    }

    #[test]
    fn crossings_move_to_the_lowest_free_lane() {
        let (edits, plan) = edits(&[(0, 10), (5, 15), (8, 18), (12, 30), (16, 40)], &[], 0, true);
        // The fourth fits on the original lane once the first has ended; the fifth follows the second on lane
        // 1.
        assert_eq!(edits, [(1, moved(0)), (2, moved(1)), (4, moved(0))]);
        assert_eq!((plan.added.len(), plan.moved, plan.snapped), (2, 3, 0));
        assert_eq!(plan.added[1].content, Content::Overlap(2));
    }

    #[test]
    fn small_crossings_trim_the_earlier_slice() {
        let (edits, _) = edits(&[(0, 10), (4, 10), (9, 20)], &[], 1, true);
        let trimmed = |duration| Edit { to: None, duration: Some(duration) };
        assert_eq!(edits, [(0, trimmed(9)), (1, trimmed(5))]);
    }

    #[test]
    fn annotations_of_a_gpu_move_together_and_those_of_a_host_alone() {
        let notes = [(0, 12), (20, 39), (25, 30)];
        let work = [(0, 10), (20, 30), (30, 40)];
        let (on_gpu, plan) = edits(&work, &notes, 0, true);
        assert_eq!(on_gpu, [(100, moved(0)), (101, moved(0)), (102, moved(0))]);
        assert_eq!(plan.added[0].content, Content::Annotations(0));
        let (on_host, _) = edits(&work, &notes, 0, false);
        assert_eq!(on_host, [(101, moved(0))]);
    }

    #[test]
    fn a_late_end_of_an_annotation_is_trimmed() {
        let (edits, _) = edits(&[(0, 10), (10, 20)], &[(0, 11)], 1, true);
        assert_eq!(edits, [(100, Edit { to: None, duration: Some(10) })]);
    }
}
