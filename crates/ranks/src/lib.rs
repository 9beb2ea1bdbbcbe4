//! Analysis across ranks: one small digest per rank, then everything from digests.
//!
//! ```text
//! Trace ─► digest ─┐
//! Trace ─► digest ─┼─► Fleet ─► matching ─► clocks ─► collectives ─► stragglers ─► Report
//! Trace ─► digest ─┘
//! ```
//!
//! A trace is read, digested and dropped, so memory grows with ranks, steps and collectives, not with kernels.

pub mod clocks;
pub mod digest;
pub mod figures;
pub mod fleet;
pub mod matching;
mod names;
mod operation;
mod peers;
mod simulate;

pub use digest::{Digest, digest_needs};
pub use fleet::{Fleet, FleetBuilder};
pub use names::Kind;
pub use operation::Operation;
