//! Launch calls and whether they have work: one pass over the links and one over the calls.

use rayon::prelude::*;
use trace::{LinkKind, Ns, Table, Trace};

use super::{Completeness, Evidence, Missing};
use crate::calls::{BlocksFor, Calls, Launches};
use crate::recordings::Recordings;

/// What a call does, as far as the check is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Other,
    LaunchKernel,
    LaunchGraph,
    BeginCapture,
    EndCapture,
    /// The host waits for the GPU: everything launched before has run.
    Wait,
}

/// Launches that may still be queued on a GPU when the recording ends.
const QUEUE_DEPTH: usize = 1024;

/// Regions that one thread looks at.
const ROWS_AT_ONCE: usize = 1 << 16;

/// One bit per row.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(rows: usize) -> Self {
        Self(vec![0; rows.div_ceil(64)])
    }

    pub(super) fn set(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    pub(super) fn get(&self, row: usize) -> bool {
        self.0[row / 64] >> (row % 64) & 1 == 1
    }
}

/// Launches of one recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Kernel launches that must have work.
    pub launches: usize,
    /// Kernel launches that have work.
    pub worked: usize,
    /// Graph launches that must have work.
    pub replays: usize,
    /// Graph launches that have work.
    pub replayed: usize,
    pub kernels: usize,
    /// Kernels linked to a launch.
    pub linked: usize,
}

/// What the launch calls of a trace show.
pub(super) struct Scan {
    pub actions: Vec<Action>,
    /// By row of `regions`: whether GPU work is linked to it.
    pub has_work: Bits,
    /// Kernel launches without work, rising.
    pub empty: Vec<u32>,
    /// Graph launches, rising.
    pub replays: Vec<u32>,
    /// By recording.
    pub recordings: Vec<Counts>,
    /// How many kernels each capture launched.
    pub captured: Vec<usize>,
    /// By process: everything launched before this time has run, so it is recorded unless it was lost.
    pub waited_until: Vec<Option<Ns>>,
}

/// Scan state of the calls of one process.
#[derive(Clone, Default)]
struct ProcessCalls {
    /// Open captures, and the launches in them.
    capturing: u32,
    captured: usize,
    last_worked: Option<Ns>,
    /// Start and end of the last waits, the newest last.
    waits: [Option<(Ns, Ns)>; WAITS],
}

/// How many waits are remembered: several threads may wait at once.
const WAITS: usize = 4;

pub(super) fn scan(trace: &Trace, recordings: &Recordings) -> Scan {
    let ((has_work, mut counts), (actions, rows)) =
        rayon::join(|| work(trace, recordings), || calls_that_matter(trace));
    let mut processes = vec![ProcessCalls::default(); trace.processes.len()];
    let (mut empty, mut replays, mut captured) = (Vec::new(), Vec::new(), Vec::new());
    let regions = &trace.regions;
    for row in rows {
        let action = actions[regions.name[row].0 as usize];
        let Some(process) = regions.process[row].get() else { continue };
        let state = &mut processes[process];
        match action {
            Action::BeginCapture => state.capturing += 1,
            Action::EndCapture => {
                state.capturing = state.capturing.saturating_sub(1);
                if state.capturing == 0 && state.captured > 0 {
                    captured.push(std::mem::take(&mut state.captured));
                }
            }
            Action::Wait => {
                state.waits.rotate_left(1);
                state.waits[WAITS - 1] = Some((regions.start[row], regions.end[row]));
            }
            Action::LaunchKernel if has_work.get(row) => state.last_worked = Some(regions.start[row]),
            Action::LaunchKernel if state.capturing > 0 => state.captured += 1,
            Action::LaunchKernel if regions.correlation[row] != 0 => empty.push(row as u32),
            Action::LaunchGraph if has_work.get(row) => {
                state.last_worked = Some(regions.start[row]);
                replays.push(row as u32);
            }
            Action::LaunchGraph if state.capturing == 0 && regions.correlation[row] != 0 => {
                replays.push(row as u32)
            }
            _ => {}
        }
        if action == Action::LaunchKernel
            && has_work.get(row)
            && let Some(recording) = recordings.of_process(regions.process[row])
        {
            counts[recording].worked += 1;
        }
    }
    let waited_until = waited_until(trace, &processes);
    let mut scan = Scan { actions, has_work, empty, replays, recordings: counts, captured, waited_until };
    scan.keep_judged(trace, recordings, &processes);
    scan
}

