//! The places of one run, and the places of all runs of a side in one tree.

use std::collections::BTreeMap;

use model::Run;
use model::call_tree::{CallTree, NOT_LAUNCHED, NodeKind, TreeOptions};
use model::work::WorkClass;
use trace::{Map, Table};

use super::super::series::Series;
use super::share;
use super::{How, Match};

/// A module, an op, or a kernel outside any op.
#[derive(Clone, Debug)]
pub(crate) struct TreeNode {
    pub parent: u32,
    pub kind: NodeKind,
    pub name: String,
    pub shapes: String,
    pub types: String,
    /// Calls per run, mean over runs.
    pub calls: f64,
    /// Its own work in each run.
    pub series: Vec<Option<Series>>,
    /// Time not covered by earlier work, over all runs.
    pub own: i128,
    /// Calls and time of its kernels over all runs.
    pub kernels: BTreeMap<String, (u64, i64)>,
}

/// What a structural comparison keeps of a run.
pub struct StructuralRun {
    places: Vec<TreeNode>,
}

impl StructuralRun {
    /// The places of a run, with the durations of their own work.
    pub fn of(run: &Run) -> Self {
        let options = TreeOptions { only_with_work: true, keep_rows: true, ..TreeOptions::default() };
        let tree = CallTree::of(run, &options);
        let ops = tree.nearest(|kind| kind == NodeKind::Op);
        let mut places = vec![TreeNode::root()];
        let mut place_of = vec![0u32; tree.nodes.len()];
        let mut known: Map<(u32, NodeKind, trace::StrId, u32), u32> = Map::default();
        for (number, node) in tree.nodes.iter().enumerate().skip(1) {
            let above = place_of[node.parent as usize];
            let is_place = match node.kind {
                NodeKind::Module | NodeKind::Op => true,
                // A kernel is a place of its own if no op encloses its launch.
                NodeKind::Work => ops[number] == 0 && places[above as usize].name != NOT_LAUNCHED,
                NodeKind::Annotation => tree.name(number) == NOT_LAUNCHED,
                NodeKind::Root | NodeKind::Frame | NodeKind::Call => false,
            };
            place_of[number] = above;
            if !is_place {
                continue;
            }
            let next = places.len() as u32;
            let place = *known.entry((above, node.kind, node.class, node.arguments)).or_insert(next);
            if place == next {
                let arguments = tree.arguments[node.arguments as usize];
                places.push(TreeNode {
                    parent: above,
                    kind: node.kind,
                    name: tree.strings.get(node.class).to_string(),
                    shapes: tree.strings.get(arguments.shapes).to_string(),
                    types: tree.strings.get(arguments.types).to_string(),
                    ..TreeNode::root()
                });
            }
            places[place as usize].calls += node.own.calls as f64;
            place_of[number] = place;
        }
        add_work(run, &tree, &place_of, &mut places);
        Self { places }
    }

    /// Whether any place is an op or a module.
    pub fn tells_places(&self) -> bool {
        self.places.iter().any(|place| matches!(place.kind, NodeKind::Op | NodeKind::Module))
    }
}

impl TreeNode {
    fn root() -> Self {
        Self {
            parent: 0,
            kind: NodeKind::Root,
            name: String::new(),
            shapes: String::new(),
            types: String::new(),
            calls: 0.0,
            series: Vec::new(),
            own: 0,
            kernels: BTreeMap::new(),
        }
    }

    /// Time of its own work, mean over runs.
    pub fn self_ns(&self) -> i64 {
        let total: i64 = self.series.iter().flatten().map(|series| series.total).sum();
        total / self.series.len().max(1) as i64
    }
}

/// Adds durations, kernels and wall-clock time to every place.
fn add_work(run: &Run, tree: &CallTree, place_of: &[u32], places: &mut [TreeNode]) {
    let mut durations: Vec<Vec<i64>> = vec![Vec::new(); places.len()];
    let mut kernels: Map<(u32, trace::StrId), (u64, i64)> = Map::default();
    let mut by_gpu: Vec<Vec<(i64, i64, u32, bool)>> = vec![Vec::new(); run.work.gpus.len()];
    for &(row, node) in &tree.rows {
        let Some(at) = run.place(row) else { continue };
        let place = place_of[node as usize];
        let ns = run.work.duration(at);
        durations[place as usize].push(ns);
        let kernel = kernels.entry((place, run.work.name[at])).or_default();
        *kernel = (kernel.0 + 1, kernel.1 + ns);
        if matches!(run.work.class[at], WorkClass::Compute | WorkClass::Fill) {
            let is_kernel = row.row_of(Table::Kernels).is_some();
            by_gpu[run.work.gpu[at] as usize].push((run.work.start[at], run.work.end[at], place, is_kernel));
        }
    }
    for (place, durations) in places.iter_mut().zip(&durations) {
        place.series = vec![(!durations.is_empty()).then(|| Series::of(durations))];
    }
    for ((place, name), (calls, ns)) in kernels {
        let name = run.trace.strings.get(name).to_string();
        places[place as usize].kernels.insert(name, (calls, ns));
    }
    // Each instant goes to what began first, as in the kernel waterfall.
    for mut rows in by_gpu {
        rows.sort_unstable_by_key(|&(start, end, ..)| (start, end));
        let mut covered = i64::MIN;
        for (start, end, place, is_kernel) in rows {
            let alone = (end - start.max(covered)).max(0);
            covered = covered.max(end);
            if is_kernel {
                places[place as usize].own += i128::from(alone);
            }
        }
    }
}

