//! The GPU whose roofs are drawn: what the trace records, what the user sets, and measured peaks.

use hw::Arch;
use hw::peaks::{Peaks, Setup, peaks};
use report::{Note, Remedy};
use trace::{AgentKind, Trace};

use crate::kernels::gpu::{NamedPeak, RecordedGpu, Specs, take_measured};

/// What the user sets beyond the trace.
#[derive(Clone, Debug, Default)]
pub struct RooflineOptions {
    /// The architecture, if the trace does not record it.
    pub arch: Option<&'static Arch>,
    /// The product, if the trace does not record it.
    pub product: Option<String>,
    /// Compute units of the logical device.
    pub cus: Option<u32>,
    /// Engine clock.
    pub clock_mhz: Option<f64>,
    /// Memory bandwidth.
    pub memory_gbps: Option<f64>,
    /// Compute partition mode.
    pub compute_partition: Option<String>,
    /// Memory partition mode.
    pub memory_partition: Option<String>,
    /// Which peaks to use.
    pub peaks: PeakSource,
}

/// Where ceilings come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PeakSource {
    /// Clock and width, as on the data sheet.
    #[default]
    DataSheet,
    /// Peaks measured by the source, where it has them.
    Measured,
    /// These peaks, by names such as `hbm_gbps` and `bf16_matrix_gflops`; the rest from the data sheet.
    Given(Vec<(String, f64)>),
}

/// A peak that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPeaks {
    /// Not a JSON object of numbers.
    #[error(
        "peaks are given as one JSON object of numbers, such as {{\"hbm_gbps\": 4300, \"bf16_matrix_gflops\": 708000}}"
    )]
    NotAnObject,
    /// Not the name of a peak.
    #[error(
        "`{0}` names no peak: use hbm_gbps, mall_gbps, l2_gbps, l1_gbps, lds_gbps, or a type and a pipe as in fp32_vector_gflops"
    )]
    Unknown(String),
    /// Not a valid rate.
    #[error("`{0}` is not a number above zero")]
    NotARate(String),
}

impl PeakSource {
    /// Reads a JSON object of peaks.
    pub fn parse(text: &str) -> Result<Self, BadPeaks> {
        let json: serde_json::Value = serde_json::from_str(text).map_err(|_| BadPeaks::NotAnObject)?;
        let object = json.as_object().ok_or(BadPeaks::NotAnObject)?;
        let mut given = Vec::new();
        for (name, value) in object {
            let rate =
                value.as_f64().filter(|rate| *rate > 0.0).ok_or_else(|| BadPeaks::NotARate(name.clone()))?;
            NamedPeak::parse(name).ok_or_else(|| BadPeaks::Unknown(name.clone()))?;
            given.push((name.clone(), rate));
        }
        Ok(PeakSource::Given(given))
    }
}

/// A GPU with its peaks.
pub(super) struct Device {
    /// Name of the architecture; empty if unknown.
    pub arch: String,
    /// Its ceilings.
    pub peaks: Peaks,
    /// What is not known about the GPU.
    pub notes: Vec<Note>,
}

