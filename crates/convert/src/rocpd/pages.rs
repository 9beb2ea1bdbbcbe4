//! SQLite's table b-trees written front to back: records go into leaf pages in rowid order, which are
//! appended to the file when full; the levels above are built at the end. An INSERT costs ten times as much.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// Bytes per page: SQLite's default, and rocprofv3's.
pub(super) const PAGE: usize = 4096;
/// Bytes to buffer before writing to the file.
const BUFFER: usize = 1 << 20;
/// SQLite locks the byte at 1 GiB; the page that holds it stays unused.
const LOCK_PAGE: u32 = (0x4000_0000 / PAGE as u32) + 1;

const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
const LEAF_HEADER: usize = 8;
const INTERIOR_HEADER: usize = 12;
/// A record up to this length is stored whole in its leaf.
const MAX_LOCAL: usize = PAGE - 35;
const MIN_LOCAL: usize = (PAGE - 12) * 32 / 255 - 23;
const OVERFLOW_BYTES: usize = PAGE - 4;

/// A column value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Text.
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Value::Null, Value::Int)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

/// The end of a database file, where new pages go.
pub(super) struct PageFile {
    file: File,
    buffer: Vec<u8>,
    next: u32,
}

impl PageFile {
    /// Continues a database whose file ends with a whole page.
    pub fn append_to(mut file: File) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        let next = u32::try_from(bytes / PAGE as u64).map_err(|_| too_big())? + 1;
        Ok(Self { file, buffer: Vec::with_capacity(BUFFER + PAGE), next })
    }

    /// The number of the next page.
    fn upcoming(&mut self) -> io::Result<u32> {
        if self.next == LOCK_PAGE {
            self.write(&[0; PAGE])?;
        }
        Ok(self.next)
    }

    fn append(&mut self, page: &[u8; PAGE]) -> io::Result<u32> {
        let number = self.upcoming()?;
        self.write(page)?;
        Ok(number)
    }

    fn write(&mut self, page: &[u8; PAGE]) -> io::Result<()> {
        self.next = self.next.checked_add(1).filter(|n| *n < u32::MAX - 1).ok_or_else(too_big)?;
        self.buffer.extend_from_slice(page);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn rewrite(&mut self, number: u32, page: &[u8; PAGE]) -> io::Result<()> {
        self.flush()?;
        self.file.seek(SeekFrom::Start(u64::from(number - 1) * PAGE as u64))?;
        self.file.write_all(page)?;
        self.file.seek(SeekFrom::End(0))?;
        Ok(())
    }

    /// Writes the number of pages into the file's header. The change counter still matches the version that
    /// wrote it, so SQLite trusts the count.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.seek(SeekFrom::Start(28))?;
        self.file.write_all(&(self.next - 1).to_be_bytes())?;
        self.file.flush()
    }
}

fn too_big() -> io::Error {
    io::Error::other("a database cannot have more than 4 294 967 294 pages")
}

/// A table that grows at its end.
pub(super) struct TreeWriter {
    root: u32,
    page: Box<[u8; PAGE]>,
    cells: usize,
    content: usize,
    last_rowid: Option<i64>,
    leaves: Vec<(u32, i64)>,
    record: Vec<u8>,
    body: Vec<u8>,
}

impl TreeWriter {
    /// An empty table with this root page.
    pub fn new(root: u32) -> Self {
        Self {
            root,
            page: Box::new([0; PAGE]),
            cells: 0,
            content: PAGE,
            last_rowid: None,
            leaves: Vec::new(),
            record: Vec::with_capacity(256),
            body: Vec::with_capacity(256),
        }
    }

    /// The highest rowid so far.
    pub fn last_rowid(&self) -> Option<i64> {
        self.last_rowid
    }

