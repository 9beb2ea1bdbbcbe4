//! Events that come in pairs: begin and end of a region, both ends of a forward-backward flow.

use trace::{Link, LinkKind, Map, ProcessId, RowRef, StrId};

/// Half of a region: `B`/`E` on a thread, `b`/`e` by category and id.
#[derive(Clone, Copy)]
pub(super) struct Half {
    pub phase: u8,
    pub category: StrId,
    pub id: StrId,
    pub process: ProcessId,
    pub lane: u32,
    pub at: i64,
}

/// A region made of two halves, by their indexes in the list.
pub(super) struct Pair {
    pub begin: usize,
    pub end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Track {
    Thread(u32),
    Async(ProcessId, StrId, StrId),
}

/// Pairs halves by time, innermost first; returns the pairs in the order of their begin, and how many halves
/// have no partner.
pub(super) fn pair(halves: &[Half]) -> (Vec<Pair>, usize) {
    let mut order: Vec<usize> = (0..halves.len()).collect();
    // Stable: halves at the same time keep file order.
    order.sort_by_key(|&i| halves[i].at);
    let mut open: Map<Track, Vec<usize>> = Map::default();
    let mut pairs = Vec::with_capacity(halves.len() / 2);
    let mut alone = 0;
    for i in order {
        let half = &halves[i];
        let (track, begins) = match half.phase {
            b'B' | b'E' => (Track::Thread(half.lane), half.phase == b'B'),
            _ => (Track::Async(half.process, half.category, half.id), matches!(half.phase, b'b' | b'S')),
        };
        let stack = open.entry(track).or_default();
        if begins {
            stack.push(i);
        } else {
            match stack.pop() {
                Some(begin) => pairs.push(Pair { begin, end: i }),
                None => alone += 1,
            }
        }
    }
    alone += open.values().map(Vec::len).sum::<usize>();
    pairs.sort_by_key(|pair| pair.begin);
    (pairs, alone)
}

/// One end of a flow.
#[derive(Clone, Copy)]
pub(super) struct FlowEnd {
    pub start: bool,
    pub id: StrId,
    pub process: ProcessId,
    pub lane: u32,
    pub at: i64,
}

/// The columns of regions that flows need.
pub(super) struct Slices<'a> {
    pub lane: &'a [u32],
    pub start: &'a [i64],
    pub end: &'a [i64],
}

/// Links the slices at both ends of each flow; returns how many flows found no slice.
pub(super) fn link(flows: &[FlowEnd], slices: &Slices) -> (Vec<Link>, usize) {
    let mut slice_at: Map<(u32, i64), Option<usize>> = flows.iter().map(|f| ((f.lane, f.at), None)).collect();
    for row in 0..slices.lane.len() {
        if let Some(best) = slice_at.get_mut(&(slices.lane[row], slices.start[row]))
            // The innermost slice is the op itself.
            && best.is_none_or(|other| slices.end[row] <= slices.end[other])
        {
            *best = Some(row);
        }
    }
    let find = |flow: &FlowEnd| slice_at.get(&(flow.lane, flow.at)).copied().flatten();
    let starts: Map<_, _> = flows.iter().filter(|f| f.start).map(|f| ((f.process, f.id), f)).collect();
    let mut links = Vec::new();
    let mut alone = 0;
    for flow in flows.iter().filter(|flow| !flow.start) {
        match (starts.get(&(flow.process, flow.id)).and_then(|start| find(start)), find(flow)) {
            (Some(from), Some(to)) => {
                let (from, to) = (RowRef::region(from), RowRef::region(to));
                links.push(Link { kind: LinkKind::ForwardBackward, from, to });
            }
            _ => alone += 1,
        }
    }
    (links, alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(phase: u8, lane: u32, at: i64) -> Half {
        Half { phase, category: StrId(1), id: StrId(3), process: ProcessId(0), lane, at }
    }

    #[test]
    fn halves_nest_per_thread() {
        let halves = [
            half(b'B', 1, 0),
            half(b'B', 2, 1),
            half(b'B', 1, 2),
            half(b'E', 1, 3),
            half(b'E', 1, 9),
            half(b'E', 2, 5),
            half(b'E', 2, 6),
            half(b'B', 3, 7),
        ];
        let (pairs, alone) = pair(&halves);
        let ends: Vec<_> = pairs.iter().map(|p| (p.begin, p.end)).collect();
        assert_eq!(ends, [(0, 4), (1, 5), (2, 3)]);
        assert_eq!(alone, 2);
    }

    #[test]
    fn asynchronous_halves_pair_by_id() {
        let mut other = half(b'b', 1, 1);
        other.id = StrId(4);
        let (pairs, alone) = pair(&[half(b'b', 1, 0), other, half(b'e', 2, 5)]);
        assert_eq!((pairs[0].begin, pairs[0].end, alone), (0, 2, 1));
    }

    #[test]
    fn flows_bind_to_the_innermost_slice() {
        let slices = Slices { lane: &[1, 1, 2], start: &[10, 10, 50], end: &[30, 20, 60] };
        let end = |start, lane, at| FlowEnd { start, id: StrId(7), process: ProcessId(0), lane, at };
        let (links, alone) = link(&[end(true, 1, 10), end(false, 2, 50), end(false, 2, 51)], &slices);
        assert_eq!((links.len(), alone), (1, 1));
        assert_eq!((links[0].from, links[0].to), (RowRef::region(1), RowRef::region(2)));
    }
}
