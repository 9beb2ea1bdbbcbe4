//! The catalogue of fusions: read from TOML, checked, and compiled to patterns.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::steps::{Step, parse};
use model::classify::{Category, RulesError};

const BUILT_IN: &str = include_str!("../../../rules/fusions.toml");

/// Groups of kernels, and the sequences of them for which a fused kernel exists.
#[derive(Clone, Debug)]
pub struct FusionCatalogue {
    pub(super) groups: Vec<Group>,
    names: BTreeMap<String, usize>,
    /// Most specific first.
    pub(super) fusions: Vec<Fusion>,
}

/// A group of kernels with the same role.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub category: Vec<Category>,
    /// Pattern on the canonical name.
    pub name: Option<Regex>,
    pub op: Option<Regex>,
    pub module: Option<Regex>,
    /// Pattern on the name, the op or the module.
    pub any: Option<Regex>,
    /// Pattern on the name or the op: what the kernel does, not where it runs.
    pub what: Option<Regex>,
    /// Pattern that neither the name nor the op may match.
    pub not: Option<Regex>,
    /// A small kernel in a category that otherwise counts as main work.
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
    /// Plausible, but nobody is known to use it there.
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
    /// `sglang`, `vllm`, …; `any` for a path that every program can use.
    pub framework: String,
    pub rocm: Rocm,
    pub fused: String,
    /// The switch that turns it on.
    pub switch: String,
    /// The source file or compiler pass.
    pub source: String,
    /// Whether it was seen on ROCm, not only mentioned elsewhere.
    #[serde(default)]
    pub verified: bool,
    /// It only applies to steps with at most this many tokens.
    pub max_tokens: Option<u64>,
    /// It is only for models of this kind.
    pub model_kind: Option<ModelKind>,
    /// The library that the switch turns on: no advice if the trace shows it is on already.
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

/// Kernels that exist as one fused kernel.
#[derive(Clone, Debug)]
pub(super) struct Fusion {
    pub id: String,
    pub title: String,
    pub steps: Vec<Step>,
    pub per: Per,
    /// Other kernels allowed between two steps.
    pub between: usize,
    /// Neighbours must work on tensors of the same size, if sizes are known.
    pub same_size: bool,
    /// Neighbours must come from one module or one function of the model, if both are known.
    pub same_place: bool,
    /// Number of dimensions the tensors must have, if shapes are known.
    pub dims: Option<usize>,
    /// Most matches per step; more of them are something else.
    pub most_per_step: Option<usize>,
    /// Matched before the other fusions.
    pub first: bool,
    /// Id of its findings, if it is a rule of its own.
    pub finding: Option<String>,
    /// Pattern on name or op of the fused kernel, to see if it runs already.
    pub active: Option<Regex>,
    /// The model's name or modules must contain one of these words; any model if empty.
    pub models: Vec<String>,
    /// Minimum number of ranks.
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
    /// Input for the tests.
    #[serde(rename = "example")]
    _example: Option<Vec<String>>,
    /// Patterns of other tools that this fusion covers.
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
    /// Kernels that examples are built from.
    #[serde(rename = "sample")]
    _sample: Option<toml::Table>,
    /// Patterns of other tools that are not covered, and why.
    #[serde(rename = "not_covered")]
    _not_covered: Option<Vec<toml::Table>>,
}

impl FusionCatalogue {
    /// The built-in catalogue.
    pub fn built_in() -> &'static Self {
        static BUILTIN_CATALOGUE: LazyLock<FusionCatalogue> = LazyLock::new(|| {
            let empty = FusionCatalogue { groups: Vec::new(), names: BTreeMap::new(), fusions: Vec::new() };
            empty.and("fusions.toml", BUILT_IN).expect("the catalogue that is built in is checked by a test")
        });
        &BUILTIN_CATALOGUE
    }

    /// The built-in catalogue plus a file; entries of the file replace built-in ones with the same id.
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
            return Err("it needs at least one path: a framework that has the fused kernel".into());
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

    /// Minimum number of kernels it replaces; if equal, fusions that a framework has come before those that
    /// any program can use.
    fn specificity(&self, groups: &[Group]) -> (bool, usize, bool, usize) {
        let beside_main =
            |step: &&Step| !step.passes && step.groups.iter().all(|&group| !groups[group].is_main());
        let small = self.steps.iter().filter(beside_main).map(|step| step.min).sum();
        let all = self.steps.iter().map(|step| step.min).sum();
        (self.first, small, self.paths.iter().any(|path| path.framework != "any"), all)
    }
}

impl Group {
    /// Whether its kernels do the main work, whose time no fusion of their neighbours saves.
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
