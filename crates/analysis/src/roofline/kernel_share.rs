//! The share of the roof that kernels of an op reach, for tables of kernels: shapes tell the work, the trace the time.

use hw::peaks::Peaks;
use trace::Trace;

use super::device::{self, RooflineOptions};
use super::op_model::model;
use super::place::place;

/// The ceilings of a trace's GPU.
pub(crate) struct Roofs {
    peaks: Peaks,
}

impl Roofs {
    /// Of the GPU that the trace shows; `arch` where only kernel names tell it.
    pub fn of(trace: &Trace, arch: Option<&str>) -> Self {
        let options = RooflineOptions { arch: arch.and_then(hw::arch::find), ..RooflineOptions::default() };
        Self { peaks: device::of(trace, &options).peaks }
    }

    /// Share of the nearest roof that `calls` of an op with inputs of these shapes reach in `total_ns`. Nothing where
    /// the op has no model, or where the kernels cannot have done all of its work.
    pub fn share_pct(&self, op: &str, dims: &str, types: &str, calls: usize, total_ns: i64) -> Option<f64> {
        let model = model(op, dims, types, "").ok()?;
        let placed = place(&model.work(calls as f64), total_ns, &self.peaks);
        placed.nearest.map(|(_, share)| share).filter(|share| (0.0..=100.0).contains(share))
    }
}
