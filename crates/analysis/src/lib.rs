//! Analyses: functions from [`trace::Trace`] to [`report::Report`]. One analysis, one module.
//!
//! Costs: every analysis here is one pass over the tables it names plus a sort where it says so; memory
//! is bounded by the rows it keeps, never by the size of the input file.

pub mod att;
pub mod attribution;
mod base;
pub mod bottleneck;
mod breakdown;
mod charts;
mod classify;
pub mod compare;
pub mod critical_path;
pub mod explain;
pub mod filters;
mod fuse;
mod gpu;
mod info;
pub mod names;
mod nesting;
mod occupancy;
mod overlap;
pub mod panels;
pub mod profile;
pub mod roofline;
pub mod stability;
pub mod stages;
mod summary;
pub mod triage;
mod words;

use stats as statistics;

pub use base::health;
pub use breakdown::{BreakdownOptions, breakdown};
pub use charts::charts;
pub use classify::{Category, Class, Classes, Classifier, Kind, Platform, RulesError};
pub use critical_path::{
    CriticalPath, CriticalPathError, CriticalPathOptions, WhatIf, WhatIfError, critical_path,
    critical_path_needs,
};
pub use filters::FilterError;
pub use fuse::{Fuse, FuseInstance, FusionCatalogue, fuse, fuse_with};
pub use info::info;
pub use occupancy::{
    OccupancyOptions, occupancy, occupancy_counters, occupancy_needs, occupancy_of_code, occupancy_of_numbers,
};
pub use overlap::{Overlap, overlap, overlap_needs, overlap_report};
pub use roofline::{
    PeakSource, RooflineOptions, counted_sources, roofline, roofline_counter_report, roofline_counters,
    roofline_needs,
};
pub use summary::{SummaryOptions, summary};
