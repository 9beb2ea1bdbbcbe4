//! Exclusive time of host regions: a region's time without that of the regions inside it on its thread.

use trace::{Map, Regions};

/// Self time of every region, in one pass over regions sorted by (start, end).
///
/// A region is the child of the innermost region that is still open on its thread when it starts. If the two
/// only overlap (asynchronous or damaged data) the child takes only what lies inside the parent.
pub fn self_times(regions: &Regions) -> Vec<i64> {
    let mut own: Vec<i64> = (0..regions.len()).map(|i| regions.end[i] - regions.start[i]).collect();
    let mut open: Map<(u32, u32), Vec<u32>> = Map::default();
    let mut i = 0;
    while i < regions.len() {
        // Equal starts come shortest first; the longest is the parent, so take such a run from its end.
        let mut run_end = i + 1;
        while run_end < regions.len() && regions.start[run_end] == regions.start[i] {
            run_end += 1;
        }
        for row in (i..run_end).rev() {
            let stack = open.entry((regions.process[row].0, regions.thread[row].0)).or_default();
            while stack.last().is_some_and(|&top| regions.end[top as usize] <= regions.start[row]) {
                stack.pop();
            }
            if let Some(&parent) = stack.last() {
                let inside = regions.end[row].min(regions.end[parent as usize]) - regions.start[row];
                own[parent as usize] -= inside.max(0);
            }
            if regions.end[row] > regions.start[row] {
                stack.push(row as u32);
            }
        }
        i = run_end;
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Region, ThreadId};

    fn regions(rows: &[(u32, i64, i64)]) -> Regions {
        let mut regions = Regions::default();
        let mut rows = rows.to_vec();
        rows.sort_by_key(|r| (r.1, r.2));
        for (thread, start, end) in rows {
            regions.push(Region { thread: ThreadId(thread), start, end, ..Default::default() });
        }
        regions
    }

    #[test]
    fn children_are_taken_off_their_innermost_parent() {
        // a 0..100 holds b 10..40 (which holds c 20..30) and d 50..60; e is on another thread.
        let table = regions(&[(1, 0, 100), (1, 10, 40), (1, 20, 30), (1, 50, 60), (2, 5, 95)]);
        let own = self_times(&table);
        let by_start: Vec<_> = table.start.iter().copied().zip(own).collect();
        assert_eq!(by_start, [(0, 60), (5, 90), (10, 20), (20, 10), (50, 10)]);
    }

    #[test]
    fn equal_starts_nest_by_length_and_zero_lengths_cost_nothing() {
        let table = regions(&[(1, 0, 10), (1, 0, 4), (1, 0, 0), (1, 4, 4)]);
        assert_eq!(self_times(&table), [0, 4, 6, 0]);
    }

    /// Brute force: each nanosecond of a thread belongs to the innermost region that covers it.
    #[test]
    fn properly_nested_regions_equal_brute_force() {
        let mut seed = 7u64;
        let mut next = |n: i64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            (seed >> 33) as i64 % n
        };
        for _ in 0..50 {
            let mut rows = vec![(1, 0i64, 200i64)];
            let mut spans = vec![(0i64, 200i64)];
            for _ in 0..20 {
                let (from, to) = spans[next(spans.len() as i64) as usize];
                if to - from < 4 {
                    continue;
                }
                let start = from + 1 + next((to - from) / 2);
                let end = (start + 1 + next(to - start)).min(to);
                let clashes = rows.iter().any(|&(_, s, e)| {
                    let disjoint = end <= s || e <= start;
                    let inside = (start > s && end <= e) || (s > start && e <= end);
                    !(disjoint || inside)
                });
                if !clashes {
                    rows.push((1, start, end));
                    spans.push((start, end));
                }
            }
            let table = regions(&rows);
            let mut expected = vec![0i64; table.len()];
            for t in 0..200 {
                let covering = (0..table.len()).filter(|&i| table.start[i] <= t && t < table.end[i]);
                if let Some(innermost) = covering.min_by_key(|&i| table.end[i] - table.start[i]) {
                    expected[innermost] += 1;
                }
            }
            assert_eq!(self_times(&table), expected, "{rows:?}");
        }
    }
}
