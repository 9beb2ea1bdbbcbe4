//! The tree grouped by name: inclusive figures count recursive calls once.

use model::call_tree::{CallTree, Figures, NodeKind};
use trace::{Map, StrId};

use super::ModuleOp;

/// All nodes with one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouped {
    /// The name, in the tree's strings.
    pub name: StrId,
    /// Shapes and types, if the grouping distinguishes them.
    pub arguments: u32,
    /// Calls.
    pub calls: u64,
    /// Calls that launch work themselves.
    pub launching_calls: u64,
    /// GPU time of those calls, children included.
    pub launching_gpu_ns: i64,
    /// GPU time launched here and not below another row of the same table.
    pub self_gpu_ns: i64,
    /// Inclusive work, with its launches, delays and queues; `host_ns` is that of the outermost calls.
    pub all: Figures,
    /// The part of the inclusive GPU time that recomputes a forward pass.
    pub recomputed_ns: i64,
}

impl Grouped {
    /// Counts only calls that launch work themselves, as TraceLens does.
    pub(super) fn count_launching(&mut self) {
        self.calls = self.launching_calls;
        self.all.gpu_ns = self.launching_gpu_ns;
    }
}

/// For each node, the op that owns its work, or whatever launched it if no op encloses the launch.
pub(super) fn owners(tree: &CallTree) -> Vec<u32> {
    let ops = tree.nearest(|kind| kind == NodeKind::Op);
    let mut owns: Vec<bool> = tree.nodes.iter().map(|node| node.kind == NodeKind::Op).collect();
    for node in tree.nodes.iter().filter(|node| node.kind == NodeKind::Work) {
        owns[node.parent as usize] |= ops[node.parent as usize] == 0;
    }
    let mut owners = vec![0; tree.nodes.len()];
    for (place, node) in tree.nodes.iter().enumerate().skip(1) {
        owners[place] = if owns[place] { place as u32 } else { owners[node.parent as usize] };
    }
    owners
}

/// Groups all nodes that have a key, largest self GPU time first.
pub(super) fn by(
    tree: &CallTree,
    inclusive: &[Figures],
    key: impl Fn(usize) -> Option<(StrId, u32)>,
) -> Vec<Grouped> {
    let mut rows: Vec<Grouped> = Vec::new();
    let mut known: Map<(StrId, u32), u32> = Map::default();
    let mut row_of: Vec<Option<u32>> = vec![None; tree.nodes.len()];
    // The row that owns each node's work.
    let mut nearest: Vec<Option<u32>> = vec![None; tree.nodes.len()];
    for place in 1..tree.nodes.len() {
        let node = &tree.nodes[place];
        nearest[place] = nearest[node.parent as usize];
        if let Some((name, arguments)) = key(place) {
            let row = *known.entry((name, arguments)).or_insert_with(|| {
                rows.push(Grouped { name, arguments, ..Grouped::default() });
                rows.len() as u32 - 1
            });
            (row_of[place], nearest[place]) = (Some(row), Some(row));
            let group = &mut rows[row as usize];
            group.calls += node.own.calls;
            group.launching_calls += node.own.launching_calls;
            group.launching_gpu_ns += node.own.launching_gpu_ns;
        }
        if let Some(row) = nearest[place] {
            rows[row as usize].self_gpu_ns += node.own.gpu_ns;
        }
    }
    let recomputed = recomputed(tree);
    // Inclusive figures count only the outermost of nested calls with one name.
    let children = tree.children();
    let mut open_calls = vec![0u32; rows.len()];
    let mut open: Vec<(u32, bool)> = vec![(0, false)];
    while let Some((place, is_done)) = open.pop() {
        let at = place as usize;
        let row = row_of[at];
        if is_done {
            if let Some(row) = row {
                open_calls[row as usize] -= 1;
            }
            continue;
        }
        if let Some(row) = row {
            if open_calls[row as usize] == 0 {
                let group = &mut rows[row as usize];
                let own = &tree.nodes[at].own;
                group.all.add_work(&inclusive[at]);
                group.all.host_ns += own.host_ns;
                group.all.backward_gpu_ns += own.backward_gpu_ns;
                group.recomputed_ns += recomputed[at];
            }
            open_calls[row as usize] += 1;
        }
        open.push((place, true));
        open.extend(children[at].iter().rev().map(|&child| (child, false)));
    }
    // Calls of a separate capture are not counted, and may have no work here.
    rows.retain(|row| row.calls > 0 || row.all.work > 0);
    let order = |row: &Grouped| (-row.self_gpu_ns, -row.all.gpu_ns, -row.all.host_ns);
    rows.sort_by(|a, b| {
        order(a)
            .cmp(&order(b))
            .then_with(|| tree.strings.get(a.name).cmp(tree.strings.get(b.name)))
            .then_with(|| a.arguments.cmp(&b.arguments))
    });
    rows
}

/// For each node, the GPU time at and below it that recomputes a forward pass.
fn recomputed(tree: &CallTree) -> Vec<i64> {
    let own = tree.nodes.iter().map(|node| if node.recomputes { node.own.gpu_ns } else { 0 });
    let mut below: Vec<i64> = own.collect();
    for place in (1..below.len()).rev() {
        below[tree.nodes[place].parent as usize] += below[place];
    }
    below
}

/// GPU work by class of the nearest module and by op.
pub(super) fn module_ops(tree: &CallTree, owners: &[u32]) -> Vec<ModuleOp> {
    let modules = tree.nearest(|kind| kind == NodeKind::Module);
    let mut rows: Vec<ModuleOp> = Vec::new();
    let mut known: Map<(Option<StrId>, StrId), usize> = Map::default();
    let mut row_of = |rows: &mut Vec<ModuleOp>, owner: usize| {
        let module = modules[owner] as usize;
        let module = (module != 0).then(|| tree.nodes[module].class);
        let op = tree.nodes[owner].name;
        *known.entry((module, op)).or_insert_with(|| {
            rows.push(ModuleOp { module, op, calls: 0, self_gpu_ns: 0 });
            rows.len() - 1
        })
    };
    for (place, node) in tree.nodes.iter().enumerate().skip(1) {
        let (own, owner) = (&node.own, owners[place] as usize);
        if own.gpu_ns != 0 {
            let row = row_of(&mut rows, owner);
            rows[row].self_gpu_ns += own.gpu_ns;
        }
        if owner == place && own.launching_calls > 0 {
            let row = row_of(&mut rows, owner);
            rows[row].calls += own.launching_calls;
        }
    }
    rows.sort_by(|a, b| {
        let names =
            |row: &ModuleOp| (row.module.map(|module| tree.strings.get(module)), tree.strings.get(row.op));
        b.self_gpu_ns.cmp(&a.self_gpu_ns).then_with(|| names(a).cmp(&names(b)))
    });
    rows
}
