//! The call tree: which modules, Python frames and ops led to which GPU work, all calls of one place merged.
//!
//! ```text
//! kernel ─► launch ─► enclosing regions (by time on the thread) ─► one node for each distinct path
//! replayed kernel ─► its captured launch ─► the capture's regions, below the launch of the graph
//! ```
//!
//! `ops`, the structural comparison and the flame graph read the same tree. A node has its own figures;
//! [`CallTree::inclusive`] adds those below it. Every nanosecond of GPU time is at one node, so any grouping
//! of nodes adds up to the total.
//!
//! Costs: linear passes over the regions and the GPU work; about 30 bytes for each region while it is built.

mod build;
mod fold;
mod instances;
mod names;
mod queue;

pub use build::TreeOptions;
pub use fold::{FoldedNode, FoldedTree};

use trace::{RowRef, StrId, Strings};

/// What a node stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// The whole run.
    #[default]
    Root,
    /// A range that the program or its profiler named.
    Annotation,
    /// A call of an `nn.Module`.
    Module,
    /// A Python frame.
    Frame,
    /// An op of the framework.
    Op,
    /// A runtime call that launches GPU work.
    Call,
    /// A kernel, copy or fill.
    Work,
}

/// One place in the program: a distinct path from the root.
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// The place that called it; the root is its own parent.
    pub parent: u32,
    /// What it stands for.
    pub kind: NodeKind,
    /// Its name, in [`CallTree::strings`].
    pub name: StrId,
    /// Equal for all instances: the class of a module, else its name.
    pub class: StrId,
    /// Shapes and types of its arguments, an index into [`CallTree::arguments`].
    pub arguments: u32,
    /// Whether its work repeats a forward pass for the backward pass.
    pub recomputes: bool,
    /// Its own figures, without those below.
    pub own: Figures,
}

/// Shapes and types of an op's arguments as the trace writes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arguments {
    /// `[[16, 1024], [1024]]`
    pub shapes: StrId,
    /// `["c10::BFloat16", "float"]`
    pub types: StrId,
}

/// Sums over the calls of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Calls of the place itself.
    pub calls: u64,
    /// Time of those calls on the host.
    pub host_ns: i64,
    /// Calls that launch GPU work themselves, not through another op.
    pub launching_calls: u64,
    /// GPU time of those calls and everything below.
    pub launching_gpu_ns: i64,
    /// GPU time of the backward pass of those calls.
    pub backward_gpu_ns: i64,
    /// GPU time.
    pub gpu_ns: i64,
    /// Kernels, copies and fills.
    pub work: u64,
    /// Launches.
    pub launches: u64,
    /// Time from the end of the launch to the start of the work, over all work in `delayed`.
    pub delay_ns: i64,
    /// Work whose launch is known.
    pub delayed: u64,
    /// Length of the queue on its stream at launch, summed over all work in `delayed`.
    pub queued: u64,
}

impl Figures {
    /// Adds the figures about GPU work: those that a node shares with everything below it.
    pub fn add_work(&mut self, below: &Figures) {
        self.gpu_ns += below.gpu_ns;
        self.work += below.work;
        self.launches += below.launches;
        self.delay_ns += below.delay_ns;
        self.delayed += below.delayed;
        self.queued += below.queued;
    }

    /// Mean time from launch to start.
    pub fn mean_delay_ns(&self) -> Option<i64> {
        (self.delayed > 0).then(|| self.delay_ns / self.delayed as i64)
    }

    /// Mean length of the queue at launch.
    pub fn mean_queue(&self) -> Option<f64> {
        (self.delayed > 0).then(|| self.queued as f64 / self.delayed as f64)
    }
}

/// The call tree of a run.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// Names, shapes and types.
    pub strings: Strings,
    /// The root first, every node after its parent, siblings in the order of their first call.
    pub nodes: Vec<Node>,
    /// Distinct arguments; the first is "unknown".
    pub arguments: Vec<Arguments>,
    /// GPU time whose launch was not recorded. It is at the root unless `linked` leaves it out.
    pub unlinked_ns: i64,
    /// Work whose launch was not recorded.
    pub unlinked: u64,
    /// The node of each row of GPU work, in time order, if requested.
    pub rows: Vec<(RowRef, u32)>,
    /// GPU time of work inside an `nn.Module`, a frame or an op.
    pub located_ns: i64,
}

/// Name of the node of work whose launch was not recorded.
pub const NOT_LAUNCHED: &str = "(launch not recorded)";

impl CallTree {
    /// The name of a node.
    pub fn name(&self, node: usize) -> &str {
        self.strings.get(self.nodes[node].name)
    }

    /// The node that called it; `None` for the root.
    pub fn parent(&self, node: usize) -> Option<usize> {
        (node != 0).then(|| self.nodes[node].parent as usize)
    }

    /// A node and those above it, without the root.
    pub fn path(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(node), |&node| self.parent(node)).filter(|&node| node != 0)
    }

    /// By node: its figures with the work of all below it.
    pub fn inclusive(&self) -> Vec<Figures> {
        let mut all: Vec<Figures> = self.nodes.iter().map(|node| node.own).collect();
        for node in (1..all.len()).rev() {
            let below = all[node];
            all[self.nodes[node].parent as usize].add_work(&below);
        }
        all
    }

    /// By node: the nearest node of such a kind at or above it; else the root.
    pub fn nearest(&self, is: impl Fn(NodeKind) -> bool) -> Vec<u32> {
        let mut nearest = vec![0; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate().skip(1) {
            nearest[place] = if is(node.kind) { place as u32 } else { nearest[node.parent as usize] };
        }
        nearest
    }

    /// By node: its children in the order of their first call.
    pub fn children(&self) -> Vec<Vec<u32>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate().skip(1) {
            children[node.parent as usize].push(place as u32);
        }
        children
    }

    /// All GPU time in the tree.
    pub fn gpu_ns(&self) -> i64 {
        self.nodes.iter().map(|node| node.own.gpu_ns).sum()
    }

    /// Whether any node is of a kind.
    pub fn has(&self, kind: NodeKind) -> bool {
        self.nodes.iter().any(|node| node.kind == kind)
    }
}
