//! Order: which calls tie the work of streams and the host together, which record of an event each wait refers to, and what
//! came first. `critical-path` and `overlap` both walk along the one [`Timeline`].

mod operations;
mod timeline;

pub use operations::{Awaited, Effect, Operation, Operations};
pub use timeline::{Launch, Step, Timeline};
