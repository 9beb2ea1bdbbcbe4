//! From a trace to the digests of its ranks: one sweep over the work of each GPU.

use analysis::causes::idle::{self, Cause, GpuAccount};
use analysis::kernels::efficiency::engine_clock_mhz;
use model::classify::{Classes, Classifier, RowKind};
use model::lanes::Bucket;
use model::stages::Stages;
use trace::{ArgNeeds, Map, Needs, Ns, RowRef, StrId, Table, Trace};

use super::collectives::{self, ARGUMENTS, GroupFacts};
use super::facts::{Source, identity_of_gpu, identity_of_process, problems};
use super::{Account, Clock, Digest, NONE, NameStats, Step};

/// Names that a digest keeps; the rest is one row.
const MOST_NAMES: usize = 512;
/// What the rest is called.
const OTHERS: &str = "(other)";

/// What traces must be read with.
pub fn digest_needs() -> Needs {
    Needs {
        kernels: true,
        shapes: true,
        memory_copies: true,
        regions: true,
        samples: true,
        syncs: true,
        collectives: true,
        links: true,
        args: ArgNeeds::Keys(ARGUMENTS.iter().map(|key| key.to_string()).collect()),
        only_kernel_args: true,
        ..Needs::nothing()
    }
}

/// The digests of a finished trace read with [`digest_needs`]: one for each rank, or for each GPU where a process uses
/// several. `modified_ns` is when its file was last changed.
pub fn of_trace(trace: &Trace, classifier: &Classifier, modified_ns: i64) -> Vec<Digest> {
    let classes = Classes::of(trace, classifier);
    let accounts = idle::causes(trace, &classes);
    let stages = Stages::of(trace, None);
    let facts = GroupFacts::of(trace);
    let source = Source::of(trace, modified_ns, &accounts.gpus);
    let mut shared = NameBuffers::of(trace);
    let mut digests: Vec<Digest> = accounts
        .gpus
        .iter()
        .enumerate()
        .map(|(place, gpu)| {
            let mut digest = of_gpu(trace, &classes, &stages, &facts, &mut shared, gpu);
            digest.identity = identity_of_gpu(trace, &source, place, gpu);
            digest
        })
        .collect();
    if digests.is_empty() {
        for (process, groups, rows) in collectives::without_timeline(trace, &facts) {
            digests.push(Digest {
                identity: identity_of_process(trace, &source, process),
                groups,
                collectives: rows,
                ..Digest::default()
            });
        }
    }
    let (parts, health) = (digests.len() as u32, problems(trace));
    for digest in &mut digests {
        digest.identity.parts = parts;
        digest.health.clone_from(&health);
    }
    digests
}

/// What is made once for all GPUs, as there may be very many.
struct NameBuffers {
    op_names: Map<i64, StrId>,
    /// Room for [`Names`] of kernels and of ops.
    places: [Vec<u32>; 2],
}

impl NameBuffers {
    fn of(trace: &Trace) -> Self {
        let places = || vec![NONE; trace.strings.len()];
        Self { op_names: op_names(trace), places: [places(), places()] }
    }
}

fn of_gpu(
    trace: &Trace,
    classes: &Classes,
    stages: &Stages,
    facts: &GroupFacts,
    shared: &mut NameBuffers,
    gpu: &GpuAccount,
) -> Digest {
    let steps = StepNumbers::met(stages, gpu);
    let mut digest = Digest::default();
    let mut sweep = Sweep::new(steps.count);
    let NameBuffers { op_names, places: [of_kernels, of_ops] } = shared;
    let (mut kernels, mut ops) = (Names::new(of_kernels), Names::new(of_ops));
    for row in &gpu.rows {
        let step = steps.place(stages, row.row);
        let is_counted = row.work.bucket == Bucket::Compute && row.row.row_of(Table::Kernels).is_some();
        sweep.add(row.work.start, row.work.end, row.work.bucket, step, is_counted);
        let Some(kernel) = row.row.row_of(Table::Kernels).filter(|_| is_counted) else { continue };
        let ns = row.work.end - row.work.start;
        let stats = kernels.stats(trace.kernels.name[kernel]);
        stats.add(ns);
        stats.work_items += work_items(trace, kernel);
        let op = trace.kernels.external[kernel].get().and_then(|external| op_names.get(&external));
        if let Some(&op) = op {
            ops.stats(op).add(ns);
        }
    }
    let Sweep { steps: found, compute, communication, copy, .. } = sweep;
    digest.steps = found;
    digest.span = gpu.rows.first().map(|first| {
        (first.work.start, gpu.rows.iter().map(|row| row.work.end).max().unwrap_or(first.work.end))
    });
    let category = |name: StrId| {
        classes.get(name, RowKind::Kernel).map_or(String::new(), |class| class.category.name().to_string())
    };
    digest.kernels = kernels.finish(trace, category);
    digest.ops = ops.finish(trace, |_| String::new());
    let (groups, rows) = collectives::of_gpu(trace, facts, gpu, &compute, |row| steps.place(stages, row));
    for row in &rows {
        if let Some(step) = digest.steps.get_mut(row.step as usize) {
            step.exposed_ns += row.exposed_ns;
        }
    }
    (digest.groups, digest.collectives) = (groups, rows);
    digest.traffic = collectives::traffic(trace, facts, gpu);
    let exposed = communication.spans.iter().map(|&(from, to)| to - from - compute.within(from, to)).sum();
    let mut idle_ns = [0; super::IDLE_CAUSES];
    for (ns, cause) in idle_ns.iter_mut().zip(Cause::ALL) {
        *ns = gpu.idle_of(cause);
    }
    digest.account = Account {
        compute_ns: compute.total(),
        communication_ns: communication.total(),
        exposed_ns: exposed,
        copy_ns: copy.total(),
        idle_ns,
    };
    digest.clock = clock(trace, gpu);
    digest
}

