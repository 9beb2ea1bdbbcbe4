//! Order: which calls tie the work of streams and the host together, and which record of an event each wait refers to.

mod operations;

pub use operations::{Effect, Operation, Operations};
