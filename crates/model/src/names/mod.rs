//! Kernel names: demangled, in one spelling, short enough to read, and what they tell of matrix products.

mod canonical;
mod demangle;
mod display;
mod gemm;

pub use canonical::{canonical, function};
pub use demangle::demangle;
pub use display::{display_name, role};
pub use gemm::{Gemm, architecture, gemm};
