//! What the run would save for many separate changes, several of them per pass over the graph.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::graph::Graph;

/// Changes per pass: more need more memory and gain little.
const LANES: usize = 5;

/// The changes in each pass, largest first: short passes at the end keep threads from waiting.
fn passes(mut changes: usize) -> Vec<usize> {
    let mut passes = Vec::new();
    while changes > 0 {
        let lanes = changes.div_ceil(2).min(LANES);
        passes.push(lanes);
        changes -= lanes;
    }
    passes
}

/// How far a point moves, in nanoseconds: negative if it comes earlier.
///
/// Four bytes are enough unless changes save seconds, and a pass over the graph is limited by memory.
pub(super) trait Moved: Copy + Ord + Send + 'static {
    const ZERO: Self;
    /// Earlier than any point can come.
    const MOST_EARLIER: Self;
    /// Converts a time, which may be capped above any possible saving.
    fn clamped(ns: i64) -> Self;
    /// This much earlier.
    fn less(self, time: Self) -> Self;
    fn ns(self) -> i64;
}

/// The largest saving for which `i32` can hold all moves.
pub(super) const MOST_SAVED_IN_32_BITS: i64 = 1 << 28;

impl Moved for i32 {
    const ZERO: Self = 0;
    const MOST_EARLIER: Self = i32::MIN;

    fn clamped(ns: i64) -> Self {
        ns.min(1 << 30) as i32
    }

    fn less(self, time: Self) -> Self {
        self.saturating_sub(time)
    }

    fn ns(self) -> i64 {
        i64::from(self)
    }
}

impl Moved for i64 {
    const ZERO: Self = 0;
    const MOST_EARLIER: Self = i64::MIN;

    fn clamped(ns: i64) -> Self {
        ns
    }

    fn less(self, time: Self) -> Self {
        self.saturating_sub(time)
    }

    fn ns(self) -> i64 {
        self
    }
}

/// A graph, and the changes that make its dependencies shorter.
pub(super) struct Savings<'g, S> {
    pub graph: &'g Graph,
    /// `shorter(edge, point)` is the only change that shortens a dependency, and by how much.
    pub shorter: S,
}

impl<S: Fn(usize, usize) -> Option<(usize, i64)> + Sync> Savings<'_, S> {
    /// How much sooner the run would end for each of `count` changes alone.
    pub fn of_each<T: Moved>(&self, count: usize) -> Vec<i64> {
        let passes = passes(count);
        let (next, saved) = (AtomicUsize::new(0), Mutex::new(vec![0; count]));
        // Takes passes until none is left: a thread that joins late takes the rest.
        let work = || {
            let mut moved = Vec::new();
            loop {
                let pass = next.fetch_add(1, Ordering::Relaxed);
                let Some(&lanes) = passes.get(pass) else { break };
                let first: usize = passes[..pass].iter().sum();
                let of_pass = self.in_lanes::<T>(first, lanes, &mut moved);
                let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
                saved[first..first + lanes].copy_from_slice(&of_pass[..lanes]);
            }
            moved
        };
        // At most two passes at a time: each needs memory for all points of the graph.
        let moved = rayon::join(work, work);
        // Returning it to the system takes as long as a short pass, and nothing waits for it.
        rayon::spawn(move || drop(moved));
        saved.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Self::of_each`] for one pass. Passes share `moved`, the move of each point in each lane.
    fn in_lanes<T: Moved>(&self, first: usize, lanes: usize, moved: &mut Vec<T>) -> [i64; LANES] {
        // Each point is written before it is read, so leftovers of an earlier pass need no clearing.
        if moved.is_empty() {
            *moved = vec![T::ZERO; lanes * self.graph.len()];
        }
        let mut saved = [0; LANES];
        match lanes {
            1 => saved[..1].copy_from_slice(&self.pass::<T, 1>(first, moved)),
            2 => saved[..2].copy_from_slice(&self.pass::<T, 2>(first, moved)),
            3 => saved[..3].copy_from_slice(&self.pass::<T, 3>(first, moved)),
            4 => saved[..4].copy_from_slice(&self.pass::<T, 4>(first, moved)),
            _ => saved = self.pass::<T, LANES>(first, moved),
        }
        saved
    }

    fn pass<T: Moved, const LANES: usize>(&self, first: usize, moved: &mut [T]) -> [i64; LANES] {
        let graph = self.graph;
        let end = graph.time.iter().copied().max().unwrap_or(0);
        let moved = moved.as_chunks_mut::<LANES>().0;
        let mut ends = [T::MOST_EARLIER; LANES];
        for &point in &graph.order {
            let point = point as usize;
            let (time, edges) = (graph.time[point], graph.dependencies(point));
            let mut last = [if edges.is_empty() { T::ZERO } else { T::MOST_EARLIER }; LANES];
            for edge in edges {
                let from = graph.from[edge] as usize;
                // The slack of this dependency: zero for the one that binds.
                let spare = T::clamped(time - graph.time[from] - graph.weight[edge]);
                let mut arrives = moved[from].map(|moved| moved.less(spare));
                if let Some((change, by)) = (self.shorter)(edge, point)
                    && let Some(arrives) = arrives.get_mut(change.wrapping_sub(first))
                {
                    *arrives = arrives.less(T::clamped(by));
                }
                for lane in 0..LANES {
                    last[lane] = last[lane].max(arrives[lane]);
                }
            }
            moved[point] = last;
            for lane in 0..LANES {
                ends[lane] = ends[lane].max(last[lane].less(T::clamped(end - time)));
            }
        }
        ends.map(|end| -end.ns())
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{Dependency, Draft};
    use super::*;

    #[test]
    fn passes_ask_about_every_change_and_end_with_short_ones() {
        assert_eq!(passes(20), [5, 5, 5, 3, 1, 1]);
        assert_eq!(passes(1), [1]);
        assert_eq!(passes(0), [0; 0]);
    }

    #[test]
    fn each_change_saves_what_it_would_save_alone() {
        let mut draft = Draft::new(2_000);
        (0..60).for_each(|i| {
            draft.point(i * 10);
        });
        let mut random = stats::random::Random::new(7);
        for to in 1..60u32 {
            for _ in 0..3 {
                let from = random.below(to as usize) as u32;
                draft.add(from, to, random.below(20) as i64, Dependency::Work);
            }
        }
        let graph = draft.finish();
        // A third of the dependencies belong to no change.
        let change_of = |edge: usize| (!edge.is_multiple_of(3)).then_some(edge % 7);
        let half = |edge: usize| graph.weight[edge] / 2;
        let shorter = |edge: usize, _: usize| Some((change_of(edge)?, graph.weight[edge] - half(edge)));
        let savings = Savings { graph: &graph, shorter };
        let saved = savings.of_each::<i32>(7);
        assert_eq!(savings.of_each::<i64>(7), saved);
        // Neither memory left by an earlier pass nor the number of changes per pass matters.
        for lanes in 1..=LANES {
            let of_pass = savings.in_lanes(7 - lanes, lanes, &mut vec![7i32; LANES * graph.len()]);
            assert_eq!(of_pass[..lanes], saved[7 - lanes..]);
        }
        assert!(saved.iter().any(|&saved| saved > 0));
        for (change, saved) in saved.into_iter().enumerate() {
            let mut times = Vec::new();
            graph.propagate_into(&mut times, |edge, _| match change_of(edge) {
                Some(changed) if changed == change => half(edge),
                _ => graph.weight[edge],
            });
            let end = graph.time.iter().max().unwrap() - saved;
            assert_eq!(Some(end), times.into_iter().max(), "change {change}");
        }
    }
}
