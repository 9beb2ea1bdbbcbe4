//! `ops`: GPU and host time by op, by op and shapes, by `nn.Module` and by Python frame.
//!
//! ```text
//! model::CallTree ─┬─► grouped by name (ops, shapes, frames)
//!                  ├─► folded to modules, as a tree
//!                  └─► folded stacks, flame graph
//! ```
//!
//! `self` is work launched directly, not through another row, so the column adds up to the GPU time.
//! Cost: one pass over the nodes of the tree per table.

mod charts;
mod group;
mod present;
mod stacks;

pub use charts::charts;
pub use group::Grouped;
pub use present::{module_table, op_table, present, tables};
pub use stacks::folded_stacks;

use model::Run;
use model::attribution;
use model::call_tree::{CallTree, FoldedTree, NodeKind, TreeOptions};
use rayon::join;
use trace::{Needs, StrId, Trace};

/// Options of `ops`.
#[derive(Clone, Copy, Default)]
pub struct OpsOptions<'a> {
    /// The trace that shows which ops replayed kernels come from.
    pub mapping: Option<&'a Trace>,
    /// Only ops that launch GPU work themselves, and only work whose launch was recorded.
    pub linked: bool,
    /// Only calls that launched work inside the selected part of the run.
    pub is_part: bool,
}

/// Where GPU work comes from, in several groupings of one tree.
pub struct Ops {
    /// The tree that all groupings are built from.
    pub tree: CallTree,
    /// By op, or by runtime call if no op encloses the launch.
    pub ops: Vec<Grouped>,
    /// By op, shapes and types.
    pub shapes: Vec<Grouped>,
    /// By Python frame.
    pub frames: Vec<Grouped>,
    /// By class of module and op.
    pub module_ops: Vec<ModuleOp>,
    /// The modules as a tree.
    pub modules: FoldedTree,
    /// Whether only linked work was counted.
    pub linked: bool,
    /// All counted GPU time.
    pub gpu_ns: i64,
}

/// The work of an op directly below modules of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModuleOp {
    /// Class of the module; `None` if no module encloses the op.
    pub module: Option<StrId>,
    /// The op.
    pub op: StrId,
    /// Calls that launch GPU work.
    pub calls: u64,
    /// GPU time that the op launches itself.
    pub self_gpu_ns: i64,
}

/// What to read from a trace for `ops`.
pub fn ops_needs() -> Needs {
    Needs { forward_backward: true, ..attribution::needs() }
}

/// The ops of a run that was read with [`ops_needs`].
pub fn compute(run: &Run, options: &OpsOptions) -> Ops {
    let tree_options = TreeOptions {
        mapping: options.mapping,
        linked: options.linked,
        only_with_work: options.is_part,
        ..TreeOptions::default()
    };
    of_tree(CallTree::of(run, &tree_options), options.linked)
}

/// The groupings of a tree.
pub fn of_tree(tree: CallTree, linked: bool) -> Ops {
    let owners = group::owners(&tree);
    let only_launching = |mut rows: Vec<Grouped>| {
        rows.retain(|row| !linked || row.launching_calls > 0);
        if linked {
            rows.iter_mut().for_each(Grouped::count_launching);
        }
        rows
    };
    let op_key = |node: usize| (owners[node] == node as u32).then(|| (tree.nodes[node].name, 0));
    let shape_key = |node: usize| op_key(node).map(|(name, _)| (name, tree.nodes[node].arguments));
    let is_frame = |node: usize| tree.nodes[node].kind == NodeKind::Frame;
    let frame_key = |node: usize| is_frame(node).then(|| (tree.nodes[node].name, 0));
    let inclusive = tree.inclusive();
    let ((ops, shapes), (frames, (modules, module_ops))) = join(
        || {
            join(
                || only_launching(group::by(&tree, &inclusive, op_key)),
                || only_launching(group::by(&tree, &inclusive, shape_key)),
            )
        },
        || {
            join(
                || group::by(&tree, &inclusive, frame_key),
                || {
                    join(
                        || FoldedTree::of(&tree, |node| node.kind == NodeKind::Module),
                        || group::module_ops(&tree, &owners),
                    )
                },
            )
        },
    );
    let gpu_ns = tree.gpu_ns();
    Ops { ops, shapes, frames, module_ops, modules, linked, gpu_ns, tree }
}
