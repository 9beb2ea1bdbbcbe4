//! Stand-ins for ROCm's programs, for tests without a GPU: `hipcc` compiles kernels for the CPU, where they
//! really run and are really timed; `rocprofv3` turns the log of that into the files the real one writes.
//!
//! ```text
//! source ─► hipcc ─► program ─► log of what ran ─► rocprofv3 ─► rocpd · csv · json · pftrace · otf2
//! ```
//!
//! Tests put a folder of links first on `PATH` ([`StandIns`]). What is simulated, and what fails, is set by
//! environment variables that begin with `STAND_IN_` (see `docs/stand-ins.md`).

pub mod amd_smi;
pub mod avail;
pub mod counters;
pub mod hipcc;
mod install;
pub mod log;
pub mod machine;
pub mod recorded;
pub mod rocprof;
pub mod rocprofv3;
pub mod settings;

pub use install::{PROGRAMS, StandIns, can_compile};
