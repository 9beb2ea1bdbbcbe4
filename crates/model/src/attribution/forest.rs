//! The forest of host regions: who encloses whom on a thread, found in one sweep.

use rayon::prelude::*;
use trace::{Regions, StrId, Strings};

const NONE: u32 = u32::MAX;

/// The innermost enclosing region of every region, by time on its own thread.
///
/// Cost: one pass over regions sorted by (start, end) plus a sort of each run of equal starts; four bytes
/// per region.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    parent: Vec<u32>,
}

impl Forest {
    /// Sweeps the regions of a finished trace.
    pub fn of(regions: &Regions, strings: &Strings) -> Self {
        Self::in_chunks(regions, strings, CHUNK)
    }

    /// Sweeps chunks on several threads. A chunk does not know which regions were open before it, so its rows
    /// without a parent get one afterwards, in order.
    fn in_chunks(regions: &Regions, strings: &Strings, rows: usize) -> Self {
        let threads = regions.thread.par_iter().filter_map(|t| t.get()).max().map_or(0, |t| t + 1);
        let sweep = Sweep { regions, depth: Nesting::of(strings), threads };
        let mut parent = vec![NONE; regions.len()];
        let mut chunks = Vec::new();
        let (mut first, mut rest) = (0, &mut parent[..]);
        while first < regions.len() {
            let mut end = regions.len().min(first + rows);
            // Rows with equal starts are ordered together.
            while end < regions.len() && regions.start[end] == regions.start[end - 1] {
                end += 1;
            }
            let (here, behind) = std::mem::take(&mut rest).split_at_mut(end - first);
            chunks.push((first, here));
            (first, rest) = (end, behind);
        }
        let swept: Vec<Swept> =
            chunks.into_par_iter().map(|(first, parent)| sweep.chunk(first, parent)).collect();
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); threads + 1];
        for chunk in swept {
            for row in chunk.without_parent {
                if let Some(top) = sweep.innermost(&mut open[sweep.lane(row as usize)], row as usize) {
                    parent[row as usize] = top;
                }
            }
            open.iter_mut().zip(chunk.open).for_each(|(stack, more)| stack.extend(more));
        }
        Self { parent }
    }

    /// The region that encloses `row` most closely.
    #[inline]
    pub fn parent(&self, row: usize) -> Option<usize> {
        let parent = self.parent[row];
        (parent != NONE).then_some(parent as usize)
    }

    /// The innermost enclosing region of every region; `u32::MAX` if there is none.
    pub fn parents(&self) -> &[u32] {
        &self.parent
    }

    /// Sorts ascending `rows` so that every region comes after those that enclose it.
    pub fn sort_outer_first<T>(&self, regions: &Regions, rows: &mut [T], row_of: impl Fn(&T) -> usize) {
        // Only among equal starts can an outer region come later in the table.
        let same_start = |a: &T, b: &T| regions.start[row_of(a)] == regions.start[row_of(b)];
        for run in rows.chunk_by_mut(same_start).filter(|run| run.len() > 1) {
            let start = regions.start[row_of(&run[0])];
            run.sort_by_key(|row| {
                let outer = self.chain(row_of(row)).skip(1);
                outer.take_while(|&outer| regions.start[outer] == start).count()
            });
        }
    }

    /// `row` and all regions that enclose it, innermost first.
    pub fn chain(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(row), |&row| self.parent(row))
    }
}

/// Rows that one thread sweeps at once.
const CHUNK: usize = 1 << 17;

/// The result of one chunk's sweep, to be merged in order with the others.
struct Swept {
    /// Rows that lie in no region of the chunk, in order.
    without_parent: Vec<u32>,
    /// By lane: regions that may still be open after the chunk, outermost first.
    open: Vec<Vec<u32>>,
}

struct Sweep<'a> {
    regions: &'a Regions,
    depth: Nesting,
    threads: usize,
}

impl Sweep<'_> {
    /// Finds the parents of the rows from `first` on, if the parents are among these rows.
    fn chunk(&self, first: usize, parent: &mut [u32]) -> Swept {
        let (regions, end) = (self.regions, first + parent.len());
        let mut swept = Swept { without_parent: Vec::new(), open: vec![Vec::new(); self.threads + 1] };
        let mut run: Vec<u32> = Vec::new();
        let mut i = first;
        while i < end {
            run.clear();
            run.push(i as u32);
            while i + run.len() < end && regions.start[i + run.len()] == regions.start[i] {
                run.push((i + run.len()) as u32);
            }
            if run.len() > 1 {
                run.sort_by_key(|&r| {
                    let row = r as usize;
                    (-regions.end[row], self.depth.of_category(regions.category[row]), regions.external[row])
                });
            }
            for &r in &run {
                let row = r as usize;
                if self.depth.is_gpu_lane(regions.category[row]) {
                    continue;
                }
                let stack = &mut swept.open[self.lane(row)];
                match self.innermost(stack, row) {
                    Some(top) => parent[row - first] = top,
                    None => swept.without_parent.push(r),
                }
                if regions.end[row] > regions.start[row] {
                    stack.push(r);
                }
            }
            i += run.len();
        }
        swept
    }

    /// The lane of a row: its thread. Regions without a thread share one lane.
    fn lane(&self, row: usize) -> usize {
        self.regions.thread[row].get().unwrap_or(self.threads)
    }

    /// The innermost open region when a row starts; pops those that have ended.
    fn innermost(&self, stack: &mut Vec<u32>, row: usize) -> Option<u32> {
        while stack.last().is_some_and(|&top| self.regions.end[top as usize] <= self.regions.start[row]) {
            stack.pop();
        }
        stack.last().copied()
    }
}

