//! Matches places of the candidate to places of the base, from the root down.

use std::collections::BTreeMap;

use trace::Map;

use super::How;
use super::side::SideTree;

/// Places that belong together: one per side, or groups that replace each other.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    pub base: Vec<u32>,
    pub candidate: Vec<u32>,
    pub how: How,
    /// The deepest matched places above, on both sides.
    pub above: (u32, u32),
}

/// Puts every place of both sides into one match.
pub(crate) fn matched(base: &SideTree, candidate: &SideTree) -> Vec<Match> {
    let mut found = vec![Match { base: vec![0], candidate: vec![0], how: How::Same, above: (0, 0) }];
    let mut open = vec![(0u32, 0u32)];
    while let Some((b, c)) = open.pop() {
        Level { base, candidate, above: (b, c) }.matched(&mut found, &mut open);
    }
    found
}

/// The children of two matched places.
struct Level<'a> {
    base: &'a SideTree,
    candidate: &'a SideTree,
    above: (u32, u32),
}

impl Level<'_> {
    fn matched(&self, found: &mut Vec<Match>, open: &mut Vec<(u32, u32)>) {
        let before = &self.base.children[self.above.0 as usize];
        let after = &self.candidate.children[self.above.1 as usize];
        let mut partner: [Vec<Option<usize>>; 2] = [vec![None; before.len()], vec![None; after.len()]];
        let mut pairs: Vec<(usize, usize, How)> = Vec::new();
        // From the most to the least certain.
        let exact = |tree: &'_ SideTree, at: u32| {
            let node = &tree.nodes[at as usize];
            format!("{:?} {} {} {}", node.kind, node.name, node.shapes, node.types)
        };
        let named = |tree: &'_ SideTree, at: u32| {
            let node = &tree.nodes[at as usize];
            format!("{:?} {}", node.kind, node.name)
        };
        let meant = |tree: &'_ SideTree, at: u32| {
            let node = &tree.nodes[at as usize];
            format!("{:?} {}", node.kind, meaning(&node.name))
        };
        type KeyOf<'k> = &'k dyn Fn(&SideTree, u32) -> String;
        let passes: [(KeyOf, How); 3] = [(&exact, How::Same), (&named, How::Shapes), (&meant, How::Renamed)];
        for (key, how) in passes {
            let mut waiting: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (i, &at) in before.iter().enumerate().rev() {
                if partner[0][i].is_none() {
                    waiting.entry(key(self.base, at)).or_default().push(i);
                }
            }
            for (j, &at) in after.iter().enumerate() {
                if partner[1][j].is_some() {
                    continue;
                }
                let Some(i) = waiting.get_mut(&key(self.candidate, at)).and_then(Vec::pop) else { continue };
                partner[0][i] = Some(j);
                partner[1][j] = Some(i);
                pairs.push((i, j, how));
            }
        }
        let alone = self.replaced(before, after, &partner, &mut pairs, found);
        pairs.sort_unstable_by_key(|pair| pair.0);
        for (i, j, how) in pairs {
            let (b, c) = (before[i], after[j]);
            found.push(Match { base: vec![b], candidate: vec![c], how, above: self.above });
            open.push((b, c));
        }
        found.extend(alone);
    }

    /// Unmatched places between the same matched neighbours replace each other.
    fn replaced(
        &self,
        before: &[u32],
        after: &[u32],
        partner: &[Vec<Option<usize>>; 2],
        pairs: &mut Vec<(usize, usize, How)>,
        found: &mut Vec<Match>,
    ) -> Vec<Match> {
        // Unmatched places by the last matched neighbour before them, given as its index in the base.
        let gaps = |side: usize| -> Map<Option<usize>, Vec<usize>> {
            let (mut gap, mut gaps) = (None, Map::default());
            for (at, other) in partner[side].iter().enumerate() {
                match other {
                    Some(other) => gap = Some(if side == 0 { at } else { *other }),
                    None => gaps.entry(gap).or_insert_with(Vec::new).push(at),
                }
            }
            gaps
        };
        let (left, mut right) = (gaps(0), gaps(1));
        let mut alone = Vec::new();
        let mut keys: Vec<Option<usize>> = left.keys().copied().collect();
        keys.sort_unstable();
        let whole = |tree: &SideTree, children: &[u32], places: &[usize]| {
            let mut all = Vec::new();
            places.iter().for_each(|&at| tree.with_below(children[at], &mut all));
            all
        };
        for key in keys {
            let ours = &left[&key];
            match right.remove(&key) {
                Some(theirs) => {
                    if let ([i], [j]) = (&ours[..], &theirs[..])
                        && self.is_like(before[*i], after[*j])
                    {
                        pairs.push((*i, *j, How::Renamed));
                        continue;
                    }
                    found.push(Match {
                        base: whole(self.base, before, ours),
                        candidate: whole(self.candidate, after, &theirs),
                        how: How::Replaced,
                        above: self.above,
                    });
                }
                None => alone.extend(ours.iter().map(|&i| Match {
                    base: whole(self.base, before, &[i]),
                    candidate: Vec::new(),
                    how: How::Alone,
                    above: self.above,
                })),
            }
        }
        let mut rest: Vec<usize> = right.into_values().flatten().collect();
        rest.sort_unstable();
        alone.extend(rest.into_iter().map(|j| Match {
            base: Vec::new(),
            candidate: whole(self.candidate, after, &[j]),
            how: How::Alone,
            above: self.above,
        }));
        alone
    }

    /// Whether two places of one kind make mostly the same calls: another version of a module.
    fn is_like(&self, b: u32, c: u32) -> bool {
        if self.base.nodes[b as usize].kind != self.candidate.nodes[c as usize].kind {
            return false;
        }
        let keys = |tree: &SideTree, at: u32| -> Vec<String> {
            let mut names: Vec<String> = tree.children[at as usize]
                .iter()
                .map(|&child| meaning(&tree.nodes[child as usize].name))
                .collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let (ours, theirs) = (keys(self.base, b), keys(self.candidate, c));
        let common = ours.iter().filter(|name| theirs.contains(name)).count();
        common > 0 && 2 * common >= ours.len().max(theirs.len())
    }
}

