//! What searching for better parameters and better kernels have in common.

use collect::profiler::{self, Places, Profiler};
use collect::run::{CollectRequest, Prepared};
use report::{Note, Remedy};

use crate::failure::Failure;

/// The profiler of this machine.
pub fn found_profiler() -> Result<Profiler, Failure> {
    profiler::find(&Places::of_environment())
        .map_err(|error| Failure::tool(error.to_string()).with_help(Remedy::OtherMeasure))
}

/// The GPU's architecture, if there is a GPU.
pub fn gpu() -> Option<String> {
    let request = CollectRequest::new(Vec::new(), collect::presets::Preset::of("none", &["kernel"], &[]));
    Prepared::with(&request, Profiler::assumed()).ok()?.arch
}

/// Variables of this process that may hold keys: tuned programs do not get them.
pub(crate) fn hidden_variables(allowed: &[String]) -> Vec<String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    formats::secrets::secret_variables(std::env::vars_os().filter_map(text), allowed)
}

/// Notes which variables programs did not get.
pub(crate) fn hidden_note(hidden: &[String]) -> Option<Note> {
    let text = || format!("the commands did not get {}, which may hold keys", hidden.join(", "));
    (!hidden.is_empty()).then(|| Note::new(text(), Remedy::PassEnvironment))
}
