//! Who allocated a block: the line of the program, the operation and the module.

use trace::{Map, StackId, Trace};

/// Who allocated. Parts that are not known are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The innermost line of the user's own program, `train.py:102 step`; of a library where there is no other.
    pub line: String,
    /// The operation, `aten::linear`.
    pub op: String,
    /// The module or optimizer, `nn.modules.activation forward`.
    pub module: String,
}

impl Owner {
    /// The owner that a call stack tells, if it tells any.
    pub fn of_stack(trace: &Trace, stack: StackId) -> Option<Self> {
        from_stack(trace, stack).filter(|_| stack.is_some())
    }

    /// The best name there is: the line, else the operation.
    pub fn name(&self) -> &str {
        if self.line.is_empty() { &self.op } else { &self.line }
    }
}

/// What stands for an owner that the record cannot tell.
const BEFORE: &str = "allocated before the record";
const NOT_RECORDED: &str = "no call recorded";
const NO_PYTHON: &str = "no Python frame";

/// Folders whose lines are a library's, not the user's.
const LIBRARIES: [&str; 5] = ["torch/", "site-packages/", "dist-packages/", "lib/python3", "<frozen "];

/// Parts of paths whose functions name a module or an optimizer.
const MODULES: [&str; 2] = ["torch/nn/modules/", "torch/optim/"];

/// The file of all modules, which names none.
const ANY_MODULE: &str = "torch/nn/modules/module.py";

/// Owners, each once.
#[derive(Default)]
pub(super) struct Owners {
    pub all: Vec<Owner>,
    numbers: Map<Owner, u32>,
    stacks: Map<u32, u32>,
}

impl Owners {
    fn intern(&mut self, owner: Owner) -> u32 {
        if let Some(&known) = self.numbers.get(&owner) {
            return known;
        }
        let number = self.all.len() as u32;
        self.all.push(owner.clone());
        self.numbers.insert(owner, number);
        number
    }

    pub fn before_the_record(&mut self) -> u32 {
        self.intern(Owner { line: BEFORE.into(), ..Owner::default() })
    }

    pub fn not_recorded(&mut self) -> u32 {
        self.intern(Owner { line: NOT_RECORDED.into(), ..Owner::default() })
    }

    pub fn of_stack(&mut self, trace: &Trace, stack: StackId) -> u32 {
        if let Some(&known) = self.stacks.get(&stack.0) {
            return known;
        }
        let number = match Owner::of_stack(trace, stack) {
            Some(owner) => self.intern(owner),
            None => self.not_recorded(),
        };
        self.stacks.insert(stack.0, number);
        number
    }

    /// The owner of what a thread allocates inside these regions, the innermost last.
    pub fn of_calls(&mut self, trace: &Trace, regions: &[u32]) -> u32 {
        let text = |row: u32| {
            let row = row as usize;
            let (name, category) = (trace.regions.name[row], trace.regions.category[row]);
            (trace.strings.get(name), trace.strings.get(category))
        };
        let mut owner = Owner::default();
        let (mut library, mut innermost, mut met_python) = ("", "", false);
        for (name, category) in regions.iter().rev().map(|&row| text(row)) {
            if category != "python_function" {
                innermost = if innermost.is_empty() { name } else { innermost };
                // The outermost operation below the innermost Python frame is what the program called.
                if category == "cpu_op" && !met_python {
                    owner.op = name.into();
                }
                continue;
            }
            met_python = true;
            if let Some(module) = name.strip_prefix("nn.Module: ") {
                if owner.module.is_empty() {
                    owner.module = module.into();
                }
            } else if name.contains(".py(") {
                if is_library(name) {
                    library = if library.is_empty() { name } else { library };
                } else if owner.line.is_empty() {
                    owner.line = name.into();
                }
            }
        }
        if owner.line.is_empty() {
            owner.line = library.into();
        }
        if owner.op.is_empty() {
            owner.op = innermost.into();
        }
        self.intern(owner)
    }
}

fn is_library(file: &str) -> bool {
    LIBRARIES.iter().any(|folder| {
        file.find(folder)
            .is_some_and(|place| place == 0 || file[..place].ends_with('/') || folder.starts_with('<'))
    })
}

fn from_stack(trace: &Trace, stack: StackId) -> Option<Owner> {
    let text = |id| trace.strings.get(id);
    let mut owner = Owner::default();
    let (mut library, mut node) = (String::new(), "");
    let mut met_python = false;
    for frame in trace.stacks.get(stack) {
        let (name, file) = (text(frame.name), text(frame.file));
        let is_python = file.ends_with(".py") || file.starts_with('<') && frame.line > 0;
        if !is_python {
            // Innermost first, so the last one before Python is what the program called.
            if let Some(op) = name.strip_prefix("at::_ops::").and_then(|rest| rest.split("::").next())
                && !met_python
            {
                owner.op = format!("aten::{op}");
            }
            let generated = name.strip_prefix("torch::autograd::generated::");
            if let Some((class, "apply")) =
                generated.and_then(|rest| rest.split('(').next()?.split_once("::"))
                && node.is_empty()
            {
                node = class;
            }
            continue;
        }
        met_python = true;
        let line = format!("{file}:{} {name}", frame.line);
        let place = MODULES.iter().find_map(|folder| file.find(folder));
        if let Some(place) = place.filter(|_| owner.module.is_empty() && !file.ends_with(ANY_MODULE)) {
            let path = file[place + "torch/".len()..].trim_end_matches(".py").replace('/', ".");
            owner.module = format!("{path} {name}");
        }
        if is_library(file) {
            if library.is_empty() {
                library = line;
            }
        } else if owner.line.is_empty() {
            owner.line = line;
        }
    }
    if owner.line.is_empty() {
        owner.line = match (library.is_empty(), node.is_empty()) {
            (false, _) => library,
            (true, false) => format!("backward: {node}"),
            (true, true) if owner.op.is_empty() => return None,
            (true, true) => NO_PYTHON.into(),
        };
    }
    Some(owner)
}