    /// Adds a row; rowids must increase. The rowid's own column is `Null` in the record.
    pub fn push<'a>(
        &mut self,
        pages: &mut PageFile,
        rowid: i64,
        values: impl Iterator<Item = Value<'a>>,
    ) -> io::Result<()> {
        if self.last_rowid.is_some_and(|last| rowid <= last) {
            return Err(io::Error::other(format!("row {rowid} comes after row {:?}", self.last_rowid)));
        }
        self.encode(values);
        let payload = self.record.len();
        let mut head = [0u8; 18];
        let mut head_len = varint(&mut head, payload as u64);
        head_len += varint(&mut head[head_len..], rowid as u64);
        let local = local_bytes(payload);
        let cell_len = head_len + local + if local < payload { 4 } else { 0 };
        if LEAF_HEADER + 2 * (self.cells + 1) + cell_len > self.content {
            self.close_leaf(pages)?;
        }
        // The chain is written before the leaf that points to it, which is fine: pages have no order.
        let overflow = if local < payload { Some(self.spill(pages, local)?) } else { None };
        self.content -= cell_len;
        let at = self.content;
        self.page[at..at + head_len].copy_from_slice(&head[..head_len]);
        self.page[at + head_len..at + head_len + local].copy_from_slice(&self.record[..local]);
        if let Some(first) = overflow {
            self.page[at + head_len + local..at + cell_len].copy_from_slice(&first.to_be_bytes());
        }
        let pointer = LEAF_HEADER + 2 * self.cells;
        self.page[pointer..pointer + 2].copy_from_slice(&(at as u16).to_be_bytes());
        self.cells += 1;
        self.last_rowid = Some(rowid);
        Ok(())
    }

    fn encode<'a>(&mut self, values: impl Iterator<Item = Value<'a>>) {
        self.record.clear();
        self.body.clear();
        // One byte for the header's own length, corrected below for headers of 128 bytes or more.
        self.record.push(0);
        for value in values {
            match value {
                Value::Null => self.record.push(0),
                Value::Int(0) => self.record.push(8),
                Value::Int(1) => self.record.push(9),
                Value::Int(i) => {
                    let (serial, bytes) = width(i);
                    self.record.push(serial);
                    self.body.extend_from_slice(&i.to_be_bytes()[8 - bytes..]);
                }
                // SQLite has no NaN: it would read as NULL, so it is stored as NULL.
                Value::Real(f) if f.is_nan() => self.record.push(0),
                Value::Real(f) => {
                    self.record.push(7);
                    self.body.extend_from_slice(&f.to_bits().to_be_bytes());
                }
                Value::Text(t) => {
                    let serial = 13 + 2 * t.len() as u64;
                    if serial < 128 {
                        self.record.push(serial as u8);
                    } else {
                        let mut buffer = [0; 9];
                        let n = varint(&mut buffer, serial);
                        self.record.extend_from_slice(&buffer[..n]);
                    }
                    self.body.extend_from_slice(t.as_bytes());
                }
            }
        }
        if self.record.len() < 128 {
            self.record[0] = self.record.len() as u8;
        } else {
            let mut buffer = [0; 9];
            let n = varint(&mut buffer, self.record.len() as u64 + 1);
            self.record.splice(..1, buffer[..n].iter().copied());
        }
        self.record.extend_from_slice(&self.body);
    }

    /// Writes what does not fit into the leaf to a chain of pages; returns the first page.
    fn spill(&self, pages: &mut PageFile, from: usize) -> io::Result<u32> {
        let first = pages.upcoming()?;
        let mut rest = &self.record[from..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(OVERFLOW_BYTES));
            let number = pages.upcoming()?;
            let mut page = [0; PAGE];
            if !later.is_empty() {
                let following = number + if number + 1 == LOCK_PAGE { 2 } else { 1 };
                page[..4].copy_from_slice(&following.to_be_bytes());
            }
            page[4..4 + now.len()].copy_from_slice(now);
            pages.append(&page)?;
            rest = later;
        }
        Ok(first)
    }

    fn seal_leaf(&mut self) {
        let page = &mut self.page;
        page[0] = LEAF;
        page[3..5].copy_from_slice(&(self.cells as u16).to_be_bytes());
        page[5..7].copy_from_slice(&(self.content as u16).to_be_bytes());
    }

    fn close_leaf(&mut self, pages: &mut PageFile) -> io::Result<()> {
        let Some(last) = self.last_rowid else { return Ok(()) };
        self.seal_leaf();
        let number = pages.append(&self.page)?;
        self.leaves.push((number, last));
        self.page.fill(0);
        self.cells = 0;
        self.content = PAGE;
        Ok(())
    }

    /// Writes the last leaf and the levels above it, with the root at its fixed page.
    pub fn finish(mut self, pages: &mut PageFile) -> io::Result<()> {
        if self.leaves.is_empty() {
            self.seal_leaf();
            return pages.rewrite(self.root, &self.page);
        }
        if self.cells > 0 {
            self.close_leaf(pages)?;
        }
        let mut level = std::mem::take(&mut self.leaves);
        loop {
            let groups = interior_groups(&level);
            if let [only] = groups.as_slice() {
                return pages.rewrite(self.root, &interior_page(&level[only.clone()]));
            }
            let mut above = Vec::with_capacity(groups.len());
            for group in groups {
                let children = &level[group];
                let number = pages.append(&interior_page(children))?;
                above.push((number, children[children.len() - 1].1));
            }
            level = above;
        }
    }
}

