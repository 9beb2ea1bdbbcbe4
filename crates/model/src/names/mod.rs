//! Kernel names: demangled, in one spelling, short enough to read, and what they show about matrix products.

mod canonical;
mod demangle;
mod display;
mod gemm;

pub use canonical::{canonical, function};
pub use demangle::demangle;
pub use display::{display_name, role};
pub use gemm::{Gemm, architecture, gemm};

/// Prefix of the kernels that the HIP runtime starts for itself.
const RUNTIME_KERNEL: &str = "__amd_rocclr_";

/// Whether a kernel is a copy or fill by the runtime, not the program's own.
pub fn is_of_runtime(name: &str) -> bool {
    name.starts_with(RUNTIME_KERNEL)
}

/// Replaces every run of digits by one `#`: names that differ only in numbers become equal.
pub fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            text.push(c);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}
