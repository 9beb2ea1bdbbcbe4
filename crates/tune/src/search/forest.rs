//! A forest of extremely randomised trees, for cliffs and interactions that a polynomial would smooth over.

use stats::random::Random;

const TREES: usize = 64;
const DEEPEST: usize = 12;

/// Every tree leaves out one of this many parts of the samples, to be tested on it.
const PARTS: usize = 5;

/// The trees.
#[derive(Clone, Debug)]
pub struct Forest {
    trees: Vec<Vec<Node>>,
    /// Prediction for each sample by the trees that have not seen it.
    pub held_out: Vec<f64>,
}

/// Leaves have no feature.
#[derive(Clone, Copy, Debug)]
struct Node {
    feature: u32,
    /// Index of the branch above the cut; the one below follows its node.
    above: u32,
    /// The cut, or the value of a leaf.
    number: f64,
}

const LEAF: u32 = u32::MAX;

impl Forest {
    /// Grows the trees on rows of features and their values; leaves hold at least `smallest` samples.
    pub fn fit(rows: &[&[f64]], values: &[f64], smallest: usize, random: &mut Random) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let n = rows.len();
        let mut part: Vec<usize> = (0..n).map(|i| i % PARTS).collect();
        random.shuffle(&mut part);
        let mut held_out = vec![(0.0, 0.0); n];
        let mut trees = Vec::with_capacity(TREES);
        for number in 0..TREES {
            let left_out = |sample: &usize| n > PARTS && part[*sample] == number % PARTS;
            let mut samples: Vec<usize> = (0..n).filter(|sample| !left_out(sample)).collect();
            let mut tree = Vec::new();
            Grower { rows, values, smallest, random }.grow(&mut samples, 0, &mut tree);
            for sample in (0..n).filter(left_out) {
                held_out[sample].0 += leaf(&tree, rows[sample]);
                held_out[sample].1 += 1.0;
            }
            trees.push(tree);
        }
        let middle = values.iter().sum::<f64>() / n as f64;
        let held_out =
            held_out.into_iter().map(|(sum, trees)| if trees > 0.0 { sum / trees } else { middle });
        Some(Self { trees, held_out: held_out.collect() })
    }

    /// Mean over trees, and their standard deviation.
    pub fn predict(&self, row: &[f64]) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for tree in &self.trees {
            let value = leaf(tree, row);
            sum += value;
            squares += value * value;
        }
        let n = self.trees.len() as f64;
        let mean = sum / n;
        (mean, (squares / n - mean * mean).max(0.0).sqrt())
    }
}

/// A tree's prediction for a row.
fn leaf(tree: &[Node], row: &[f64]) -> f64 {
    let mut at = 0;
    let mut node = &tree[0];
    while node.feature != LEAF {
        at = if row[node.feature as usize] < node.number { at + 1 } else { node.above as usize };
        node = &tree[at];
    }
    node.number
}

struct Grower<'a> {
    rows: &'a [&'a [f64]],
    values: &'a [f64],
    smallest: usize,
    random: &'a mut Random,
}

impl Grower<'_> {
    fn grow(&mut self, samples: &mut [usize], depth: usize, tree: &mut Vec<Node>) {
        let place = tree.len();
        let mean = samples.iter().map(|&s| self.values[s]).sum::<f64>() / samples.len() as f64;
        tree.push(Node { feature: LEAF, above: 0, number: mean });
        if samples.len() < 2 * self.smallest || depth >= DEEPEST {
            return;
        }
        let Some((feature, cut)) = self.best_cut(samples) else { return };
        let mut below = 0;
        for i in 0..samples.len() {
            if self.rows[samples[i]][feature] < cut {
                samples.swap(i, below);
                below += 1;
            }
        }
        let (low, high) = samples.split_at_mut(below);
        self.grow(low, depth + 1, tree);
        let above = tree.len() as u32;
        self.grow(high, depth + 1, tree);
        tree[place] = Node { feature: feature as u32, above, number: cut };
    }

    /// Tries one random cut per feature; returns the one that explains most.
    fn best_cut(&mut self, samples: &[usize]) -> Option<(usize, f64)> {
        let mut best: Option<(f64, usize, f64)> = None;
        let all: f64 = samples.iter().map(|&s| self.values[s]).sum();
        for feature in 0..self.rows[samples[0]].len() {
            let value = |s: usize| self.rows[s][feature];
            let least = samples.iter().map(|&s| value(s)).fold(f64::INFINITY, f64::min);
            let most = samples.iter().map(|&s| value(s)).fold(f64::NEG_INFINITY, f64::max);
            if most - least < 1e-9 {
                continue;
            }
            let cut = least + (most - least) * self.random.unit();
            let (mut count, mut sum) = (0.0, 0.0);
            for &s in samples.iter().filter(|&&s| value(s) < cut) {
                count += 1.0;
                sum += self.values[s];
            }
            let rest = samples.len() as f64 - count;
            if count < self.smallest as f64 || rest < self.smallest as f64 {
                continue;
            }
            let explained = sum * sum / count + (all - sum) * (all - sum) / rest;
            if best.is_none_or(|(most, _, _)| explained > most) {
                best = Some((explained, feature, cut));
            }
        }
        best.map(|(_, feature, cut)| (feature, cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_cliff() {
        let mut random = Random::new(9);
        let rows: Vec<Vec<f64>> = (0..80).map(|_| (0..4).map(|_| random.unit()).collect()).collect();
        let truth = |r: &[f64]| if r[0] + r[1] > 1.2 { 3.0 } else { 1.0 };
        // The sum is what `Features` adds for pairs.
        let rows: Vec<Vec<f64>> = rows
            .into_iter()
            .map(|mut r| {
                r.push((r[0] + r[1]) / 2.0);
                r
            })
            .collect();
        let values: Vec<f64> = rows.iter().map(|r| truth(r)).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let forest = Forest::fit(&rows, &values, 1, &mut random).unwrap();
        for (a, b) in [(0.2, 0.3), (0.9, 0.8), (0.1, 0.9), (0.95, 0.5)] {
            let row = [a, b, 0.5, 0.5, (a + b) / 2.0];
            let (mean, spread) = forest.predict(&row);
            assert!((mean - truth(&row)).abs() < 0.6, "{row:?} {mean} {spread}");
        }
    }
}
