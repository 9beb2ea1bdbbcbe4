//! Statistics that every other crate shares, each method once.
//!
//! | module | purpose |
//! |---|---|
//! | [`random`] | the seeded generator: the same seed gives the same numbers everywhere |
//! | [`bootstrap`] | uncertainty of a ratio or a median, by redrawing runs and calls |
//! | [`change`] | where a series of measurements changed its level |
//! | [`student`], [`gamma`] | Student's t and the functions behind it |
//! | [`spread`] | how much kernels differ from run to run, stabilised by each other |
//! | [`robust`] | medians, median absolute deviation, ranks |
//! | [`columns`] | mean, quantiles and deviation of a column with missing values |
//! | [`durations`] | exact sums and percentages of integer durations |
//! | [`noise`] | the spread between repeated runs of one configuration |
//!
//! ```
//! use rocm_perf_stats::robust;
//!
//! let runs = [10.0, 12.0, 11.0, 300.0];
//! assert_eq!(robust::median(&runs), 11.5);
//! ```

pub mod bootstrap;
pub mod change;
pub mod columns;
pub mod durations;
pub mod gamma;
pub mod noise;
pub mod random;
pub mod robust;
pub mod spread;
pub mod student;

pub use durations::{Durations, percent, rounded_mean};
