//! Table b-trees: the leaves of a table in row order, and their rows on all cores.

use std::convert::Infallible;

use super::Table;
use super::pager::Pager;
use super::record::{Col, Fields, Row, varint};

const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
/// Pages that one worker reads at a time.
const CHUNK: usize = 64;
/// Pages for which other threads are not worth it.
const FEW: usize = 16;
/// Rows of narrow tables per chunk, to reserve memory at once.
pub(crate) const ROWS_OF_CHUNK: usize = 6 << 10;
/// Chunks per worker that are read ahead of the one that is merged: few, so that their rows are still in the
/// processor's caches then, and later chunks use their memory again.
const AHEAD: usize = 2;
/// No valid tree is deeper, whatever its page size.
const DEEPEST: usize = 40;

/// How a scan ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Rows read.
    pub rows: u64,
    /// Invalid pages and rows that were skipped.
    pub damaged: u64,
}

/// Reads all rows of a table; see [`super::Database::scan_expecting`].
pub(super) fn scan<T: Send>(
    pager: &Pager,
    table: &Table,
    wanted: &[Col],
    start: impl Fn() -> T + Sync,
    each: impl Fn(&mut T, &Row<'_>) + Sync,
    mut merge: impl FnMut(T, usize),
) -> Scanned {
    let mut total = Scanned::default();
    if !table.has_rows {
        return total;
    }
    let (leaves, damaged) = leaves(pager, table.root);
    total.damaged = damaged;
    let upto = wanted.iter().filter_map(|c| c.index()).max().map_or(0, |i| i + 1);
    let read = |pages: &[u32]| {
        let mut state = start();
        let mut reader = LeafReader { pager, table, upto, fields: Fields::new(), long: Vec::new() };
        let mut scanned = Scanned::default();
        for &page in pages {
            reader.read(page, &mut scanned, &mut |row| each(&mut state, row));
        }
        (state, scanned)
    };
    let few = leaves.len() <= FEW;
    let share = leaves.len().div_ceil(rayon::current_num_threads().max(1));
    let pages = if few { FEW } else { CHUNK.min(share) };
    // The first chunk shows how many rows a page has.
    let mut expected = None;
    let mut merge = |(state, scanned): (T, Scanned)| {
        total.rows += scanned.rows;
        total.damaged += scanned.damaged;
        let rows = (scanned.rows as usize).saturating_mul(leaves.len()) / pages.min(leaves.len().max(1));
        merge(state, *expected.get_or_insert(rows));
    };
    let chunks = leaves.chunks(pages);
    if few {
        chunks.map(read).for_each(merge);
    } else {
        let Ok(()) = trace::ahead::in_order(chunks, AHEAD, read, |chunk| {
            merge(chunk);
            Ok::<(), Infallible>(())
        });
    }
    total
}

/// Whether a tree is a single leaf without rows.
pub(super) fn is_empty(pager: &Pager, root: u32) -> bool {
    let header = header_at(root);
    pager.page(root).is_some_and(|page| page[header] == LEAF && be16(page, header + 3) == 0)
}

struct LeafReader<'a> {
    pager: &'a Pager,
    table: &'a Table,
    upto: usize,
    fields: Fields,
    long: Vec<u8>,
}

