//! `roofline`: what each kernel computed and moved, how close that is to the GPU's limits, and which one binds.
//! Operations and bytes come from counters by the formulas of `rules/roofline.toml`, ceilings from `hw`.
//!
//! Ops of torch traces with known shapes are also modelled, without counters, by the table `rules/ops.toml`.
//! If a run has both, or another input has the counters of the same program, one row shows both.
//!
//! A number whose counters were not collected is absent and names them; a bound is shown only if certain.
//! Cost: one pass over kernels and counters.

mod chart;
mod convolution;
mod device;
mod formulas;
mod joined;
mod kernel_share;
mod modelled;
mod op_model;
mod op_rules;
mod op_tables;
mod place;
mod present;
mod recorded;
mod standing;
mod tables;

use hw::peaks::Peaks;
use hw::{Arch, DataType};
use report::{Note, Report, Table};
use trace::{ArgNeeds, Needs, Trace};

use crate::kernels::bottleneck::kernel_figures_where;
use joined::Joined;
use model::recordings::Recordings;
use modelled::{Modelled, Op};

pub use device::{BadPeaks, PeakSource, RooflineOptions};
pub use formulas::roofline_counters;
pub use joined::{JoinedCounters, counted_sources};
pub(crate) use kernel_share::Roofs;
pub(crate) use modelled::Without;
pub use modelled::{CoveredTime, ModelCoverage};
pub use place::{Bound, Placed, PlacedWork, Work, place};
pub use present::present;
pub use standing::{Standings, clocked_kernels};
pub(crate) use standing::{Unplaced, scales_with_clock};

/// What [`roofline`] reads from a trace.
pub fn roofline_needs() -> Needs {
    let mut needs = Needs { python_frames: false, ..model::attribution::needs() };
    if let ArgNeeds::Keys(keys) = &mut needs.args {
        keys.push("Concrete Inputs".into());
    }
    Needs { shapes: true, counters: true, counter_columns: true, ..needs }
}

/// The counters that a roofline needs on an architecture, by pass.
pub fn roofline_counter_report(arch: &Arch) -> Report {
    let mut report = Report { command: "roofline".into(), ..Report::default() };
    let names = roofline_counters(&arch.facts.counters);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match hw::passes::plan(&arch.name, &names) {
        Ok(plan) if !plan.passes.is_empty() => report.tables.push(tables::passes(&plan, &arch.name)),
        Ok(_) => report.notes.push(format!("there are no formulas for {}", arch.name).into()),
        Err(error) => report.notes.push(error.to_string().into()),
    }
    report
}

/// Where the kernels and ops of a run stand under the roofs of its GPU.
#[derive(Clone, Debug, Default)]
pub struct Roofline {
    /// Measured kernels, most time first.
    pub kernels: Vec<PlacedWork>,
    /// Ops modelled from their shapes, most time first.
    pub ops: Vec<ModelledOp>,
    /// How much of the GPU time is modelled.
    pub coverage: ModelCoverage,
    /// Whether any run has counters.
    pub is_counted: bool,
    /// How the counters of the ops' kernels were found, if there are both.
    pub joined: Option<JoinedCounters>,
    /// The ceilings.
    pub peaks: Peaks,
    /// What is not known about the GPU.
    pub notes: Vec<Note>,
}

impl Roofline {
    /// A kernel by its recorded or demangled name.
    pub fn of_kernel(&self, name: &str) -> Option<&PlacedWork> {
        let shown = model::names::demangle(name);
        self.kernels.iter().find(|kernel| kernel.name == name || kernel.name == shown)
    }

    /// The table `kernels`: where each kernel stands.
    pub fn kernels_table(&self) -> Table {
        tables::kernels(&self.kernels)
    }
}