/// Distributes children over interior pages: as many as fit, and never one alone (a page needs a cell).
fn interior_groups(children: &[(u32, i64)]) -> Vec<std::ops::Range<usize>> {
    let mut groups = Vec::new();
    let (mut first, mut used) = (0, INTERIOR_HEADER);
    for (i, child) in children.iter().enumerate() {
        let cell = 2 + 4 + varint_len(child.1 as u64);
        if used + cell > PAGE {
            // The last child of a page is its right pointer and needs no cell.
            groups.push(first..i + 1);
            (first, used) = (i + 1, INTERIOR_HEADER);
        } else {
            used += cell;
        }
    }
    if first < children.len() {
        groups.push(first..children.len());
    }
    if let [.., before, last] = groups.as_mut_slice()
        && last.len() == 1
    {
        before.end -= 1;
        last.start -= 1;
    }
    groups
}

fn interior_page(children: &[(u32, i64)]) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    let mut content = PAGE;
    let (right, cells) = children.split_last().expect("an interior page has children");
    for (i, (number, key)) in cells.iter().enumerate() {
        let mut cell = [0; 13];
        cell[..4].copy_from_slice(&number.to_be_bytes());
        let len = 4 + varint(&mut cell[4..], *key as u64);
        content -= len;
        page[content..content + len].copy_from_slice(&cell[..len]);
        let pointer = INTERIOR_HEADER + 2 * i;
        page[pointer..pointer + 2].copy_from_slice(&(content as u16).to_be_bytes());
    }
    page[0] = INTERIOR;
    page[3..5].copy_from_slice(&(cells.len() as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(content as u16).to_be_bytes());
    page[8..12].copy_from_slice(&right.0.to_be_bytes());
    page
}

/// How much of a record stays in its leaf.
fn local_bytes(payload: usize) -> usize {
    if payload <= MAX_LOCAL {
        return payload;
    }
    let fitting = MIN_LOCAL + (payload - MIN_LOCAL) % OVERFLOW_BYTES;
    if fitting <= MAX_LOCAL { fitting } else { MIN_LOCAL }
}

/// Serial type and size of an integer.
fn width(i: i64) -> (u8, usize) {
    let bits = 65 - (if i < 0 { !i } else { i }).leading_zeros();
    match bits {
        0..=8 => (1, 1),
        9..=16 => (2, 2),
        17..=24 => (3, 3),
        25..=32 => (4, 4),
        33..=48 => (5, 6),
        _ => (6, 8),
    }
}

fn varint_len(v: u64) -> usize {
    let mut buffer = [0; 9];
    varint(&mut buffer, v)
}

