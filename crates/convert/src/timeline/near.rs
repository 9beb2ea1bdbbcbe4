//! Look-ups that walk forward: rows are requested in nearly the order of the table.

use std::ops::Range;

/// A position in a sorted list that stays where the last look-up ended.
#[derive(Clone, Copy, Default)]
pub(crate) struct Near {
    at: usize,
}

impl Near {
    /// Starts at a position.
    pub fn at(place: usize) -> Self {
        Self { at: place }
    }

    /// The entries with this key among `len` entries sorted by `key_of`.
    #[inline]
    pub fn range<K: Ord>(&mut self, len: usize, key_of: impl Fn(usize) -> K, key: K) -> Range<usize> {
        while self.at > 0 && key_of(self.at - 1) >= key {
            self.at -= 1;
        }
        while self.at < len && key_of(self.at) < key {
            self.at += 1;
        }
        let from = self.at;
        while self.at < len && key_of(self.at) == key {
            self.at += 1;
        }
        from..self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_asking_finds_the_same() {
        let keys = [1, 1, 3, 3, 3, 7];
        for asked in [[1, 3, 7, 4], [7, 4, 3, 1], [3, 1, 4, 7]] {
            let mut near = Near::default();
            for key in asked {
                let expected: Vec<usize> = (0..keys.len()).filter(|&i| keys[i] == key).collect();
                assert_eq!(near.range(keys.len(), |i| keys[i], key).collect::<Vec<_>>(), expected);
            }
        }
    }
}
