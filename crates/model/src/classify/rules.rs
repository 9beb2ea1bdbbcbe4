//! The rule table: read from TOML, checked, and made into patterns.

use std::sync::{Arc, OnceLock};

use regex::bytes::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::category::Category;
use super::inductor::{InductorRule, Words};
use super::{Name, RowKind, RulesError};

/// Memory limit for the compiled patterns of a table.
const PATTERN_BYTES: usize = 64 << 20;

/// What a pattern is matched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum On {
    #[default]
    Name,
    Function,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    id: Option<String>,
    #[serde(default)]
    on: On,
    kind: Option<OneOrMany>,
    pattern: String,
    category: String,
    backend: String,
    cuda_backend: Option<String>,
    #[serde(default)]
    shared: bool,
    example: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(RowKind),
    Many(Vec<RowKind>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InductorText {
    id: Option<String>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    #[serde(default)]
    all: Vec<String>,
    only: Option<Only>,
    category: String,
    #[serde(rename = "example")]
    _example: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Only {
    Layout,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WordsText {
    #[serde(default)]
    ops: Vec<String>,
    #[serde(default)]
    layout: Vec<String>,
    #[serde(default)]
    opaque: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableText {
    #[serde(default)]
    rule: Vec<toml::Value>,
    #[serde(default)]
    inductor: Vec<toml::Value>,
    #[serde(default)]
    inductor_words: WordsText,
}

/// A rule on a name's text.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub id: Arc<str>,
    /// Kinds of rows it is limited to; all if empty.
    pub kinds: Vec<RowKind>,
    pub category: Category,
    pub backend: Arc<str>,
    pub cuda_backend: Option<Arc<str>>,
    /// Several libraries ship the kernel: the frame that launched it decides the backend.
    pub shared: bool,
}

/// Patterns that are matched on the same text, each with its rule.
#[derive(Clone, Debug)]
struct Patterns {
    texts: Vec<String>,
    rules: Vec<usize>,
    /// All of them in one set, compiled for the first name.
    set: OnceLock<RegexSet>,
}

impl Patterns {
    fn set(&self) -> &RegexSet {
        self.set.get_or_init(|| pattern_set(&self.texts).expect("the patterns were checked"))
    }

    /// The rules whose pattern is in a text, rising.
    fn found_in(&self, text: &str) -> impl Iterator<Item = usize> + '_ {
        self.set().matches(text.as_bytes()).into_iter().map(|place| self.rules[place])
    }
}

/// One table of rules.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub rules: Vec<Rule>,
    on_name: Patterns,
    on_function: Patterns,
    pub inductor: Vec<InductorRule>,
}

impl Rules {
    /// Reads a user's table, checking each rule separately; words of Inductor's ops are added to `words`.
    pub fn parse(file: &str, text: &str, words: &mut Words) -> Result<Self, RulesError> {
        Self::read(file, text, words, true)
    }

    /// Reads our table, which a test has checked: patterns are compiled only once, together, when first used.
    pub fn trusted(file: &str, text: &str, words: &mut Words) -> Result<Self, RulesError> {
        Self::read(file, text, words, false)
    }

    fn read(file: &str, text: &str, words: &mut Words, check: bool) -> Result<Self, RulesError> {
        let wrong = |message: String| RulesError { file: file.to_string(), message };
        let table: TableText = toml::from_str(text).map_err(|error| wrong(toml_message(text, &error)))?;
        add_words(words, table.inductor_words);
        let mut rules = Vec::new();
        let mut patterns: Vec<(On, String)> = Vec::new();
        for (i, value) in table.rule.into_iter().enumerate() {
            let number = i + 1;
            let wrong = |message: String| wrong(format!("rule {number}: {message}"));
            let rule: RuleText = value.try_into().map_err(|e: toml::de::Error| wrong(first_line(&e)))?;
            if check {
                check_rule(&rule).map_err(&wrong)?;
            }
            let id: Arc<str> = rule.id.unwrap_or_else(|| format!("{file}:{number}")).into();
            let category = category(&rule.category).map_err(&wrong)?;
            patterns.push((rule.on, rule.pattern));
            let kinds = match rule.kind {
                None => Vec::new(),
                Some(OneOrMany::One(kind)) => vec![kind],
                Some(OneOrMany::Many(kinds)) => kinds,
            };
            let cuda_backend = rule.cuda_backend.map(Arc::from);
            rules.push(Rule {
                id,
                kinds,
                category,
                backend: rule.backend.into(),
                cuda_backend,
                shared: rule.shared,
            });
        }
        let mut inductor = Vec::new();
        for (i, value) in table.inductor.into_iter().enumerate() {
            let number = i + 1;
            let wrong = |message: String| wrong(format!("inductor rule {number}: {message}"));
            let rule: InductorText = value.try_into().map_err(|e: toml::de::Error| wrong(first_line(&e)))?;
            let id: Arc<str> = rule.id.unwrap_or_else(|| format!("{file}:inductor:{number}")).into();
            let category = category(&rule.category).map_err(&wrong)?;
            let (kinds, any, all) = (rule.kinds, rule.any, rule.all);
            inductor.push(InductorRule { id, kinds, any, all, layout_only: rule.only.is_some(), category });
        }
        let of = |wanted: On| -> Result<Patterns, RulesError> {
            let chosen: Vec<usize> = (0..patterns.len()).filter(|&i| patterns[i].0 == wanted).collect();
            let texts: Vec<String> = chosen.iter().map(|&i| patterns[i].1.clone()).collect();
            let set = if check { pattern_set(&texts).map_err(&wrong)?.into() } else { OnceLock::new() };
            Ok(Patterns { texts, rules: chosen, set })
        };
        Ok(Self { on_name: of(On::Name)?, on_function: of(On::Function)?, rules, inductor })
    }

    /// Compiles the patterns now, so that the first name need not wait for it.
    pub fn compile(&self) {
        rayon::join(|| _ = self.on_name.set(), || _ = self.on_function.set());
    }

    /// Whether this table has a rule with that id.
    pub fn has(&self, id: &str) -> bool {
        self.rules
            .iter()
            .map(|rule| &rule.id)
            .chain(self.inductor.iter().map(|rule| &rule.id))
            .any(|i| &**i == id)
    }

    /// Whether several libraries ship the kernels of this rule.
    pub fn is_shared(&self, id: &str) -> bool {
        self.rules.iter().any(|rule| &*rule.id == id && rule.shared)
    }

    /// The first rule that matches a row's name and kind.
    pub fn first(&self, name: &Name, kind: RowKind) -> Option<&Rule> {
        let first = |patterns: &Patterns, text: &str| {
            patterns
                .found_in(text)
                .find(|&i| self.rules[i].kinds.is_empty() || self.rules[i].kinds.contains(&kind))
        };
        let (a, b) = (first(&self.on_name, &name.canonical), first(&self.on_function, &name.function));
        a.into_iter().chain(b).min().map(|i| &self.rules[i])
    }
}

fn check_rule(rule: &RuleText) -> Result<(), String> {
    let pattern = pattern_set(std::slice::from_ref(&rule.pattern))?;
    if rule.backend.trim().is_empty() {
        return Err("`backend` is empty".into());
    }
    match &rule.example {
        Some(example) if !pattern.is_match(on(rule.on, &Name::of(example)).as_bytes()) => {
            Err(format!("`pattern` does not match its example `{example}`"))
        }
        _ => Ok(()),
    }
}

fn on(on: On, name: &Name) -> &str {
    match on {
        On::Name => &name.canonical,
        On::Function => &name.function,
    }
}

fn add_words(words: &mut Words, more: WordsText) {
    more.ops.iter().for_each(|op| words.add_op(op));
    words.layout.extend(more.layout);
    words.opaque.extend(more.opaque);
}

fn category(word: &str) -> Result<Category, String> {
    Category::parse(word).ok_or_else(|| {
        let known: Vec<&str> = Category::ALL.iter().map(|category| category.name()).collect();
        format!("`{word}` is not a category; choose one of {}", known.join(", "))
    })
}

fn pattern_set(patterns: &[impl AsRef<str>]) -> Result<RegexSet, String> {
    // Kernel names are ASCII: classes without Unicode keep the automata small.
    let built = RegexSetBuilder::new(patterns).unicode(false).size_limit(PATTERN_BYTES).build();
    built.map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
        format!("`pattern` is not a regular expression: {}", reason.trim_start_matches("error: "))
    })
}

fn toml_message(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
    match line {
        Some(line) => format!("line {line}: {}", first_line(error)),
        None => first_line(error),
    }
}

fn first_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_string()
}
