//! Parquet: one file per table of the trace, for DuckDB, pandas, Polars, Spark and every other reader of
//! columnar data.
//!
//! ```text
//! Trace ─► tables (columns under rocpd's names) ─► writer (row groups, a column at a time) ─► NAME_kernels.parquet …
//! ```
//!
//! Columns are named as in rocpd's views, times are integer nanoseconds, unknown values are null. Every row
//! has its full names, which are stored once per row group. Building the Parquet library takes a minute, so
//! it is behind the feature `parquet`.

#[cfg(feature = "parquet")]
mod columns;
#[cfg(feature = "parquet")]
pub mod dataset;
#[cfg(feature = "parquet")]
mod tables;
#[cfg(feature = "parquet")]
mod writer;

use std::io;
use std::path::{Path, PathBuf};

use trace::Trace;

/// Whether this build can write Parquet.
pub const AVAILABLE: bool = cfg!(feature = "parquet");

/// The file of a table: `runs/4711` gives `runs/4711_kernels.parquet`.
pub fn path(prefix: &Path, table: &str) -> PathBuf {
    let mut name = prefix.file_name().unwrap_or_default().to_os_string();
    name.push(format!("_{table}.parquet"));
    prefix.with_file_name(name)
}

/// Writes every table that has rows, and returns the files with their sizes. Writes all of them or none.
#[cfg(feature = "parquet")]
pub fn write(trace: &Trace, prefix: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut done = Vec::new();
    for table in tables::all().iter().filter(|table| (table.rows)(trace) > 0) {
        let path = path(prefix, table.name);
        let (output, bytes) = writer::write(trace, table, &path)?;
        done.push((output, path, bytes));
    }
    let mut files = Vec::with_capacity(done.len());
    for (output, path, bytes) in done {
        output.commit()?;
        files.push((path, bytes));
    }
    Ok(files)
}

/// This build cannot: see [`AVAILABLE`].
#[cfg(not(feature = "parquet"))]
pub fn write(_: &Trace, _: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this build does not write Parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_run_and_the_table() {
        assert_eq!(path(Path::new("runs/4711"), "kernels"), Path::new("runs/4711_kernels.parquet"));
        #[cfg(feature = "parquet")]
        assert!(tables::all().iter().map(|table| table.name).eq(trace::COLUMNAR_TABLES));
    }
}
