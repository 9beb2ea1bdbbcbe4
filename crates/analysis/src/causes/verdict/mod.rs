//! The verdict: what the run is, what bounds it, its largest cost and its largest gain, before any table.
//!
//! It follows from totals: GPU time is split into kernels, exposed copies and communication, and idle time by
//! cause. A part bounds the run if it has at least half of the time and twice as much as the next.

mod doubts;
mod swept;
mod words;

use rayon::prelude::*;
use report::{BoundBy, Cost, Finding, Verdict};
use trace::{AgentKind, Map, ProcessId, Status, Trace};

use crate::causes::idle::{Cause, GpuAccount, IdleAccounts, Piece};
use crate::subject::{Architecture, TARGET_ARCH, framework};
use crate::timeline::breakdown::sweep::Timeline;
use model::Run;
use model::classify::{Category, Classes, RowKind};
use model::lanes::{Bucket, GpuRow};
use model::names;
use stats::percent;
use swept::{Swept, class_times, is_sane};

/// A part bounds the run if its share of the time is at least this, and `TIMES_NEXT` times the next.
const BOUND_PCT: f64 = 50.0;
const TIMES_NEXT: f64 = 2.0;
/// Without recorded launches, a run with at least this busy share is GPU bound; below, it is unknown.
const BUSY_PCT: f64 = 80.0;

/// A trace is not trusted if queued work fails to start for no recorded reason for at least this share.
const MISSING_PCT: f64 = 10.0;

/// Options of the verdict.
#[derive(Clone, Debug, Default)]
pub struct VerdictOptions {
    /// The target architecture; [`TARGET_ARCH`] if absent.
    pub target_arch: Option<String>,
}

/// The verdict on a run whose idle time is accounted for.
pub fn compute(
    run: &Run,
    accounts: &IdleAccounts,
    findings: &[Finding],
    options: &VerdictOptions,
) -> Verdict {
    let mut verdict = facts(run.trace, options);
    let total = accounts.gpus.iter().map(GpuAccount::total).sum();
    let ((parts, missing), ((cost, steps), what)) = rayon::join(
        || rayon::join(|| Parts::of(accounts), || missing(run, accounts)),
        || {
            let cost = || largest_cost(costs(run, accounts), total);
            rayon::join(|| rayon::join(cost, || StepTimes::of(run)), || words::run(framework(run), run))
        },
    );
    if let Some(parts) = &parts {
        parts.put_into(&mut verdict);
        verdict.bound_by = parts.bound_by(accounts.gpus.iter().any(GpuAccount::is_linked), missing);
        verdict.largest_cost = cost;
        let share = percent(missing, parts.total);
        verdict.why_not.extend((share >= MISSING_PCT).then(|| words::missing(missing, share)));
    }
    let is_linked = Some(accounts.gpus.iter().any(GpuAccount::is_linked));
    doubts::Ground { trace: run.trace, parts: parts.as_ref(), is_linked }.put_doubts_into(&mut verdict);
    verdict.steps = (steps.count > 0).then_some(steps.count);
    verdict.step_ns = middle(steps.times);
    // If the bound is not known, it is not known what would shorten the run.
    let can_judge = verdict.bound_by.is_some();
    let best = findings.iter().filter(|finding| finding.gain_ceiling_ns.is_some_and(|gain| gain > 0));
    if let Some(best) = best.max_by_key(|finding| finding.gain_ceiling_ns).filter(|_| can_judge) {
        verdict.largest_gain_ns = best.gain_ceiling_ns;
        verdict.finding = Some(best.key.clone());
    }
    verdict.text = words::sentence(&verdict, parts.as_ref().map(|parts| parts.gpus), &what, findings);
    verdict
}

/// The verdict if only the tables of a trace were read: it only names a bound if the GPUs are busy.
pub fn of_tables(trace: &Trace, classes: &Classes, options: &VerdictOptions) -> Verdict {
    let (swept, mut verdict) = rayon::join(|| Swept::of(trace, classes), || facts(trace, options));
    let parts = Parts::of_timelines(&swept.timelines, swept.rows);
    if let Some(parts) = &parts {
        parts.put_into(&mut verdict);
        verdict.bound_by = parts.bound_by(false, 0);
        let costs = kernel_costs(trace, classes, &swept.by_class, parts.busy);
        verdict.largest_cost = largest_cost(costs, parts.total);
    }
    doubts::Ground { trace, parts: parts.as_ref(), is_linked: None }.put_doubts_into(&mut verdict);
    verdict.text = words::sentence(&verdict, parts.as_ref().map(|parts| parts.gpus), "", &[]);
    verdict
}

