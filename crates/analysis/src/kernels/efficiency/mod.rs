//! `efficiency`: from the machine's peak down to what was reached; the parts add up to the span exactly.
//!
//! ```text
//! GPU work ─► charged time per row ─┬► clock ─► quantisation ─► work at peak ─► below the roof that binds
//!                                   └► exposed communication · exposed copies
//! idle accounts ────────────────────► launch · host · idle
//! ```
//!
//! Every busy nanosecond is charged to one row (`exposed`). Computation is then split: what a higher clock
//! would save (memory-bound kernels gain nothing), the cost of whole tiles and rounds (`quantised`), what the
//! work takes at the peak, and the rest, lost under the roof that binds. Kernels with unknown work count as
//! `not measured`.
//!
//! Cost: the idle accounts and one pass over the GPU's rows.

mod clock;
mod exposed;
mod part;
mod present;
mod quantised;
mod result;

use hw::Level;
use model::Run;
use model::lanes::{Bucket, GpuRow};
use trace::{Map, Needs, Ns, RowRef, Table, Trace};

use self::clock::Clocks;
use self::quantised::Quantised;
use crate::causes::idle::{Cause, IdleAccounts, Piece};
use crate::kernels::gpu::{RecordedGpu, Specs};
use crate::kernels::roofline::{Bound, RooflineOptions, Unplaced, roofline_needs, scales_with_clock};
use stats::percent;

pub use crate::kernels::roofline::Standings;
pub use clock::{ClockEvidence, engine_clock_mhz};
pub use part::{Parts, WaterfallStep};
pub use present::{EFFICIENCY, present, waterfall};
pub use result::{Efficiency, GpuEfficiency, KernelEfficiency, StageEfficiency, StepEfficiency, Unmeasured};

/// What to read from a trace for the efficiency analysis.
pub fn efficiency_needs() -> Needs {
    // Idle time has causes, which Python frames, waits and other ranks tell.
    Needs { python_frames: true, syncs: true, collectives: true, samples: true, ..roofline_needs() }
}

/// Splits the time of every GPU of a run.
pub fn compute(run: &Run, accounts: &IdleAccounts, options: &RooflineOptions) -> Efficiency {
    compute_under(run, accounts, &Standings::of(run, options))
}

/// [`compute`] for a run whose dispatches are already placed under their roofs.
pub fn compute_under(run: &Run, accounts: &IdleAccounts, standings: &Standings) -> Efficiency {
    let mut splitter = Splitter::new(run, standings);
    let mut sums = Sums::default();
    let mut gpus = Vec::new();
    for account in &accounts.gpus {
        let mut parts = Parts::default();
        let samples = match &mut splitter.clocks {
            Some(clocks) => clocks.while_busy(account.lane.agent, &account.rows),
            None => Vec::new(),
        };
        let charged = exposed::charged(&account.rows);
        for (row, &ns) in account.rows.iter().zip(&charged).filter(|(_, ns)| **ns > 0) {
            let split = splitter.split(row, ns, &samples);
            parts.add_all(&split);
            sums.add(run, row.row, &split);
        }
        for piece in &account.idle {
            let mut split = Parts::default();
            split.add(part_of(piece), piece.length());
            parts.add_all(&split);
            sums.add(run, piece.next, &split);
        }
        gpus.push(GpuEfficiency {
            rank: account.lane.rank,
            agent: account.lane.agent,
            span: account.span,
            parts,
        });
    }
    let (steps, stages, kernels) = sums.finish(run);
    let clock = splitter.clocks.map(Clocks::finish).unwrap_or_default();
    let unmeasured = result::unmeasured(splitter.unmeasured);
    Efficiency {
        gpus,
        steps,
        stages,
        kernels,
        unmeasured,
        clock,
        device: standings.peaks.device.clone(),
        notes: standings.notes.clone(),
    }
}

