//! Order: which calls synchronise streams and the host, which record of an event each wait refers to, and
//! what came first. `critical-path` and `overlap` both walk the same [`Timeline`].

mod operations;
mod timeline;

pub use operations::{Awaited, Effect, Operation, Operations};
pub use timeline::{Launch, Step, Timeline};