/// Times in order and without overlaps, and the total before each.
#[derive(Default)]
pub(super) struct Union {
    pub spans: Vec<(Ns, Ns)>,
    before: Vec<Ns>,
}

impl Union {
    /// Adds a time that starts no earlier than those before; returns how much of it is new.
    fn add(&mut self, start: Ns, end: Ns) -> Ns {
        match self.spans.last_mut() {
            Some(last) if start <= last.1 => {
                let new = (end - last.1).max(0);
                last.1 = last.1.max(end);
                new
            }
            last => {
                let total = last.map_or(0, |last| last.1 - last.0) + self.before.last().copied().unwrap_or(0);
                self.before.push(total);
                self.spans.push((start, end));
                end - start
            }
        }
    }

    /// Total time.
    pub fn total(&self) -> Ns {
        self.spans.last().map_or(0, |last| self.until(last.1))
    }

    /// Total time before a moment.
    pub fn until(&self, at: Ns) -> Ns {
        match self.spans.partition_point(|span| span.0 < at).checked_sub(1) {
            Some(place) => self.before[place] + at.min(self.spans[place].1) - self.spans[place].0,
            None => 0,
        }
    }

    /// Total time between two moments.
    pub fn within(&self, from: Ns, to: Ns) -> Ns {
        self.until(to) - self.until(from)
    }

    /// When the last time that starts before a moment ends.
    pub fn last_end_before(&self, at: Ns) -> Option<Ns> {
        let place = self.spans.partition_point(|span| span.0 < at).checked_sub(1)?;
        Some(self.spans[place].1)
    }
}

/// Counts taken while rows go by in time order.
struct Sweep {
    steps: Vec<Step>,
    compute: Union,
    communication: Union,
    copy: Union,
    /// End of all work so far.
    until: Ns,
}

impl Sweep {
    fn new(steps: usize) -> Self {
        let step = Step { start: Ns::MAX, end: Ns::MIN, ..Step::default() };
        let (compute, communication, copy) = (Union::default(), Union::default(), Union::default());
        Self { steps: vec![step; steps], compute, communication, copy, until: Ns::MIN }
    }

    fn add(&mut self, start: Ns, end: Ns, bucket: Bucket, step: u32, is_counted: bool) {
        let union = match bucket {
            Bucket::Compute => &mut self.compute,
            Bucket::Communication => &mut self.communication,
            Bucket::Memcpy => &mut self.copy,
        };
        let new = union.add(start, end);
        let gap = if self.until == Ns::MIN { 0 } else { (start - self.until).max(0) };
        self.until = self.until.max(end);
        let Some(step) = self.steps.get_mut(step as usize) else { return };
        // A gap before the first work of a step lies between two steps.
        if step.end != Ns::MIN {
            step.idle_ns += gap;
        }
        step.start = step.start.min(start);
        step.end = step.end.max(end);
        step.kernels += u64::from(is_counted);
        match bucket {
            Bucket::Compute => step.compute_ns += new,
            Bucket::Communication => step.communication_ns += new,
            Bucket::Memcpy => {}
        }
    }
}

/// The steps that a GPU worked in, numbered in time order.
struct StepNumbers {
    of_number: Map<u32, u32>,
    count: usize,
}