/// The start of the last wait of each process that ended before the recording did: something comes after it.
/// A wait at the end of a cut trace is cut off, and the work that it waits for is missing.
fn waited_until(trace: &Trace, processes: &[ProcessCalls]) -> Vec<Option<Ns>> {
    let regions = &trace.regions;
    let mut last_start: Vec<Option<Ns>> = vec![None; processes.len()];
    let mut left = processes.iter().filter(|process| process.waits[WAITS - 1].is_some()).count();
    for row in (0..regions.len()).rev() {
        if left == 0 {
            break;
        }
        let Some(process) = regions.process[row].get().filter(|&process| last_start[process].is_none())
        else {
            continue;
        };
        last_start[process] = Some(regions.start[row]);
        left -= usize::from(processes[process].waits[WAITS - 1].is_some());
    }
    let ended = |(process, last): (&ProcessCalls, Option<Ns>)| {
        let waits = process.waits.iter().rev().flatten();
        waits.filter(|(_, end)| last.is_some_and(|last| *end <= last)).map(|(start, _)| *start).max()
    };
    processes.iter().zip(last_start).map(ended).collect()
}

/// What calls with each name do, and the rows that matter.
fn calls_that_matter(trace: &Trace) -> (Vec<Action>, Vec<usize>) {
    let calls = Calls::of(trace);
    let actions: Vec<Action> = (0..trace.strings.len()).map(|name| action(&calls, name)).collect();
    let regions = &trace.regions;
    let matters = |&row: &usize| {
        actions[regions.name[row].0 as usize] != Action::Other && calls.of_region(trace, row).is_some()
    };
    let rows = (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE).filter(matters).collect();
    (actions, rows)
}

/// Which calls have work, and the kernels of each recording.
fn work(trace: &Trace, recordings: &Recordings) -> (Bits, Vec<Counts>) {
    let (kernels, (has_work, linked)) = rayon::join(|| kernels_by_process(trace), || linked(trace));
    let mut counts = vec![Counts::default(); recordings.all.len()];
    for (recording, counts) in recordings.all.iter().zip(&mut counts) {
        for process in recording.processes.iter().filter_map(|process| process.get()) {
            counts.kernels += kernels[process];
            counts.linked += linked[process];
        }
    }
    (has_work, counts)
}

fn kernels_by_process(trace: &Trace) -> Vec<usize> {
    let mut by_process = vec![0; trace.processes.len()];
    for process in trace.kernels.process.iter().filter_map(|process| process.get()) {
        by_process[process] += 1;
    }
    by_process
}

/// Which calls have work, and how many kernels of each process are linked to one.
fn linked(trace: &Trace) -> (Bits, Vec<usize>) {
    let mut has_work = Bits::new(trace.regions.len());
    let mut by_process = vec![0; trace.processes.len()];
    let links = &trace.links;
    for i in 0..links.len() {
        let (LinkKind::Launch, Some(call)) = (links.kind[i], links.from[i].row_of(Table::Regions)) else {
            continue;
        };
        has_work.set(call);
        if let Some(process) =
            links.to[i].row_of(Table::Kernels).and_then(|row| trace.kernels.process[row].get())
        {
            by_process[process] += 1;
        }
    }
    (has_work, by_process)
}

fn action(calls: &Calls, name: usize) -> Action {
    let Some(facts) = calls.named(trace::StrId(name as u32)) else { return Action::Other };
    match facts.launches {
        Some(Launches::Kernel) => Action::LaunchKernel,
        Some(Launches::Graph) => Action::LaunchGraph,
        _ if facts.begins_capture => Action::BeginCapture,
        _ if facts.ends_capture => Action::EndCapture,
        // An event may be from an earlier step.
        _ if facts.blocks_for == BlocksFor::Event || !facts.is_of_runtime() => Action::Other,
        _ if facts.is_synchronisation() || facts.is_blocking_copy() => Action::Wait,
        _ => Action::Other,
    }
}

