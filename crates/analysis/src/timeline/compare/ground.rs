//! What ran, according to the traces: GPUs, framework, model, command; whether both sides are one recording.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use trace::{AgentKind, Map, Trace};

use crate::subject::framework_of_path;

/// The category of Python frames, which `compare` reads to find framework and model but does not list.
pub(super) const PYTHON: &str = "python_function";
/// Prefix of a module's frame.
const MODULE: &str = "nn.Module: ";
/// Server options that name the model.
const MODEL_OPTIONS: [&str; 3] = ["--model", "--model-path", "--model-name-or-path"];

/// What one run shows about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ground {
    /// Products, or architectures if the product is unknown.
    gpus: BTreeSet<String>,
    frameworks: BTreeSet<String>,
    models: BTreeSet<String>,
    commands: BTreeSet<String>,
    recordings: BTreeSet<String>,
    /// Hash of all GPU work and host regions, if there are any.
    content: Option<u64>,
}

impl Ground {
    /// One pass over the names of Python frames, and one over the times of all rows.
    pub fn of(trace: &Trace) -> Self {
        let text = |id| trace.strings.get(id);
        let gpus = trace.agents.iter().filter(|agent| agent.kind == AgentKind::Gpu);
        let gpus = gpus.map(|gpu| gpu_name(text(gpu.product), text(gpu.name)));
        let commands = trace.processes.iter().map(|process| text(process.command));
        let mut ground = Self {
            gpus: gpus.filter(|name| !name.is_empty()).collect(),
            recordings: trace.processes.iter().map(|process| text(process.guid).to_string()).collect(),
            content: content(trace),
            ..Self::default()
        };
        ground.recordings.remove("");
        for command in commands.filter(|command| !command.is_empty()) {
            ground.look_at_command(command);
        }
        ground.look_at_frames(trace);
        ground
    }

    /// From given facts: GPUs as product and name, command lines, recording ids.
    pub fn of_facts(gpus: &[(String, String)], commands: &[String], recordings: Vec<String>) -> Self {
        let gpus = gpus.iter().map(|(product, name)| gpu_name(product, name));
        let mut ground = Self {
            gpus: gpus.filter(|name| !name.is_empty()).collect(),
            recordings: recordings.into_iter().filter(|guid| !guid.is_empty()).collect(),
            ..Self::default()
        };
        commands.iter().for_each(|command| ground.look_at_command(command));
        ground
    }

    fn look_at_command(&mut self, command: &str) {
        self.frameworks.extend(framework_of_command(command).map(String::from));
        self.models.extend(model_of_command(command));
        self.commands.insert(without_folder(command));
    }

    fn look_at_frames(&mut self, trace: &Trace) {
        let Some(python) = trace.strings.find(PYTHON) else { return };
        let regions = &trace.regions;
        let mut names = Map::default();
        for row in (0..regions.len()).filter(|&row| regions.category[row] == python) {
            names.insert(regions.name[row], ());
        }
        let mut frameworks = BTreeSet::new();
        for &name in names.keys() {
            let name = trace.strings.get(name);
            frameworks.extend(framework_of_path(name));
            self.models.extend(model_of_module(name));
        }
        // A serving framework calls other frameworks; the first in the table is the outer one.
        self.frameworks.extend(frameworks.into_iter().min().map(|(_, name)| name.to_string()));
    }
}

/// The catalogue's product name, so that different spellings agree; otherwise the recorded name.
fn gpu_name(product: &str, name: &str) -> String {
    let arch = hw::arch::find(name).or_else(|| hw::arch::of_product(product));
    let known = arch.and_then(|arch| arch.product(product));
    match known {
        Some(product) => product.name.clone(),
        None if product.is_empty() => name.to_string(),
        None => product.to_string(),
    }
}

/// `Qwen2ForCausalLM` from the frame `nn.Module: Qwen2ForCausalLM_0`: modules named after a model's purpose.
fn model_of_module(frame: &str) -> Option<String> {
    let name = frame.strip_prefix(MODULE)?;
    let class = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    let (_, purpose) = class.split_once("For")?;
    purpose.starts_with(|c: char| c.is_ascii_uppercase()).then(|| class.to_string())
}

