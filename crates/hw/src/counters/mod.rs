//! Performance counters: what each architecture can count, in which block, and what replaces a counter it
//! lacks. The tables are in `data/`.

mod catalogue;
mod formula;
mod nearest;
mod replacement;

pub use catalogue::{Catalogue, Counter, CounterKind, RawNeed, catalogue, slots};
pub use nearest::nearest;
pub use replacement::{Replacement, replacement};

/// A counter of an architecture. Names may carry a channel, as in `TCC_HIT[3]`.
pub fn find(arch: &str, name: &str) -> Option<&'static Counter> {
    catalogue(arch)?.find(name)
}