/// Writes SQLite's big-endian varint; returns its length.
fn varint(out: &mut [u8], v: u64) -> usize {
    if v >= 1 << 56 {
        for (i, byte) in out[..8].iter_mut().enumerate() {
            *byte = (v >> (57 - 7 * i)) as u8 | 0x80;
        }
        out[8] = v as u8;
        return 9;
    }
    let len = (64 - (v | 1).leading_zeros() as usize).div_ceil(7);
    for (i, byte) in out[..len].iter_mut().enumerate() {
        *byte = (v >> (7 * (len - 1 - i))) as u8 | 0x80;
    }
    out[len - 1] &= 0x7f;
    len
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use rusqlite::types::ValueRef;

    use super::*;

    /// Writes rows of (label, number) and returns what SQLite reads, after its integrity check.
    fn through_sqlite(rows: &[(i64, Vec<Value<'_>>)]) -> Vec<(i64, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c)").unwrap();
        let root: u32 = connection.query_row("SELECT rootpage FROM sqlite_master", [], |r| r.get(0)).unwrap();
        drop(connection);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut pages = PageFile::append_to(file).unwrap();
        let mut tree = TreeWriter::new(root);
        for (id, values) in rows {
            tree.push(&mut pages, *id, values.iter().copied()).unwrap();
        }
        tree.finish(&mut pages).unwrap();
        pages.finish().unwrap();
        let connection = Connection::open(&path).unwrap();
        let check: String = connection.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
        assert_eq!(check, "ok");
        let mut statement = connection.prepare("SELECT * FROM t").unwrap();
        let columns = statement.column_count();
        statement
            .query_map([], |r| {
                let texts = (1..columns)
                    .map(|c| match r.get_ref(c).unwrap() {
                        ValueRef::Null => "null".into(),
                        ValueRef::Integer(i) => format!("i{i}"),
                        ValueRef::Real(f) => format!("r{f:?}"),
                        ValueRef::Text(t) => format!("t{}", String::from_utf8_lossy(t)),
                        ValueRef::Blob(_) => "blob".into(),
                    })
                    .collect();
                Ok((r.get(0)?, texts))
            })
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    fn shown(value: &Value<'_>) -> String {
        match value {
            Value::Null => "null".into(),
            Value::Int(i) => format!("i{i}"),
            Value::Real(f) => format!("r{f:?}"),
            Value::Text(t) => format!("t{t}"),
        }
    }

    fn assert_same(rows: &[(i64, Vec<Value<'_>>)]) {
        let expected: Vec<_> = rows
            .iter()
            .map(|(id, values)| (*id, values[1..].iter().map(shown).collect::<Vec<_>>()))
            .collect();
        assert!(through_sqlite(rows) == expected);
    }

    #[test]
    fn every_width_of_value_reads_back() {
        let mut numbers = vec![0, 1, -1, i64::MIN, i64::MAX];
        for bit in 1..63 {
            numbers.extend([(1i64 << bit) - 1, 1 << bit, -(1 << bit), -(1 << bit) - 1]);
        }
        let rows: Vec<_> = numbers
            .iter()
            .enumerate()
            .map(|(i, &n)| {
                (i as i64 - 50, vec![Value::Null, Value::Int(n), Value::Real(n as f64 + 0.5), Value::Null])
            })
            .collect();
        assert_same(&rows);
    }

    #[test]
    fn tables_of_any_height_read_back() {
        // A leaf holds 4 rows here, so these counts cover 1, 2 and 3 levels and every edge between.
        let text = "x".repeat(1000);
        for count in [0, 1, 3, 4, 5, 8, 9, 1600, 1900, 2043, 2044, 2045, 5000] {
            let rows: Vec<_> = (0..count)
                .map(|i| (i * 7, vec![Value::Null, Value::Int(i), Value::Text(&text), Value::Null]))
                .collect();
            assert_same(&rows);
        }
        let small: Vec<_> = (1..400_000i64)
            .map(|i| (i << 20, vec![Value::Null, Value::Int(i), Value::Null, Value::Null]))
            .collect();
        assert_same(&small);
    }

    #[test]
    fn rows_longer_than_a_page_read_back() {
        let text = "longer than a page ".repeat(2000);
        let lengths =
            [0, 56, 57, 58, 4040, 4052, 4053, 4054, 4055, 4056, 4057, 4058, 8100, 8192, 8193, 37_000];
        let rows: Vec<_> = lengths
            .iter()
            .enumerate()
            .map(|(i, &n)| (i as i64, vec![Value::Null, Value::Text(&text[..n]), Value::Int(5), Value::Null]))
            .collect();
        assert_same(&rows);
    }

    #[test]
    fn rowids_must_rise() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("t")).unwrap();
        let mut pages = PageFile::append_to(file).unwrap();
        let mut tree = TreeWriter::new(1);
        tree.push(&mut pages, 5, [Value::Null].into_iter()).unwrap();
        assert!(tree.push(&mut pages, 5, [Value::Null].into_iter()).is_err());
    }
}