/// The places of all runs of a side.
pub(crate) struct SideTree {
    pub nodes: Vec<TreeNode>,
    pub children: Vec<Vec<u32>>,
    /// By node: inclusive GPU time, mean over runs.
    pub all_ns: Vec<i64>,
}

/// The sum of several places of a side.
#[derive(Default)]
pub(crate) struct Sum {
    pub series: Vec<Option<Series>>,
    pub own: i128,
    /// Calls of the most frequently called place.
    pub calls: f64,
    pub kernels: Vec<String>,
}

impl SideTree {
    pub fn of(runs: &[StructuralRun]) -> Self {
        let mut nodes = vec![TreeNode { series: vec![None; runs.len()], ..TreeNode::root() }];
        let mut known: Map<(u32, NodeKind, String, (String, String)), u32> = Map::default();
        for (number, run) in runs.iter().enumerate() {
            let mut node_of = vec![0u32; run.places.len()];
            for (at, place) in run.places.iter().enumerate() {
                if at > 0 {
                    let parent = node_of[place.parent as usize];
                    let arguments = (place.shapes.clone(), place.types.clone());
                    let key = (parent, place.kind, place.name.clone(), arguments);
                    let next = nodes.len() as u32;
                    node_of[at] = *known.entry(key).or_insert(next);
                    if node_of[at] == next {
                        nodes.push(TreeNode {
                            parent,
                            kind: place.kind,
                            name: place.name.clone(),
                            shapes: place.shapes.clone(),
                            types: place.types.clone(),
                            series: vec![None; runs.len()],
                            ..TreeNode::root()
                        });
                    }
                }
                let node = &mut nodes[node_of[at] as usize];
                node.calls += place.calls / runs.len() as f64;
                node.own += place.own;
                node.series[number] = place.series.first().cloned().flatten();
                for (name, (calls, ns)) in &place.kernels {
                    let kernel = node.kernels.entry(name.clone()).or_default();
                    *kernel = (kernel.0 + calls, kernel.1 + ns);
                }
            }
        }
        let mut children = vec![Vec::new(); nodes.len()];
        let mut all_ns: Vec<i64> = nodes.iter().map(TreeNode::self_ns).collect();
        for node in (1..nodes.len()).rev() {
            all_ns[nodes[node].parent as usize] += all_ns[node];
        }
        for (number, node) in nodes.iter().enumerate().skip(1) {
            children[node.parent as usize].push(number as u32);
        }
        Self { nodes, children, all_ns }
    }

    /// The sum of places; replaced places include everything below them.
    pub fn sum(&self, places: &[u32]) -> Sum {
        let mut sum = Sum::default();
        let mut kernels: Map<&str, i64> = Map::default();
        for &place in places {
            let place = &self.nodes[place as usize];
            sum.own += place.own;
            sum.calls = sum.calls.max(place.calls);
            sum.series.resize(place.series.len().max(sum.series.len()), None);
            for (all, own) in sum.series.iter_mut().zip(&place.series) {
                match (all.as_mut(), own) {
                    (Some(all), Some(own)) => all.add(own),
                    (None, Some(own)) => *all = Some(own.clone()),
                    _ => {}
                }
            }
            for (name, (_, ns)) in &place.kernels {
                *kernels.entry(name).or_default() += ns;
            }
        }
        let mut kernels: Vec<(&str, i64)> = kernels.into_iter().collect();
        kernels.sort_by_key(|&(name, ns)| (-ns, name));
        sum.kernels = kernels.into_iter().map(|(name, _)| name.to_string()).collect();
        sum
    }

    /// `aten::add + aten::rms_norm`: the outermost of these places, in order.
    pub fn names(&self, places: &[u32]) -> String {
        let is_outer = |place: &&u32| !places.contains(&self.nodes[**place as usize].parent) || **place == 0;
        let mut names: Vec<&str> =
            places.iter().filter(is_outer).map(|&place| self.nodes[place as usize].name.as_str()).collect();
        names.dedup();
        names.join(" + ")
    }

    /// The path of a place.
    pub fn path(&self, place: u32) -> String {
        let above = |&place: &u32| (place != 0).then(|| self.nodes[place as usize].parent);
        let mut names: Vec<&str> = std::iter::successors(Some(place), above)
            .skip(1)
            .filter(|&place| place != 0)
            .map(|place| self.nodes[place as usize].name.as_str())
            .collect();
        names.reverse();
        names.join(" > ")
    }

    /// A place and everything below it.
    pub fn with_below(&self, place: u32, to: &mut Vec<u32>) {
        to.push(place);
        for &child in &self.children[place as usize] {
            self.with_below(child, to);
        }
    }

    /// Share of the launch-linked GPU time at matched places.
    pub fn matched_pct(&self, matches: &[Match], side: usize) -> f64 {
        let linked = |place: u32| self.nodes[place as usize].name != NOT_LAUNCHED;
        let (mut matched, mut all) = (0, 0);
        for found in matches {
            let places = if side == 0 { &found.base } else { &found.candidate };
            let ns: i64 = places
                .iter()
                .filter(|&&place| linked(place))
                .map(|&place| self.nodes[place as usize].self_ns())
                .sum();
            all += ns;
            if !matches!(found.how, How::Alone | How::Replaced) {
                matched += ns;
            }
        }
        share(matched, all)
    }
}
