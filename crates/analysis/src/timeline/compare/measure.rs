//! Measurements of one run: times by kernel, category and host region, and how its GPUs spent their time.

use std::collections::BTreeMap;

use trace::{CopyKind, Map, RowRef, StrId, Table, Trace};

use super::ground::PYTHON;
use super::series::Series;
use crate::timeline::breakdown::sweep::Timeline;
use crate::timeline::summary::group::Groups;
use model::classify::{Category, Classes, Classifier, RowKind};
use model::lanes::Bucket;
use model::lanes::{Lane, lanes};

/// One run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub kernels: BTreeMap<String, KernelSeries>,
    /// By category name, including kernels, copies and fills.
    pub categories: BTreeMap<&'static str, Series>,
    /// By category and name.
    pub regions: BTreeMap<(String, String), Series>,
    pub gpus: GpuTime,
}

/// A kernel of a run.
#[derive(Debug)]
pub(crate) struct KernelSeries {
    pub series: Series,
    pub category: Category,
}

/// How the GPUs of a run spent their time, summed over GPUs; the parts add up to the span.
#[derive(Debug, Default)]
pub(crate) struct GpuTime {
    pub gpus: usize,
    pub span: i64,
    pub idle: i64,
    /// Communication not overlapped by computation.
    pub communication: i64,
    /// Copies not overlapped by anything, and fills.
    pub copies: i64,
    /// Time not covered by an earlier kernel, by kernel.
    pub own: BTreeMap<String, i64>,
}

impl Run {
    /// Measures a run: a grouping of each table and a sweep of each GPU.
    pub fn of(trace: &Trace, classifier: &Classifier) -> Self {
        let classes = Classes::of(trace, classifier);
        let mut run = Self { regions: regions(trace), gpus: gpu_time(trace, &classes), ..Self::default() };
        for (name, series) in kernels(trace) {
            let category = classes.get(name, RowKind::Kernel).map_or(Category::Other, |class| class.category);
            run.categories.entry(category.name()).or_default().add(&series);
            run.kernels.insert(trace.strings.get(name).to_string(), KernelSeries { series, category });
        }
        for ((name, kind), series) in copies(trace) {
            let category = classes.get(name, kind).map_or(Category::Memory, |class| class.category);
            run.categories.entry(category.name()).or_default().add(&series);
        }
        run
    }

    /// The sum of all kernels.
    pub fn kernel_total(&self) -> Series {
        let mut total = Series::default();
        self.kernels.values().for_each(|kernel| total.add(&kernel.series));
        total
    }
}

fn kernels(trace: &Trace) -> Vec<(StrId, Series)> {
    let rows = &trace.kernels;
    by_key(rows.len(), |i| rows.name[i], |i| rows.end[i] - rows.start[i])
}

fn copies(trace: &Trace) -> Vec<((StrId, RowKind), Series)> {
    let rows = &trace.memory_copies;
    by_key(rows.len(), |i| (rows.name[i], RowKind::from(rows.kind[i])), |i| rows.end[i] - rows.start[i])
}

fn regions(trace: &Trace) -> BTreeMap<(String, String), Series> {
    let rows = &trace.regions;
    let text = |id: StrId| trace.strings.get(id).to_string();
    let groups = by_key(rows.len(), |i| (rows.category[i], rows.name[i]), |i| rows.end[i] - rows.start[i]);
    // Python frames are only read to identify the program.
    let python = trace.strings.find(PYTHON);
    let groups = groups.into_iter().filter(|((category, _), _)| Some(*category) != python);
    groups.map(|((category, name), series)| ((text(category), text(name)), series)).collect()
}

fn by_key<K: Copy + Eq + std::hash::Hash>(
    rows: usize,
    key: impl Fn(usize) -> K,
    duration: impl Fn(usize) -> i64,
) -> Vec<(K, Series)> {
    let groups = Groups::by(rows, key);
    let (durations, bounds) = groups.gather(duration);
    let series = |group: usize| Series::of(&durations[bounds[group]..bounds[group + 1]]);
    groups.keys.iter().enumerate().map(|(group, &key)| (key, series(group))).collect()
}

fn gpu_time(trace: &Trace, classes: &Classes) -> GpuTime {
    let mut time = GpuTime::default();
    let mut own: Map<StrId, i64> = Map::default();
    for lane in lanes(trace, classes) {
        let timeline = Timeline::of(&lane.work());
        time.gpus += 1;
        time.span += timeline.total();
        time.idle += timeline.idle();
        time.communication += timeline.exposed_communication();
        time.copies += timeline.exposed_memcpy();
        time.copies += own_times(trace, lane, &mut own);
    }
    time.own = own.into_iter().map(|(name, ns)| (trace.strings.get(name).to_string(), ns)).collect();
    time
}

/// Divides compute time: each instant goes to what began first. Returns the time of fills.
fn own_times(trace: &Trace, lane: Lane, own: &mut Map<StrId, i64>) -> i64 {
    let mut rows: Vec<(i64, i64, RowRef)> = lane
        .rows
        .iter()
        .filter(|row| row.work.bucket == Bucket::Compute)
        .map(|row| (row.work.start, row.work.end, row.row))
        .collect();
    rows.sort_unstable_by_key(|&(start, end, _)| (start, end));
    let mut covered = i64::MIN;
    let mut fills = 0;
    for (start, end, row) in rows {
        let alone = (end - start.max(covered)).max(0);
        covered = covered.max(end);
        match row.get() {
            Some((Table::Kernels, row)) => *own.entry(trace.kernels.name[row]).or_default() += alone,
            Some((Table::MemoryCopies, row)) => {
                debug_assert_eq!(trace.memory_copies.kind[row], CopyKind::Fill);
                fills += alone;
            }
            _ => {}
        }
    }
    fills
}
