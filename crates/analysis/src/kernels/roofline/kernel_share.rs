//! The share of the roof that an op's kernels reach: work from shapes, time from the trace.

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
    /// The ceilings of the GPU in the trace; `arch` is used if the trace does not name it.
    pub fn of(trace: &Trace, arch: Option<&str>) -> Self {
        let options = RooflineOptions { arch: arch.and_then(hw::arch::find), ..RooflineOptions::default() };
        Self { peaks: device::of(trace, &options).peaks }
    }

    /// Share of the nearest roof reached by `calls` of an op with these input shapes in `total_ns`. `None` if
    /// the op has no model, or if the kernels cannot have done all of its work.
    pub fn share_pct(&self, op: &str, dims: &str, types: &str, calls: usize, total_ns: i64) -> Option<f64> {
        let model = model(op, dims, types, "").ok()?;
        let placed = place(&model.work(calls as f64), total_ns, &self.peaks);
        placed.nearest.map(|(_, share)| share).filter(|share| (0.0..=100.0).contains(share))
    }
}
