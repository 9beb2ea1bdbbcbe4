//! Maps row ids to the trace's numbers: an array if ids are nearly consecutive, else a map.

use trace::Map;

const NONE: u32 = u32::MAX;

/// Numbers by row id.
#[derive(Default)]
pub(crate) struct ById {
    lowest: i64,
    dense: Vec<u32>,
    sparse: Map<i64, u32>,
}

impl ById {
    /// If an id occurs twice, the first one counts.
    pub fn new(pairs: &[(i64, u32)]) -> Self {
        let (Some(lowest), Some(highest)) =
            (pairs.iter().map(|p| p.0).min(), pairs.iter().map(|p| p.0).max())
        else {
            return Self::default();
        };
        let width = i128::from(highest) - i128::from(lowest) + 1;
        let mut by_id = Self { lowest, ..Self::default() };
        if width <= 4 * pairs.len() as i128 + 1024 {
            by_id.dense = vec![NONE; width as usize];
        }
        for &(id, number) in pairs {
            if by_id.get(id).is_none() {
                by_id.set(id, number);
            }
        }
        by_id
    }

    /// The number of an id.
    #[inline]
    pub fn get(&self, id: i64) -> Option<u32> {
        if self.dense.is_empty() {
            return self.sparse.get(&id).copied();
        }
        let place = usize::try_from(id.wrapping_sub(self.lowest)).ok();
        match place.and_then(|p| self.dense.get(p)) {
            Some(&number) if number != NONE => Some(number),
            _ => self.sparse.get(&id).copied(),
        }
    }

    /// Sets an id's number.
    pub fn set(&mut self, id: i64, number: u32) {
        let place = usize::try_from(id.wrapping_sub(self.lowest)).ok();
        match place.and_then(|p| self.dense.get_mut(p)) {
            Some(slot) => *slot = number,
            None => {
                self.sparse.insert(id, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_ids_are_found() {
        for step in [1i64, 1 << 40] {
            let pairs: Vec<_> = (0..1000).map(|i| (i * step - 5, i as u32)).collect();
            let mut by_id = ById::new(&pairs);
            assert!(pairs.iter().all(|&(id, number)| by_id.get(id) == Some(number)));
            assert_eq!(by_id.get(i64::MIN), None);
            assert_eq!(by_id.get(i64::MAX), None);
            by_id.set(i64::MAX, 7);
            assert_eq!(by_id.get(i64::MAX), Some(7));
        }
        assert_eq!(ById::new(&[]).get(0), None);
    }
}
