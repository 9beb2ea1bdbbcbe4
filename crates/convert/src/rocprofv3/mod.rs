//! rocprofv3's own text formats: the CSV set and the `rocprofiler-sdk-tool` JSON.

mod cells;
pub mod csv;
pub mod json;
mod words;
