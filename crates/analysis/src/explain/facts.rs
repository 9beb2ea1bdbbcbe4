//! What the rules judge from: the GPUs with their work in time order, their gaps, and the calls of interest.

use std::cell::OnceCell;

use trace::{Map, RowRef, StrId, Table, Trace};

use super::calls::HostCalls;
use super::gaps::{self, Cause, Gap};
use super::thresholds::Thresholds;
use crate::overlap::{Overlap, overlap};
use crate::statistics::percent;
use model::Run;
use model::lanes::Bucket;
use model::lanes::{GpuRow, Lane, lanes};

/// One GPU of one rank.
pub(super) struct Gpu {
    pub lane: Lane,
    /// Its work by (start, end).
    pub rows: Vec<GpuRow>,
    /// First moment of GPU work.
    pub first: i64,
    /// Last moment of GPU work.
    pub last: i64,
    /// Time with any work.
    pub busy: i64,
    /// Times without, and why.
    pub gaps: Vec<Gap>,
}

impl Gpu {
    /// From the first to the last work.
    pub fn total(&self) -> i64 {
        self.last - self.first
    }
}

/// A run as the rules see it.
pub(super) struct Facts<'a> {
    pub context: &'a Run<'a>,
    pub limits: &'static Thresholds,
    pub calls: HostCalls<'a>,
    pub gpus: Vec<Gpu>,
    overlap: OnceCell<Overlap>,
}

impl<'a> Facts<'a> {
    pub fn of(context: &'a Run<'a>) -> Self {
        let limits = Thresholds::built_in();
        let calls = HostCalls::of(context.trace, &context.calls);
        let mut gpus: Vec<Gpu> = lanes(context.trace, &context.classes).into_iter().map(gpu).collect();
        gpus.retain(|gpu| !gpu.rows.is_empty());
        for gpu in &mut gpus {
            gpu.gaps = gaps::find(&gpu.rows);
            gpu.busy = gpu.total() - gpu.gaps.iter().map(Gap::length).sum::<i64>();
        }
        gaps::explain(context.trace, &calls, limits, &mut gpus);
        Self { context, limits, calls, gpus, overlap: OnceCell::new() }
    }

    /// What the overlap analysis says, asked for once.
    pub fn overlap(&self) -> &Overlap {
        self.overlap.get_or_init(|| overlap(self.context))
    }

    pub fn trace(&self) -> &'a Trace {
        self.context.trace
    }

    /// Whether the trace tells what the host did.
    pub fn has_host_calls(&self) -> bool {
        self.gpus.iter().any(|gpu| gpu.rows.iter().any(|row| row.linked))
    }

    /// The longest time of any GPU, which shares are of where no single GPU is meant.
    pub fn total(&self) -> i64 {
        self.gpus.iter().map(Gpu::total).max().unwrap_or(0)
    }

    pub fn text(&self, name: StrId) -> &'a str {
        self.context.trace.strings.get(name)
    }

    /// Name, bytes, and whether host memory is one end, of a copy.
    pub fn copy(&self, row: RowRef) -> Option<(StrId, Option<i64>)> {
        let copies = &self.trace().memory_copies;
        let i = row.row_of(Table::MemoryCopies)?;
        (copies.kind[i] == trace::CopyKind::Copy).then(|| (copies.name[i], copies.bytes[i].get()))
    }

    /// Every copy of a GPU with the part of its time that no kernel runs beside it: (name, bytes, row, exposed).
    pub fn copies(&self, gpu: &Gpu) -> Vec<Copy> {
        let kernels = merged(gpu.rows.iter().filter(|row| row.work.bucket != Bucket::Memcpy));
        let mut from = 0;
        let mut found = Vec::new();
        for row in &gpu.rows {
            let Some((name, bytes)) = self.copy(row.row) else { continue };
            let (start, end) = (row.work.start, row.work.end);
            while kernels.get(from).is_some_and(|k| k.1 <= start) {
                from += 1;
            }
            let beside = kernels[from..].iter().take_while(|k| k.0 < end);
            let hidden: i64 = beside.map(|k| k.1.min(end) - k.0.max(start)).sum();
            found.push(Copy { name, bytes, start, end, exposed: (end - start - hidden).max(0) });
        }
        found
    }
}

