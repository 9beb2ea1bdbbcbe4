//! From regions and GPU work to the tree.

use trace::{LinkKind, Map, RowRef, StrId, Strings, Table, Trace};

use super::instances::{Instances, NONE};
use super::{Arguments, CallTree, Figures, NOT_LAUNCHED, Node, NodeKind, queue};
use crate::Run;
use crate::attribution::frames::Roles;
use crate::attribution::locate::one_line;
use crate::attribution::{Forest, FrameRules, IdIndex, Origin, Role, module_class};
use crate::calls::Calls;

/// What the tree is made of.
#[derive(Clone, Copy, Default)]
pub struct TreeOptions<'a> {
    /// The trace that replays were joined to.
    pub mapping: Option<&'a Trace>,
    /// Leaves out work whose launch was not recorded.
    pub linked: bool,
    /// Leaves out calls without GPU work: they are no part of a selection of work.
    pub only_with_work: bool,
    /// Keeps where each row is.
    pub keep_rows: bool,
}

impl CallTree {
    /// The tree of all GPU work of a run that is looked at.
    pub fn of(run: &Run, options: &TreeOptions) -> Self {
        let mut builder = Builder::new(run, options);
        builder.place_regions();
        builder.place_work();
        builder.count_calls();
        builder.link_backward();
        builder.tree
    }
}

/// What is looked up in one of the two traces.
struct Names<'a> {
    trace: &'a Trace,
    calls: Calls,
    roles: Roles<'a>,
    /// By string: what a frame of that name is, once one was met.
    frames: Vec<Option<Option<NodeKind>>>,
    op: Option<StrId>,
    python: Option<StrId>,
    annotation: Option<StrId>,
    /// By string of the trace: that of the tree.
    carried: Vec<StrId>,
    /// By region: its arguments in the tree.
    arguments: Vec<u32>,
}

const UNKNOWN: StrId = StrId(u32::MAX);

impl<'a> Names<'a> {
    fn of(trace: &'a Trace, tree: &mut CallTree, known: &mut Map<Arguments, u32>) -> Self {
        let category = |name| trace.strings.find(name);
        let mut names = Self {
            trace,
            calls: Calls::of(trace),
            roles: Roles::new(FrameRules::built_in(), &trace.strings),
            frames: vec![None; trace.strings.len()],
            op: category("cpu_op"),
            python: category("python_function"),
            annotation: category("user_annotation"),
            carried: vec![UNKNOWN; trace.strings.len()],
            arguments: Vec::new(),
        };
        names.read_arguments(tree, known);
        names
    }

    /// One pass over the arguments, which come in the order of their owners.
    fn read_arguments(&mut self, tree: &mut CallTree, known: &mut Map<Arguments, u32>) {
        let trace = self.trace;
        let find = |key| trace.strings.find(key);
        let keys = (find("Input Dims"), find("Input type"));
        if keys == (None, None) {
            return;
        }
        self.arguments = vec![0; trace.regions.len()];
        let mut texts: Vec<StrId> = vec![UNKNOWN; trace.strings.len()];
        let mut carry = |id: StrId, strings: &mut Strings| {
            let slot = &mut texts[id.0 as usize];
            if *slot == UNKNOWN {
                *slot = strings.intern(&one_line(trace.strings.get(id)));
            }
            *slot
        };
        let args = &trace.args;
        let mut i = 0;
        while i < args.len() {
            let owner = args.owner[i];
            let mut found = Arguments::default();
            while i < args.len() && args.owner[i] == owner {
                if Some(args.name[i]) == keys.0 {
                    found.shapes = carry(args.value[i], &mut tree.strings);
                } else if Some(args.name[i]) == keys.1 {
                    found.types = carry(args.value[i], &mut tree.strings);
                }
                i += 1;
            }
            if let Some(row) = owner.row_of(Table::Regions)
                && found != Arguments::default()
            {
                let next = tree.arguments.len() as u32;
                self.arguments[row] = *known.entry(found).or_insert_with(|| {
                    tree.arguments.push(found);
                    next
                });
            }
        }
    }

    /// What a region is in the tree; nothing for what is left out of it.
    fn kind(&mut self, row: usize) -> Option<NodeKind> {
        let (name, category) = (self.trace.regions.name[row], Some(self.trace.regions.category[row]));
        if category == self.op {
            return Some(NodeKind::Op);
        }
        if category == self.python {
            let (roles, text) = (&mut self.roles, self.trace.strings.get(name));
            return *self.frames[name.0 as usize].get_or_insert_with(|| match roles.of(name) {
                Role::Module => Some(NodeKind::Module),
                // Of torch's own frames only this one tells something.
                Role::Noise => starts_recompute(text).then_some(NodeKind::Frame),
                Role::Wrapper | Role::Source { .. } => Some(NodeKind::Frame),
            });
        }
        if category != self.annotation && self.calls.of_region(self.trace, row).is_some() {
            return Some(NodeKind::Call);
        }
        Some(NodeKind::Annotation)
    }

