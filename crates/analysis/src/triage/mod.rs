//! `triage`: which kernels cost most and where they come from, what could overlap, what could be fused.
//!
//! ```text
//! sources ─► one run ─► Context (classes, sites, stages) ─► kernel table, coverage ─► Report ─► artifacts
//! ```

mod architecture;
mod artifacts;
mod context;
mod coverage;
mod framework;
mod kernel_map;
mod kernel_table;
mod metadata;
mod problem;
mod run;
mod secrets;
mod selection;
mod sites;
mod summary;

pub use architecture::{ArchMatch, Architecture};
pub use artifacts::{Artifact, SCHEMAS, artifacts};
pub use context::Context;
pub use framework::Framework;
pub use metadata::{TARGET_ARCH, Told, WrongField};
pub use run::{NoRun, OneRun};
pub use selection::{Nothing, Selection};

use report::Report;

use crate::base;

/// The tables of the triage, with what is known of their coverage.
pub fn triage(context: &Context) -> Report {
    let mut report = base::report("triage", context.trace);
    let kernels = kernel_table::kernel_table(context, context.min_share_pct);
    if kernels.left_out > 0 {
        report.notes.push(format!(
            "{} kernels below {} % of their stage's GPU time left out, {:.1} % of all GPU time (`--min-share 0` shows them)",
            kernels.left_out, context.min_share_pct, kernels.left_out_pct
        ));
    }
    report.tables.push(kernels.table);
    coverage::report(context, &mut report);
    report
}
