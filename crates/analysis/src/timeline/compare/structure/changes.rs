//! What changed in the program: replaced, added and removed places, numbers of calls, kernels.

use std::collections::BTreeMap;

use model::call_tree::NOT_LAUNCHED;

use super::side::SideTree;
use super::{How, Match};

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Ops or modules in the position of others: fused, split or rewritten.
    Replaced,
    /// Only in the candidate.
    Added,
    /// Only in the base.
    Removed,
    /// Called more or less often.
    Calls,
    /// The same op with different shapes.
    Shapes,
    /// The same op with different kernels.
    Kernels,
}

impl ChangeKind {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Replaced => "replaced",
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Calls => "calls",
            ChangeKind::Shapes => "shapes",
            ChangeKind::Kernels => "kernels",
        }
    }
}

/// One change of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The kind of change.
    pub kind: ChangeKind,
    /// The deepest place that both sides share, as modules and ops from the outermost.
    pub path: String,
    /// What the base has; empty for an addition.
    pub base: String,
    /// What the candidate has; empty for a removal.
    pub candidate: String,
    /// Inclusive GPU time in the base, mean over runs.
    pub base_ns: i64,
    /// Inclusive GPU time in the candidate, mean over runs.
    pub candidate_ns: i64,
    /// Calls per run in the base.
    pub base_calls: f64,
    /// Calls per run in the candidate.
    pub candidate_calls: f64,
}

/// Numbers of calls that differ by less than this are the same.
const SAME_CALLS: f64 = 0.005;

pub(super) fn changes(base: &SideTree, candidate: &SideTree, matches: &[Match]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let ratio = |b: u32, c: u32| {
        let (b, c) = (base.nodes[b as usize].calls, candidate.nodes[c as usize].calls);
        if b > 0.0 { c / b } else { 1.0 }
    };
    for found in matches {
        let (ours, theirs) = (outer(base, &found.base), outer(candidate, &found.candidate));
        let ns =
            |tree: &SideTree, places: &[u32]| places.iter().map(|&place| tree.all_ns[place as usize]).sum();
        let calls = |tree: &SideTree, places: &[u32]| {
            places.iter().map(|&place| tree.nodes[place as usize].calls).fold(0.0, f64::max)
        };
        let change = |kind: ChangeKind| Change {
            kind,
            path: place_name(base, found.above.0),
            base: base.names(&ours),
            candidate: candidate.names(&theirs),
            base_ns: ns(base, &ours),
            candidate_ns: ns(candidate, &theirs),
            base_calls: calls(base, &ours),
            candidate_calls: calls(candidate, &theirs),
        };
        let kind = match found.how {
            How::Replaced => Some(ChangeKind::Replaced),
            How::Alone if found.base.is_empty() => Some(ChangeKind::Added),
            How::Alone => Some(ChangeKind::Removed),
            How::Same | How::Shapes | How::Renamed => {
                let (b, c) = (ours[0], theirs[0]);
                let above = if b == 0 { 1.0 } else { ratio(found.above.0, found.above.1) };
                let (own, is_linked) = (ratio(b, c), base.nodes[b as usize].name != NOT_LAUNCHED);
                // If a whole module is called more often, the module is the change.
                if is_linked && (own - 1.0).abs() > SAME_CALLS && (own / above - 1.0).abs() > SAME_CALLS {
                    Some(ChangeKind::Calls)
                } else if found.how == How::Shapes {
                    Some(ChangeKind::Shapes)
                } else if found.how == How::Renamed {
                    Some(ChangeKind::Replaced)
                } else {
                    None
                }
            }
        };
        if let Some(kind) = kind {
            let change = change(kind);
            if change.base_ns != 0 || change.candidate_ns != 0 {
                changes.push(change);
            }
        }
    }
    changes.extend(kernels(base, candidate, matches));
    changes.sort_by(|a, b| {
        let size = |change: &Change| (change.candidate_ns - change.base_ns).abs();
        size(b).cmp(&size(a)).then_with(|| (a.kind, &a.path, &a.base).cmp(&(b.kind, &b.path, &b.base)))
    });
    changes
}

/// Kernels of matched places that are on one side only, summed over all places.
fn kernels(base: &SideTree, candidate: &SideTree, matches: &[Match]) -> Vec<Change> {
    let mut sums: BTreeMap<(Vec<&str>, Vec<&str>), Change> = BTreeMap::new();
    for found in matches.iter().filter(|found| !matches!(found.how, How::Alone | How::Replaced)) {
        let ([b], [c]) = (&found.base[..], &found.candidate[..]) else { continue };
        let (ours, theirs) = (&base.nodes[*b as usize], &candidate.nodes[*c as usize]);
        if ours.name == NOT_LAUNCHED {
            continue;
        }
        let gone: Vec<&str> = ours
            .kernels
            .keys()
            .filter(|name| !theirs.kernels.contains_key(*name))
            .map(String::as_str)
            .collect();
        let new: Vec<&str> = theirs
            .kernels
            .keys()
            .filter(|name| !ours.kernels.contains_key(*name))
            .map(String::as_str)
            .collect();
        if gone.is_empty() && new.is_empty() {
            continue;
        }
        let sum = |kernels: &BTreeMap<String, (u64, i64)>, names: &[&str], runs: usize| {
            let found = names.iter().filter_map(|name| kernels.get(*name));
            let (calls, ns) = found.fold((0, 0), |(calls, ns), kernel| (calls + kernel.0, ns + kernel.1));
            (calls as f64 / runs.max(1) as f64, ns / runs.max(1) as i64)
        };
        let (base_calls, base_ns) = sum(&ours.kernels, &gone, ours.series.len());
        let (candidate_calls, candidate_ns) = sum(&theirs.kernels, &new, theirs.series.len());
        let change = sums.entry((gone.clone(), new.clone())).or_insert_with(|| Change {
            kind: ChangeKind::Kernels,
            path: place_name(base, *b),
            base: gone.join(" + "),
            candidate: new.join(" + "),
            base_ns: 0,
            candidate_ns: 0,
            base_calls: 0.0,
            candidate_calls: 0.0,
        });
        change.base_ns += base_ns;
        change.candidate_ns += candidate_ns;
        change.base_calls += base_calls;
        change.candidate_calls += candidate_calls;
    }
    sums.into_values().collect()
}

/// The places not enclosed by any of the others.
fn outer(tree: &SideTree, places: &[u32]) -> Vec<u32> {
    let is_outer = |place: &u32| *place == 0 || !places.contains(&tree.nodes[*place as usize].parent);
    places.iter().copied().filter(is_outer).collect()
}

/// A place with its path.
fn place_name(tree: &SideTree, place: u32) -> String {
    let (path, name) = (tree.path(place), &tree.nodes[place as usize].name);
    if path.is_empty() { name.clone() } else { format!("{path} > {name}") }
}