    fn name(&mut self, row: usize, kind: NodeKind, strings: &mut Strings) -> StrId {
        let id = self.trace.regions.name[row];
        let slot = &mut self.carried[id.0 as usize];
        if *slot == UNKNOWN {
            let text = self.trace.strings.get(id);
            *slot = match kind {
                // Steps are numbered; they are one place of the program.
                NodeKind::Annotation => strings.intern(&without_numbers(text)),
                NodeKind::Frame => strings.intern(&FrameRules::built_in().shown(text)),
                _ => strings.intern(text),
            };
        }
        *slot
    }

    fn arguments(&self, row: usize) -> u32 {
        self.arguments.get(row).copied().unwrap_or(0)
    }
}

struct Builder<'r, 'a> {
    run: &'r Run<'a>,
    options: TreeOptions<'r>,
    tree: CallTree,
    own: Names<'r>,
    mapping: Option<(Names<'r>, Forest)>,
    forest: &'r Forest,
    calls: Instances,
    /// Calls that launch GPU work themselves.
    launching: Vec<bool>,
    known: Map<(u32, NodeKind, StrId, u32), u32>,
    /// By node: whether an op, frame or module is at or above it; whether an op is.
    is_located: Vec<(bool, bool)>,
    work_names: Vec<StrId>,
}

impl<'r, 'a> Builder<'r, 'a> {
    fn new(run: &'r Run<'a>, options: &TreeOptions<'r>) -> Self {
        let trace: &'r Trace = run.trace;
        let mut tree = CallTree {
            nodes: vec![Node::default()],
            arguments: vec![Arguments::default()],
            ..CallTree::default()
        };
        let mut arguments = Map::default();
        let own = Names::of(trace, &mut tree, &mut arguments);
        let forest = &run.attribution.forest;
        let mapping = options.mapping.map(|mapping| {
            let forest = Forest::of(&mapping.regions, &mapping.strings);
            (Names::of(mapping, &mut tree, &mut arguments), forest)
        });
        let calls = Instances::of(&trace.regions, forest);
        Self {
            run,
            options: *options,
            tree,
            own,
            mapping,
            forest,
            calls,
            launching: Vec::new(),
            known: Map::default(),
            is_located: vec![(false, false)],
            work_names: vec![UNKNOWN; trace.strings.len()],
        }
    }

    /// The node of a place below `parent`.
    fn node(&mut self, parent: u32, kind: NodeKind, name: StrId, arguments: u32) -> u32 {
        let next = self.tree.nodes.len() as u32;
        let node = *self.known.entry((parent, kind, name, arguments)).or_insert(next);
        if node == next {
            let text = self.tree.strings.get(name);
            let above = &self.tree.nodes[parent as usize];
            let recomputes = match kind {
                NodeKind::Frame => above.recomputes || starts_recompute(text),
                NodeKind::Op if text.starts_with(BACKWARD) => text.contains(CHECKPOINT),
                _ => above.recomputes,
            };
            let (located, has_op) = self.is_located[parent as usize];
            let is_op = kind == NodeKind::Op;
            let locates = matches!(kind, NodeKind::Op | NodeKind::Module | NodeKind::Frame);
            self.is_located.push((located || locates, has_op || is_op));
            let class = match kind {
                NodeKind::Module => {
                    let class = class_of(self.tree.strings.get(name)).to_string();
                    self.tree.strings.intern(&class)
                }
                _ => name,
            };
            let own = Figures::default();
            self.tree.nodes.push(Node { parent, kind, name, class, arguments, recomputes, own });
        }
        node
    }

