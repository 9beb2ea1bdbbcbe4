//! Who allocated a block: the line of the program, the operation and the module.

use trace::{Map, StackId, Trace};

/// Who allocated. Unknown parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The innermost line of the user's own program, `train.py:102 step`; else a library's line.
    pub line: String,
    /// The operation, `aten::linear`.
    pub op: String,
    /// The module or optimizer, `nn.modules.activation forward`.
    pub module: String,
}

impl Owner {
    /// The owner in a call stack, if the stack shows one.
    pub fn of_stack(trace: &Trace, stack: StackId) -> Option<Self> {
        from_stack(trace, stack).filter(|_| stack.is_some())
    }

    /// The best name available: the line, else the operation.
    pub fn name(&self) -> &str {
        if self.line.is_empty() { &self.op } else { &self.line }
    }
}

/// Shown if the record does not show the owner.
const BEFORE: &str = "allocated before recording started";
const NOT_RECORDED: &str = "no call recorded";
const NO_PYTHON: &str = "no Python frame";

/// Folders of installed programs: their lines are used only if the stack has none of the user's own.
const INSTALLED: [&str; 4] = ["site-packages/", "dist-packages/", "lib/python3", "<frozen "];

/// Folders of torch itself: their lines are used only if there is no other.
const TORCH: [&str; 1] = ["torch/"];

/// Parts of paths whose functions name a module or an optimizer.
const MODULES: [&str; 2] = ["torch/nn/modules/", "torch/optim/"];

/// The file shared by all modules, so its functions name none.
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
        let (mut line, mut innermost, mut met_python) = (BestLine::default(), "", false);
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
                line.offer(name, || name.into());
            }
        }
        owner.line = line.take();
        if owner.op.is_empty() {
            owner.op = innermost.into();
        }
        self.intern(owner)
    }
}

/// How much a line says about the owner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Torch,
    Installed,
    User,
}

impl Whose {
    fn of(file: &str) -> Self {
        let within = |folder: &&str| {
            let place = file.find(*folder);
            place.is_some_and(|place| place == 0 || file[..place].ends_with('/'))
        };
        match (TORCH.iter().any(&within), INSTALLED.iter().any(within)) {
            (true, _) => Whose::Torch,
            (false, true) => Whose::Installed,
            (false, false) => Whose::User,
        }
    }
}

/// The innermost of the most specific lines; lines are offered from the innermost outwards.
#[derive(Default)]
struct BestLine(Option<(Whose, String)>);

impl BestLine {
    fn offer(&mut self, file: &str, line: impl FnOnce() -> String) {
        let whose = Whose::of(file);
        if self.0.as_ref().is_none_or(|(best, _)| whose > *best) {
            self.0 = Some((whose, line()));
        }
    }

    fn take(self) -> String {
        self.0.map_or_else(String::new, |(_, line)| line)
    }
}

fn from_stack(trace: &Trace, stack: StackId) -> Option<Owner> {
    let text = |id| trace.strings.get(id);
    let mut owner = Owner::default();
    let (mut best, mut node) = (BestLine::default(), "");
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
        let place = MODULES.iter().find_map(|folder| file.find(folder));
        if let Some(place) = place.filter(|_| owner.module.is_empty() && !file.ends_with(ANY_MODULE)) {
            let path = file[place + "torch/".len()..].trim_end_matches(".py").replace('/', ".");
            owner.module = format!("{path} {name}");
        }
        best.offer(file, || format!("{file}:{} {name}", frame.line));
    }
    owner.line = best.take();
    if owner.line.is_empty() {
        owner.line = match node.is_empty() {
            false => format!("backward: {node}"),
            true if owner.op.is_empty() => return None,
            true => NO_PYTHON.into(),
        };
    }
    Some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Frame, Stacks};

    fn owner(frames: &[(&str, &str, u32)]) -> Option<Owner> {
        let mut trace = Trace::default();
        let frames: Vec<Frame> = frames
            .iter()
            .map(|(name, file, line)| {
                let (name, file) = (trace.strings.intern(name), trace.strings.intern(file));
                Frame { name, file, line: *line }
            })
            .collect();
        let count = frames.len() as u32;
        trace.stacks = Stacks::new(frames, (0..count).collect(), vec![count]);
        Owner::of_stack(&trace, StackId(0))
    }

    const MALLOC: (&str, &str, u32) = ("c10::hip::allocate(unsigned long)", "??", 0);
    const EMPTY: (&str, &str, u32) = ("at::_ops::empty_memory_format::call(long)", "??", 0);
    const LINEAR: (&str, &str, u32) = ("at::_ops::linear::call(at::Tensor const&)", "??", 0);
    const MODULE: (&str, &str, u32) =
        ("forward", "/opt/lib/python3.12/site-packages/torch/nn/modules/linear.py", 125);
    const CALL: (&str, &str, u32) = ("_call_impl", "torch/nn/modules/module.py", 1790);
    const SERVER: (&str, &str, u32) = ("run", "/opt/lib/python3.12/site-packages/vllm/worker.py", 7);
    const USER: (&str, &str, u32) = ("step", "/home/me/train.py", 88);

    #[test]
    fn the_users_line_comes_before_an_installed_one_and_that_before_torch() {
        let line = |frames: &[(&str, &str, u32)]| owner(frames).expect("an owner").line;
        assert_eq!(line(&[MALLOC, EMPTY, LINEAR, MODULE, CALL, SERVER, USER]), "/home/me/train.py:88 step");
        assert!(line(&[MALLOC, EMPTY, LINEAR, MODULE, CALL, SERVER]).ends_with("vllm/worker.py:7 run"));
        assert!(line(&[MALLOC, EMPTY, LINEAR, MODULE, CALL]).ends_with("linear.py:125 forward"));
    }

    #[test]
    fn the_op_is_what_python_called_and_the_module_the_innermost() {
        let found = owner(&[MALLOC, EMPTY, LINEAR, MODULE, CALL, USER]).expect("an owner");
        assert_eq!((found.op.as_str(), found.module.as_str()), ("aten::linear", "nn.modules.linear forward"));
    }

    #[test]
    fn a_backward_pass_is_named_by_its_node() {
        let node = ("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "??", 0);
        assert_eq!(owner(&[MALLOC, EMPTY, node]).expect("an owner").line, "backward: MmBackward0");
        assert_eq!(owner(&[MALLOC]), None);
    }
}
