//! rocprofv3's own JSON and CSV.

pub mod csv;
mod entities;
pub mod json;
mod number;
pub(crate) mod words;
