//! rocprofv3's own JSON and CSV.

pub mod csv;
pub mod json;
mod number;
pub(crate) mod words;
