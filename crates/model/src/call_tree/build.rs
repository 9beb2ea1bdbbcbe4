//! From regions and GPU work to the tree.

use rayon::prelude::*;
use trace::{LinkKind, Map, RowRef, StrId, Table, Trace, filled};

use super::instances::{Instances, NONE};
use super::names::{Names, UNKNOWN, starts_recompute};
use super::{Arguments, CallTree, Figures, NOT_LAUNCHED, Node, NodeKind, queue};
use crate::attribution::{Forest, IdIndex, Origin, module_class};
use crate::marks::Marks;
use crate::{ROWS_AT_ONCE, Run};

/// What goes into the tree.
#[derive(Clone, Copy, Default)]
pub struct TreeOptions<'a> {
    /// The trace that replays were joined to.
    pub mapping: Option<&'a Trace>,
    /// Leaves out work whose launch was not recorded.
    pub linked: bool,
    /// Leaves out calls without GPU work: a selection of work does not include them.
    pub only_with_work: bool,
    /// Keeps the node of each row.
    pub keep_rows: bool,
}

impl CallTree {
    /// The tree of all selected GPU work of a run.
    pub fn of(run: &Run, options: &TreeOptions) -> Self {
        let starts = &run.trace.regions.start;
        let launched_at = |place| run.work.launch_of(place).map(|launch| starts[launch]);
        let (queued, mut builder) = rayon::join(
            || queue::lengths(&run.work, launched_at),
            || {
                let mut builder = Builder::new(run, options);
                builder.place_regions();
                builder
            },
        );
        builder.place_work(&queued);
        builder.count_calls();
        builder.link_backward();
        let Builder { tree, calls, .. } = builder;
        // Freeing the data of millions of calls takes a while: do it in the background.
        rayon::spawn(move || drop(calls));
        tree
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
    /// Regions that have a node of their own.
    placed: Vec<u32>,
    /// Calls that GPU work was put below.
    launched: Vec<u32>,
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
        let calls = Instances::of(forest);
        Self {
            run,
            options: *options,
            tree,
            own,
            mapping,
            forest,
            calls,
            placed: Vec::new(),
            launched: Vec::new(),
            launching: filled(trace.regions.len(), || false),
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
        let leads_to_work = self.lead_to_work();
        // Most rows are frames that lead to no work; all cores find and drop them.
        let (own, only_with_work) = (&self.own, self.options.only_with_work);
        let shown = |row: usize| {
            let kind = own.kind(row).filter(|kind| {
                leads_to_work.get(row) || !only_with_work && matches!(kind, NodeKind::Op | NodeKind::Module)
            });
            kind.map(|kind| (row, kind))
        };
        let rows = (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
        let mut shown: Vec<(usize, NodeKind)> = rows.filter_map(shown).collect();
        self.forest.sort_outer_first(regions, &mut shown, |(row, _)| *row);
        for &(row, kind) in &shown {
            let above = self.calls.node(self.calls.parent[row]);
            let name = self.own.name(row, kind, &mut self.tree.strings);
            let node = self.node(above, kind, name, self.own.arguments(row));
            self.calls.set_node(row as u32, node);
        }
        self.placed = shown.into_iter().map(|(row, _)| row as u32).collect();
    }

    /// By region: whether it launches GPU work or encloses such a launch. A launch outside any op on its
    /// thread gets the op whose id it carries.
    fn lead_to_work(&mut self) -> Marks {
        let regions = &self.run.trace.regions;
        let (is_launch, leads) = (Marks::new(regions.len()), Marks::new(regions.len()));
        let is_in_op = |launch: usize| {
            let mut has_op = false;
            for outer in self.forest.chain(launch) {
                has_op |= Some(regions.category[outer]) == self.own.op;
                // Regions that enclose a marked one are marked too, or will be.
                if leads.set(outer) && has_op {
                    break;
                }
            }
            has_op
        };
        let launches = self.run.rows.par_iter().filter_map(|&row| self.run.launch_of(row));
        let launches = launches.filter(|&launch| is_launch.claim(launch));
        let mut alone: Vec<usize> = launches.filter(|&launch| !is_in_op(launch)).collect();
        alone.retain(|&launch| regions.external[launch].get().is_some());
        if !alone.is_empty() {
            let ops = op_index(self.run.trace);
            for launch in alone {
                let id = regions.external[launch].get();
                let op = id.and_then(|id| ops.get(self.run.trace, regions.process[launch], id));
                if let Some(op) = op.filter(|&op| regions.start[op] < regions.start[launch]) {
                    self.calls.parent[launch] = op as u32;
                    self.forest.chain(op).for_each(|outer| _ = leads.set(outer));
                }
            }
        }
        leads
    }

    /// Puts every piece of GPU work below its launch.
    fn place_work(&mut self, queued: &[u32]) {
        let run = self.run;
        let (trace, work) = (run.trace, &run.work);
        let regions = &trace.regions;
        let mut ops: Option<IdIndex> = None;
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
                (own.delayed, own.queued) = (1, u64::from(queued[place]));
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
                Some(call) => self.calls.node(call),
                None => {
                    let name = self.tree.strings.intern(NOT_LAUNCHED);
                    self.node(0, NodeKind::Annotation, name, 0)
                }
            };
            if let Some(call) = call {
                let at = call as usize;
                if !std::mem::replace(&mut self.calls.has_work[at], true) {
                    own.launches = 1;
                    self.launched.push(call);
                }
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

    /// The op that a call is, or is inside.
    fn op_of(&self, call: u32) -> Option<u32> {
        let is_op = |call: &u32| {
            let node = self.calls.own_node(*call);
            node.is_some_and(|node| self.tree.nodes[node as usize].kind == NodeKind::Op)
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
        // From the inside out, until a call that this replay already has.
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
            let above = self.calls.node(call);
            call = self.calls.push(call);
            self.calls.repeated.insert(key(row), call);
            let names = match &mut self.mapping {
                Some((names, _)) if origin.in_mapping => names,
                _ => &mut self.own,
            };
            let place = row as usize;
            let is_step = |kind: &NodeKind| *kind != NodeKind::Annotation;
            if let Some(kind) = names.kind(place).filter(is_step) {
                let name = names.name(place, kind, &mut self.tree.strings);
                let arguments = names.arguments(place);
                let node = self.node(above, kind, name, arguments);
                self.calls.set_node(call, node);
            }
        }
        call
    }

    /// Counts the calls of every node, with their host time.
    fn count_calls(&mut self) {
        let regions = &self.run.trace.regions;
        self.calls.add_up(&self.launched, regions, self.forest);
        self.launching.resize(self.calls.parent.len(), false);
        let repeated = regions.len() as u32..self.calls.parent.len() as u32;
        for call in self.placed.iter().copied().chain(repeated) {
            let Some(node) = self.calls.own_node(call) else { continue };
            let call = call as usize;
            if self.options.only_with_work && !self.calls.has_work[call] {
                continue;
            }
            // A capture next to the run shows where work comes from; its calls do not belong to the run.
            if call < regions.len() && !self.run.recordings.counts(regions.process[call]) {
                continue;
            }
            let own = &mut self.tree.nodes[node as usize].own;
            own.calls += 1;
            // Repeated calls of a replay cost no host time.
            if call < regions.len() {
                own.host_ns += regions.end[call] - regions.start[call];
            }
            if self.launching[call] {
                own.launching_calls += 1;
                own.launching_gpu_ns += self.calls.gpu_ns[call];
            }
        }
    }

    /// Charges the GPU time of backward ops to their forward ops, and to the callers of those.
    fn link_backward(&mut self) {
        let links = &self.run.trace.links;
        let mut last = RowRef::NONE;
        for i in 0..links.len() {
            // Several forward ops may share a backward op; it goes to the first, which is the outermost.
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
            for node in self.calls.chain(forward as u32).filter_map(|call| self.calls.own_node(call)) {
                self.tree.nodes[node as usize].own.backward_gpu_ns += ns;
            }
        }
    }
}

fn op_index(trace: &Trace) -> IdIndex {
    let op = trace.strings.find("cpu_op");
    IdIndex::of(trace, |row| Some(trace.regions.category[row]) == op)
}

/// Backward ops as the autograd engine runs them.
const BACKWARD: &str = "autograd::engine::evaluate_function: ";

/// The backward op that repeats a forward pass below it.
const CHECKPOINT: &str = "CheckpointFunctionBackward";

/// `nn.Module: RMSNorm_12` is an `RMSNorm`.
fn class_of(module: &str) -> &str {
    module_class(module.strip_prefix("nn.Module: ").unwrap_or(module))
}
