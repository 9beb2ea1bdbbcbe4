//! How far a run is from the peak of its GPUs, and why.

use std::path::PathBuf;

use analysis::RooflineOptions;
use analysis::kernels::efficiency::{compute, efficiency_needs, present};
use model::Run;
use report::Report;

use crate::causes::for_target;
use crate::failure::Failure;
use crate::input::{Input, classifier, one_run, read_mapping};
use crate::observer::Observer;
use crate::occupancy::known_arch;

/// Which run to split, and against which peaks.
#[derive(Clone, Debug, Default)]
pub struct EfficiencyRequest {
    /// The trace.
    pub input: Input,
    /// The trace that has the ops and shapes of replayed graphs.
    pub mapping: Option<PathBuf>,
    /// Rules for kernel names, tried before the built-in ones.
    pub rules: Option<PathBuf>,
    /// Architecture or product, if the input does not have it.
    pub arch: Option<String>,
    /// Product.
    pub product: Option<String>,
    /// Compute units.
    pub cus: Option<u32>,
    /// Peak engine clock.
    pub clock_mhz: Option<f64>,
}

/// From the peak of the machine down to what was reached; the parts add up to the span.
pub fn efficiency(request: &EfficiencyRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let arch = request.arch.as_deref().map(known_arch).transpose()?;
    let named = request.arch.as_deref().filter(|name| hw::arch::find(name).is_none());
    let options = RooflineOptions {
        arch,
        product: request.product.clone().or(named.map(str::to_owned)),
        cus: request.cus,
        clock_mhz: request.clock_mhz,
        ..RooflineOptions::default()
    };
    let classifier = classifier(request.rules.as_ref())?;
    let needs = efficiency_needs();
    let trace = request.input.read_classified(&needs, observer, || classifier.clone())?;
    one_run(&trace.sources, "efficiency")?;
    let mapping = read_mapping(request.mapping.as_ref(), &needs, observer)?;
    let run = Run::new(&trace, mapping.as_deref(), &classifier, 0.0)
        .map_err(|error| Failure::input(error.to_string()))?
        .with_stage_patterns(&request.input.filters.stage_patterns);
    if run.rows.is_empty() {
        return Err(Failure::input("there is no GPU work in this part of the trace"));
    }
    let accounts = analysis::causes::idle::compute(&run);
    let mut report = present(&trace, &compute(&run, &accounts, &options));
    report.verdict = Some(analysis::causes::verdict::compute(&run, &accounts, &[], &for_target(&None)));
    Ok(report)
}
