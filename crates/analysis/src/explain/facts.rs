//! The input of the rules: the GPUs with their work and idle time, and the run as a graph to predict savings.

use std::cell::{OnceCell, RefCell};

use trace::{Map, RowRef, StrId, Table, Trace};

use super::thresholds::Thresholds;
use crate::causes::critical_path::{Engine, Scenario};
use crate::causes::idle::{Cause, GpuAccount, IdleAccounts, Piece, merged};
use crate::serving::fuse::{Fuse, fuse};
use crate::serving::overlap::{Overlap, overlap};
use model::Run;
use model::lanes::Bucket;

/// Longest key, not counting the rule.
const LONGEST_KEY: usize = 60;

/// A run from the rules' point of view.
pub(super) struct Facts<'a> {
    pub context: &'a Run<'a>,
    pub limits: &'static Thresholds,
    pub gpus: Vec<GpuAccount>,
    overlap: OnceCell<Overlap>,
    fusions: OnceCell<Fuse>,
    engine: OnceCell<Option<Engine<'a>>>,
    scenarios: RefCell<Vec<(String, Scenario)>>,
}

impl<'a> Facts<'a> {
    /// `engine` is the run as a graph and `fusions` are its fusable kernels, if they were found already.
    pub fn of(
        context: &'a Run<'a>,
        accounts: IdleAccounts,
        engine: Option<Option<Engine<'a>>>,
        fusions: Option<Fuse>,
    ) -> Self {
        Self {
            context,
            limits: Thresholds::built_in(),
            gpus: accounts.gpus,
            overlap: OnceCell::new(),
            fusions: fusions.map_or_else(OnceCell::new, OnceCell::from),
            engine: engine.map_or_else(OnceCell::new, OnceCell::from),
            scenarios: RefCell::default(),
        }
    }

    /// The accounts, the scenarios of all findings and the run as a graph, after the rules have run.
    pub fn finish(self) -> (IdleAccounts, Vec<(String, Scenario)>, Option<Engine<'a>>) {
        (IdleAccounts { gpus: self.gpus }, self.scenarios.into_inner(), self.engine.into_inner().flatten())
    }

    /// The run as a graph for propagating changes; built once.
    pub fn engine(&self) -> Option<&Engine<'a>> {
        self.engine.get_or_init(|| Engine::of(self.context)).as_ref()
    }

    /// A unique key for a finding.
    pub fn key(&self, rule: &str, about: &str) -> String {
        let mut words: String = about
            .chars()
            .map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' })
            .take(LONGEST_KEY)
            .collect();
        while words.contains("--") {
            words = words.replace("--", "-");
        }
        let words = words.trim_matches('-');
        let key = if words.is_empty() { rule.to_string() } else { format!("{rule}:{words}") };
        let known = |key: &str| self.scenarios.borrow().iter().any(|(other, _)| other == key);
        let numbered = (2..).map(|number| format!("{key}:{number}"));
        std::iter::once(key.clone()).chain(numbered).find(|key| !known(key)).unwrap_or(key)
    }

    /// Keeps the change that a finding proposes, for later what-if questions.
    pub fn remember(&self, key: &str, scenario: Scenario) {
        self.scenarios.borrow_mut().push((key.to_string(), scenario));
    }

    /// Removes the call that launched a row from a scenario.
    pub fn skip_launch(&self, scenario: &mut Scenario, row: RowRef) {
        if let Some(launch) = self.context.launch_of(row) {
            self.skip_call(scenario, launch);
        }
    }

    /// Removes all calls with this name from a scenario.
    pub fn skip_calls(&self, scenario: &mut Scenario, name: StrId) {
        let regions = &self.trace().regions;
        (0..regions.len())
            .filter(|&row| regions.name[row] == name)
            .for_each(|row| self.skip_call(scenario, row));
    }

    /// Lets the copies of all calls with this name start with their call, without staging memory first.
    pub fn start_with_calls(&self, scenario: &mut Scenario, name: StrId) {
        let trace = self.trace();
        for row in (0..trace.memory_copies.len()).map(|row| RowRef::new(Table::MemoryCopies, row)) {
            let launch = self.context.launch_of(row);
            if launch.is_some_and(|launch| trace.regions.name[launch] == name) {
                scenario.without_launch_latency(row);
            }
        }
    }

    fn skip_call(&self, scenario: &mut Scenario, region: usize) {
        let regions = &self.trace().regions;
        let (process, thread) = (regions.process[region], regions.thread[region]);
        scenario.host_skips(process, thread, regions.start[region], regions.end[region]);
    }

    /// Removes the host time of a piece from a scenario.
    pub fn skip(&self, scenario: &mut Scenario, piece: &Piece) {
        let regions = &self.trace().regions;
        if let Some(launch) = self.context.launch_of(piece.next) {
            scenario.host_skips(regions.process[launch], regions.thread[launch], piece.start, piece.end);
        }
    }

    /// The result of the fusion analysis, computed once.
    pub fn fusions(&self) -> &Fuse {
        self.fusions.get_or_init(|| fuse(self.context))
    }

    /// The result of the overlap analysis, computed once.
    pub fn overlap(&self) -> &Overlap {
        self.overlap.get_or_init(|| overlap(self.context))
    }

    pub fn trace(&self) -> &'a Trace {
        self.context.trace
    }

    /// Whether the trace records what the host did.
    pub fn has_host_calls(&self) -> bool {
        self.gpus.iter().any(GpuAccount::is_linked)
    }

    /// The longest span of any GPU, the base of shares that are not about one GPU.
    pub fn total(&self) -> i64 {
        self.gpus.iter().map(GpuAccount::total).max().unwrap_or(0)
    }

    pub fn text(&self, name: StrId) -> &'a str {
        self.context.trace.strings.get(name)
    }

    /// Name and bytes of a copy; `None` for other work.
    pub fn copy(&self, row: RowRef) -> Option<(StrId, Option<i64>)> {
        let copies = &self.trace().memory_copies;
        let i = row.row_of(Table::MemoryCopies)?;
        (copies.kind[i] == trace::CopyKind::Copy).then(|| (copies.name[i], copies.bytes[i].get()))
    }

    /// Every copy of a GPU, with the part of its time that no kernel overlaps.
    pub fn copies(&self, gpu: &GpuAccount) -> Vec<Copy> {
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
            found.push(Copy {
                row: row.row,
                name,
                bytes,
                start,
                end,
                exposed: (end - start - hidden).max(0),
            });
        }
        found
    }
}