/// A name without vendor, number and spelling: `aten::miopen_convolution` and `aten::cudnn_convolution` are
/// one op.
fn meaning(name: &str) -> String {
    const VENDORS: [&str; 9] =
        ["miopen", "cudnn", "hipblaslt", "cublaslt", "hipblas", "cublas", "rocm", "cuda", "hip"];
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let mut meant = String::with_capacity(lower.len());
    for word in words {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if word.is_empty() || VENDORS.contains(&word) {
            continue;
        }
        if !meant.is_empty() {
            meant.push(' ');
        }
        meant.push_str(word);
    }
    if meant.is_empty() { lower } else { meant }
}

/// Kernels that ran at the same places with their shared time, which `compare` uses to join different names.
pub(crate) fn kernel_pairs(
    base: &SideTree,
    candidate: &SideTree,
    matches: &[Match],
) -> Vec<(String, String, i64)> {
    let mut shared: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for found in matches.iter().filter(|found| !matches!(found.how, How::Alone | How::Replaced)) {
        let ([b], [c]) = (&found.base[..], &found.candidate[..]) else { continue };
        let (ours, theirs) = (&base.nodes[*b as usize].kernels, &candidate.nodes[*c as usize].kernels);
        // Only names that the other side lacks need a partner.
        let list = |own: &'_ BTreeMap<String, (u64, i64)>, other: &BTreeMap<String, (u64, i64)>| {
            let mut left: Vec<(i64, String)> = own
                .iter()
                .filter(|(name, _)| !other.contains_key(*name))
                .map(|(name, (_, ns))| (*ns, name.clone()))
                .collect();
            left.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            left
        };
        for ((one, name), (other, renamed)) in list(ours, theirs).into_iter().zip(list(theirs, ours)) {
            let key = (
                ours.get_key_value(&name).map_or("", |(name, _)| name.as_str()),
                theirs.get_key_value(&renamed).map_or("", |(name, _)| name.as_str()),
            );
            *shared.entry(key).or_default() += one.min(other);
        }
    }
    let mut pairs: Vec<(String, String, i64)> =
        shared.into_iter().map(|((b, c), ns)| (b.to_string(), c.to_string(), ns)).collect();
    pairs.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (&a.0, &a.1).cmp(&(&b.0, &b.1))));
    pairs
}

#[cfg(test)]
mod tests {
    use super::meaning;

    #[test]
    fn names_of_vendors_and_numbers_mean_the_same() {
        for (one, other) in [
            ("aten::miopen_convolution", "aten::cudnn_convolution"),
            ("triton_poi_fused_add_12", "triton_poi_fused_add_7"),
            ("Qwen2MLP", "qwen2mlp"),
        ] {
            assert_eq!(meaning(one), meaning(other));
        }
        assert_ne!(meaning("aten::mm"), meaning("aten::bmm"));
        assert_ne!(meaning("aten::add"), meaning("aten::add_rms_norm"));
    }
}
