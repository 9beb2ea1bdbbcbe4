//! Analyses: functions from [`trace::Trace`] to [`report::Report`]. One analysis, one module.
//!
//! Costs: unless it says otherwise, every analysis here is one pass over the tables it names; memory is
//! bounded by the rows it keeps, never by the size of the input file.

pub mod att;
mod base;
pub mod bottleneck;
pub mod breakdown;
mod charts;
pub mod compare;
pub mod critical_path;
pub mod efficiency;
pub mod explain;
pub mod filters;
pub mod fuse;
mod gpu;
pub mod idle;
pub mod info;
pub mod memory;
pub mod occupancy;
pub mod ops;
pub mod overlap;
pub mod panels;
pub mod profile;
pub mod requests;
pub mod roofline;
pub mod stability;
pub mod summary;
pub mod triage;
pub mod verdict;
mod words;

pub use base::health;
pub use breakdown::{BreakdownOptions, breakdown};
pub use charts::charts;
pub use critical_path::{
    CriticalPath, CriticalPathError, CriticalPathOptions, WhatIf, WhatIfError, critical_path_needs,
};
pub use filters::FilterError;
pub use fuse::{Fuse, FuseInstance, FuseOpportunity, FusionCatalogue, fuse, fuse_with};
pub use info::info;
pub use occupancy::{OccupancyOptions, occupancy, occupancy_counters, occupancy_needs, occupancy_of_numbers};
pub use ops::{OpsOptions, ops_needs};
pub use overlap::{Overlap, OverlapOpportunity, overlap, overlap_needs, overlap_report};
pub use roofline::{
    PeakSource, RooflineOptions, counted_sources, roofline, roofline_counter_report, roofline_counters,
    roofline_needs,
};
pub use summary::{SummaryOptions, summary};