/// An op with inputs of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelledOp {
    /// The least work that all its calls must do.
    pub least: PlacedWork,
    /// Shapes of its inputs.
    pub shapes: String,
    /// Data type of the arithmetic.
    pub data_type: Option<DataType>,
    /// Kernel with the most time.
    pub kernel: String,
    /// What its calls did according to the counters, or why that is not known; absent without counters.
    pub measured: Option<Result<PlacedWork, String>>,
}

/// Where the kernels of a trace stand under the roofs of its GPU.
pub fn compute(trace: &Trace, options: &RooflineOptions) -> Roofline {
    // Without a mapping trace this cannot fail.
    place_all(trace, options, modelled_ops(trace, None).unwrap_or_default())
}

/// [`compute`] with a capture or graph-off trace that has the ops and shapes of replayed graphs.
pub fn compute_with_mapping(
    trace: &Trace,
    mapping: &Trace,
    options: &RooflineOptions,
) -> Result<Roofline, model::attribution::Error> {
    Ok(place_all(trace, options, modelled_ops(trace, Some(mapping))?))
}

/// [`compute`] and [`present`] in one.
pub fn roofline(trace: &Trace, options: &RooflineOptions) -> Report {
    present(trace, &compute(trace, options))
}

/// If one run has counters and another does not, only the one without is modelled.
fn modelled_ops(trace: &Trace, mapping: Option<&Trace>) -> Result<Modelled, model::attribution::Error> {
    let counted = counted_sources(trace);
    let beside = counted.contains(&true) && counted.contains(&false);
    // Capture kernels show where the run's kernels come from; they are not part of the run.
    let recordings = Recordings::of(trace);
    modelled::modelled(trace, mapping, |row| {
        recordings.counts(trace.kernels.process[row])
            && (!beside || joined::source_of(trace, row).is_none_or(|source| !counted[source]))
    })
}

fn place_all(trace: &Trace, options: &RooflineOptions, models: Modelled) -> Roofline {
    let device = device::of(trace, options);
    let counted = counted_sources(trace);
    let is_counted = counted.contains(&true);
    // If another run has counters, kernels of a run without them would add time but no counts.
    let recordings = Recordings::of(trace);
    let measured = |row: usize| {
        recordings.counts(trace.kernels.process[row])
            && (!is_counted || joined::source_of(trace, row).is_none_or(|source| counted[source]))
    };
    let kernels = kernel_figures_where(trace, measured).into_iter().map(|kernel| {
        let dispatches = kernel.figures.get("dispatches").copied().unwrap_or(0.0) as i64;
        let work = formulas::work(&device.arch, &kernel.figures);
        let placed = place(&work, kernel.total_ns, &device.peaks);
        PlacedWork { name: kernel.name, dispatches, total_ns: kernel.total_ns, work, placed }
    });
    let kernels = kernels.collect();
    let joined = (is_counted && !models.ops.is_empty()).then(|| joined::join(trace, &models, &device.arch));
    let op = |(at, op): (usize, &Op)| {
        modelled_op(op, joined.as_ref().map(|joined| &joined.ops[at]), &device.peaks)
    };
    let ops = models.ops.iter().enumerate().map(op).collect();
    Roofline {
        kernels,
        ops,
        coverage: models.coverage,
        is_counted,
        joined: joined.map(|joined: Joined| joined.counts),
        peaks: device.peaks,
        notes: device.notes,
    }
}

fn modelled_op(op: &Op, measured: Option<&joined::Measured>, peaks: &Peaks) -> ModelledOp {
    let placed = |work: &Work| PlacedWork {
        name: op.name.clone(),
        dispatches: op.calls,
        total_ns: op.total_ns,
        work: work.clone(),
        placed: place(work, op.total_ns, peaks),
    };
    ModelledOp {
        least: placed(&op.work),
        shapes: op.model.shapes.clone(),
        data_type: op.model.data_type,
        kernel: op.kernel.clone(),
        measured: measured.map(|measured| measured.as_ref().map(placed).map_err(String::clone)),
    }
}