/// The GPU of a trace; if there are several, the first with kernels.
pub(super) fn of(trace: &Trace, options: &RooflineOptions) -> Device {
    let mut seen = vec![false; trace.agents.len()];
    let mut used = Vec::new();
    for agent in trace.kernels.agent.iter().filter_map(|agent| agent.get()) {
        if seen.get(agent) == Some(&false) {
            seen[agent] = true;
            used.push(&trace.agents[agent]);
        }
    }
    // With several inputs, one may name the GPU better than another.
    let named = used.iter().find(|agent| hw::arch::find(trace.strings.get(agent.name)).is_some());
    let gpu = named
        .or(used.first())
        .copied()
        .or_else(|| trace.agents.iter().find(|agent| agent.kind == AgentKind::Gpu));
    let recorded = gpu.map_or("", |agent| trace.strings.get(agent.name));
    let mut notes = Vec::new();
    let arch = options.arch.or_else(|| hw::arch::find(recorded)).or_else(|| named_by_kernels(trace));
    let Some(arch) = arch else {
        let what =
            if recorded.is_empty() { "the GPU is not named in the trace" } else { "the GPU is not known" };
        let text = format!("{what}: operations, bytes and ceilings are left out");
        notes.push(Note::new(text, Remedy::Arch));
        return Device { arch: String::new(), peaks: Peaks::default(), notes };
    };
    let recorded = RecordedGpu::of(trace, &Specs::of(trace), gpu);
    let recorded = recorded.setup();
    // Recorded XCCs describe the partition that the run used, not another one that the user asks about.
    let asked_partition = options.compute_partition.is_some() || options.cus.is_some();
    // Recorded compute units are those of the partition that the run used: scale them for another partition.
    let recorded_cus = match (&options.compute_partition, recorded.cus) {
        (Some(asked), Some(cus)) => {
            let product = options.product.as_deref().or(recorded.product);
            let ran_on = Setup { product, ..recorded.clone() };
            let asked = Setup { compute_partition: Some(asked), xccs: None, ..ran_on.clone() };
            match (hw::peaks::xccs(arch, &ran_on), hw::peaks::xccs(arch, &asked)) {
                (Some(ran_on), Some(asked)) => Some(cus * asked / ran_on.max(1)),
                _ => Some(cus),
            }
        }
        (_, cus) => cus,
    };
    let setup = Setup {
        product: options.product.as_deref().or(recorded.product),
        compute_partition: options.compute_partition.as_deref().or(recorded.compute_partition),
        memory_partition: options.memory_partition.as_deref().or(recorded.memory_partition),
        cus: options.cus.or(recorded_cus),
        memory_bytes: recorded.memory_bytes.filter(|_| !asked_partition),
        xccs: recorded.xccs.filter(|_| !asked_partition),
        clock_mhz: options.clock_mhz.or(recorded.clock_mhz),
        memory_gbps: options.memory_gbps,
    };
    let mut peaks = peaks(arch, &setup);
    match &options.peaks {
        PeakSource::DataSheet => {}
        PeakSource::Measured => {
            if !take_measured(trace, &mut peaks) {
                notes.push("no measured peaks are in this input; those of the data sheet are used".into());
            }
        }
        PeakSource::Given(given) => {
            for (name, rate) in given {
                if let Some(named) = NamedPeak::parse(name) {
                    named.set(&mut peaks, *rate, "as given");
                }
            }
        }
    }
    notes.extend(peaks.absent.iter().cloned().map(Note::from));
    Device { arch: arch.facts.counters.clone(), peaks, notes }
}

/// The architecture in the names of library kernels, if all that carry one agree.
fn named_by_kernels(trace: &Trace) -> Option<&'static Arch> {
    let mut names: Vec<trace::StrId> = trace.kernels.name.clone();
    names.sort_unstable();
    names.dedup();
    let mut carried = names.iter().filter_map(|&name| model::names::architecture(trace.strings.get(name)));
    let first = carried.next()?;
    carried.all(|other| other == first).then(|| hw::arch::find(&first)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_read_by_name() {
        let given = PeakSource::parse(r#"{"hbm_gbps": 4300, "bf16_matrix_gflops": 708000}"#).unwrap();
        assert_eq!(
            given,
            PeakSource::Given(vec![("hbm_gbps".into(), 4300.0), ("bf16_matrix_gflops".into(), 708000.0)])
        );
        assert_eq!(PeakSource::parse("[]"), Err(BadPeaks::NotAnObject));
        assert_eq!(PeakSource::parse(r#"{"ddr_gbps": 1}"#), Err(BadPeaks::Unknown("ddr_gbps".into())));
        assert_eq!(PeakSource::parse(r#"{"hbm_gbps": -1}"#), Err(BadPeaks::NotARate("hbm_gbps".into())));
    }
}
