//! Strings of one worker, interned as written in the file: unescaping and UTF-8 checks are done once per
//! distinct string.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rapidhash::v3::rapidhash_v3;

/// Distinct byte strings by number; 0 is the empty one.
pub(super) struct Names {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    index: HashTable<u32>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self { bytes: Vec::new(), ends: Vec::new(), index: HashTable::new() };
        names.intern(b"");
        names
    }
}

impl Names {
    /// The number of a string, added if new.
    #[inline]
    pub fn intern(&mut self, raw: &[u8]) -> u32 {
        let Self { bytes, ends, index } = self;
        let entry = index.entry(
            rapidhash_v3(raw),
            |&i| slice(bytes, ends, i) == raw,
            |&i| rapidhash_v3(slice(bytes, ends, i)),
        );
        match entry {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(free) => {
                let id = ends.len() as u32;
                free.insert(id);
                bytes.extend_from_slice(raw);
                ends.push(bytes.len());
                id
            }
        }
    }

    /// The string behind a number.
    pub fn get(&self, id: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, id)
    }

    /// Number of distinct strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

#[inline]
fn slice<'a>(bytes: &'a [u8], ends: &[usize], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &bytes[start..ends[id]]
}
