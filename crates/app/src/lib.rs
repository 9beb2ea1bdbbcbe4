//! Everything that you can ask rocm-perf, as one function each: open inputs, select a part, compute, present.
//!
//! A request is a plain struct; the answer is a [`Report`] or a [`Failure`]. An [`Observer`] gets the
//! progress and may stop the work. Nothing here knows about terminals or command-line options: what to ask
//! for instead is a [`Remedy`], which each front end (command line, Python, server) puts into its own words.
//!
//! ```no_run
//! use rocm_perf_app::{Input, Silent, timeline::SummaryRequest};
//!
//! let input = Input::of(vec!["4711_results.db".into()]);
//! let report = rocm_perf_app::summary(&SummaryRequest { input, ..Default::default() }, &Silent)?;
//! println!("{} tables", report.tables.len());
//! # Ok::<(), rocm_perf_app::Failure>(())
//! ```

pub mod autotune;
pub mod capture;
pub mod causes;
mod code;
pub mod collect;
pub mod compare;
pub mod convert;
mod doctor;
pub mod efficiency;
pub mod experiment;
pub mod explain;
mod failure;
pub mod input;
mod interrupt;
mod kept;
pub mod lake;
pub mod memory;
pub mod merge;
mod observer;
pub mod occupancy;
mod once;
mod open;
pub mod ops;
pub mod optimize;
pub mod panels;
pub mod perfetto_fix;
pub mod presets;
pub mod profile;
pub mod query;
pub mod ranks;
pub mod report;
pub mod requests;
pub mod roofline;
pub mod stalls;
pub mod synth;
mod threads;
pub mod timeline;
pub mod triage;
mod tuning;

pub use self::autotune::autotune;
pub use self::capture::capture;
pub use self::causes::{critical_path, overlap};
pub use self::collect::{collect, collect_plan};
pub use self::compare::compare;
pub use self::convert::convert;
pub use self::doctor::{DoctorRequest, doctor};
pub use self::efficiency::efficiency;
pub use self::explain::explain;
pub use self::failure::{Failure, FailureKind};
pub use self::input::{Input, exact_pattern};
pub use self::interrupt::{Interrupted, interrupt};
pub use self::kept::{FileStates, Kept};
pub use self::lake::{lake_build, lake_check, lake_info, lake_query};
pub use self::memory::memory;
pub use self::merge::merge;
pub use self::observer::{Observer, Silent};
pub use self::occupancy::occupancy;
pub use self::open::{PerfettoFile, perfetto_file};
pub use self::ops::ops;
pub use self::optimize::optimize;
pub use self::panels::panels;
pub use self::perfetto_fix::perfetto_fix;
pub use self::presets::{copy_preset, preset, presets};
pub use self::profile::profile;
pub use self::query::query;
pub use self::ranks::{digest, ranks};
pub use self::report::report;
pub use self::requests::requests;
pub use self::roofline::{roofline, roofline_counters};
pub use self::stalls::{att, bottleneck};
pub use self::synth::{demo, synth, synth_disaggregated};
pub use self::threads::{free_beside, use_threads, wait_until_given_back};
pub use self::timeline::{breakdown, info, stability, summary};
pub use self::triage::triage;
pub use ::report::{NextStep, Remedy, Report};
pub use analysis::filters::{Edge, Filters, kernel_pattern};
pub use files::leftovers::take_leftovers;
pub use files::memory::{Reporting, keep_for_next_question, keep_for_next_trace, limit as limit_memory};
pub use files::{end_after_answer, report_crashes};

pub use ingest::Progress;
pub use model::stages::{Stage, StagePatterns};
pub use trace::{Aggregate, Moment, Trace};

/// A report, and why the request failed anyway: a gate, or an application that was recorded.
pub struct Answer {
    /// What to show.
    pub report: Report,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}
