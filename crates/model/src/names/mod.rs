//! Kernel names: demangled, in one spelling, short enough to read, and what they tell of matrix products.

mod canonical;
mod demangle;
mod display;
mod gemm;

pub use canonical::{canonical, function};
pub use demangle::demangle;
pub use display::{display_name, role};
pub use gemm::{Gemm, architecture, gemm};
/// What the names of kernels begin with that the HIP runtime starts for itself.
const RUNTIME_KERNEL: &str = "__amd_rocclr_";

/// Whether a kernel is a copy or fill of the runtime, not the program's own.
pub fn is_of_runtime(name: &str) -> bool {
    name.starts_with(RUNTIME_KERNEL)
}
