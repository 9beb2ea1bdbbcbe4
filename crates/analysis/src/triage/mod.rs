//! `triage`: which kernels cost most and where they come from, what could overlap, what could be fused.

mod context;

pub use context::Context;
