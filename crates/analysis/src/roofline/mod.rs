//! `roofline`: what each kernel computed and moved, how near that is to what the GPU can do, and which ceiling it
//! is under. Operations and bytes come from counters by the formulas of `rules/roofline.toml`, ceilings from `hw`.
//!
//! Ops of torch traces with known shapes are modelled besides, without counters, by the table `rules/ops.toml`. Where a run
//! has both, or another input has the counters of the same program, both stand in one row.
//!
//! A number whose counters were not collected is absent and names them; a bound is only told when it is certain.
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
mod recorded;
mod tables;

use hw::Arch;
use report::{Note, Remedy, Report};
use trace::{ArgNeeds, Needs, Trace};

use crate::base;
use crate::bottleneck::kernel_figures_where;
use model::recordings::Recordings;
use modelled::Modelled;

pub use device::{BadPeaks, PeakSource, RooflineOptions};
pub use formulas::roofline_counters;
pub use joined::counted_sources;
pub(crate) use kernel_share::Roofs;
pub use place::{Bound, Placed, Work, place};

/// What [`roofline`] needs of a trace.
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

/// Where the kernels of a trace stand under the roofs of its GPU.
pub fn roofline(trace: &Trace, options: &RooflineOptions) -> Report {
    // Without a mapping trace nothing can fail to fit.
    placed(trace, options, modelled_ops(trace, None).unwrap_or_default())
}

/// The same, where a capture or graph-off trace tells the ops and shapes of replayed graphs.
pub fn roofline_with_mapping(
    trace: &Trace,
    mapping: &Trace,
    options: &RooflineOptions,
) -> Result<Report, model::attribution::Error> {
    Ok(placed(trace, options, modelled_ops(trace, Some(mapping))?))
}

/// A run with counters beside one without tells what was measured, not what is modelled.
fn modelled_ops(trace: &Trace, mapping: Option<&Trace>) -> Result<Modelled, model::attribution::Error> {
    let counted = counted_sources(trace);
    let beside = counted.contains(&true) && counted.contains(&false);
    // Kernels of captures tell where those of the run come from; they are not part of it.
    let recordings = Recordings::of(trace);
    modelled::modelled(trace, mapping, |row| {
        recordings.counts(trace.kernels.process[row])
            && (!beside || joined::source_of(trace, row).is_none_or(|source| !counted[source]))
    })
}

fn placed(trace: &Trace, options: &RooflineOptions, models: Modelled) -> Report {
    let mut report = base::report("roofline", trace);
    let device = device::of(trace, options);
    let counted = counted_sources(trace);
    let any_counted = counted.contains(&true);
    // Beside a run with counters, kernels of one without would add time and no counts.
    let recordings = Recordings::of(trace);
    let measured = |row: usize| {
        recordings.counts(trace.kernels.process[row])
            && (!any_counted || joined::source_of(trace, row).is_none_or(|source| counted[source]))
    };
    let kernels: Vec<tables::Row> = kernel_figures_where(trace, measured)
        .into_iter()
        .map(|kernel| {
            let dispatches = kernel.figures.get("dispatches").copied().unwrap_or(0.0) as i64;
            let work = formulas::work(&device.arch, &kernel.figures);
            let placed = place(&work, kernel.total_ns, &device.peaks);
            tables::Row { name: kernel.name, dispatches, total_ns: kernel.total_ns, work, placed }
        })
        .collect();
    let joined = (any_counted && !models.ops.is_empty()).then(|| joined::join(trace, &models, &device.arch));
    report.tables = vec![
        tables::kernels(&kernels),
        tables::levels(&kernels, &device.peaks),
        tables::types(&kernels, &device.peaks),
        tables::peaks(&device.peaks),
    ];
    // The tables of the contract are there even when they are empty.
    report.tables.retain(|table| !table.rows.is_empty() || table.name == "kernels");
    if models.ops.is_empty() {
        // What was counted needs no launch to be placed.
        report.health.retain(|check| check.id != "coverage");
    } else {
        // Without counters the models are all there is, and kernels would only name what is absent.
        let at = usize::from(any_counted);
        report.tables.insert(at, op_tables::ops(&models, joined.as_ref(), &device.peaks));
        report.tables.insert(at + 1, op_tables::coverage(&models.coverage));
    }
    if let Some(joined) = &joined {
        report.findings = op_tables::findings(&models, joined, &device.peaks);
    }
    let ops: Vec<tables::Row> = models.ops.iter().map(|op| op_tables::row_of(op, &device.peaks)).collect();
    report.charts.extend(chart::chart(&kernels, &ops, &device));
    report.notes = device.notes;
    report.notes.extend(op_tables::notes(&models.coverage, joined.as_ref()).into_iter().map(Note::from));
    report.notes.extend(if any_counted {
        tables::remarks(&kernels).into_iter().map(Note::from).collect()
    } else {
        let text = "there are no counters in the input, so only ops are placed";
        vec![Note::new(text, Remedy::RooflineCounters)]
    });
    report
}
