//! Names and kinds of a trace's regions in the tree.

use rayon::prelude::*;
use trace::{Map, StrId, Strings, Table, Trace};

use super::{Arguments, CallTree, NodeKind};
use crate::ROWS_AT_ONCE;
use crate::attribution::frames::Roles;
use crate::attribution::locate::one_line;
use crate::attribution::{FrameRules, Role};
use crate::calls::Calls;

/// Look-ups in one of the two traces.
pub(super) struct Names<'a> {
    trace: &'a Trace,
    calls: Calls,
    /// By string: the kind of a frame with that name.
    frames: Vec<Option<NodeKind>>,
    pub op: Option<StrId>,
    python: Option<StrId>,
    annotation: Option<StrId>,
    /// By string of the trace: the tree's string.
    carried: Vec<StrId>,
    /// By region: its arguments in the tree.
    arguments: Vec<u32>,
}

/// No string yet.
pub(super) const UNKNOWN: StrId = StrId(u32::MAX);

impl<'a> Names<'a> {
    pub fn of(trace: &'a Trace, tree: &mut CallTree, known: &mut Map<Arguments, u32>) -> Self {
        let category = |name| trace.strings.find(name);
        let python = category("python_function");
        let mut names = Self {
            trace,
            calls: Calls::of(trace),
            frames: python.map_or_else(Vec::new, |python| frames(trace, python)),
            op: category("cpu_op"),
            python,
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

    /// The kind of a region in the tree; `None` if the tree leaves it out.
    pub fn kind(&self, row: usize) -> Option<NodeKind> {
        let (name, category) = (self.trace.regions.name[row], Some(self.trace.regions.category[row]));
        if category == self.op {
            return Some(NodeKind::Op);
        }
        if category == self.python {
            return self.frames[name.0 as usize];
        }
        if category != self.annotation && self.calls.of_region(self.trace, row).is_some() {
            return Some(NodeKind::Call);
        }
        Some(NodeKind::Annotation)
    }

    pub fn name(&mut self, row: usize, kind: NodeKind, strings: &mut Strings) -> StrId {
        let id = self.trace.regions.name[row];
        let slot = &mut self.carried[id.0 as usize];
        if *slot == UNKNOWN {
            let text = self.trace.strings.get(id);
            *slot = match kind {
                // Steps are numbered, but they are one place in the program.
                NodeKind::Annotation => strings.intern(&crate::names::without_numbers(text)),
                NodeKind::Frame => strings.intern(&FrameRules::built_in().shown(text)),
                _ => strings.intern(text),
            };
        }
        *slot
    }

    pub fn arguments(&self, row: usize) -> u32 {
        self.arguments.get(row).copied().unwrap_or(0)
    }
}

/// By string: the kind of a Python frame with that name, if the tree shows it.
fn frames(trace: &Trace, python: StrId) -> Vec<Option<NodeKind>> {
    let regions = &trace.regions;
    let rows = (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
    let names = rows.filter(|&row| regions.category[row] == python).map(|row| regions.name[row]);
    let roles = Roles::judged(FrameRules::built_in(), &trace.strings, names);
    let kind = |(name, role): (StrId, Role)| match role {
        Role::Module => Some(NodeKind::Module),
        // Of torch's own frames only this one matters.
        Role::Noise => starts_recompute(trace.strings.get(name)).then_some(NodeKind::Frame),
        Role::Wrapper | Role::Source { .. } => Some(NodeKind::Frame),
    };
    roles.all().map(|judged| judged.and_then(kind)).collect()
}

/// Whether a frame repeats a forward pass: `torch/utils/checkpoint.py(1399): recompute_fn`.
pub(super) fn starts_recompute(frame: &str) -> bool {
    frame.contains("checkpoint.py") && (frame.ends_with("recompute_fn") || frame.ends_with(": unpack_hook"))
}
