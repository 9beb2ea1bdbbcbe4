//! Typed ids: an index into one of a trace's tables, or none.

use crate::columns::{Remap, Remapping};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident by $offset:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// None, or unknown.
            pub const NONE: Self = Self(u32::MAX);

            /// The id of row `index`.
            pub fn at(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }

            /// The row, unless this is `NONE`.
            pub fn get(self) -> Option<usize> {
                (self.0 != u32::MAX).then_some(self.0 as usize)
            }

            /// Whether this names a row.
            pub fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NONE
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.get() {
                    Some(row) => write!(f, "{}({row})", stringify!($name)),
                    None => write!(f, "{}(none)", stringify!($name)),
                }
            }
        }

        impl Remap for $name {
            fn remap(self, by: &Remapping) -> Self {
                if self.is_some() { Self(self.0 + by.$offset) } else { self }
            }
        }
    )*};
}

ids! {
    /// An input file.
    SourceId by sources;
    /// A process: (source, node, pid, guid).
    ProcessId by processes;
    /// A host thread.
    ThreadId by threads;
    /// A GPU or CPU as the profiler numbers them.
    AgentId by agents;
    /// An HSA queue.
    QueueId by queues;
    /// A HIP stream.
    StreamId by streams;
    /// A kernel symbol of a code object.
    SymbolId by symbols;
    /// A counter definition.
    CounterId by counter_kinds;
    /// A call stack.
    StackId by stacks;
}

/// An interned string of one trace; 0 is the empty string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StrId(pub u32);

impl StrId {
    /// The empty string, which stands for "no name".
    pub const EMPTY: Self = Self(0);

    /// Whether this is the empty string.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Remap for StrId {
    fn remap(self, by: &Remapping) -> Self {
        by.strings[self.0 as usize]
    }
}

/// A launch shape (grid, workgroup, registers) shared by many dispatches; 0 is "unknown".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ShapeId(pub u32);

impl Remap for ShapeId {
    fn remap(self, by: &Remapping) -> Self {
        by.shapes[self.0 as usize]
    }
}

/// A whole number that may be absent, in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptI64(i64);

impl OptI64 {
    /// Not measured.
    pub const NONE: Self = Self(i64::MIN);

    /// A known value (`i64::MIN` counts as absent).
    pub const fn some(value: i64) -> Self {
        Self(value)
    }

    /// The value, if there is one.
    pub fn get(self) -> Option<i64> {
        (self.0 != i64::MIN).then_some(self.0)
    }
}

impl Default for OptI64 {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<Option<i64>> for OptI64 {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::NONE, Self)
    }
}

impl std::fmt::Debug for OptI64 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

impl Remap for OptI64 {
    fn remap(self, _: &Remapping) -> Self {
        self
    }
}