/// The hardware of the trace, and whether the trace can be trusted.
fn facts(trace: &Trace, options: &VerdictOptions) -> Verdict {
    let architecture = Architecture::of(trace);
    let target = options.target_arch.as_deref().unwrap_or(TARGET_ARCH);
    let (matched, reason) = architecture.compare(target);
    let failed = trace.health.checks.iter().filter(|check| check.status == Status::Fail);
    Verdict {
        architecture: architecture.observed.clone(),
        product: product(trace),
        arch_match: report::ArchMatch { status: matched.name().into(), target: target.into(), reason },
        why_not: failed.map(|check| check.message.clone()).collect(),
        ..Verdict::default()
    }
}

/// The product name of the GPUs; `None` if there are several.
fn product(trace: &Trace) -> Option<String> {
    let mut products: Vec<&str> = trace
        .agents
        .iter()
        .filter(|agent| matches!(agent.kind, AgentKind::Gpu | AgentKind::Unknown))
        .map(|agent| trace.strings.get(agent.product))
        .filter(|product| !product.is_empty())
        .collect();
    products.sort_unstable();
    products.dedup();
    match products[..] {
        [product] => Some(product.to_string()),
        _ => None,
    }
}

/// The time of all GPUs by what it was spent on.
struct Parts {
    gpus: usize,
    /// Number of kernels and copies.
    pieces: usize,
    span: i64,
    total: i64,
    busy: i64,
    idle: i64,
    /// Kernel time, whatever else runs in parallel.
    gpu: i64,
    by_bound: [(BoundBy, i64); 6],
    /// Idle time without an explanation.
    unknown: i64,
}

fn timeline(rows: &[GpuRow]) -> Timeline {
    Timeline::in_order(rows.iter().map(|row| row.work).filter(is_sane))
}

impl Parts {
    /// Splits the time of GPUs whose idle time has no known cause.
    fn of_timelines(timelines: &[Timeline], pieces: usize) -> Option<Self> {
        let sum = |of: fn(&Timeline) -> i64| timelines.iter().map(of).sum::<i64>();
        Some(Self {
            gpus: timelines.len(),
            pieces,
            span: timelines.iter().map(Timeline::total).max()?,
            total: sum(Timeline::total),
            busy: sum(Timeline::busy),
            idle: sum(Timeline::idle),
            gpu: sum(|timeline| timeline.of_bucket(Bucket::Compute)),
            by_bound: [
                (BoundBy::Launch, 0),
                (BoundBy::Host, 0),
                (BoundBy::Sync, 0),
                (BoundBy::Copy, sum(Timeline::exposed_memcpy)),
                (BoundBy::Communication, sum(Timeline::exposed_communication)),
                (BoundBy::Allocation, 0),
            ],
            unknown: sum(Timeline::idle),
        })
    }