    /// Gives every region that matters its node.
    fn place_regions(&mut self) {
        let regions = &self.run.trace.regions;
        let mut leads_to_work = vec![false; regions.len()];
        let mut ops: Option<IdIndex> = None;
        for &row in &self.run.rows {
            let Some(launch) = self.launch(row) else { continue };
            if leads_to_work[launch] {
                continue;
            }
            let mut has_op = false;
            for outer in self.forest.chain(launch) {
                has_op |= Some(regions.category[outer]) == self.own.op;
                // What encloses a marked region is marked too.
                if std::mem::replace(&mut leads_to_work[outer], true) && has_op {
                    break;
                }
            }
            // A launch outside any op on its thread may carry the id of its op.
            if let (false, Some(id)) = (has_op, regions.external[launch].get()) {
                let index = ops.get_or_insert_with(|| op_index(self.run.trace));
                let op = index.get(self.run.trace, regions.process[launch], id);
                if let Some(op) = op.filter(|&op| regions.start[op] < regions.start[launch]) {
                    self.calls.parent[launch] = op as u32;
                    self.forest.chain(op).for_each(|outer| leads_to_work[outer] = true);
                }
            }
        }
        let order = self.calls.take_order();
        for &row in &order {
            let row = row as usize;
            let parent = self.calls.parent[row];
            let above = if parent == NONE { 0 } else { self.calls.node[parent as usize] };
            let kind = self.own.kind(row).filter(|kind| {
                leads_to_work[row]
                    || !self.options.only_with_work && matches!(kind, NodeKind::Op | NodeKind::Module)
            });
            self.calls.node[row] = match kind {
                Some(kind) => {
                    let name = self.own.name(row, kind, &mut self.tree.strings);
                    let arguments = self.own.arguments(row);
                    self.calls.is_node[row] = true;
                    self.node(above, kind, name, arguments)
                }
                None => above,
            };
        }
        self.calls.put_order(order);
    }

    fn launch(&self, row: RowRef) -> Option<usize> {
        self.run.launch_of(row)
    }

    /// Puts every piece of GPU work below its launch.
    fn place_work(&mut self) {
        let run = self.run;
        let (trace, work) = (run.trace, &run.work);
        let regions = &trace.regions;
        let queue = queue::lengths(work, |place| work.launch_of(place).map(|launch| regions.start[launch]));
        let mut ops: Option<IdIndex> = None;
        self.launching = vec![false; regions.len()];
        for &row in &run.rows {
            let Some(place) = run.place(row) else { continue };
            let launch = work.launch_of(place);
            let ns = work.duration(place);
            let mut own = Figures { gpu_ns: ns, work: 1, ..Figures::default() };
            let call = match (launch, run.attribution.origin(row)) {
                (Some(launch), Some(origin)) => Some(self.repeat(launch as u32, origin)),
                (Some(launch), None) => Some(launch as u32),
                (None, Some(origin)) => Some(self.repeat(NONE, origin)),
                (None, None) => None,
            };
            if let Some(launch) = launch {
                own.delay_ns = (work.start[place] - regions.end[launch]).max(0);
                (own.delayed, own.queued) = (1, u64::from(queue[place]));
            } else {
                self.tree.unlinked_ns += ns;
                self.tree.unlinked += 1;
                if self.options.linked {
                    continue;
                }
            }
            let call = call.or_else(|| {
                let external = match row.get()? {
                    (Table::Kernels, row) => trace.kernels.external[row].get()?,
                    _ => return None,
                };
                let index = ops.get_or_insert_with(|| op_index(trace));
                index.get(trace, work.process(place), external).map(|op| op as u32)
            });
            let below = match call {
                Some(call) => self.calls.node[call as usize],
                None => {
                    let name = self.tree.strings.intern(NOT_LAUNCHED);
                    self.node(0, NodeKind::Annotation, name, 0)
                }
            };
            if let Some(call) = call {
                let at = call as usize;
                own.launches = u64::from(!self.calls.has_work[at]);
                self.calls.has_work[at] = true;
                self.calls.gpu_ns[at] += ns;
                let (located, has_op) = self.is_located[below as usize];
                self.tree.located_ns += if located { ns } else { 0 };
                let starter = if has_op { self.op_of(call) } else { Some(call) };
                self.launching.resize(self.calls.parent.len(), false);
                if let Some(starter) = starter {
                    self.launching[starter as usize] = true;
                }
            }
            let name = self.work_name(work.name[place]);
            let node = self.node(below, NodeKind::Work, name, 0);
            if self.options.keep_rows {
                self.tree.rows.push((row, node));
            }
            let at = &mut self.tree.nodes[node as usize].own;
            at.add_work(&own);
            at.calls += 1;
        }
    }

    /// The op that a call is in, or is.
    fn op_of(&self, call: u32) -> Option<u32> {
        let is_op = |call: &u32| {
            let at = *call as usize;
            self.calls.is_node[at] && self.tree.nodes[self.calls.node[at] as usize].kind == NodeKind::Op
        };
        self.calls.chain(call).find(is_op)
    }

    fn work_name(&mut self, name: StrId) -> StrId {
        let slot = &mut self.work_names[name.0 as usize];
        if *slot == UNKNOWN {
            *slot = self.tree.strings.intern(self.run.trace.strings.get(name));
        }
        *slot
    }

