//! `roofline`: what each kernel computed and moved, how near that is to what the GPU can do, and which ceiling it
//! is under. Operations and bytes come from counters by the formulas of `rules/roofline.toml`, ceilings from `hw`.
//!
//! Ops of torch traces with known shapes are modelled besides, without counters.
//!
//! A number whose counters were not collected is absent and names them; a bound is only told when it is certain.
//! Cost: one pass over kernels and counters.

mod chart;
mod device;
mod formulas;
mod modelled;
mod place;
mod tables;

use hw::Arch;
use report::Report;
use trace::{Needs, Trace};

use crate::base;
use crate::bottleneck::kernel_figures;

pub use device::{BadPeaks, PeakSource, RooflineOptions};
pub use formulas::roofline_counters;
pub use place::{Bound, Placed, Work, place};

/// What [`roofline`] needs of a trace.
pub fn roofline_needs() -> Needs {
    let needs = Needs { python_frames: false, ..crate::attribution::needs() };
    Needs { shapes: true, counters: true, counter_columns: true, ..needs }
}

/// The counters that a roofline needs on an architecture, by pass.
pub fn roofline_counter_report(arch: &Arch) -> Report {
    let mut report = Report { command: "roofline".into(), ..Report::default() };
    let names = roofline_counters(&arch.facts.counters);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match hw::passes::plan(&arch.name, &names) {
        Ok(plan) if !plan.passes.is_empty() => report.tables.push(tables::passes(&plan, &arch.name)),
        Ok(_) => report.notes.push(format!("there are no formulas for {}", arch.name)),
        Err(error) => report.notes.push(error.to_string()),
    }
    report
}

/// Where the kernels of a trace stand under the roofs of its GPU.
pub fn roofline(trace: &Trace, options: &RooflineOptions) -> Report {
    let mut report = base::report("roofline", trace);
    let device = device::of(trace, options);
    let kernels: Vec<tables::Row> = kernel_figures(trace)
        .into_iter()
        .map(|kernel| {
            let dispatches = kernel.figures.get("dispatches").copied().unwrap_or(0.0) as i64;
            let work = formulas::work(&device.arch, &kernel.figures);
            let placed = place(&work, kernel.total_ns, &device.peaks);
            tables::Row { name: kernel.name, dispatches, total_ns: kernel.total_ns, work, placed }
        })
        .collect();
    let ops = modelled::ops(trace);
    let counted = !trace.counters.is_empty() || !trace.counter_columns.is_empty();
    report.tables = vec![
        tables::kernels(&kernels),
        tables::levels(&kernels),
        tables::types(&kernels),
        tables::peaks(&device.peaks),
    ];
    if !ops.is_empty() {
        // Without counters the models are all there is.
        report.tables.insert(usize::from(counted), tables::ops(&ops, &device.peaks));
    }
    report.charts.extend(chart::chart(&kernels, &device));
    report.notes = device.notes;
    report.notes.extend(if counted {
        tables::remarks(&kernels)
    } else {
        vec!["there are no counters in the input, so only ops are placed; `roofline --counters` lists what to collect".into()]
    });
    report
}
