//! Kernel names: demangled, in one spelling, short enough to read, and what they tell of matrix products.

mod canonical;
mod demangle;
mod display;
mod gemm;

pub use canonical::canonical;
pub use demangle::demangle;
pub use display::display_name;
pub use gemm::{Gemm, architecture, gemm};

pub(crate) use canonical::function;