fn framework_of_command(command: &str) -> Option<&'static str> {
    let mut words = command.split([' ', '/', '.', '-']);
    words.find_map(|word| ["sglang", "vllm"].into_iter().find(|framework| *framework == word))
}

fn model_of_command(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        for option in MODEL_OPTIONS {
            match word.strip_prefix(option) {
                Some("") => return words.next().map(String::from),
                Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_string()),
                _ => {}
            }
        }
    }
    None
}

/// A command without the folder of its program: builds of two branches are in two folders.
fn without_folder(command: &str) -> String {
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let program = program.rsplit('/').next().unwrap_or(program);
    format!("{program} {arguments}").trim_end().to_string()
}

/// Equal for equal rows, whatever file they came from; `None` for a trace without rows.
fn content(trace: &Trace) -> Option<u64> {
    let mut hash = std::hash::DefaultHasher::new();
    let (kernels, copies, regions) = (&trace.kernels, &trace.memory_copies, &trace.regions);
    (&kernels.start, &kernels.end, &copies.start, &copies.end, &regions.start, &regions.end).hash(&mut hash);
    let any = !(kernels.is_empty() && copies.is_empty() && regions.is_empty());
    any.then(|| hash.finish())
}

/// One fact on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroundFact {
    /// `GPU`, `framework`, `model` or `command`.
    pub name: &'static str,
    /// Its values on both sides; empty if unknown.
    pub sides: [Vec<String>; 2],
}

/// How a fact compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactStatus {
    /// Known and equal.
    Same,
    /// Known and different.
    Differs,
    /// Not known for at least one side.
    Unknown,
}

impl FactStatus {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            FactStatus::Same => "same",
            FactStatus::Differs => "differs",
            FactStatus::Unknown => "unknown",
        }
    }
}

impl GroundFact {
    /// How it compares.
    pub fn status(&self) -> FactStatus {
        match &self.sides {
            [base, candidate] if base.is_empty() || candidate.is_empty() => FactStatus::Unknown,
            [base, candidate] if base == candidate => FactStatus::Same,
            _ => FactStatus::Differs,
        }
    }

    /// The values of one side as text.
    pub fn words(&self, side: usize) -> String {
        match &self.sides[side][..] {
            [] => "unknown".into(),
            values => values.join(", "),
        }
    }
}

/// How both sides are the same recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// Every row is the same.
    Content,
    /// A recording of the base is also in the candidate, with different rows.
    Recording,
}

/// What the traces of two sides show about whether they can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonGround {
    /// GPU, framework, model and command.
    pub facts: Vec<GroundFact>,
    /// Whether a recording is on both sides.
    pub repeated: Option<Repeated>,
}

/// Facts that forbid a comparison if they differ.
const DECIDING: [&str; 3] = ["GPU", "framework", "model"];

impl CommonGround {
    pub(super) fn of(base: &[Ground], candidate: &[Ground]) -> Self {
        let fact = |name, values: fn(&Ground) -> &BTreeSet<String>| {
            let side = |runs: &[Ground]| -> Vec<String> {
                let all: BTreeSet<&String> = runs.iter().flat_map(values).collect();
                all.into_iter().cloned().collect()
            };
            GroundFact { name, sides: [side(base), side(candidate)] }
        };
        let any = |same: &dyn Fn(&Ground, &Ground) -> bool| {
            base.iter().any(|before| candidate.iter().any(|after| same(before, after)))
        };
        let repeated = if any(&|before, after| before.content.is_some() && before.content == after.content) {
            Some(Repeated::Content)
        } else if any(&|before, after| !before.recordings.is_disjoint(&after.recordings)) {
            Some(Repeated::Recording)
        } else {
            None
        };
        let facts = vec![
            fact("GPU", |ground| &ground.gpus),
            fact("framework", |ground| &ground.frameworks),
            fact("model", |ground| &ground.models),
            fact("command", |ground| &ground.commands),
        ];
        Self { facts, repeated }
    }

