//! Analyses: functions from [`trace::Trace`] to [`report::Report`]. One analysis, one module.
//!
//! The folders stand on each other: `subject` (what the trace is of) and `timeline` (where the time went)
//! below `causes` (why a GPU waits, what determines the run time), then `kernels` (what bounds each kernel),
//! `serving` (what a serving engineer can change), and `explain` and `profile`, which put them together. None
//! uses a folder above it.
//!
//! Costs: unless it says otherwise, every analysis here is one pass over the tables it names; memory is
//! bounded by the rows it keeps, never by the size of the input file.

mod base;
pub mod causes;
pub mod explain;
pub mod filters;
pub mod kernels;
pub mod memory;
pub mod ops;
pub mod profile;
pub mod serving;
pub mod subject;
pub mod timeline;
mod words;

pub use base::health;
pub use causes::critical_path::{
    CriticalPath, CriticalPathError, CriticalPathOptions, WhatIf, WhatIfError, critical_path_needs,
};
pub use filters::FilterError;
pub use kernels::occupancy::{
    OccupancyOptions, occupancy, occupancy_counters, occupancy_needs, occupancy_of_numbers,
};
pub use kernels::roofline::{
    PeakSource, RooflineOptions, counted_sources, roofline, roofline_counter_report, roofline_counters,
    roofline_needs,
};
pub use ops::{OpsOptions, ops_needs};
pub use serving::fuse::{Fuse, FuseInstance, FuseOpportunity, FusionCatalogue, fuse, fuse_with};
pub use serving::overlap::{Overlap, OverlapOpportunity, overlap, overlap_needs, overlap_report};
pub use timeline::breakdown::{BreakdownOptions, breakdown};
pub use timeline::charts::charts;
pub use timeline::info::info;
pub use timeline::summary::{SummaryOptions, summary};
