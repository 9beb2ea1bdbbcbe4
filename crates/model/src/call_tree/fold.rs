//! The tree reduced to some of its levels, with like siblings merged: 36 decoder layers are one row.

use trace::{Map, StrId};

use super::{CallTree, Figures, Node, NodeKind};

/// A node of the folded tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct FoldedNode {
    /// The node above; the root is its own parent.
    pub parent: u32,
    /// What it stands for.
    pub kind: NodeKind,
    /// Class of a module, else the name.
    pub class: StrId,
    /// How many differently named nodes it stands for: instances of a module.
    pub instances: u32,
    /// Levels above it.
    pub depth: u32,
    /// Figures of this node and of the levels that were left out.
    pub own: Figures,
    /// Figures of this node and everything below it.
    pub all: Figures,
    /// GPU time that repeats a forward pass, here and below.
    pub recomputed_ns: i64,
}

/// A folded tree.
#[derive(Clone, Debug, Default)]
pub struct FoldedTree {
    /// The root first, every node after its parent.
    pub nodes: Vec<FoldedNode>,
    /// By node of the full tree: its node here, or that of the nearest kept node above.
    pub of_node: Vec<u32>,
}

impl FoldedTree {
    /// Keeps the nodes that pass `wanted`.
    pub fn of(tree: &CallTree, wanted: impl Fn(&Node) -> bool) -> Self {
        let mut nodes = vec![FoldedNode::default()];
        let mut of_node = vec![0u32; tree.nodes.len()];
        let mut known: Map<(u32, NodeKind, StrId), u32> = Map::default();
        let mut names: Map<(u32, StrId), ()> = Map::default();
        for (place, node) in tree.nodes.iter().enumerate() {
            let mut at = if place == 0 { 0 } else { of_node[node.parent as usize] };
            let is_kept = place > 0 && wanted(node);
            if is_kept {
                let (parent, next) = (at, nodes.len() as u32);
                at = *known.entry((parent, node.kind, node.class)).or_insert(next);
                if at == next {
                    let depth = nodes[parent as usize].depth + 1;
                    let (kind, class) = (node.kind, node.class);
                    nodes.push(FoldedNode { parent, kind, class, depth, ..FoldedNode::default() });
                }
                if names.insert((at, node.name), ()).is_none() {
                    nodes[at as usize].instances += 1;
                }
            }
            of_node[place] = at;
            let folded = &mut nodes[at as usize];
            folded.own.add_work(&node.own);
            folded.recomputed_ns += if node.recomputes { node.own.gpu_ns } else { 0 };
            if is_kept {
                folded.own.calls += node.own.calls;
                folded.own.host_ns += node.own.host_ns;
                folded.own.backward_gpu_ns += node.own.backward_gpu_ns;
            }
        }
        for node in &mut nodes {
            node.all = node.own;
        }
        for place in (1..nodes.len()).rev() {
            let FoldedNode { parent, all, recomputed_ns, .. } = nodes[place];
            let above = &mut nodes[parent as usize];
            above.all.add_work(&all);
            above.recomputed_ns += recomputed_ns;
        }
        Self { nodes, of_node }
    }

    /// Every node after its parent, siblings by GPU time, depth first.
    pub fn in_order(&self) -> Vec<u32> {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate().skip(1) {
            children[node.parent as usize].push(place as u32);
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut open = vec![0u32];
        while let Some(place) = open.pop() {
            order.push(place);
            let below = &mut children[place as usize];
            below.sort_by_key(|&child| (self.nodes[child as usize].all.gpu_ns, std::cmp::Reverse(child)));
            open.append(below);
        }
        order
    }

    /// A node and those above it, the outermost first.
    pub fn path(&self, place: u32) -> Vec<u32> {
        let above = |&place: &u32| (place != 0).then(|| self.nodes[place as usize].parent);
        let mut path: Vec<u32> =
            std::iter::successors(Some(place), above).filter(|&place| place != 0).collect();
        path.reverse();
        path
    }
}