/// A copy and how much of it is alone.
pub(super) struct Copy {
    pub name: StrId,
    pub bytes: Option<i64>,
    pub start: i64,
    pub end: i64,
    /// Time without a kernel beside it.
    pub exposed: i64,
}

impl Copy {
    pub fn duration(&self) -> i64 {
        self.end - self.start
    }

    /// 10⁹ bytes a second.
    pub fn gbps(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|&bytes| bytes > 0)?;
        (self.end > self.start).then(|| bytes as f64 / self.duration() as f64)
    }
}

fn gpu(mut lane: Lane) -> Gpu {
    let mut rows = std::mem::take(&mut lane.rows);
    rows.retain(|row| row.work.end >= row.work.start);
    rows.sort_by_key(|row| (row.work.start, row.work.end));
    let first = rows.first().map_or(0, |row| row.work.start);
    let last = rows.iter().map(|row| row.work.end).max().unwrap_or(0);
    Gpu { lane, rows, first, last, busy: 0, gaps: Vec::new() }
}

/// The union of the times of rows in order.
fn merged<'r>(rows: impl Iterator<Item = &'r GpuRow>) -> Vec<(i64, i64)> {
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for row in rows {
        match merged.last_mut() {
            Some(last) if row.work.start <= last.1 => last.1 = last.1.max(row.work.end),
            _ => merged.push((row.work.start, row.work.end)),
        }
    }
    merged
}

/// Sums by name and GPU; a rule speaks of each name once, of the GPU where it costs most.
#[derive(Default)]
pub(super) struct Tally {
    sums: Map<(StrId, usize), Sum>,
}

/// What one name costs on one GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub name: StrId,
    pub gpu: usize,
    pub calls: usize,
    /// What could be won.
    pub gain: i64,
    /// First start and last end.
    pub first: i64,
    pub last: i64,
    /// The costliest one.
    pub worst: (i64, i64),
    pub worst_gain: i64,
}

impl Tally {
    /// The gaps that a call is behind, by call; `call` tells which, from a gap's cause.
    pub fn of_gaps(facts: &Facts, call: impl Fn(Cause) -> Option<StrId>) -> Self {
        let mut tally = Self::default();
        for (number, gpu) in facts.gpus.iter().enumerate() {
            for gap in &gpu.gaps {
                if let Some(call) = call(gap.cause) {
                    tally.add(number, call, (gap.start, gap.end), gap.length());
                }
            }
        }
        tally
    }

    pub fn add(&mut self, gpu: usize, name: StrId, time: (i64, i64), gain: i64) {
        let sum = self.sums.entry((name, gpu)).or_insert(Sum {
            name,
            gpu,
            calls: 0,
            gain: 0,
            first: time.0,
            last: time.1,
            worst: time,
            worst_gain: gain,
        });
        sum.calls += 1;
        sum.gain += gain;
        sum.first = sum.first.min(time.0);
        sum.last = sum.last.max(time.1);
        if gain > sum.worst_gain {
            (sum.worst, sum.worst_gain) = (time, gain);
        }
    }

    /// One sum per name: that of the GPU where it is most, the largest first.
    pub fn by_name(&self) -> Vec<Sum> {
        let mut best: Map<StrId, Sum> = Map::default();
        for sum in self.sums.values() {
            let kept = best.entry(sum.name).or_insert(*sum);
            if (sum.gain, std::cmp::Reverse(sum.gpu)) > (kept.gain, std::cmp::Reverse(kept.gpu)) {
                *kept = *sum;
            }
        }
        let mut sums: Vec<Sum> = best.into_values().collect();
        sums.sort_by_key(|sum| (-sum.gain, sum.name));
        sums
    }

    /// Those of so many calls whose gain is at least so much of their GPU's time.
    pub fn worth(&self, facts: &Facts, min_calls: usize, min_pct: f64) -> Vec<Sum> {
        let mut sums = self.by_name();
        sums.retain(|sum| {
            sum.calls >= min_calls && percent(sum.gain, facts.gpus[sum.gpu].total()) >= min_pct
        });
        sums
    }
}
