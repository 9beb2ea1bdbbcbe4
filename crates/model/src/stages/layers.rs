//! Layers: the repeating block of kernels in a step, and which repetition each kernel belongs to.

use trace::Map;

/// A run of equal blocks in a sequence of kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Index of the first kernel of the first block.
    pub first: usize,
    /// Kernels per block.
    pub period: usize,
    /// Whole blocks.
    pub count: usize,
}

/// One repetition of the block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// From 0.
    pub index: usize,
    /// Time of its kernels.
    pub total_ns: i64,
    /// As a multiple of the median layer.
    pub factor: f64,
}

/// Fewer repetitions do not count as layers.
const FEWEST: usize = 3;

/// How many distances are tried, most frequent first.
const DISTANCES: usize = 24;

/// The longest run of a repeating block in the names of one stream's kernels in order, if there is one.
///
/// Cost: a few passes over the names.
pub fn layers(names: &[u32]) -> Option<Layers> {
    let mut last: Map<u32, usize> = Map::default();
    let mut distances: Map<usize, usize> = Map::default();
    for (i, name) in names.iter().enumerate() {
        if let Some(before) = last.insert(*name, i) {
            *distances.entry(i - before).or_default() += 1;
        }
    }
    // A name that occurs once per block, such as the attention, gives the period directly.
    let mut candidates: Vec<(usize, usize)> = distances.into_iter().collect();
    candidates.sort_by_key(|&(distance, count)| (std::cmp::Reverse(count * distance), distance));
    let runs = candidates.iter().take(DISTANCES).filter_map(|&(period, _)| longest_run(names, period));
    // Most kernels covered; on a tie the shortest block.
    runs.max_by_key(|layers| (layers.count * layers.period, std::cmp::Reverse(layers.period)))
}

fn longest_run(names: &[u32], period: usize) -> Option<Layers> {
    let (mut best, mut start) = ((0, 0), 0);
    for i in period..=names.len() {
        if i == names.len() || names[i] != names[i - period] {
            best = best.max((i - start, usize::MAX - start));
            start = i + 1 - period;
        }
    }
    let (len, first) = (best.0, usize::MAX - best.1);
    let count = len / period;
    (count >= FEWEST).then_some(Layers { first, period, count })
}

impl Layers {
    /// The layer that the kernel at `place` belongs to; `None` before the first and after the last.
    pub fn layer_of(&self, place: usize) -> Option<usize> {
        let layer = place.checked_sub(self.first)? / self.period;
        (layer < self.count).then_some(layer)
    }

    /// Time of every layer; `durations` are the kernels', in the order of the names.
    pub fn times(&self, durations: &[i64]) -> Vec<Layer> {
        let sums: Vec<i64> = (0..self.count)
            .map(|layer| {
                let from = self.first + layer * self.period;
                durations[from..from + self.period].iter().sum()
            })
            .collect();
        let mut sorted = sums.clone();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2].max(1) as f64;
        let layer =
            |(index, &total_ns): (usize, &i64)| Layer { index, total_ns, factor: total_ns as f64 / median };
        sums.iter().enumerate().map(layer).collect()
    }

    /// Layers that take over `factor` times the median.
    pub fn outliers(&self, durations: &[i64], factor: f64) -> Vec<Layer> {
        self.times(durations).into_iter().filter(|layer| layer.factor > factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_found_between_prologue_and_epilogue() {
        let block = [1, 2, 1, 3, 4, 1, 5];
        let mut names = vec![90, 91];
        (0..36).for_each(|_| names.extend(block));
        names.extend([92, 1, 93]);
        let found = layers(&names).unwrap();
        assert_eq!((found.first, found.period, found.count), (2, 7, 36));
        assert_eq!((found.layer_of(1), found.layer_of(2), found.layer_of(2 + 7 * 36)), (None, Some(0), None));
        let mut durations = vec![10; names.len()];
        durations[2 + 7 * 5] = 100;
        let outliers = found.outliers(&durations, 1.2);
        assert_eq!(outliers.iter().map(|l| (l.index, l.total_ns)).collect::<Vec<_>>(), [(5, 160)]);
    }

    #[test]
    fn no_repetition_is_no_layers() {
        assert_eq!(layers(&[]), None);
        assert_eq!(layers(&(0..50).collect::<Vec<_>>()), None);
        assert_eq!(layers(&[1, 2, 1, 2]), None);
    }
}
