//! The Python module `rocm_perf`: one more door to [`app`], for notebooks and scripts.
//!
//! ```text
//! python/rocm_perf (Trace, Report, Table: Python) ─► this module ─► app ─► Report, Trace
//!                                                        │
//!                    Arrow PyCapsules (polars, pandas …) ◄┘ columns of the trace, not copied
//! ```
//!
//! Python sees typed objects that are defined in `python/rocm_perf`; here are handles on traces, reports,
//! tables and SQL sessions. Work runs on a separate thread while the calling thread waits without the
//! interpreter's lock, checks for Ctrl-C and shows progress.

mod columns;
mod failure;
mod handle;
mod report;
mod runs;
mod selection;
mod session;
mod store;
mod table;
mod tables;
mod words;
mod work;

use pyo3::prelude::*;

/// The native part of the package `rocm_perf`.
#[pymodule]
fn _rocm_perf(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<handle::Handle>()?;
    module.add_class::<report::NativeReport>()?;
    module.add_class::<session::NativeSession>()?;
    module.add_class::<store::NativeStore>()?;
    module.add_class::<table::ArrowTable>()?;
    module.add_function(wrap_pyfunction!(runs::compare, module)?)?;
    module.add_function(wrap_pyfunction!(runs::ranks, module)?)?;
    Ok(())
}
