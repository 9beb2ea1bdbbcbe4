//! How much time there is to hide work behind, step by step: computation that nothing overlaps yet.

use trace::Map;

use super::device::{Device, StepKey, Work};
use super::order::Order;
use super::rules::{Beside, Rules, WorkKind};

/// The pools: computation without communication, computation without a copy, compute kernels that run alone.
const POOLS: usize = 3;

fn pool_of(kind: WorkKind) -> usize {
    match (kind, Rules::built_in().kind(kind).beside) {
        (_, Beside::Compute) => 2,
        (WorkKind::Copy, Beside::Computation) => 1,
        (_, Beside::Computation) => 0,
    }
}

/// Computation of a device that can hide other work.
pub(super) struct Pools {
    steps: Map<StepKey, [i64; POOLS]>,
    /// By stream and pool: prefix sums over the stream's work.
    sums: Vec<[Vec<i64>; POOLS]>,
    /// By step: its streams, each with its first place and the place after its last.
    ranges: Map<StepKey, Vec<(u32, u32, u32)>>,
}

impl Pools {
    pub fn of(device: &Device) -> Self {
        let mut pools = Self { steps: Map::default(), sums: Vec::new(), ranges: Map::default() };
        for (stream, lineup) in device.streams.iter().enumerate() {
            let mut sums: [Vec<i64>; POOLS] = Default::default();
            sums.iter_mut().for_each(|sums| sums.push(0));
            for (place, &i) in lineup.work.iter().enumerate() {
                let (work, seen) = (&device.work[i as usize], &device.swept.seen[i as usize]);
                let alone = if work.kind == WorkKind::Compute { seen.exposed } else { 0 };
                let times = [seen.without_communication, seen.without_copy, alone];
                let step = pools.steps.entry(work.step).or_default();
                for (pool, time) in times.into_iter().enumerate() {
                    step[pool] += time;
                    let sum = sums[pool][place] + time;
                    sums[pool].push(sum);
                }
                let ranges = pools.ranges.entry(work.step).or_default();
                match ranges.last_mut() {
                    Some(range) if range.0 == stream as u32 => range.2 = place as u32 + 1,
                    _ => ranges.push((stream as u32, place as u32, place as u32 + 1)),
                }
            }
            pools.sums.push(sums);
        }
        pools
    }

    /// Time in a step that work of this kind could hide behind.
    pub fn in_step(&self, step: StepKey, kind: WorkKind) -> i64 {
        self.steps.get(&step).map_or(0, |pools| pools[pool_of(kind)])
    }

    /// The other streams with computation in the same step that could hide this work.
    pub fn streams_beside(&self, work: &Work) -> impl Iterator<Item = u32> {
        let ranges = self.others(work).filter(|&range| self.between(work, range, 0, u32::MAX) > 0);
        ranges.map(|(stream, ..)| stream)
    }

    fn others(&self, work: &Work) -> impl Iterator<Item = (u32, u32, u32)> {
        let stream = work.stream;
        let ranges = self.ranges.get(&work.step).into_iter().flatten().copied();
        ranges.filter(move |(other, ..)| *other != stream)
    }

    /// Time that could hide the work without breaking the recorded order, and the stream with most of it.
    pub fn free(&self, order: &Order, work: &Work) -> (i64, u32) {
        let (mut total, mut most) = (0, (0, work.stream));
        for range in self.others(work) {
            let stream = range.0;
            let (from, _) = order.follows(work.stream, work.place, stream);
            let to = order.followed_by(work.stream, work.place, stream).map_or(u32::MAX, |(place, _)| place);
            let time = self.between(work, range, from, to);
            total += time;
            most = most.max((time, stream));
        }
        (total, most.1)
    }

    fn between(&self, work: &Work, (stream, first, after): (u32, u32, u32), from: u32, to: u32) -> i64 {
        let (from, to) = (from.max(first), to.min(after));
        let sums = &self.sums[stream as usize][pool_of(work.kind)];
        if from < to { sums[to as usize] - sums[from as usize] } else { 0 }
    }
}
