//! The texts of a table, each stored once, in one block of memory.

use std::hash::{BuildHasher, RandomState};

/// A free slot of the index.
const FREE: u32 = u32::MAX;

/// Texts by number.
#[derive(Default)]
pub struct Texts {
    bytes: String,
    /// Where each text ends.
    ends: Vec<u32>,
}

impl Texts {
    /// A text by its number.
    pub fn get(&self, number: u32) -> &str {
        let at = number as usize;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..self.ends[at] as usize]
    }

    /// All texts, by number.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).map(|number| self.get(number))
    }

    /// About how much memory they take.
    pub fn size(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

/// Texts under construction. The hash is randomly keyed: files may be hostile.
#[derive(Default)]
pub struct Interner {
    texts: Texts,
    hashes: Vec<u32>,
    /// Numbers by hash, at least half of them free.
    index: Vec<u32>,
    state: RandomState,
}

impl Interner {
    /// The number of a text.
    pub fn intern(&mut self, text: &str) -> u32 {
        if self.texts.ends.len() * 2 >= self.index.len() {
            self.grow();
        }
        let hash = self.state.hash_one(text) as u32;
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        while self.index[at] != FREE {
            let number = self.index[at];
            if self.hashes[number as usize] == hash && self.texts.get(number) == text {
                return number;
            }
            at = (at + 1) & mask;
        }
        let number = self.texts.ends.len() as u32;
        self.index[at] = number;
        self.hashes.push(hash);
        self.texts.bytes.push_str(text);
        self.texts.ends.push(self.texts.bytes.len() as u32);
        number
    }

    /// A text by its number.
    pub fn get(&self, number: u32) -> &str {
        self.texts.get(number)
    }

    /// The texts alone.
    pub fn finish(mut self) -> Texts {
        self.texts.bytes.shrink_to_fit();
        self.texts.ends.shrink_to_fit();
        self.texts
    }

    fn grow(&mut self) {
        self.index = vec![FREE; (self.index.len() * 2).max(64)];
        let mask = self.index.len() - 1;
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut at = *hash as usize & mask;
            while self.index[at] != FREE {
                at = (at + 1) & mask;
            }
            self.index[at] = number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_one_number() {
        let mut interner = Interner::default();
        let text = |at: usize| if at == 0 { String::new() } else { format!("kernel ü {}", at % 1000) };
        let numbers: Vec<u32> = (0..5000).map(|at| interner.intern(&text(at))).collect();
        let texts = interner.finish();
        assert_eq!(texts.iter().count(), 1001);
        for (at, number) in numbers.iter().enumerate() {
            assert_eq!(texts.get(*number), text(at));
        }
    }
}