    fn of(accounts: &IdleAccounts) -> Option<Self> {
        let longest = accounts.gpus.iter().map(GpuAccount::total).max()?;
        let sum = |cause: Cause| accounts.gpus.iter().map(|gpu| gpu.idle_of(cause)).sum::<i64>();
        let timelines: Vec<Timeline> = accounts.gpus.par_iter().map(|gpu| timeline(&gpu.rows)).collect();
        let compute = timelines.iter().map(|timeline| timeline.of_bucket(Bucket::Compute)).sum();
        let copies = timelines.iter().map(Timeline::exposed_memcpy).sum::<i64>();
        let communication = timelines.iter().map(Timeline::exposed_communication).sum::<i64>();
        let blocked_copies = accounts.gpus.iter().flat_map(|gpu| &gpu.idle);
        let blocked: i64 = blocked_copies
            .filter(|piece| {
                piece.cause == Cause::BlockingCall && piece.next.row_of(trace::Table::MemoryCopies).is_some()
            })
            .map(|piece| piece.length())
            .sum();
        Some(Self {
            gpus: accounts.gpus.len(),
            pieces: accounts.gpus.iter().map(|gpu| gpu.rows.len()).sum(),
            span: longest,
            total: accounts.gpus.iter().map(GpuAccount::total).sum(),
            busy: accounts.gpus.iter().map(|gpu| gpu.busy).sum(),
            idle: accounts.gpus.iter().map(GpuAccount::idle_total).sum(),
            gpu: compute,
            by_bound: [
                (BoundBy::Launch, sum(Cause::Launching) + sum(Cause::FirstCall)),
                (BoundBy::Host, sum(Cause::HostCode)),
                (BoundBy::Sync, sum(Cause::BlockingCall) + sum(Cause::WaitingForEvent) - blocked),
                (BoundBy::Copy, copies + blocked),
                (BoundBy::Communication, communication + sum(Cause::WaitingElsewhere)),
                (BoundBy::Allocation, sum(Cause::Allocating)),
            ],
            unknown: sum(Cause::NotRecorded) + sum(Cause::BeforeAndAfter),
        })
    }

    fn put_into(&self, verdict: &mut Verdict) {
        verdict.span_ns = Some(self.span);
        verdict.busy_pct = Some(percent(self.busy, self.total));
        verdict.idle_ns = Some(self.idle);
    }

    /// What bounds the run, apart from time without recorded work; `None` if too little is known.
    fn bound_by(&self, is_linked: bool, missing: i64) -> Option<BoundBy> {
        // Gaps between kernels of a graph or a full queue are the GPU's own time.
        let own = self.total - self.unknown - self.by_bound.iter().map(|(_, ns)| ns).sum::<i64>();
        let mut parts: Vec<(BoundBy, i64)> = self.by_bound.to_vec();
        parts.push((BoundBy::Gpu, own.max(self.gpu)));
        let share = |ns: i64| percent(ns, self.total);
        if !is_linked && percent(self.busy, self.total) < BUSY_PCT {
            return None;
        }
        if share(self.unknown) > BOUND_PCT {
            return None;
        }
        Some(bound_of(&parts, self.unknown - missing, self.total - missing))
    }
}

/// The part that bounds a run: at least half of `total`, and twice as much as any other part or `unknown`.
pub fn bound_of(parts: &[(BoundBy, i64)], unknown: i64, total: i64) -> BoundBy {
    let Some(first) = parts.iter().max_by_key(|part| part.1) else { return BoundBy::Mixed };
    let others = parts.iter().filter(|part| part.0 != first.0).map(|part| part.1);
    let next = others.max().unwrap_or(0).max(unknown);
    let bounds = percent(first.1, total) >= BOUND_PCT && first.1 as f64 >= TIMES_NEXT * next as f64;
    if bounds { first.0 } else { BoundBy::Mixed }
}

/// Idle time although the next work was launched long before: the GPU did something that is not in the trace.
fn missing(run: &Run, accounts: &IdleAccounts) -> i64 {
    let was_queued = |piece: &&Piece| {
        let was_launched = |call: usize| run.trace.regions.end[call] <= piece.start;
        piece.cause == Cause::NotRecorded && run.launch_of(piece.next).is_some_and(was_launched)
    };
    accounts.gpus.iter().flat_map(|gpu| &gpu.idle).filter(was_queued).map(Piece::length).sum()
}

/// The time of kernels by category, and of copies.
fn kernel_costs(trace: &Trace, classes: &Classes, by_class: &[i64], busy: i64) -> Map<String, i64> {
    let mut costs: Map<String, i64> = Map::default();
    // Work on several streams overlaps; costs are scaled to the time that GPUs are busy.
    let work: i64 = by_class.iter().sum();
    let on_clock = |ns: i64| (i128::from(ns) * i128::from(busy) / i128::from(work.max(1))) as i64;
    for (number, &ns) in by_class.iter().enumerate().filter(|&(_, &ns)| ns > 0) {
        let (class, name, kind) = classes.numbered(number);
        let name = trace.strings.get(name);
        let what = match (kind, class.category) {
            (RowKind::Copy | RowKind::Fill, _) => format!("copies `{name}`"),
            (RowKind::Kernel, Category::Other) => format!("kernel `{}`", names::display_name(name)),
            (RowKind::Kernel, category) => format!("{} kernels", category.name()),
        };
        *costs.entry(what).or_default() += on_clock(ns);
    }
    costs
}

