//! What bounds kernels: roofs, occupancy, counters as panels, stalls, and the distance to the peak.

pub mod att;
pub mod bottleneck;
pub mod efficiency;
mod gpu;
pub mod occupancy;
pub mod panels;
pub mod roofline;