    /// One line for each fact that shows the runs are not comparable.
    pub fn differences(&self) -> Vec<String> {
        let differs =
            |fact: &&GroundFact| DECIDING.contains(&fact.name) && fact.status() == FactStatus::Differs;
        let line = |fact: &GroundFact| format!("{} ({} → {})", fact.name, fact.words(0), fact.words(1));
        self.facts.iter().filter(differs).map(line).collect()
    }

    /// Why a gate cannot be judged. The GPU must be known, and so must the program: by framework and model,
    /// or by its command.
    pub fn gap(&self) -> Option<String> {
        if self.repeated == Some(Repeated::Content) {
            return Some("the same recording is on both sides".into());
        }
        let status = |name: &str| {
            self.facts.iter().find(|fact| fact.name == name).map_or(FactStatus::Unknown, GroundFact::status)
        };
        let mut unknown = Vec::new();
        if status("GPU") != FactStatus::Same {
            unknown.push("GPU");
        }
        let same_command = status("command") == FactStatus::Same;
        if !same_command {
            unknown
                .extend(["framework", "model"].into_iter().filter(|name| status(name) != FactStatus::Same));
        }
        (!unknown.is_empty())
            .then(|| format!("the traces do not show that both sides have the same {}", unknown.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_tell_framework_and_model() {
        let server = "/usr/bin/python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 8";
        assert_eq!(framework_of_command(server), Some("sglang"));
        assert_eq!(model_of_command(server).as_deref(), Some("Qwen/Qwen3-8B"));
        assert_eq!(model_of_command("vllm serve --model=a/b").as_deref(), Some("a/b"));
        assert_eq!(framework_of_command("vllm serve --model=a/b"), Some("vllm"));
        assert_eq!((framework_of_command("./app 1"), model_of_command("./app 1")), (None, None));
        assert_eq!(without_folder("/build/main/app 1 /x"), "app 1 /x");
        assert_eq!(without_folder("app"), "app");
    }

    #[test]
    fn modules_named_for_a_purpose_tell_the_model() {
        assert_eq!(model_of_module("nn.Module: Qwen2ForCausalLM_0").as_deref(), Some("Qwen2ForCausalLM"));
        assert_eq!(model_of_module("nn.Module: Linear_12"), None);
        assert_eq!(model_of_module("nn.Module: FeedForward_1"), None);
        assert_eq!(model_of_module("sglang/a.py(1): Qwen2ForCausalLM_0"), None);
    }

    fn ground(gpu: &str, model: &str, content: u64) -> Ground {
        let set = |text: &str| -> BTreeSet<String> {
            Some(text.to_string()).filter(|text| !text.is_empty()).into_iter().collect()
        };
        Ground {
            gpus: set(gpu),
            models: set(model),
            frameworks: set("sglang"),
            content: Some(content),
            ..Ground::default()
        }
    }

    #[test]
    fn other_gpus_and_models_are_different_ground_and_unknown_ones_a_gap() {
        let of = |a: Ground, b: Ground| CommonGround::of(&[a], &[b]);
        let same = of(ground("MI300X", "A", 1), ground("MI300X", "A", 2));
        assert_eq!((same.differences().len(), same.gap()), (0, None));
        let other = of(ground("MI300X", "A", 1), ground("NVIDIA B300", "B", 2));
        assert_eq!(other.differences(), ["GPU (MI300X → NVIDIA B300)", "model (A → B)"]);
        let unknown = of(ground("", "A", 1), ground("MI300X", "", 2));
        assert!(unknown.differences().is_empty());
        assert_eq!(
            unknown.gap().as_deref(),
            Some("the traces do not show that both sides have the same GPU, model")
        );
        assert_eq!(of(ground("g", "A", 1), ground("g", "A", 1)).repeated, Some(Repeated::Content));
    }

    #[test]
    fn two_spellings_of_one_product_are_one() {
        assert_eq!(gpu_name("AMD Instinct MI300X VF", "gfx942"), gpu_name("AMD Instinct MI300X", "gfx942"));
        assert_eq!(gpu_name("", "gfx942"), "gfx942");
        assert_eq!(gpu_name("NVIDIA B300", ""), "NVIDIA B300");
    }
}
