//! One sweep over the intervals of a GPU: how long each combination of kinds of work ran.

use model::lanes::{Bucket, Work};
use trace::Ns;

/// Time of every exact combination of kinds; index 0 is idle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// By combination: the sum of `Bucket::bit` of its kinds.
    pub combinations: [Ns; 8],
    /// The longest gap: its length and its start.
    pub longest_gap: Option<(Ns, Ns)>,
}

impl Timeline {
    /// Sweeps work in any order. Work that ends before it starts counts as zero time.
    pub fn of(work: &[Work]) -> Self {
        if work.is_sorted_by_key(|work| work.start) {
            return Self::in_order(work.iter().copied());
        }
        let mut work = work.to_vec();
        work.sort_unstable_by_key(|work| work.start);
        Self::in_order(work.into_iter())
    }

    /// Sweeps work that is sorted by start.
    pub fn in_order(work: impl Iterator<Item = Work>) -> Self {
        let mut sweep = Sweep::default();
        work.for_each(|work| sweep.add(work));
        sweep.finish()
    }

    fn pass(&mut self, until: &[Ns; 3], now: &mut Ns, to: Ns) {
        while *now < to {
            let running = Bucket::ALL.into_iter().filter(|&bucket| until[bucket as usize] > *now);
            let combination: usize = running.map(Bucket::bit).sum();
            let ends = until.iter().copied().filter(|&end| end > *now && end < to);
            let next = ends.min().unwrap_or(to);
            self.combinations[combination] += next - *now;
            if combination == 0 && self.longest_gap.is_none_or(|(length, _)| length < next - *now) {
                self.longest_gap = Some((next - *now, *now));
            }
            *now = next;
        }
    }

    fn sum(&self, holds: impl Fn(usize) -> bool) -> Ns {
        (0..8).filter(|&c| holds(c)).map(|c| self.combinations[c]).sum()
    }

    /// From the first start to the last end.
    pub fn total(&self) -> Ns {
        self.sum(|_| true)
    }

    /// Time with any work.
    pub fn busy(&self) -> Ns {
        self.sum(|c| c != 0)
    }

    /// Time without work.
    pub fn idle(&self) -> Ns {
        self.combinations[0]
    }

    /// Time with work of this kind.
    pub fn of_bucket(&self, bucket: Bucket) -> Ns {
        self.sum(|c| c & bucket.bit() != 0)
    }

    /// Communication not overlapped by computation.
    pub fn exposed_communication(&self) -> Ns {
        self.sum(|c| c & Bucket::Communication.bit() != 0 && c & Bucket::Compute.bit() == 0)
    }

    /// Copies not overlapped by anything.
    pub fn exposed_memcpy(&self) -> Ns {
        self.combinations[Bucket::Memcpy.bit()]
    }

    /// The name of a combination: `compute + memcpy`, `idle`.
    pub fn name(combination: usize) -> String {
        if combination == 0 {
            return "idle".into();
        }
        let parts = Bucket::ALL.iter().filter(|bucket| combination & bucket.bit() != 0);
        parts.map(|bucket| bucket.name()).collect::<Vec<_>>().join(" + ")
    }
}

/// A sweep under way, for work that comes one by one in the order of its start.
#[derive(Default)]
pub(crate) struct Sweep {
    timeline: Timeline,
    /// Where the sweep is, and when the latest work of each kind ends; `None` before the first work.
    reached: Option<(Ns, [Ns; 3])>,
}

impl Sweep {
    /// Adds work that starts no earlier than the last.
    #[inline]
    pub fn add(&mut self, work: Work) {
        let (now, until) = self.reached.get_or_insert((work.start, [work.start; 3]));
        self.timeline.pass(until, now, work.start);
        let until = &mut until[work.bucket as usize];
        *until = (*until).max(work.end);
    }

    /// The timeline of all work that was added.
    pub fn finish(mut self) -> Timeline {
        if let Some((mut now, until)) = self.reached {
            let last = until.into_iter().max().unwrap_or(now);
            self.timeline.pass(&until, &mut now, last);
        }
        self.timeline
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn work() -> impl Strategy<Value = Vec<Work>> {
        let one = (-40i64..60, -2i64..25, 0usize..3);
        prop::collection::vec(one, 0..40).prop_map(|all| {
            let work = |(start, length, bucket): (i64, i64, usize)| Work {
                start,
                end: start + length,
                bucket: Bucket::ALL[bucket],
            };
            all.into_iter().map(work).collect()
        })
    }

    proptest! {
        #[test]
        fn equals_looking_at_every_nanosecond(work in work()) {
            let mut expected = [0i64; 8];
            let first = work.iter().map(|w| w.start).min().unwrap_or(0);
            let last = work.iter().map(|w| w.end.max(w.start)).max().unwrap_or(0);
            for t in first..last {
                let running = work.iter().filter(|w| w.start <= t && t < w.end);
                let combination = running.fold(0, |all, w| all | w.bucket.bit());
                expected[combination] += 1;
            }
            let timeline = Timeline::of(&work);
            prop_assert_eq!(timeline.combinations, expected);
            prop_assert_eq!(timeline.total(), last - first);
            let parts = timeline.of_bucket(Bucket::Compute)
                + timeline.exposed_communication()
                + timeline.exposed_memcpy()
                + timeline.idle();
            prop_assert_eq!(parts, timeline.total());
        }
    }

    #[test]
    fn the_longest_gap_is_found() {
        let at = |start, end| Work { start, end, bucket: Bucket::Memcpy };
        let timeline = Timeline::of(&[at(100, 110), at(0, 10), at(12, 20), at(5, 8)]);
        assert_eq!(timeline.longest_gap, Some((80, 20)));
        assert_eq!(Timeline::of(&[]), Timeline::default());
        assert_eq!(Timeline::name(5), "compute + memcpy");
    }
}
