//! Rows grouped by key, in order of first appearance.

use std::hash::Hash;

use trace::Map;

/// Which rows belong to which key.
pub struct Groups<K> {
    /// The keys, in order of first appearance.
    pub keys: Vec<K>,
    /// The group of every row.
    pub of_row: Vec<u32>,
}

impl<K: Copy + Eq + Hash> Groups<K> {
    /// Groups `rows` rows by `key`.
    pub fn by(rows: usize, key: impl Fn(usize) -> K) -> Self {
        let mut numbers: Map<K, u32> = Map::default();
        let mut keys = Vec::new();
        let mut last: Option<(K, u32)> = None;
        let mut of_row = Vec::with_capacity(rows);
        for row in 0..rows {
            let key = key(row);
            // Runs of equal keys are common (one API called in a loop).
            let group = match last {
                Some((same, group)) if same == key => group,
                _ => *numbers.entry(key).or_insert_with(|| {
                    keys.push(key);
                    keys.len() as u32 - 1
                }),
            };
            last = Some((key, group));
            of_row.push(group);
        }
        Self { keys, of_row }
    }

    /// The values of all groups in one vector, with the bounds of each group.
    pub fn gather(&self, value: impl Fn(usize) -> i64) -> (Vec<i64>, Vec<usize>) {
        let mut bounds = vec![0usize; self.keys.len() + 1];
        for &group in &self.of_row {
            bounds[group as usize + 1] += 1;
        }
        for i in 1..bounds.len() {
            bounds[i] += bounds[i - 1];
        }
        let mut next = bounds.clone();
        let mut values = vec![0i64; self.of_row.len()];
        for (row, &group) in self.of_row.iter().enumerate() {
            values[next[group as usize]] = value(row);
            next[group as usize] += 1;
        }
        (values, bounds)
    }
}