    /// The captured call that a replay repeats, below the launch of its graph.
    fn repeat(&mut self, launch: u32, origin: Origin) -> u32 {
        let key = |row: u32| (launch, origin.in_mapping, row);
        // From the inside out until a call that this replay has already.
        let mut chain: Vec<u32> = Vec::new();
        let mut call = launch;
        let forest = match &self.mapping {
            Some((_, forest)) if origin.in_mapping => forest,
            _ => self.forest,
        };
        for row in forest.chain(origin.launch as usize) {
            if let Some(&known) = self.calls.repeated.get(&key(row as u32)) {
                call = known;
                break;
            }
            chain.push(row as u32);
        }
        for row in chain.into_iter().rev() {
            let above = if call == NONE { 0 } else { self.calls.node[call as usize] };
            let names = match &mut self.mapping {
                Some((names, _)) if origin.in_mapping => names,
                _ => &mut self.own,
            };
            let place = row as usize;
            let is_step = |kind: &NodeKind| *kind != NodeKind::Annotation;
            let (node, is_node) = match names.kind(place).filter(is_step) {
                Some(kind) => {
                    let name = names.name(place, kind, &mut self.tree.strings);
                    let arguments = names.arguments(place);
                    (self.node(above, kind, name, arguments), true)
                }
                None => (above, false),
            };
            call = self.calls.push(call, node, is_node);
            self.calls.repeated.insert(key(row), call);
        }
        call
    }

    /// Counts the calls of every node, with their host time.
    fn count_calls(&mut self) {
        self.calls.add_up();
        self.launching.resize(self.calls.parent.len(), false);
        let regions = &self.run.trace.regions;
        for call in 0..self.calls.parent.len() {
            if !self.calls.is_node[call] || self.options.only_with_work && !self.calls.has_work[call] {
                continue;
            }
            // A capture beside the run tells where work comes from; its calls are none of the run's.
            if call < regions.len() && !self.run.recordings.counts(regions.process[call]) {
                continue;
            }
            let own = &mut self.tree.nodes[self.calls.node[call] as usize].own;
            own.calls += 1;
            // What a replay repeats costs the host nothing.
            if call < regions.len() {
                own.host_ns += regions.end[call] - regions.start[call];
            }
            if self.launching[call] {
                own.launching_calls += 1;
                own.launching_gpu_ns += self.calls.gpu_ns[call];
            }
        }
    }

    /// Charges the GPU time of backward ops to the forward ops they belong to, and to what called those.
    fn link_backward(&mut self) {
        let links = &self.run.trace.links;
        let mut last = RowRef::NONE;
        for i in 0..links.len() {
            // Several forward ops may share a backward op; the first one, which is the outermost, has it.
            if links.kind[i] != LinkKind::ForwardBackward || links.to[i] == last {
                continue;
            }
            last = links.to[i];
            let rows = (links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Regions));
            let (Some(forward), Some(backward)) = rows else { continue };
            let ns = self.calls.gpu_ns[backward];
            if ns == 0 {
                continue;
            }
            let chain: Vec<u32> = self.calls.chain(forward as u32).collect();
            for call in chain {
                if self.calls.is_node[call as usize] {
                    let node = self.calls.node[call as usize] as usize;
                    self.tree.nodes[node].own.backward_gpu_ns += ns;
                }
            }
        }
    }
}

fn op_index(trace: &Trace) -> IdIndex {
    let op = trace.strings.find("cpu_op");
    let is_op = |row: &u32| Some(trace.regions.category[*row as usize]) == op;
    let rows: Vec<u32> = (0..trace.regions.len() as u32).filter(is_op).collect();
    IdIndex::of(trace, &rows)
}

/// Backward ops as the autograd engine runs them.
const BACKWARD: &str = "autograd::engine::evaluate_function: ";

/// The backward op below which a forward pass is repeated.
const CHECKPOINT: &str = "CheckpointFunctionBackward";

/// Whether a frame repeats a forward pass: `torch/utils/checkpoint.py(1399): recompute_fn`.
fn starts_recompute(frame: &str) -> bool {
    frame.contains("checkpoint.py") && (frame.ends_with("recompute_fn") || frame.ends_with(": unpack_hook"))
}

/// `nn.Module: RMSNorm_12` is an `RMSNorm`.
fn class_of(module: &str) -> &str {
    module_class(module.strip_prefix("nn.Module: ").unwrap_or(module))
}

/// Every run of digits as one `#`.
fn without_numbers(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            text.push(c);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
    text
}
