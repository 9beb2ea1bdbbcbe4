//! GPU facts: architectures and products, peak rates, theoretical occupancy, performance counters and the
//! passes they take, and the kernels in code objects.
//!
//! Facts are tables in `data/`, embedded and checked by tests; unverified facts are marked there. Nothing
//! here knows about files, processes or networks.
//!
//! ```
//! use rocm_perf_hw::occupancy::{KernelResources, theoretical};
//! use rocm_perf_hw::{arch, passes};
//!
//! let gfx942 = arch::find("gfx942:sramecc+:xnack-").unwrap();
//! let kernel = KernelResources { vgpr: 137, workgroup: 256, ..KernelResources::default() };
//! let occupancy = theoretical(gfx942, &kernel);
//! assert_eq!(occupancy.waves_per_simd(), 3.0);
//! assert_eq!(occupancy.gains[0].to_string(), "137 → 128 vgpr gives 4 waves per SIMD");
//!
//! let plan = passes::plan("gfx942", &["FETCH_SIZE", "WRITE_SIZE", "SQ_WAVES"]).unwrap();
//! assert_eq!(plan.passes.len(), 2);
//! ```

pub mod arch;
pub mod code_object;
pub mod counters;
pub mod occupancy;
pub mod passes;
pub mod peaks;
mod product;
mod rates;

pub use arch::Arch;
pub use product::Product;
pub use rates::{ByteRates, DataType, FlopRates, Level, Pipe};