/// The time of kernels by category, of copies, and of idle GPUs by cause.
fn costs(run: &Run, accounts: &IdleAccounts) -> Map<String, i64> {
    let rows = accounts.gpus.iter().flat_map(|gpu| &gpu.rows);
    let busy = accounts.gpus.iter().map(|gpu| gpu.busy).sum();
    let by_class = class_times(run.trace, &run.classes, rows);
    let mut costs = kernel_costs(run.trace, &run.classes, &by_class, busy);
    let mut by_cause: Map<(Cause, trace::StrId), i64> = Map::default();
    for piece in accounts.gpus.iter().flat_map(|gpu| &gpu.idle) {
        *by_cause.entry((piece.cause, piece.place)).or_default() += piece.length();
    }
    for ((cause, place), ns) in by_cause {
        let what = match (cause, run.trace.strings.get(place)) {
            (Cause::BeforeAndAfter | Cause::NotRecorded, "") => continue,
            (cause, "") => format!("idle: {}", cause.name()),
            (Cause::HostCode, place) => format!("idle while the host is in `{place}`"),
            (cause, place) => format!("idle: {} `{place}`", cause.name()),
        };
        *costs.entry(what).or_default() += ns;
    }
    costs
}

/// What has the most time.
fn largest_cost(costs: Map<String, i64>, total: i64) -> Option<Cost> {
    let (what, ns) = costs.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))?;
    Some(Cost { what, ns, share_pct: percent(ns, total) })
}

/// How long steps take. Ranks run steps in parallel: each step is followed by the next of its own process.
struct StepTimes {
    /// Steps of the process with the most steps.
    count: usize,
    /// From the start of each step's GPU work to the start of the next, the last by its own length, because a
    /// host that runs ahead does not show how long a step takes. Steps without GPU work use host times.
    times: Vec<i64>,
}

impl StepTimes {
    fn of(run: &Run) -> Self {
        let steps = &run.stages.steps;
        let mut process_of: Map<u32, ProcessId> = Map::default();
        let mut work_of: Map<u32, (i64, i64)> = Map::default();
        for &row in &run.rows {
            if let (Some(step), Some(place)) = (run.stages.step(row), run.place(row)) {
                let (start, end) = run.time(row);
                process_of.entry(steps[step].number).or_insert_with(|| run.work.process(place));
                let work = work_of.entry(steps[step].number).or_insert((start, end));
                *work = (work.0.min(start), work.1.max(end));
            }
        }
        // Capture steps have no work of the run; if no step has any, the host's own steps count.
        let counts = |number: u32| process_of.is_empty() || process_of.contains_key(&number);
        let mut process = steps.iter().find_map(|step| process_of.get(&step.number)).copied();
        let mut by_process: Map<Option<ProcessId>, Vec<(u32, i64, i64)>> = Map::default();
        for step in steps.iter().filter(|step| counts(step.number)) {
            process = process_of.get(&step.number).copied().or(process);
            let own = by_process.entry(process).or_default();
            match own.last_mut() {
                Some(last) if last.0 == step.number => last.2 = last.2.max(step.end),
                _ => own.push((step.number, step.start, step.end)),
            }
        }
        let mut all = Self { count: 0, times: Vec::new() };
        for steps in by_process.into_values() {
            all.count = all.count.max(steps.len());
            let works = steps.iter().map(|step| work_of.get(&step.0).copied());
            let steps: Vec<(i64, i64)> = match works.collect::<Option<Vec<_>>>() {
                Some(works) if works.windows(2).all(|pair| pair[0].0 < pair[1].0) => works,
                _ => steps.iter().map(|step| (step.1, step.2)).collect(),
            };
            all.times.extend(steps.windows(2).map(|pair| pair[1].0 - pair[0].0));
            all.times.extend(steps.last().map(|step| step.1 - step.0));
        }
        all
    }
}

fn middle(mut values: Vec<i64>) -> Option<i64> {
    let place = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}
