//! The expression language of metric formulas, tuning spaces and gates, and look-ups of mistyped names.
//!
//! ```text
//! (SQ_INSTS_LDS != 0) ? SQ_ACCUM_PREV_HIRES / SQ_INSTS_LDS : none
//! 100 * CHANNELS(TCC_HIT[CH]) / CHANNELS(TCC_HIT[CH] + TCC_MISS[CH])
//! BLOCK_M*BLOCK_N*4 <= 65536 and (num_warps > 1 or mode == 'small')
//! ```
//!
//! | written | meaning |
//! |---|---|
//! | `SQ_WAVES`, `BLOCK_M` | a name; the caller decides what it means |
//! | `TCC_HIT[CH]`, `TCC_HIT[28]` | the counter of one L2 channel |
//! | `+ - * / // % **` | as in Python |
//! | `== != < > <= >=`, `a < b <= c` | 1 or 0; a chain is true if every pair is |
//! | `and or not`, `&& \|\| !`, `a in [b, c]` | conditions |
//! | `c ? a : b`, `none` | a choice, and no value |
//! | `min max abs ceil_div ceil floor log2`, `MAX` | functions |
//! | `INT(a)` | `a`, unless one of its values is not whole: then no value |
//! | `CHANNELS(a)`, `CHANNELS(a, 0, 15)` | the sum of `a` over all channels, or some |
//!
//! Text is parsed once into an [`Expression`] over names. [`Expression::resolve`] replaces names by their
//! meaning (an index, a column), and [`evaluate`] computes a value; panels evaluate column by column instead.
//!
//! ```
//! use rocm_perf_expr::{Scalar, evaluate, parse};
//!
//! let limit = parse("16 <= N < 64 and mode == 'small'").unwrap();
//! let value = |name: &String| match name.as_str() {
//!     "N" => Scalar::Number(32.0),
//!     _ => Scalar::Text("small".into()),
//! };
//! assert!(evaluate(&limit, &value).is_true());
//! ```

mod display;
mod error;
mod evaluate;
pub mod gate;
pub mod names;
mod parse;
mod tree;

pub use error::SyntaxError;
pub use evaluate::{Scalar, evaluate};
pub use parse::parse;
pub use tree::{Channel, Expression, Function, Operator};
