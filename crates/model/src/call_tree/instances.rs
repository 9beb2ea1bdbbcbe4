//! Calls one by one while the tree is built: the regions of the trace, then the captured ones that replays repeat.

use trace::{Map, Regions};

use crate::attribution::Forest;

/// None.
pub(super) const NONE: u32 = u32::MAX;

/// Every call with its caller and its node.
pub(super) struct Instances {
    /// The call that encloses it.
    pub parent: Vec<u32>,
    /// Its node, or that of the nearest caller that has one.
    pub node: Vec<u32>,
    /// Whether `node` is its own.
    pub is_node: Vec<bool>,
    /// GPU time below it; filled from the inside out.
    pub gpu_ns: Vec<i64>,
    /// Whether GPU work is below it.
    pub has_work: Vec<bool>,
    /// Regions of the trace, outer before inner.
    order: Vec<u32>,
    /// Captured calls by (launch of the graph, captured row).
    pub repeated: Map<(u32, bool, u32), u32>,
}

impl Instances {
    pub fn of(regions: &Regions, forest: &Forest) -> Self {
        let count = regions.len();
        let parent = (0..count).map(|row| forest.parent(row).map_or(NONE, |parent| parent as u32)).collect();
        Self {
            parent,
            node: vec![0; count],
            is_node: vec![false; count],
            gpu_ns: vec![0; count],
            has_work: vec![false; count],
            order: forest.outer_first(regions),
            repeated: Map::default(),
        }
    }

    /// Adds a call that a replay repeats.
    pub fn push(&mut self, parent: u32, node: u32, is_node: bool) -> u32 {
        self.parent.push(parent);
        self.node.push(node);
        self.is_node.push(is_node);
        self.gpu_ns.push(0);
        self.has_work.push(false);
        self.parent.len() as u32 - 1
    }

    /// Regions of the trace, every one after those that enclose it.
    pub fn take_order(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.order)
    }

    pub fn put_order(&mut self, order: Vec<u32>) {
        self.order = order;
    }

    /// Adds the GPU time of every call to its callers.
    pub fn add_up(&mut self) {
        let regions = self.order.len();
        let repeated = (regions as u32..self.parent.len() as u32).rev();
        for call in repeated.chain(self.order.iter().rev().copied()) {
            let parent = self.parent[call as usize];
            if parent != NONE {
                self.gpu_ns[parent as usize] += self.gpu_ns[call as usize];
                self.has_work[parent as usize] |= self.has_work[call as usize];
            }
        }
    }

    /// A call and its callers.
    pub fn chain(&self, call: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |call: u32| (call != NONE).then_some(call);
        std::iter::successors(known(call), move |&call| known(self.parent[call as usize]))
    }
}