impl StepNumbers {
    fn met(stages: &Stages, gpu: &GpuAccount) -> Self {
        let mut of_number: Map<u32, u32> = Map::default();
        for row in &gpu.rows {
            if let Some(step) = stages.step(row.row) {
                let next = of_number.len() as u32;
                of_number.entry(stages.steps[step].number).or_insert(next);
            }
        }
        Self { count: of_number.len(), of_number }
    }

    fn place(&self, stages: &Stages, row: RowRef) -> u32 {
        let number = stages.step(row).map(|step| stages.steps[step].number);
        number.and_then(|number| self.of_number.get(&number).copied()).unwrap_or(NONE)
    }
}

/// Statistics of a trace by name.
struct Names<'p> {
    /// By string; all `NONE` before and after.
    places: &'p mut [u32],
    found: Vec<(StrId, NameStats)>,
}

impl<'p> Names<'p> {
    fn new(places: &'p mut [u32]) -> Self {
        Self { places, found: Vec::new() }
    }

    fn stats(&mut self, name: StrId) -> &mut NameStats {
        let place = &mut self.places[name.0 as usize];
        if *place == NONE {
            *place = self.found.len() as u32;
            self.found.push((name, NameStats::default()));
        }
        &mut self.found[*place as usize].1
    }

    fn finish(self, trace: &Trace, category: impl Fn(StrId) -> String) -> Vec<NameStats> {
        self.found.iter().for_each(|(name, _)| self.places[name.0 as usize] = NONE);
        let mut all: Vec<NameStats> = self
            .found
            .into_iter()
            .map(|(name, stats)| NameStats {
                name: trace.strings.get(name).to_string(),
                category: category(name),
                ..stats
            })
            .collect();
        all.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
        if all.len() > MOST_NAMES {
            let mut others = NameStats { name: OTHERS.into(), ..NameStats::default() };
            all.drain(MOST_NAMES..).for_each(|stats| others.merge(&stats));
            all.push(others);
        }
        all
    }
}

fn work_items(trace: &Trace, kernel: usize) -> u64 {
    let grid = trace.shapes.get(trace.kernels.shape[kernel]).grid;
    grid.map_or(0, |grid| grid.into_iter().map(|items| u64::from(items.max(1))).product())
}

/// Ops by the external id that their kernels carry.
fn op_names(trace: &Trace) -> Map<i64, StrId> {
    let mut names = Map::default();
    let Some(category) = trace.strings.find("cpu_op") else { return names };
    let regions = &trace.regions;
    for row in (0..regions.len()).filter(|&row| regions.category[row] == category) {
        if let Some(external) = regions.external[row].get() {
            names.insert(external, regions.name[row]);
        }
    }
    names
}

/// Mean clock of the samples between the first and the last work of a GPU.
fn clock(trace: &Trace, gpu: &GpuAccount) -> Option<Clock> {
    let samples = &trace.samples;
    let (first, last) = (gpu.rows.first()?.work.start, gpu.rows.iter().map(|row| row.work.end).max()?);
    let mut factors: Map<(StrId, StrId), Option<f64>> = Map::default();
    let (mut sum, mut count) = (0.0, 0u64);
    for row in 0..samples.len() {
        let own = samples.agent[row] == gpu.lane.agent || !samples.agent[row].is_some();
        if !own || samples.start[row] < first || samples.start[row] > last {
            continue;
        }
        let key = (samples.name[row], samples.unit[row]);
        let factor = *factors
            .entry(key)
            .or_insert_with(|| engine_clock_mhz(trace.strings.get(key.0), trace.strings.get(key.1)));
        if let Some(mhz) = factor.map(|factor| samples.value[row] * factor).filter(|mhz| *mhz > 0.0) {
            sum += mhz;
            count += 1;
        }
    }
    (count > 0).then(|| Clock { mean_mhz: sum / count as f64, samples: count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_tells_how_much_lies_before_a_moment() {
        let mut union = Union::default();
        let new: Vec<Ns> = [(0, 10), (5, 20), (6, 8), (30, 40)].map(|(from, to)| union.add(from, to)).into();
        assert_eq!(new, [10, 10, 0, 10]);
        assert_eq!(union.total(), 30);
        assert_eq!((union.until(-5), union.until(15), union.until(25), union.until(35)), (0, 15, 20, 25));
        assert_eq!(union.within(15, 35), 10);
        assert_eq!((union.last_end_before(25), union.last_end_before(0)), (Some(20), None));
    }
}