/// A copy, and how much of it is exposed.
pub(super) struct Copy {
    pub row: RowRef,
    pub name: StrId,
    pub bytes: Option<i64>,
    pub start: i64,
    pub end: i64,
    /// Time not overlapped by a kernel.
    pub exposed: i64,
}

impl Copy {
    pub fn duration(&self) -> i64 {
        self.end - self.start
    }

    /// Bandwidth in 10⁹ bytes per second.
    pub fn gbps(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|&bytes| bytes > 0)?;
        (self.end > self.start).then(|| bytes as f64 / self.duration() as f64)
    }
}

/// Sums by name and GPU; a rule reports each name once, on the GPU where it costs most.
#[derive(Default)]
pub(super) struct Tally {
    sums: Map<(StrId, usize), Sum>,
}

/// The cost of one name on one GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub name: StrId,
    pub gpu: usize,
    pub calls: usize,
    /// The possible gain.
    pub gain: i64,
    /// First start and last end.
    pub first: i64,
    pub last: i64,
    /// The most costly instance.
    pub worst: (i64, i64),
    pub worst_gain: i64,
}

/// The cost of all names on one GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total {
    pub gpu: usize,
    pub gain: i64,
    pub calls: usize,
}

impl Tally {
    /// Idle time with one cause, by place.
    pub fn of_idle(facts: &Facts, cause: Cause) -> Self {
        let mut tally = Self::default();
        for (number, gpu) in facts.gpus.iter().enumerate() {
            // Work launched before the gap waits for something unknown, not for the host.
            let is_known = |piece: &&Piece| {
                cause != Cause::NotRecorded
                    || facts
                        .context
                        .launch_of(piece.next)
                        .is_some_and(|launch| facts.trace().regions.end[launch] > piece.start)
            };
            for piece in gpu.idle.iter().filter(|piece| piece.cause == cause).filter(is_known) {
                tally.add(number, piece.place, (piece.start, piece.end), piece.length());
            }
        }
        tally
    }

    /// All names on the GPU where their total cost is largest, largest first.
    pub fn of_worst_gpu(&self) -> Option<(Total, Vec<Sum>)> {
        let mut totals: Map<usize, i64> = Map::default();
        self.sums.values().for_each(|sum| *totals.entry(sum.gpu).or_default() += sum.gain);
        let (&gpu, &gain) = totals.iter().max_by_key(|&(&gpu, &gain)| (gain, std::cmp::Reverse(gpu)))?;
        let mut sums: Vec<Sum> = self.sums.values().filter(|sum| sum.gpu == gpu).copied().collect();
        sums.sort_by_key(|sum| (-sum.gain, sum.name));
        let calls = sums.iter().map(|sum| sum.calls).sum();
        Some((Total { gpu, gain, calls }, sums))
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

    /// One sum per name, from the GPU where it is largest; largest first.
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
}