impl Scan {
    /// Drops launches that prove nothing: captured, outer, at the end, or in recordings without links.
    fn keep_judged(&mut self, trace: &Trace, recordings: &Recordings, processes: &[ProcessCalls]) {
        let regions = &trace.regions;
        let some_kernels =
            recordings.all.iter().zip(&self.recordings).any(|(r, counts)| r.is_rank && counts.kernels > 0);
        let mut judged: Vec<bool> = recordings
            .all
            .iter()
            .zip(&self.recordings)
            .map(|(recording, counts)| {
                // Without any link the ids do not join; without any kernel at all kernels were not recorded.
                let joins = counts.kernels == 0 || counts.linked > 0;
                recording.is_rank && some_kernels && joins
            })
            .collect();
        let recording_of = |row: u32| recordings.of_process(regions.process[row as usize]);
        // Launches after the last one with work may still have been queued, unless the host waited for them.
        let mut after: Vec<usize> = vec![0; trace.processes.len()];
        let waited_until = &self.waited_until;
        let is_after = |row: u32| {
            let process = regions.process[row as usize].0 as usize;
            let start = regions.start[row as usize];
            processes[process].last_worked.is_none_or(|last| start > last)
                && waited_until[process].is_none_or(|last| start > last)
        };
        for &row in self.empty.iter().chain(&self.replays).filter(|&&row| is_after(row)) {
            after[regions.process[row as usize].0 as usize] += 1;
        }
        let may_be_queued =
            |row: u32| after[regions.process[row as usize].0 as usize] <= QUEUE_DEPTH && is_after(row);
        let has_work = &self.has_work;
        let actions = &self.actions;
        self.empty.retain(|&row| {
            recording_of(row).is_some_and(|recording| judged[recording])
                && !may_be_queued(row)
                && !is_outer(trace, actions, row as usize)
        });
        // Kernels of graphs may be recorded without their launch.
        for (place, counts) in self.recordings.iter_mut().enumerate() {
            let own = || self.replays.iter().filter(|&&row| recording_of(row) == Some(place));
            counts.replayed = own().filter(|&&row| has_work.get(row as usize)).count();
            let unlinked = counts.kernels - counts.linked.min(counts.kernels);
            judged[place] &= counts.replayed > 0 || unlinked == 0;
        }
        self.replays.retain(|&row| {
            recording_of(row).is_some_and(|recording| judged[recording])
                && (has_work.get(row as usize) || !may_be_queued(row))
        });
        for counts in &mut self.recordings {
            counts.launches = counts.worked;
        }
        for &row in &self.empty {
            if let Some(recording) = recording_of(row) {
                self.recordings[recording].launches += 1;
            }
        }
        for &row in &self.replays {
            if let Some(recording) = recording_of(row) {
                self.recordings[recording].replays += 1;
            }
        }
    }

    /// Ranks without any kernel among ranks that have some, unless already found by their launches.
    pub(super) fn silent_ranks(&self, recordings: &Recordings, told: &[Missing]) -> Vec<Missing> {
        let ranks = || recordings.all.iter().zip(&self.recordings).filter(|(recording, _)| recording.is_rank);
        let with_kernels = ranks().filter(|(_, counts)| counts.kernels > 0).count();
        let labelled = ranks().all(|(recording, _)| recording.rank.is_some());
        if with_kernels == 0 || !labelled {
            return Vec::new();
        }
        ranks()
            .filter(|(recording, counts)| {
                counts.kernels == 0 && told.iter().all(|missing| missing.recording != recording.label)
            })
            .map(|(recording, _)| Missing {
                evidence: Evidence::SilentRank,
                recording: recording.label.clone(),
                stream: None,
                launches: 0,
                of_launches: 0,
                kernels: None,
                of_kernels: None,
                between: None,
                time: None,
            })
            .collect()
    }
}

/// Whether another launch call is nested in this one: the nested call did the launch.
fn is_outer(trace: &Trace, actions: &[Action], row: usize) -> bool {
    let regions = &trace.regions;
    (row + 1..regions.len()).take_while(|&next| regions.start[next] < regions.end[row]).any(|next| {
        regions.thread[next] == regions.thread[row]
            && regions.process[next] == regions.process[row]
            && actions[regions.name[next].0 as usize] == Action::LaunchKernel
    })
}

impl Completeness {
    /// Whether a trace read with these needs has the tables for the check.
    pub fn can_be_told(needs: &trace::Needs) -> bool {
        needs.kernels && needs.regions && needs.links
    }
}
