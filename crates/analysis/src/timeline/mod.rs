//! Where the time went: totals by name, the time of each GPU by kind of work, changes between runs, spread.

pub mod breakdown;
pub(crate) mod charts;
pub mod compare;
pub mod info;
pub mod stability;
pub mod summary;