/// The waterfall step for the cause of a gap.
fn part_of(piece: &Piece) -> WaterfallStep {
    match piece.cause {
        Cause::Launching | Cause::StartingQueuedWork => WaterfallStep::Launch,
        Cause::BlockingCall | Cause::Allocating | Cause::HostCode | Cause::FirstCall => WaterfallStep::Host,
        Cause::WaitingForEvent | Cause::WaitingElsewhere | Cause::BeforeAndAfter | Cause::NotRecorded => {
            WaterfallStep::Idle
        }
    }
}

/// Splits the time charged to a row.
struct Splitter<'a> {
    run: &'a Run<'a>,
    standings: &'a Standings,
    clocks: Option<Clocks>,
    quantised: Quantised,
    /// Time that cannot be split, by reason.
    unmeasured: Map<Unplaced, (usize, Ns)>,
}

impl<'a> Splitter<'a> {
    fn new(run: &'a Run<'a>, standings: &'a Standings) -> Self {
        let peaks = &standings.peaks;
        let clocks = Clocks::of(run.trace, peaks.clock_mhz, dies(run.trace));
        let quantised = Quantised::new(peaks.compute_units);
        Self { run, standings, clocks, quantised, unmeasured: Map::default() }
    }

    fn split(&mut self, row: &GpuRow, charged: Ns, samples: &[(Ns, f64)]) -> Parts {
        let mut parts = Parts::default();
        match row.work.bucket {
            Bucket::Communication => parts.add(WaterfallStep::Communication, charged),
            Bucket::Memcpy => parts.add(WaterfallStep::Copies, charged),
            Bucket::Compute => match row.row.get() {
                Some((Table::Kernels, kernel)) => {
                    self.split_kernel(kernel, row, charged, samples, &mut parts)
                }
                _ => self.split_fill(row, charged, &mut parts),
            },
        }
        parts
    }

    /// A kernel: clock, quantisation, work at peak, and the rest under its roof.
    fn split_kernel(
        &mut self,
        kernel: usize,
        row: &GpuRow,
        charged: Ns,
        samples: &[(Ns, f64)],
        parts: &mut Parts,
    ) {
        let standing = self.standings.kernel(kernel);
        let mut left = charged;
        let take = |parts: &mut Parts, part: WaterfallStep, ns: f64, left: &mut Ns| {
            let ns = (ns.round() as Ns).clamp(0, *left);
            parts.add(part, ns);
            *left -= ns;
        };
        let scales = scales_with_clock(&standing, self.run.category(row.row));
        let time = (row.work.start, row.work.end);
        let clock = self.clocks.as_mut().and_then(|clocks| clocks.share(kernel, time, samples));
        if let Some(share) = clock.filter(|_| scales) {
            take(parts, WaterfallStep::Clock, charged as f64 * (1.0 - share), &mut left);
        }
        // Work that overlapped with other work counts up to the time charged to it.
        let at_peak =
            standing.map_or(0.0, |standing| standing.of_roof * (time.1 - time.0) as f64).min(left as f64);
        if scales {
            let kernels = &self.run.trace.kernels;
            let shape = self.run.trace.shapes.get(kernels.shape[kernel]);
            let product = standing.ok().and_then(|standing| standing.product);
            let lost = self.quantised.lost(&self.run.trace.strings, kernels.name[kernel], shape, product);
            let most = left as f64 - at_peak;
            take(
                parts,
                WaterfallStep::Quantisation,
                (left as f64 * lost.unwrap_or(0.0)).min(most),
                &mut left,
            );
        }
        match standing {
            Ok(standing) => {
                take(parts, WaterfallStep::AtPeak, at_peak, &mut left);
                let is_memory = matches!(standing.bound, Bound::Memory(Level::Hbm | Level::Mall));
                parts.add(if is_memory { WaterfallStep::Memory } else { WaterfallStep::Compute }, left);
            }
            Err(why) => self.not_measured(why, left, parts),
        }
    }

