//! SQL over any trace, run on SQLite, with rocpd's table and view names.
//!
//! ```text
//! rocpd files ──► attached read-only (up to 125) or walked by virtual tables ──┐
//! other inputs ─► Trace ─► one virtual table per rocpd table and view ─────────┴► Session::run(sql) ─► rows
//! ```
//!
//! Queries written for one rocpd database run unchanged on several, and on traces of any other format. The
//! files are never changed: they are opened read-only, and every statement that would write is refused.
//!
//! ```no_run
//! use rocm_perf_query::Session;
//!
//! let session = Session::open(&["run_results.db".into()], &Default::default())?;
//! let mut result = session.run("SELECT name, total_calls FROM top_kernels LIMIT 10")?;
//! let mut rows = result.rows();
//! while let Some(row) = rows.next()? {
//!     println!("{:?} {:?}", row.value(0), row.value(1));
//! }
//! # Ok::<(), rocm_perf_query::Error>(())
//! ```

mod catalogue;
mod databases;
mod error;
mod functions;
mod guard;
mod hint;
mod needs;
mod plan;
mod result;
mod script;
mod session;
mod tables;
mod totals;

pub use catalogue::{Relation, RelationColumn};
pub use error::{Error, SqlError, TextPosition};
pub use result::{Column, ResultSet, Row, Rows, Script};
pub use rusqlite::InterruptHandle;
pub use rusqlite::types::{Value, ValueRef};
pub use session::Session;
