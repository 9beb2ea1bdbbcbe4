//! `kernel_map.json`: for each stage and kernel name the sites it comes from, for other tools.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::kernel_table::KernelRow;
use super::present::sites;

/// Version of this document.
const VERSION: u32 = 2;

/// The map of all kernels, however small.
pub(super) fn kernel_map(kernels: &[KernelRow], generated_from: &[String]) -> Json {
    let mut stages: JsonMap<String, Json> = JsonMap::new();
    for kernel in kernels {
        let stage = stages.entry(kernel.stage.name()).or_insert_with(|| json!({"kernels": {}}));
        let location = &kernel.top_site().location;
        stage["kernels"][&kernel.kernel_name] = json!({
            "category": kernel.category.name(),
            "backend": kernel.backend,
            "best_location": (!location.is_empty()).then_some(location),
            "sites": sites(kernel),
        });
    }
    json!({ "version": VERSION, "generated_from": generated_from, "stages": stages })
}
