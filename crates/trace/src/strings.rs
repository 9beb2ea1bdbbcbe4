//! The string interner: every distinct name of a trace is stored once.

use hashbrown::HashTable;
use rapidhash::v3::rapidhash_v3;

use crate::ids::StrId;

/// Distinct strings by id; id 0 is the empty string.
#[derive(Clone)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
    index: HashTable<u32>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self { text: String::new(), ends: Vec::new(), index: HashTable::new() };
        strings.intern("");
        strings
    }
}

impl std::fmt::Debug for Strings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Strings({} distinct, {} bytes)", self.len(), self.text.len())
    }
}

impl Strings {
    /// The id of a string, added if new.
    #[inline]
    pub fn intern(&mut self, s: &str) -> StrId {
        let hash = rapidhash_v3(s.as_bytes());
        let Self { text, ends, index } = self;
        let entry = index.entry(
            hash,
            |&i| slice(text, ends, i) == s,
            |&i| rapidhash_v3(slice(text, ends, i).as_bytes()),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(found) => StrId(*found.get()),
            hashbrown::hash_table::Entry::Vacant(free) => {
                let id = ends.len() as u32;
                free.insert(id);
                text.push_str(s);
                ends.push(text.len());
                StrId(id)
            }
        }
    }

    /// The id of bytes that should be UTF-8; invalid bytes become U+FFFD, and the flag is set.
    #[inline]
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> (StrId, bool) {
        match std::str::from_utf8(bytes) {
            Ok(s) => (self.intern(s), false),
            Err(_) => (self.intern(&String::from_utf8_lossy(bytes)), true),
        }
    }

    /// The id of a string, if it is there.
    pub fn find(&self, s: &str) -> Option<StrId> {
        let hash = rapidhash_v3(s.as_bytes());
        self.index.find(hash, |&i| slice(&self.text, &self.ends, i) == s).map(|&i| StrId(i))
    }

    /// The text behind an id.
    #[inline]
    pub fn get(&self, id: StrId) -> &str {
        slice(&self.text, &self.ends, id.0)
    }

    /// All strings one after the other, in id order.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of distinct strings, including the empty one.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never true: the empty string is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// All strings in id order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|i| slice(&self.text, &self.ends, i))
    }

    /// Adds every string of another interner; element `i` of the result is the new id of its string `i`.
    pub fn absorb(&mut self, other: &Strings) -> Vec<StrId> {
        other.iter().map(|s| self.intern(s)).collect()
    }
}

#[inline]
fn slice<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let i = id as usize;
    let start = if i == 0 { 0 } else { ends[i - 1] };
    &text[start..ends[i]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interning_is_stable_and_complete() {
        let mut strings = Strings::default();
        let names = ["gemm", "", "relu", "gemm", "日本"];
        let ids: Vec<_> = names.iter().map(|n| strings.intern(n)).collect();
        assert_eq!(ids[0], ids[3]);
        assert_eq!(ids[1], StrId::EMPTY);
        for (name, id) in names.iter().zip(&ids) {
            assert_eq!(strings.get(*id), *name);
            assert_eq!(strings.find(name), Some(*id));
        }
        assert_eq!(strings.find("absent"), None);
        assert_eq!(strings.len(), 4);
    }

    #[test]
    fn bad_utf8_is_kept_and_flagged() {
        let mut strings = Strings::default();
        let (id, lossy) = strings.intern_bytes(b"a\xffb");
        assert!(lossy);
        assert_eq!(strings.get(id), "a\u{fffd}b");
    }
}
