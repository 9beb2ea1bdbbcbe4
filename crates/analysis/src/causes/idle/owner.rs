//! The owner of a stretch of host code: the outermost function, op or annotation that it fills and that
//! launches hardly any GPU work itself. The innermost op would name a detail (`aten::normal_` in
//! `prepare_inputs`), the outermost frame the whole program.
//!
//! Cost: one pass over the regions for candidates, one over the GPU work for what candidates launch.

use trace::{Map, Ns, StrId, Trace};

use model::profiler::ProfilerSpans;

use super::host::Thread;
use super::{Cause, GpuAccount, Piece, Places};

/// An owner launches at most this share of all GPU time.
const LAUNCHED_PCT: i64 = 10;

/// A piece of host code whose owner is not known yet.
pub(super) struct Stretch {
    gpu: usize,
    start: Ns,
    end: Ns,
    thread: Thread,
    /// Regions of its own thread that cover at least half of it, as (start, end, name).
    own: Vec<(Ns, Ns, StrId)>,
    others: Vec<(Ns, Ns, StrId)>,
}

impl Stretch {
    pub fn new(gpu: usize, piece: &Piece, thread: Thread) -> Self {
        Self { gpu, start: piece.start, end: piece.end, thread, own: Vec::new(), others: Vec::new() }
    }
}

/// Names the owner of every piece of host code; a piece that no region covers is `not recorded`.
pub(super) fn charge(trace: &Trace, gpus: &mut [GpuAccount], mut stretches: Vec<Stretch>, places: Places) {
    if stretches.is_empty() {
        return;
    }
    stretches.sort_by_key(|stretch| (stretch.start, stretch.end));
    find_candidates(trace, &mut stretches);
    let launched = match places {
        Places::Named => launched_by_name(trace, gpus, &stretches),
        Places::Any => Map::default(),
    };
    let all: i128 =
        gpus.iter().flat_map(|gpu| &gpu.rows).map(|row| i128::from(row.work.end - row.work.start)).sum();
    let launches_little = |name: StrId| {
        i128::from(launched.get(&name).copied().unwrap_or(0)) * 100 <= all * i128::from(LAUNCHED_PCT)
    };
    let mut owners: Map<(usize, Ns), Option<StrId>> = Map::default();
    for stretch in &mut stretches {
        let candidates = if stretch.own.is_empty() { &mut stretch.others } else { &mut stretch.own };
        // Outermost first.
        candidates.sort_by_key(|&(start, end, _)| (start, std::cmp::Reverse(end)));
        let filled = |&&(start, end, _): &&(Ns, Ns, StrId)| 2 * (stretch.end - stretch.start) >= end - start;
        let outermost = candidates.iter().filter(filled).find(|candidate| launches_little(candidate.2));
        // It fills no region: the innermost region that covers it at least shows where the host was.
        let owner = outermost.or_else(|| candidates.last()).map(|candidate| candidate.2);
        owners.insert((stretch.gpu, stretch.start), owner);
    }
    for (number, gpu) in gpus.iter_mut().enumerate() {
        for piece in gpu.idle.iter_mut().filter(|piece| piece.cause == Cause::HostCode) {
            match owners.get(&(number, piece.start)).copied().flatten() {
                Some(owner) => piece.place = owner,
                None => piece.cause = Cause::NotRecorded,
            }
        }
    }
}

/// Finds the regions that cover at least half of a stretch.
fn find_candidates(trace: &Trace, stretches: &mut [Stretch]) {
    let regions = &trace.regions;
    let profiler = ProfilerSpans::of(trace);
    // Stretches by process, with the number that have ended already. On several GPUs they may overlap, so the
    // latest end so far bounds the search.
    let mut of_process: Map<trace::ProcessId, (Vec<usize>, usize)> = Map::default();
    for (number, stretch) in stretches.iter().enumerate() {
        of_process.entry(stretch.thread.0).or_default().0.push(number);
    }
    for row in 0..regions.len() {
        let Some((numbers, first)) = of_process.get_mut(&regions.process[row]) else { continue };
        // A profiler's own span does not show what the host did.
        if !profiler.is_program(trace, row) {
            continue;
        }
        let (start, end) = (regions.start[row], regions.end[row]);
        while numbers.get(*first).is_some_and(|&number| stretches[number].end <= start) {
            *first += 1;
        }
        for &number in &numbers[*first..] {
            let stretch = &mut stretches[number];
            if stretch.start >= end {
                break;
            }
            let inside = end.min(stretch.end) - start.max(stretch.start);
            if 2 * inside >= stretch.end - stretch.start {
                let own = stretch.thread.1 == regions.thread[row];
                let list = if own { &mut stretch.own } else { &mut stretch.others };
                list.push((start, end, regions.name[row]));
            }
        }
    }
}

/// GPU time launched inside all regions with a candidate's name.
fn launched_by_name(trace: &Trace, gpus: &[GpuAccount], stretches: &[Stretch]) -> Map<StrId, Ns> {
    let mut launched: Map<StrId, Ns> = Map::default();
    for (_, _, name) in stretches.iter().flat_map(|stretch| stretch.own.iter().chain(&stretch.others)) {
        launched.insert(*name, 0);
    }
    let regions = &trace.regions;
    let mut by_thread: Map<Thread, Vec<(Ns, Ns)>> = Map::default();
    for row in gpus.iter().flat_map(|gpu| &gpu.rows) {
        if let Some(call) = row.launch() {
            let thread = (regions.process[call], regions.thread[call]);
            by_thread.entry(thread).or_default().push((regions.start[call], row.work.end - row.work.start));
        }
    }
    // Prefix sums up to each launch: a region's share is a difference.
    for launches in by_thread.values_mut() {
        launches.sort_unstable();
        let mut sum = 0;
        for launch in launches {
            sum += launch.1;
            launch.1 = sum;
        }
    }
    for row in 0..regions.len() {
        let Some(total) = launched.get_mut(&regions.name[row]) else { continue };
        let Some(launches) = by_thread.get(&(regions.process[row], regions.thread[row])) else { continue };
        let up_to = |moment: Ns| match launches.partition_point(|launch| launch.0 < moment) {
            0 => 0,
            place => launches[place - 1].1,
        };
        *total += up_to(regions.end[row]) - up_to(regions.start[row]);
    }
    launched
}
