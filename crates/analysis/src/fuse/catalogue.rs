//! The catalogue of fusions: read from TOML, checked, and made into patterns.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::steps::{Step, parse};
use model::classify::{Category, RulesError};

const BUILT_IN: &str = include_str!("../../rules/fusions.toml");

/// Groups of kernels and the sequences of them that exist as one kernel.
#[derive(Clone, Debug)]
pub struct FusionCatalogue {
    pub(super) groups: Vec<Group>,
    names: BTreeMap<String, usize>,
    /// Most specific first.
    pub(super) fusions: Vec<Fusion>,
}

/// A group of kernels that play the same part.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub category: Vec<Category>,
    /// On the canonical name.
    pub name: Option<Regex>,
    pub op: Option<Regex>,
    pub module: Option<Regex>,
    /// On the name, the op or the module.
    pub any: Option<Regex>,
    /// On the name or the op: what the kernel does, not where it is.
    pub what: Option<Regex>,
    /// Must not hold of the name or the op.
    pub not: Option<Regex>,
    /// A small kernel of a category that otherwise counts as main.
    pub helper: bool,
}

/// How often a fusion is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Per {
    /// In every layer of the model.
    #[default]
    Layer,
    /// In every step, outside the layers.
    Step,
}

/// Whether a fused kernel exists on ROCm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Rocm {
    /// No: never suggested for AMD GPUs.
    No,
    /// Nothing speaks against it, but nobody is known to have it there.
    Possible,
    /// Yes.
    Yes,
}

impl Rocm {
    pub fn name(self) -> &'static str {
        match self {
            Rocm::No => "no",
            Rocm::Possible => "possible",
            Rocm::Yes => "yes",
        }
    }
}

/// Where one framework has the fused kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FusedPath {
    /// `sglang`, `vllm`, …; `any` for what every program can use.
    pub framework: String,
    pub rocm: Rocm,
    pub fused: String,
    /// What turns it on.
    pub switch: String,
    /// The file or pass that has it.
    pub source: String,
    /// Whether that was seen on ROCm, and not only named by others.
    #[serde(default)]
    pub verified: bool,
    /// It fires for steps of at most so many tokens.
    pub max_tokens: Option<u64>,
    /// It is for models of this kind only.
    pub model_kind: Option<ModelKind>,
    /// The library that the switch turns on: no advice where the trace shows it on.
    pub turns_on: Option<String>,
}

/// Kinds of models that a fused kernel may be limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ModelKind {
    /// Text only.
    Text,
    /// Images or video as well: positions have three dimensions.
    VisionLanguage,
}

