//! How near each kernel is to what the GPU can compute and move.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::{PeakSource, RooflineOptions};
use report::chart::SvgOptions;
use report::{Remedy, Report, render};
use trace::{Aggregate, Source, Trace};

use crate::failure::Failure;
use crate::input::{Input, one_run, read_mapping, write};
use crate::observer::Observer;
use crate::occupancy::known_arch;

/// Where peaks come from.
#[derive(Clone, Debug, Default)]
pub enum Peaks {
    /// The data sheet.
    #[default]
    DataSheet,
    /// What rocprof-compute measured.
    Measured,
    /// A JSON file of the user's.
    File(PathBuf),
}

/// Which kernels to place, under which roofs.
#[derive(Clone, Debug, Default)]
pub struct RooflineRequest {
    /// The trace.
    pub input: Input,
    /// The trace that has the ops and shapes of replayed graphs.
    pub mapping: Option<PathBuf>,
    /// How to combine the instances of a counter, if not by sum.
    pub aggregate: Option<Aggregate>,
    /// Where peaks come from.
    pub peaks: Peaks,
    /// Chart to draw: .svg or .png.
    pub out: Option<PathBuf>,
    /// Architecture or product, if the input does not have it.
    pub arch: Option<String>,
    /// Product.
    pub product: Option<String>,
    /// Compute units.
    pub cus: Option<u32>,
    /// Engine clock.
    pub clock_mhz: Option<f64>,
    /// Memory bandwidth.
    pub memory_gbps: Option<f64>,
    /// Compute partition mode.
    pub compute_partition: Option<String>,
    /// Memory partition mode.
    pub memory_partition: Option<String>,
}

/// The counters that a roofline needs on an architecture, and the passes they take.
pub fn roofline_counters(arch: &str) -> Result<Report, Failure> {
    Ok(analysis::roofline_counter_report(known_arch(arch)?))
}

/// Where kernels and ops stand under the ceilings of the GPU.
pub fn roofline(request: &RooflineRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let arch = request.arch.as_deref().map(known_arch).transpose()?;
    let peaks = match &request.peaks {
        Peaks::Measured => PeakSource::Measured,
        Peaks::DataSheet => PeakSource::DataSheet,
        Peaks::File(path) => {
            let shown = path.display();
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::input(format!("cannot read `{shown}`: {error}")))?;
            PeakSource::parse(&text).map_err(|error| Failure::input(format!("`{shown}`: {error}")))?
        }
    };
    let named = request.arch.as_deref().filter(|name| hw::arch::find(name).is_none());
    let options = RooflineOptions {
        arch,
        product: request.product.clone().or(named.map(str::to_owned)),
        cus: request.cus,
        clock_mhz: request.clock_mhz,
        memory_gbps: request.memory_gbps,
        compute_partition: request.compute_partition.clone(),
        memory_partition: request.memory_partition.clone(),
        peaks,
    };
    let mut trace = request.input.read(&analysis::roofline_needs(), observer)?;
    if let Some(aggregate) = request.aggregate {
        Arc::make_mut(&mut trace).aggregate_counters(aggregate);
    }
    one_run_each(&trace)?;
    if trace.kernels.is_empty() {
        return Err(Failure::input("there are no kernels in this part of the trace"));
    }
    let mapping = read_mapping(request.mapping.as_ref(), &analysis::roofline_needs(), observer)?;
    let found = match &mapping {
        Some(mapping) => analysis::kernels::roofline::compute_with_mapping(&trace, mapping, &options)
            .map_err(|error| Failure::input(error.to_string()))?,
        None => analysis::kernels::roofline::compute(&trace, &options),
    };
    let counted = !trace.counters.is_empty() || !trace.counter_columns.is_empty();
    if !counted && found.ops.is_empty() {
        return Err(Failure::input("there are neither counters nor ops with shapes in the input")
            .with_help(Remedy::RooflineCounters));
    }
    let report = analysis::kernels::roofline::present(&trace, &found);
    if let Some(path) = &request.out {
        draw(&report, path)?;
    }
    Ok(report)
}

/// Allows one run with counters next to one without.
fn one_run_each(trace: &Trace) -> Result<(), Failure> {
    let counted = analysis::counted_sources(trace);
    for side in [true, false] {
        let sources: Vec<Source> = trace
            .sources
            .iter()
            .zip(&counted)
            .filter(|(_, of)| **of == side)
            .map(|(s, _)| s.clone())
            .collect();
        one_run(&sources, "roofline")?;
    }
    Ok(())
}

/// Writes the chart of a report.
fn draw(report: &Report, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let Some(chart) = report.charts.first() else {
        return Err(Failure::input(format!(
            "there is nothing to draw in `{shown}`: no kernel has operations, memory traffic and a duration"
        )));
    };
    let svg = chart.svg(&SvgOptions::default());
    let bytes = match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => svg.into_bytes(),
        Some("png") => render::png(&svg, 2.0).map_err(|error| Failure::input(error.to_string()))?,
        _ => return Err(Failure::input(format!("`{shown}` should end in .svg or .png"))),
    };
    write(path, &bytes)
}