    /// A fill writes its bytes once.
    fn split_fill(&mut self, row: &GpuRow, charged: Ns, parts: &mut Parts) {
        let bytes = match row.row.get() {
            Some((Table::MemoryCopies, i)) => self.run.trace.memory_copies.bytes[i].get(),
            _ => None,
        };
        match bytes.zip(self.standings.peaks.bandwidth(Level::Hbm)) {
            Some((bytes, rate)) => {
                let at_peak = ((bytes as f64 / rate * 1e9).round() as Ns).clamp(0, charged);
                parts.add(WaterfallStep::AtPeak, at_peak);
                parts.add(WaterfallStep::Memory, charged - at_peak);
            }
            None if bytes.is_some() => self.not_measured(Unplaced::UnknownGpu, charged, parts),
            None => self.not_measured(Unplaced::NothingRecorded, charged, parts),
        }
    }

    fn not_measured(&mut self, why: Unplaced, ns: Ns, parts: &mut Parts) {
        parts.add(WaterfallStep::NotMeasured, ns);
        let sum = self.unmeasured.entry(why).or_default();
        *sum = (sum.0 + 1, sum.1 + ns);
    }
}

/// XCCs of the GPU, over which cycles are summed.
fn dies(trace: &Trace) -> Option<u32> {
    let agent = trace.kernels.agent.iter().find_map(|agent| trace.agents.get(agent.get()?))?;
    let arch = hw::arch::find(trace.strings.get(agent.name))?;
    hw::peaks::xccs(arch, &RecordedGpu::of(trace, &Specs::of(trace), Some(agent)).setup())
}

/// Time by step, stage and kernel; a gap belongs to the work that ends it.
#[derive(Default)]
struct Sums {
    steps: Map<Option<u32>, Parts>,
    stages: Map<&'static str, Parts>,
    kernels: Map<(Table, trace::StrId), (usize, Parts)>,
    outside: Parts,
}

/// Name of the time before the first and after the last work.
const OUTSIDE: &str = "before and after the run";

impl Sums {
    fn add(&mut self, run: &Run, row: RowRef, parts: &Parts) {
        let Some((table, _)) = row.get() else {
            self.outside.add_all(parts);
            return;
        };
        let step = run.stages.step(row).map(|place| run.stages.steps[place].number);
        self.steps.entry(step).or_default().add_all(parts);
        self.stages.entry(run.stage(row).name()).or_default().add_all(parts);
        let kernel = self.kernels.entry((table, run.name(row))).or_default();
        kernel.0 += usize::from(
            parts.get(WaterfallStep::Launch)
                + parts.get(WaterfallStep::Host)
                + parts.get(WaterfallStep::Idle)
                == 0,
        );
        kernel.1.add_all(parts);
    }

    fn finish(mut self, run: &Run) -> (Vec<StepEfficiency>, Vec<StageEfficiency>, Vec<KernelEfficiency>) {
        if self.outside.total() > 0 {
            self.steps.entry(None).or_default().add_all(&self.outside);
        }
        let mut steps: Vec<_> =
            self.steps.into_iter().map(|(number, parts)| StepEfficiency { number, parts }).collect();
        steps.sort_by_key(|step| (step.number.is_none(), step.number));
        let mut stages: Vec<_> =
            self.stages.into_iter().map(|(stage, parts)| StageEfficiency { stage, parts }).collect();
        stages.sort_by_key(|stage| (std::cmp::Reverse(stage.parts.total()), stage.stage));
        let mut kernels: Vec<_> = self
            .kernels
            .into_iter()
            .map(|((_, name), (calls, parts))| KernelEfficiency {
                name: run.trace.strings.get(name).to_owned(),
                calls,
                parts,
            })
            .collect();
        kernels.sort_by(|a, b| b.parts.total().cmp(&a.parts.total()).then_with(|| a.name.cmp(&b.name)));
        if self.outside.total() > 0 {
            let parts = self.outside;
            stages.push(StageEfficiency { stage: OUTSIDE, parts });
            kernels.push(KernelEfficiency { name: OUTSIDE.into(), calls: 0, parts });
        }
        (steps, stages, kernels)
    }
}

/// Share of the peak that was reached.
pub(crate) fn reached_pct(parts: &Parts) -> f64 {
    percent(parts.get(WaterfallStep::AtPeak), parts.total())
}
