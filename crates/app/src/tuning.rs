//! What searching for better parameters and better kernels have in common.

use collect::profiler::{self, Places, Profiler};
use collect::run::{CollectRequest, Prepared};
use report::Remedy;

use crate::failure::Failure;

/// The profiler of this machine.
pub fn found_profiler() -> Result<Profiler, Failure> {
    profiler::find(&Places::of_environment())
        .map_err(|error| Failure::tool(error.to_string()).with_help(Remedy::OtherMeasure))
}

/// The GPU's architecture, where there is one.
pub fn gpu() -> Option<String> {
    let request = CollectRequest::new(Vec::new(), collect::presets::Preset::of("none", &["kernel"], &[]));
    Prepared::with(&request, Profiler::assumed()).ok()?.arch
}
