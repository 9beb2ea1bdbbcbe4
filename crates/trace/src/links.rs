//! Links between rows, with look-ups in both directions.

use crate::columns::{Remap, Remapping, order_by, table};

/// A table whose rows can be referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// `kernels`
    Kernels,
    /// `memory_copies`
    MemoryCopies,
    /// `memory_allocations`
    MemoryAllocations,
    /// `regions`
    Regions,
    /// `samples`
    Samples,
    /// `syncs`
    Syncs,
}

impl Table {
    /// Number of tables.
    pub const COUNT: usize = 6;
    const ALL: [Table; Self::COUNT] = [
        Table::Kernels,
        Table::MemoryCopies,
        Table::MemoryAllocations,
        Table::Regions,
        Table::Samples,
        Table::Syncs,
    ];
}

/// A row of a table, or none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowRef(u64);

impl RowRef {
    /// No row.
    pub const NONE: Self = Self(u64::MAX);

    /// Row `row` of `table`.
    pub fn new(table: Table, row: usize) -> Self {
        Self(((table as u64) << 32) | row as u64)
    }

    /// A row of `kernels`.
    pub fn kernel(row: usize) -> Self {
        Self::new(Table::Kernels, row)
    }

    /// A row of `regions`.
    pub fn region(row: usize) -> Self {
        Self::new(Table::Regions, row)
    }

    /// The table and row, unless this is `NONE`.
    pub fn get(self) -> Option<(Table, usize)> {
        let table = *Table::ALL.get((self.0 >> 32) as usize)?;
        Some((table, (self.0 & 0xffff_ffff) as usize))
    }

    /// The row, if it belongs to `table`.
    pub fn row_of(self, table: Table) -> Option<usize> {
        self.get().filter(|(t, _)| *t == table).map(|(_, row)| row)
    }

    /// The same row after its table was reordered: `new_row[old]`.
    pub fn moved(self, table: Table, new_row: &[u32]) -> Self {
        match self.row_of(table) {
            Some(row) => Self::new(table, new_row[row] as usize),
            None => self,
        }
    }
}

impl Default for RowRef {
    fn default() -> Self {
        Self::NONE
    }
}

impl std::fmt::Debug for RowRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.get() {
            Some((table, row)) => write!(f, "{table:?}[{row}]"),
            None => write!(f, "no row"),
        }
    }
}

impl Remap for RowRef {
    fn remap(self, by: &Remapping) -> Self {
        match self.get() {
            Some((table, row)) => Self::new(table, row + by.rows[table as usize] as usize),
            None => self,
        }
    }
}

/// Why two rows are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LinkKind {
    /// A call launched GPU work.
    #[default]
    Launch,
    /// A forward op belongs to a backward op.
    ForwardBackward,
}

impl Remap for LinkKind {
    fn remap(self, _: &Remapping) -> Self {
        self
    }
}

table! {
    /// Links, sorted by (kind, to, from) with an index the other way.
    Links of
    /// One link.
    Link {
        /// Kind of link.
        kind: LinkKind,
        /// The cause.
        from: RowRef,
        /// The effect.
        to: RowRef,
    }
}

impl Links {
    /// Adds the links that several threads found, one column per core.
    pub(crate) fn concat_all(&mut self, parts: Vec<Links>) {
        fn fill<T: Copy>(column: &mut Vec<T>, parts: &[Links], of: impl Fn(&Links) -> &[T]) {
            column.reserve(parts.iter().map(Links::len).sum());
            parts.iter().for_each(|part| column.extend_from_slice(of(part)));
        }
        let Links { kind, from, to } = self;
        rayon::join(
            || fill(from, &parts, |part| &part.from),
            || {
                fill(to, &parts, |part| &part.to);
                fill(kind, &parts, |part| &part.kind);
            },
        );
    }

    /// Sorts, which the look-ups rely on. Launch links may come unsorted: sort before look-ups.
    pub fn sort(&mut self) {
        if let Some(order) = order_by(self.len(), |i| (self.kind[i], self.to[i], self.from[i])) {
            self.reorder(&order);
        }
    }

    /// The cause of a row.
    pub fn cause(&self, kind: LinkKind, to: RowRef) -> Option<RowRef> {
        let key = |i: usize| (self.kind[i], self.to[i]);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if key(middle) < (kind, to) { low = middle + 1 } else { high = middle }
        }
        (low < self.len() && key(low) == (kind, to)).then(|| self.from[low])
    }

    /// The call that launched a row of GPU work, as a row of `regions`.
    pub fn launch_of(&self, to: RowRef) -> Option<usize> {
        self.cause(LinkKind::Launch, to)?.row_of(Table::Regions)
    }

    /// An index for look-ups from cause to effects: link numbers sorted by (kind, from, to).
    pub fn by_cause(&self) -> Vec<u32> {
        let order = order_by(self.len(), |i| (self.kind[i], self.from[i], self.to[i]));
        order.unwrap_or_else(|| (0..self.len() as u32).collect())
    }

    /// The effects of a row, with the index of `by_cause`.
    pub fn effects<'a>(
        &'a self,
        by_cause: &'a [u32],
        kind: LinkKind,
        from: RowRef,
    ) -> impl Iterator<Item = RowRef> + 'a {
        let key = move |i: &u32| (self.kind[*i as usize], self.from[*i as usize]);
        let first = by_cause.partition_point(|i| key(i) < (kind, from));
        by_cause[first..].iter().take_while(move |i| key(i) == (kind, from)).map(|&i| self.to[i as usize])
    }
}