impl LeafReader<'_> {
    fn read(&mut self, number: u32, scanned: &mut Scanned, each: &mut impl FnMut(&Row<'_>)) {
        let Some((page, header)) = self.pager.page(number).map(|p| (p, header_at(number))) else {
            scanned.damaged += 1;
            return;
        };
        let usable = &page[..self.pager.usable];
        let cells = usize::from(be16(usable, header + 3));
        let pointers = header + 8;
        if usable[header] != LEAF || pointers + 2 * cells > usable.len() {
            scanned.damaged += 1;
            return;
        }
        for i in 0..cells {
            let at = usize::from(be16(usable, pointers + 2 * i));
            match self.row(usable, at, each) {
                Some(()) => scanned.rows += 1,
                None => scanned.damaged += 1,
            }
        }
    }

    #[inline]
    fn row(&mut self, page: &[u8], at: usize, each: &mut impl FnMut(&Row<'_>)) -> Option<()> {
        let (length, at) = varint(page, at)?;
        let (rowid, at) = varint(page, at)?;
        let length = usize::try_from(length).ok()?;
        let local = local_bytes(length, self.pager.usable);
        let payload = if local == length {
            page.get(at..at.checked_add(length)?)?
        } else {
            let first = page.get(at..at + local + 4)?;
            gather(self.pager, first, length, &mut self.long)?;
            &self.long
        };
        if !self.fields.parse(payload, self.upto) {
            return None;
        }
        let row = Row {
            rowid: rowid as i64,
            payload,
            fields: &self.fields,
            columns: &self.table.columns,
            encoding: self.pager.encoding,
        };
        each(&row);
        Some(())
    }
}

/// Assembles a record from its leaf part (which ends with the first page number) and its overflow chain.
fn gather(pager: &Pager, first: &[u8], length: usize, out: &mut Vec<u8>) -> Option<()> {
    let (local, next) = first.split_at(first.len() - 4);
    // A damaged length must not make us reserve memory: no record is longer than the database.
    if length as u64 > pager.bytes().max(u64::from(pager.limit()) * pager.page_size() as u64) {
        return None;
    }
    out.clear();
    out.extend_from_slice(local);
    let mut next = be32(next, 0);
    while out.len() < length {
        let page = pager.page(next)?;
        let take = (length - out.len()).min(pager.usable - 4);
        out.extend_from_slice(&page[4..4 + take]);
        next = be32(page, 0);
    }
    Some(())
}

/// How much of a record stays in its leaf.
fn local_bytes(length: usize, usable: usize) -> usize {
    let most = usable - 35;
    if length <= most {
        return length;
    }
    let least = (usable - 12) * 32 / 255 - 23;
    let fitting = least + (length - least) % (usable - 4);
    if fitting <= most { fitting } else { least }
}

/// Leaf pages of a tree in row order, and how many pages on the way were invalid.
fn leaves(pager: &Pager, root: u32) -> (Vec<u32>, u64) {
    let mut walk =
        Walk { pager, seen: vec![0; pager.limit() as usize / 64 + 1], leaves: Vec::new(), damaged: 0 };
    walk.visit(root, 0);
    (walk.leaves, walk.damaged)
}

struct Walk<'a> {
    pager: &'a Pager,
    /// A bit per page: a page that is met twice is damage, and following it might never end.
    seen: Vec<u64>,
    leaves: Vec<u32>,
    damaged: u64,
}

impl Walk<'_> {
    fn first_time(&mut self, number: u32) -> bool {
        let Some(word) = self.seen.get_mut(number as usize / 64) else { return false };
        let bit = 1 << (number % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    fn kind(&self, number: u32) -> Option<u8> {
        self.pager.page(number).map(|page| page[header_at(number)])
    }

    fn visit(&mut self, number: u32, depth: usize) {
        if !self.first_time(number) || depth > DEEPEST {
            self.damaged += 1;
            return;
        }
        match self.kind(number) {
            Some(LEAF) => self.leaves.push(number),
            Some(INTERIOR) => self.visit_interior(number, depth),
            _ => self.damaged += 1,
        }
    }

    fn visit_interior(&mut self, number: u32, depth: usize) {
        let Some(page) = self.pager.page(number) else { return };
        let page = &page[..self.pager.usable];
        let header = header_at(number);
        let cells = usize::from(be16(page, header + 3));
        let pointers = header + 12;
        if pointers + 2 * cells > page.len() {
            self.damaged += 1;
            return;
        }
        let mut children = Vec::with_capacity(cells + 1);
        for i in 0..cells {
            let at = usize::from(be16(page, pointers + 2 * i));
            match page.get(at..at + 4) {
                Some(child) => children.push(be32(child, 0)),
                None => self.damaged += 1,
            }
        }
        children.push(be32(page, header + 8));
        // All children of a page are on one level. Checking each would fault every leaf in, one by one,
        // before the workers start; a child that is not a leaf is noticed when it is read.
        let level =
            children.iter().take(8).find_map(|c| self.kind(*c).filter(|k| matches!(*k, LEAF | INTERIOR)));
        for child in children {
            match level {
                Some(LEAF) if self.first_time(child) => self.leaves.push(child),
                Some(LEAF) => self.damaged += 1,
                _ => self.visit(child, depth + 1),
            }
        }
    }
}

/// The first page begins with the file's header.
fn header_at(number: u32) -> usize {
    if number == 1 { 100 } else { 0 }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
