//! `triage`: which kernels cost most and where they come from, what could overlap, what could be fused.
//!
//! ```text
//! sources ─► one run ─► Run (classes, sites, stages) ─┬─► kernel table ─┬─► Report ─► artifacts
//!                                                         ├─► overlap ──────┤
//!                                                         └─► fuse ─────────┘
//! ```

mod apart;
mod architecture;
mod artifacts;
mod coverage;
mod kernel_map;
mod kernel_table;
mod metadata;
mod problem;
mod run;
mod sites;
mod summary;

pub use architecture::{ArchMatch, Architecture};
pub use artifacts::{Artifact, SCHEMAS, artifacts};
pub use metadata::{TARGET_ARCH, Told, WrongField};
pub use run::{OneRun, OneRunError};

use model::Run;
use report::{Note, Remedy, Report};

use trace::Needs;

use crate::base;
use crate::fuse::fuse;
pub use crate::fuse::program::framework_named;
use crate::overlap::{overlap, overlap_needs};

/// What a run must be read with; a mapping trace needs [`model::attribution::needs`].
pub fn needs() -> Needs {
    overlap_needs()
}

/// The tables of the triage, with what is known of their coverage.
pub fn triage(context: &Run) -> Report {
    let mut report = base::report("triage", context.trace);
    let kernels = kernel_table::kernel_table(context, context.min_share_pct);
    if kernels.left_out > 0 {
        let text = format!(
            "{} kernels below {} % of their stage's GPU time left out, {:.1} % of all GPU time",
            kernels.left_out, context.min_share_pct, kernels.left_out_pct
        );
        report.notes.push(Note::new(text, Remedy::AllShares));
    }
    report.tables.push(kernels.table);
    let overlap = overlap(context);
    let fuse = fuse(context);
    report.tables.extend([overlap.table(), fuse.table()]);
    report.findings.extend(overlap.findings().into_iter().chain(fuse.findings()));
    // The most to win first, whichever table it stands in; those without a figure last.
    report.findings.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.gain_ceiling_ns)));
    coverage::report(context, &mut report);
    report.notes.extend(overlap.notes.into_iter().chain(fuse.notes.into_iter().map(Note::from)));
    report
}
