//! Single calls while the tree is built: the trace's regions, then the captured ones that replays repeat.

use rayon::prelude::*;
use trace::{Map, Regions, filled};

use crate::ROWS_AT_ONCE;
use crate::attribution::Forest;

/// No call.
pub(super) const NONE: u32 = u32::MAX;

/// Not looked up yet.
const NOT_KNOWN: u32 = 0;

/// Every call with its caller and its node.
pub(super) struct Instances {
    /// The call that encloses it.
    pub parent: Vec<u32>,
    /// Its node plus one, or that of the nearest caller that has one.
    node: Vec<u32>,
    /// Whether that node is its own.
    is_node: Vec<bool>,
    /// GPU time below it; filled from the inside out.
    pub gpu_ns: Vec<i64>,
    /// Whether it has GPU work; after [`Instances::add_up`], whether it or a call below it has.
    pub has_work: Vec<bool>,
    /// Captured calls by (launch of the graph, captured row).
    pub repeated: Map<(u32, bool, u32), u32>,
    regions: usize,
}

impl Instances {
    pub fn of(forest: &Forest) -> Self {
        let parent: Vec<u32> = forest.parents().par_iter().with_min_len(ROWS_AT_ONCE).copied().collect();
        let count = parent.len();
        Self {
            parent,
            node: filled(count, || NOT_KNOWN),
            is_node: filled(count, || false),
            gpu_ns: filled(count, || 0),
            has_work: filled(count, || false),
            repeated: Map::default(),
            regions: count,
        }
    }

    /// The node of a call, or of its nearest caller that has one; else the root. Callers must come first.
    pub fn node(&mut self, call: u32) -> u32 {
        let mut at = call;
        let found = loop {
            if at == NONE {
                break 1;
            }
            match self.node[at as usize] {
                NOT_KNOWN => at = self.parent[at as usize],
                known => break known,
            }
        };
        // So that the next look-up is shorter.
        let mut below = call;
        while below != at {
            self.node[below as usize] = found;
            below = self.parent[below as usize];
        }
        found - 1
    }

    /// The node of a call, if it has its own.
    pub fn own_node(&self, call: u32) -> Option<u32> {
        self.is_node[call as usize].then(|| self.node[call as usize] - 1)
    }

    /// Gives a call a node of its own.
    pub fn set_node(&mut self, call: u32, node: u32) {
        self.node[call as usize] = node + 1;
        self.is_node[call as usize] = true;
    }

    /// Adds a call that a replay repeats.
    pub fn push(&mut self, parent: u32) -> u32 {
        self.parent.push(parent);
        self.node.push(NOT_KNOWN);
        self.is_node.push(false);
        self.gpu_ns.push(0);
        self.has_work.push(false);
        self.parent.len() as u32 - 1
    }

    /// Adds the GPU time of every call to its callers. `launched` lists the calls that have work themselves.
    pub fn add_up(&mut self, launched: &[u32], regions: &Regions, forest: &Forest) {
        for &call in launched {
            let mut above = self.parent[call as usize];
            // Mark the callers of each call that has work.
            while above != NONE && !std::mem::replace(&mut self.has_work[above as usize], true) {
                above = self.parent[above as usize];
            }
        }
        let rows = self.has_work[..self.regions].par_iter().enumerate().with_min_len(ROWS_AT_ONCE);
        let mut rows: Vec<u32> = rows.filter(|(_, has)| **has).map(|(row, _)| row as u32).collect();
        forest.sort_outer_first(regions, &mut rows, |row| *row as usize);
        let repeated = (self.regions as u32..self.parent.len() as u32).rev();
        for call in repeated.chain(rows.into_iter().rev()) {
            let parent = self.parent[call as usize];
            if parent != NONE {
                self.gpu_ns[parent as usize] += self.gpu_ns[call as usize];
            }
        }
    }

    /// A call and its callers.
    pub fn chain(&self, call: u32) -> impl Iterator<Item = u32> + '_ {
        let known = |call: u32| (call != NONE).then_some(call);
        std::iter::successors(known(call), move |&call| known(self.parent[call as usize]))
    }
}
