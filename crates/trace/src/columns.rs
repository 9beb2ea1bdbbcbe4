//! Struct-of-arrays tables: `table!` declares the row once and yields its columns.

use rayon::prelude::*;

use crate::ids::{ShapeId, StrId};

/// How ids of one trace map to ids of another when the first is appended to the second.
#[derive(Default)]
pub struct Remapping {
    /// New id of each old string.
    pub strings: Vec<StrId>,
    /// New id of each old launch shape.
    pub shapes: Vec<ShapeId>,
    /// Added to every old id of that kind.
    pub sources: u32,
    /// Added to every old id of that kind.
    pub processes: u32,
    /// Added to every old id of that kind.
    pub threads: u32,
    /// Added to every old id of that kind.
    pub agents: u32,
    /// Added to every old id of that kind.
    pub queues: u32,
    /// Added to every old id of that kind.
    pub streams: u32,
    /// Added to every old id of that kind.
    pub symbols: u32,
    /// Added to every old id of that kind.
    pub counter_kinds: u32,
    /// Added to every old id of that kind.
    pub stacks: u32,
    /// Added to every old row number, by `Table as usize`.
    pub rows: [u32; crate::links::Table::COUNT],
}

/// A value that may hold ids and can be carried into another trace.
pub trait Remap {
    /// The same value with the other trace's ids.
    fn remap(self, by: &Remapping) -> Self;
}

macro_rules! plain {
    ($($t:ty),*) => {$(
        impl Remap for $t {
            fn remap(self, _: &Remapping) -> Self { self }
        }
    )*};
}
plain!(u8, u16, u32, u64, i32, i64, f64, bool);

/// A column whose rows can be put in another order.
pub trait Permute {
    /// Row `i` becomes the old row `order[i]`.
    fn permute(&mut self, order: &[u32]);
}

/// Minimum rows per thread: fewer are done before another thread wakes up.
pub(crate) const ROWS_AT_ONCE: usize = 1 << 14;

/// A column filled with one value. All threads fill it: the system provides each page when it is first
/// written, which takes longer than writing.
pub fn filled<T: Send>(count: usize, value: impl Fn() -> T + Send + Sync) -> Vec<T> {
    (0..count).into_par_iter().with_min_len(ROWS_AT_ONCE).map(|_| value()).collect()
}

impl<T: Copy + Send + Sync> Permute for Vec<T> {
    fn permute(&mut self, order: &[u32]) {
        let old = &self[..];
        let mut new = Vec::with_capacity(order.len());
        order.par_iter().with_min_len(ROWS_AT_ONCE).map(|&i| old[i as usize]).collect_into_vec(&mut new);
        *self = new;
    }
}

/// The order that sorts rows by (start, end), or `None` when they already are.
pub(crate) fn time_order(start: &[i64], end: &[i64]) -> Option<Vec<u32>> {
    order_by(start.len(), |i| (start[i], end[i]))
}

/// The order that sorts rows by a key, stable, or `None` if they already are.
pub(crate) fn order_by<K: Ord>(rows: usize, key: impl Fn(usize) -> K + Sync) -> Option<Vec<u32>> {
    let is_sorted = |from: usize, to: usize| (from.max(1)..to).all(|i| key(i - 1) <= key(i));
    let parts = rows.div_ceil(ROWS_AT_ONCE);
    let part = |n: usize| is_sorted(n * ROWS_AT_ONCE, rows.min((n + 1) * ROWS_AT_ONCE));
    if (0..parts).into_par_iter().all(part) {
        return None;
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.par_sort_by_key(|&i| key(i as usize));
    Some(order)
}

/// Declares a row type and its struct-of-arrays table.
///
/// `table!(Kernels of Kernel { name: StrId, … })` gives `Kernels { pub name: Vec<StrId>, … }` with
/// `push`, `get`, `len`, `append` and `reorder`. A column may stay empty if a reader was not asked
/// for it, but `push` always fills all of them.
macro_rules! table {
    ($(#[$tdoc:meta])* $table:ident of $(#[$rdoc:meta])* $row:ident { $($(#[$doc:meta])* $col:ident : $ty:ty,)* }) => {
        $(#[$rdoc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $row { $($(#[$doc])* pub $col: $ty,)* }

        $(#[$tdoc])*
        #[derive(Clone, Debug, Default)]
        pub struct $table { $($(#[$doc])* pub $col: Vec<$ty>,)* }

        impl $table {
            /// Adds a row at the end.
            #[inline]
            pub fn push(&mut self, row: $row) {
                $(self.$col.push(row.$col);)*
            }

            /// Row `i`, gathered from its columns.
            #[inline]
            pub fn get(&self, i: usize) -> $row {
                $row { $($col: self.$col[i],)* }
            }

            /// Number of rows.
            #[inline]
            pub fn len(&self) -> usize {
                [$(self.$col.len(),)*][0]
            }

            /// Whether there are no rows.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// All rows in order.
            pub fn rows(&self) -> impl Iterator<Item = $row> + '_ {
                (0..self.len()).map(|i| self.get(i))
            }

            /// Makes room for `more` rows.
            pub fn reserve(&mut self, more: usize) {
                $(self.$col.reserve(more);)*
            }

            /// Adds another trace's rows, with their ids remapped.
            pub fn append(&mut self, other: Self, by: &$crate::columns::Remapping) {
                $(
                    if self.$col.is_empty() && self.$col.capacity() < other.$col.len() {
                        let mut moved = other.$col;
                        for value in &mut moved { *value = $crate::columns::Remap::remap(*value, by); }
                        self.$col = moved;
                    } else {
                        self.$col.extend(other.$col.into_iter().map(|v| $crate::columns::Remap::remap(v, by)));
                    }
                )*
            }

            /// Adds rows of the same trace (ids unchanged), as chunks of a parallel read are joined.
            pub fn concat(&mut self, mut other: Self) {
                $(
                    if self.$col.is_empty() && self.$col.capacity() < other.$col.len() {
                        std::mem::swap(&mut self.$col, &mut other.$col);
                    }
                    else { self.$col.append(&mut other.$col); }
                )*
            }

            /// Row `i` becomes the old row `order[i]`.
            pub fn reorder(&mut self, order: &[u32]) {
                $($crate::columns::Permute::permute(&mut self.$col, order);)*
            }

            /// Keeps the rows for which `keep` holds.
            pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
                let order: Vec<u32> = (0..self.len()).filter(|&i| keep(i)).map(|i| i as u32).collect();
                if order.len() < self.len() { self.reorder(&order); }
            }
        }
    };
}
pub(crate) use table;
