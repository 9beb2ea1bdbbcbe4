//! `triage`: which kernels cost most and where they come from, what could overlap, what could be fused.
//!
//! ```text
//! sources ─► one run ─► Run (classes, sites, stages) ─┬─► kernels ─┬─► Triage ─► Report, artifacts
//!                                                     ├─► overlap ─┤
//!                                                     └─► fuse ────┘
//! ```

mod apart;
mod artifacts;
mod coverage;
mod kernel_map;
mod kernel_table;
mod metadata;
mod op_savings;
mod present;
mod problem;
mod sites;
mod summary;

pub use artifacts::{Artifact, SCHEMAS, artifacts};
pub use coverage::Coverage;
pub use kernel_table::{KernelRow, SmallKernels};
pub use metadata::{StatedFacts, WrongField};
pub use op_savings::OpSaving;
pub use present::present;
pub use sites::SiteTotals;

use model::Run;
use rayon::join;
use trace::Needs;

use crate::causes::critical_path::Engine;
use crate::serving::fuse::{Fuse, fuse};
use crate::serving::overlap::{Overlap, overlap, overlap_needs};

/// What to read from a run for triage; a mapping trace needs [`model::attribution::needs`].
pub fn needs() -> Needs {
    overlap_needs()
}

/// The results of a triage.
#[derive(Clone, Debug)]
pub struct Triage {
    /// The cost of each kernel, sorted by stage, then by time.
    pub kernels: Vec<KernelRow>,
    /// Kernels below the minimum share, which have no row.
    pub small_kernels: SmallKernels,
    /// What could overlap.
    pub overlap: Overlap,
    /// What could be fused.
    pub fuse: Fuse,
    /// What the run would save without each op, largest first.
    pub ops: Vec<OpSaving>,
    /// How much of the GPU time is known.
    pub coverage: Coverage,
}

/// Which kernels cost most and where they come from, what could overlap, what could be fused.
pub fn compute(context: &Run) -> Triage {
    // Fusions take one thread the longest, so they start first. Fusions and ops both need the run's graph.
    let (mut fuse, (engine, (overlap, ((kernels, small_kernels), coverage)))) = join(
        || fuse(context),
        || {
            join(
                || Engine::of(context),
                || {
                    join(
                        || overlap(context),
                        || {
                            join(
                                || kernel_table::kernel_rows(context, context.min_share_pct),
                                || Coverage::of(context),
                            )
                        },
                    )
                },
            )
        },
    );
    let ops = engine.map_or_else(Vec::new, |engine| {
        join(|| fuse.propagate(context, &engine), || op_savings::of(context, &engine)).1
    });
    Triage { kernels, small_kernels, overlap, fuse, ops, coverage }
}