/// Which of two regions with equal times is the outer one.
struct Nesting {
    outer_to_inner: [Option<StrId>; 4],
    gpu_lane: Option<StrId>,
}

impl Nesting {
    fn of(strings: &Strings) -> Self {
        let order = ["user_annotation", "python_function", "cpu_op", "cuda_runtime"];
        Self {
            outer_to_inner: order.map(|category| strings.find(category)),
            gpu_lane: strings.find("gpu_user_annotation"),
        }
    }

    fn of_category(&self, category: StrId) -> usize {
        self.outer_to_inner.iter().position(|known| *known == Some(category)).unwrap_or(0)
    }

    fn is_gpu_lane(&self, category: StrId) -> bool {
        self.gpu_lane == Some(category)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trace::{Region, ThreadId};

    use super::*;

    fn regions(rows: &[(u32, i64, i64)]) -> Regions {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|r| (r.1, r.2));
        let mut regions = Regions::default();
        for (thread, start, end) in rows {
            regions.push(Region { thread: ThreadId(thread), start, end, ..Default::default() });
        }
        regions
    }

    #[test]
    fn a_chain_leads_from_the_inside_out() {
        let table = regions(&[(0, 0, 100), (0, 10, 50), (0, 20, 30), (1, 0, 90), (0, 60, 70)]);
        let forest = Forest::of(&table, &Strings::default());
        let starts = |row| forest.chain(row).map(|r| (table.start[r], table.end[r])).collect::<Vec<_>>();
        let row =
            |start, end| (0..table.len()).find(|&r| (table.start[r], table.end[r]) == (start, end)).unwrap();
        assert_eq!(starts(row(20, 30)), [(20, 30), (10, 50), (0, 100)]);
        assert_eq!(starts(row(60, 70)), [(60, 70), (0, 100)]);
        assert_eq!(starts(row(0, 90)), [(0, 90)]);
    }

    #[test]
    fn outer_regions_come_before_those_they_enclose() {
        let table = regions(&[(0, 0, 10), (0, 0, 50), (0, 0, 100), (1, 0, 5), (0, 60, 70)]);
        let forest = Forest::of(&table, &Strings::default());
        let mut order: Vec<u32> = (0..table.len() as u32).collect();
        forest.sort_outer_first(&table, &mut order, |row| *row as usize);
        let place = |row: usize| order.iter().position(|&r| r as usize == row).unwrap();
        for row in 0..table.len() {
            assert!(forest.parent(row).is_none_or(|outer| place(outer) < place(row)), "{order:?}");
        }
    }

    #[test]
    fn equal_intervals_nest_by_category() {
        let mut strings = Strings::default();
        let ids = ["cuda_runtime", "user_annotation", "cpu_op", "python_function"].map(|s| strings.intern(s));
        let mut table = Regions::default();
        for category in ids {
            table.push(Region { category, thread: ThreadId(0), start: 5, end: 9, ..Default::default() });
        }
        let forest = Forest::of(&table, &strings);
        let chain: Vec<_> = forest.chain(0).map(|r| strings.get(table.category[r])).collect();
        assert_eq!(chain, ["cuda_runtime", "cpu_op", "python_function", "user_annotation"]);
    }

    proptest! {
        /// The parent is the latest-started region of the thread that still runs, whatever overlaps.
        #[test]
        fn parents_equal_brute_force(rows in prop::collection::vec((0u32..3, 0i64..60, 0i64..30), 1..60)) {
            let rows: Vec<_> = rows.into_iter().map(|(t, s, d)| (t, s, s + d)).collect();
            let table = regions(&rows);
            let forest = Forest::of(&table, &Strings::default());
            for chunk in [1, 2, 7, 30] {
                let in_chunks = Forest::in_chunks(&table, &Strings::default(), chunk);
                prop_assert_eq!(&in_chunks.parent, &forest.parent, "{} rows at once", chunk);
            }
            for row in 0..table.len() {
                let covers = |p: usize| {
                    let starts_before = table.start[p] < table.start[row]
                        || table.start[p] == table.start[row] && table.end[p] > table.end[row];
                    p != row && table.thread[p] == table.thread[row] && starts_before && table.end[p] > table.start[row]
                };
                let expected = (0..table.len()).filter(|&p| covers(p)).map(|p| (table.start[p], -table.end[p])).max();
                let found = forest.parent(row).map(|p| (table.start[p], -table.end[p]));
                // Among equal intervals any order is a nesting: the parent may be a twin.
                if found != Some((table.start[row], -table.end[row])) {
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