/// Kernels that exist as one.
#[derive(Clone, Debug)]
pub(super) struct Fusion {
    pub id: String,
    pub title: String,
    pub steps: Vec<Step>,
    pub per: Per,
    /// Kernels that may lie between two steps.
    pub between: usize,
    /// Neighbours must work on tensors of the same size, where sizes are known.
    pub same_size: bool,
    /// Neighbours must come from one module or one function of the model, where both are known.
    pub same_place: bool,
    /// Dimensions that the tensors must have, where shapes are known.
    pub dims: Option<usize>,
    /// Matches that a step has at most; more of them are something else.
    pub most_per_step: Option<usize>,
    /// Looked for before the others.
    pub first: bool,
    /// Id of its findings, when it is a rule of its own.
    pub finding: Option<String>,
    /// The fused kernel when it runs already: on its name or op.
    pub active: Option<Regex>,
    /// Words of which the model's name or modules must have one; all models when empty.
    pub models: Vec<String>,
    /// Ranks that must be there at least.
    pub min_ranks: u32,
    pub paths: Vec<FusedPath>,
    pub rationale: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupText {
    #[serde(default)]
    category: Vec<String>,
    name: Option<String>,
    op: Option<String>,
    module: Option<String>,
    any: Option<String>,
    what: Option<String>,
    not: Option<String>,
    #[serde(default)]
    helper: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FusionText {
    id: String,
    title: String,
    steps: String,
    #[serde(default)]
    per: Per,
    #[serde(default)]
    between: usize,
    #[serde(default)]
    same_size: bool,
    #[serde(default)]
    same_place: bool,
    dims: Option<usize>,
    most_per_step: Option<usize>,
    #[serde(default)]
    first: bool,
    finding: Option<String>,
    active: Option<String>,
    #[serde(default)]
    models: Vec<String>,
    #[serde(default)]
    min_ranks: u32,
    paths: Vec<FusedPath>,
    rationale: String,
    /// What the tests make a trace of.
    #[serde(rename = "example")]
    _example: Option<Vec<String>>,
    /// Patterns of other tools that this one stands for.
    #[serde(rename = "covers")]
    _covers: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueText {
    #[serde(default)]
    group: BTreeMap<String, toml::Value>,
    #[serde(default)]
    fusion: Vec<toml::Value>,
    /// Kernels that examples are made of.
    #[serde(rename = "sample")]
    _sample: Option<toml::Table>,
    /// Patterns of other tools that have no place here, and why.
    #[serde(rename = "not_covered")]
    _not_covered: Option<Vec<toml::Table>>,
}

impl FusionCatalogue {
    /// The catalogue that comes with the program.
    pub fn built_in() -> &'static Self {
        static BUILTIN_CATALOGUE: LazyLock<FusionCatalogue> = LazyLock::new(|| {
            let empty = FusionCatalogue { groups: Vec::new(), names: BTreeMap::new(), fusions: Vec::new() };
            empty.and("fusions.toml", BUILT_IN).expect("the catalogue that is built in is checked by a test")
        });
        &BUILTIN_CATALOGUE
    }

    /// The built-in catalogue and the groups and fusions of a file; those of the file win over ours of the same id.
    pub fn with_file(file: &str, text: &str) -> Result<Self, RulesError> {
        Self::built_in().clone().and(file, text)
    }

    fn and(mut self, file: &str, text: &str) -> Result<Self, RulesError> {
        let wrong = |message: String| RulesError { file: file.to_string(), message };
        let table: CatalogueText =
            toml::from_str(text).map_err(|error| wrong(error.message().replace('\n', " ")))?;
        for (name, value) in table.group {
            let group: GroupText = value
                .try_into()
                .map_err(|e: toml::de::Error| wrong(format!("group `{name}`: {}", e.message())))?;
            let group = Group::read(group).map_err(|m| wrong(format!("group `{name}`: {m}")))?;
            self.names.insert(name, self.groups.len());
            self.groups.push(group);
        }
        for (i, value) in table.fusion.into_iter().enumerate() {
            let number = i + 1;
            let text: FusionText = value
                .try_into()
                .map_err(|e: toml::de::Error| wrong(format!("fusion {number}: {}", e.message())))?;
            let id = text.id.clone();
            let fusion = Fusion::read(text, &self.names).map_err(|m| wrong(format!("fusion `{id}`: {m}")))?;
            self.fusions.retain(|known| known.id != fusion.id);
            self.fusions.push(fusion);
        }
        let groups = &self.groups;
        self.fusions.sort_by_key(|fusion| std::cmp::Reverse(fusion.specificity(groups)));
        Ok(self)
    }
}

impl Group {
    fn read(text: GroupText) -> Result<Self, String> {
        let category =
            |word: &String| Category::parse(word).ok_or_else(|| format!("`{word}` is not a category"));
        let group = Self {
            category: text.category.iter().map(category).collect::<Result<_, _>>()?,
            name: pattern(text.name)?,
            op: pattern(text.op)?,
            module: pattern(text.module)?,
            any: pattern(text.any)?,
            what: pattern(text.what)?,
            not: pattern(text.not)?,
            helper: text.helper,
        };
        let texts = [&group.name, &group.op, &group.module, &group.any, &group.what];
        if group.category.is_empty() && texts.iter().all(|text| text.is_none()) {
            return Err("it takes every kernel".into());
        }
        if group.helper && group.category != [Category::Moe] {
            return Err("only a kernel of category `moe` can be a helper".into());
        }
        Ok(group)
    }
}

impl Fusion {
    fn read(text: FusionText, groups: &BTreeMap<String, usize>) -> Result<Self, String> {
        if text.paths.is_empty() {
            return Err("it says of no framework that it has the fused kernel".into());
        }
        Ok(Self {
            steps: parse(&text.steps, groups)?,
            active: pattern(text.active)?,
            id: text.id,
            title: text.title,
            per: text.per,
            between: text.between,
            same_size: text.same_size,
            same_place: text.same_place,
            dims: text.dims,
            most_per_step: text.most_per_step,
            first: text.first,
            finding: text.finding,
            models: text.models,
            min_ranks: text.min_ranks,
            paths: text.paths,
            rationale: text.rationale,
        })
    }

    /// Kernels that it makes superfluous at least; of equal ones those that one framework has come first,
    /// because what holds for every program says less.
    fn specificity(&self, groups: &[Group]) -> (bool, usize, bool, usize) {
        let beside_main =
            |step: &&Step| !step.passes && step.groups.iter().all(|&group| !groups[group].is_main());
        let small = self.steps.iter().filter(beside_main).map(|step| step.min).sum();
        let all = self.steps.iter().map(|step| step.min).sum();
        (self.first, small, self.paths.iter().any(|path| path.framework != "any"), all)
    }
}

impl Group {
    /// Whether its kernels do the main work, whose time no fusion of their neighbours wins back.
    pub fn is_main(&self) -> bool {
        !self.helper && !self.category.is_empty() && self.category.iter().all(|&category| is_main(category))
    }
}

/// Categories of kernels that do the main work.
pub(super) fn is_main(category: Category) -> bool {
    use Category::{Attention, Communication, Conv, Gemm, Moe};
    matches!(category, Attention | Communication | Conv | Gemm | Moe)
}

fn pattern(text: Option<String>) -> Result<Option<Regex>, String> {
    let compile =
        |text: String| Regex::new(&text).map_err(|_| format!("`{text}` is not a regular expression"));
    text.map(compile).transpose()
}
