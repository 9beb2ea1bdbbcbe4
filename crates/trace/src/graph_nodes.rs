//! Graph nodes of replayed kernels and copies, if the source numbers them.

use crate::columns::table;
use crate::links::RowRef;

table! {
    /// Graph nodes, sorted by row. Work outside graphs has none.
    GraphNodes of
    /// One replayed kernel or copy.
    GraphNode {
        /// The kernel or copy.
        row: RowRef,
        /// The instantiated graph, unique per process (rocpd `graph_exec_id`, torch `graph id`).
        exec: i64,
        /// The node in it (rocpd `graph_node_id`, torch `graph node id`).
        node: i64,
    }
}

impl GraphNodes {
    /// The node of a row.
    pub fn of(&self, row: RowRef) -> Option<GraphNode> {
        let place = self.row.binary_search(&row).ok()?;
        Some(self.get(place))
    }

    /// Sorts nodes by row.
    pub(crate) fn sort(&mut self) {
        if !self.row.is_sorted() {
            let mut order: Vec<u32> = (0..self.len() as u32).collect();
            order.sort_by_key(|&i| self.row[i as usize]);
            self.reorder(&order);
        }
    }
}
