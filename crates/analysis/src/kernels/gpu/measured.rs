//! Peaks by name, and those that rocprof-compute measured.

use hw::peaks::Peaks;
use hw::{DataType, Level, Pipe};
use trace::Trace;

/// Prefix of `ingest` for peaks measured by rocprof-compute.
const MEASURED: &str = "roofline.";

/// A peak by name.
pub(crate) enum NamedPeak {
    Bytes(Level),
    Flops(Pipe, DataType),
}

impl NamedPeak {
    pub fn parse(name: &str) -> Option<NamedPeak> {
        if let Some(level) = name.strip_suffix("_gbps") {
            return Level::ALL.into_iter().find(|known| known.name() == level).map(NamedPeak::Bytes);
        }
        let (data_type, pipe) = name.strip_suffix("_gflops")?.rsplit_once('_')?;
        let pipe = match pipe {
            "vector" => Pipe::Vector,
            "matrix" => Pipe::Matrix,
            _ => return None,
        };
        DataType::ALL
            .into_iter()
            .find(|known| known.name() == data_type)
            .map(|known| NamedPeak::Flops(pipe, known))
    }

    pub fn set(&self, peaks: &mut Peaks, giga: f64, formula: &str) {
        match self {
            NamedPeak::Bytes(level) => peaks.set_bandwidth(*level, giga * 1e9, formula),
            NamedPeak::Flops(pipe, data_type) => peaks.set_flops(*pipe, *data_type, giga * 1e9, formula),
        }
    }
}

/// Uses the peaks that rocprof-compute measured on the first device; returns false if there are none.
pub(crate) fn take_measured(trace: &Trace, peaks: &mut Peaks) -> bool {
    let mut found = false;
    for fact in &trace.metadata {
        let Some(rest) = trace.strings.get(fact.key).strip_prefix(MEASURED) else { continue };
        let Some(("0", column)) = rest.split_once('.') else { continue };
        let Ok(rate) = trace.strings.get(fact.value).parse::<f64>() else { continue };
        if let Some(named) = measured_column(column).filter(|_| rate > 0.0) {
            named.set(peaks, rate, "measured");
            found = true;
        }
    }
    found
}

/// What a column of `roofline.csv` measures.
fn measured_column(column: &str) -> Option<NamedPeak> {
    let level = match column {
        "HBMBw" => Some(Level::Hbm),
        "L2Bw" => Some(Level::L2),
        "L1Bw" => Some(Level::L1),
        "LDSBw" => Some(Level::Lds),
        _ => None,
    };
    if let Some(level) = level {
        return Some(NamedPeak::Bytes(level));
    }
    let name = column.strip_suffix("Flops").or_else(|| column.strip_suffix("Ops"))?;
    let (pipe, name) = match name.strip_prefix("MFMA") {
        Some(name) => (Pipe::Matrix, name),
        None => (Pipe::Vector, name),
    };
    let data_type = match name {
        "F64" | "FP64" => DataType::Fp64,
        "F32" | "FP32" => DataType::Fp32,
        "F16" | "FP16" => DataType::Fp16,
        "BF16" => DataType::Bf16,
        "F8" | "FP8" => DataType::Fp8,
        "F6" => DataType::Fp6,
        "F4" => DataType::Fp4,
        "I8" => DataType::Int8,
        "I32" => DataType::Int32,
        "I64" => DataType::Int64,
        _ => return None,
    };
    Some(NamedPeak::Flops(pipe, data_type))
}
