//! A tolerant JSON cursor for trace files: no tree, no allocation; raw control characters, bad UTF-8 and
//! `NaN` pass, and a parse error is a value ([`Damage`]) that the reader recovers from.
//!
//! ```
//! use rocm_perf_ingest::json::Cursor;
//!
//! let mut json = Cursor::new(br#"{"name": "a\nb", "skip": [1, {"x": 2}], "ts": 12.5}"#);
//! let mut keys = json.object().unwrap();
//! while let Some(key) = keys.next(&mut json).unwrap() {
//!     match key.raw {
//!         b"name" => assert_eq!(json.string().unwrap().text(), "a\nb"),
//!         b"ts" => assert_eq!(rocm_perf_ingest::json::micros(json.scalar().unwrap()), Some(12_500)),
//!         _ => json.skip_value().unwrap(),
//!     }
//! }
//! ```

mod cursor;
mod number;
mod scan;
mod text;

pub use cursor::{Cursor, Elements, Keys};
pub use number::{decimal, float, integer, micros};
pub(crate) use scan::equal_bytes;
pub use text::Text;

/// Why a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The bytes end inside the value.
    End,
    /// A byte that is not allowed there.
    Unexpected,
}
