//! Step annotations of the serving frameworks, read from their names by a table.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;

use super::Stage;

/// The rules of `rules/stages.toml`.
pub(crate) struct StageRules {
    patterns: Vec<Pattern>,
    pub labels: Labels,
    pub capture_modes: BTreeMap<String, Stage>,
    pub warm_up: WarmUp,
    #[cfg(test)]
    not_steps: Vec<String>,
}

/// What the name of a step annotation says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepName<'a> {
    /// The stage.
    pub stage: Stage,
    /// Requests in the context phase.
    pub context_requests: Option<u64>,
    /// Tokens of the requests in the context phase.
    pub context_tokens: Option<u64>,
    /// Requests in the generation phase.
    pub generation_requests: Option<u64>,
    /// Tokens of the requests in the generation phase.
    pub generation_tokens: Option<u64>,
    /// All requests.
    pub batch: Option<u64>,
    /// The batch that the graph was captured for.
    pub padded_batch: Option<u64>,
    /// All tokens.
    pub tokens: Option<u64>,
    /// `ProfilerStep#N`: N.
    pub number: Option<u64>,
    /// The capture of a graph, with its mode: `FULL`, `PIECEWISE`, `DECODE`.
    pub capture_mode: Option<&'a str>,
    /// A step of a loop around the framework's own steps.
    pub is_loop_step: bool,
    /// A plain word that the program's author may have written: counts only if no framework marks its steps.
    pub is_plain_word: bool,
}

struct Pattern {
    name: Regex,
    /// Common prefix of all matching names: a cheap test before the expression.
    literal: String,
    stage: Option<Stage>,
    loop_step: bool,
    plain_word: bool,
    #[cfg(test)]
    framework: String,
    #[cfg(test)]
    examples: Vec<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    pattern: Vec<PatternText>,
    #[cfg_attr(not(test), allow(dead_code))]
    not_steps: NotSteps,
    labels: Labels,
    capture_modes: BTreeMap<String, Stage>,
    warm_up: WarmUp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct PatternText {
    framework: String,
    name: String,
    stage: String,
    #[serde(default)]
    loop_step: bool,
    #[serde(default)]
    plain_word: bool,
    examples: Vec<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct Example {
    text: String,
    stage: Stage,
    batch: Option<u64>,
    padded: Option<u64>,
    mode: Option<String>,
    number: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code))]
struct NotSteps {
    examples: Vec<String>,
}

/// Words of file and folder names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Labels {
    pub prefill: Vec<String>,
    pub decode: Vec<String>,
    pub depth: usize,
}

/// When a step at the beginning is warm-up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmUp {
    pub slow_factor: f64,
    pub batch_share: f64,
    pub fewest_steps: usize,
    pub most_share: f64,
}

impl StageRules {
    /// The built-in rules.
    pub fn built_in() -> &'static Self {
        static RULES: LazyLock<StageRules> = LazyLock::new(|| {
            let text = include_str!("../../rules/stages.toml");
            let file: File = formats::tables::built_in(text).expect("built-in stage rules are valid");
            StageRules::from(file)
        });
        &RULES
    }

    /// What a name says, if it is the name of a step.
    pub fn step<'a>(&self, name: &'a str) -> Option<StepName<'a>> {
        let candidates = self.patterns.iter().filter(|p| name.starts_with(p.literal.as_str()));
        candidates.filter_map(|p| Some((p, p.name.captures(name)?))).next().map(|(p, groups)| p.read(&groups))
    }
}

impl From<File> for StageRules {
    fn from(file: File) -> Self {
        let pattern = |text: PatternText| Pattern {
            literal: literal_of(&text.name),
            name: Regex::new(&text.name).expect("built-in stage patterns are valid"),
            stage: Stage::from_name(&text.stage),
            loop_step: text.loop_step,
            plain_word: text.plain_word,
            #[cfg(test)]
            framework: text.framework,
            #[cfg(test)]
            examples: text.examples,
        };
        Self {
            patterns: file.pattern.into_iter().map(pattern).collect(),
            labels: file.labels,
            capture_modes: file.capture_modes,
            warm_up: file.warm_up,
            #[cfg(test)]
            not_steps: file.not_steps.examples,
        }
    }
}

/// The literal prefix of an anchored expression.
fn literal_of(expression: &str) -> String {
    let text = expression.strip_prefix('^').unwrap_or(expression);
    let text = text.replace(r"\[", "[");
    text.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '[' | '#' | '=')).collect()
}

impl Pattern {
    fn read<'a>(&self, groups: &Captures<'a>) -> StepName<'a> {
        let number = |group| groups.name(group).and_then(|text| text.as_str().parse().ok());
        let (context, generation) = (number("context"), number("generation"));
        let both = context.zip(generation).map(|(c, g): (u64, u64)| c.saturating_add(g));
        StepName {
            stage: self
                .stage
                .unwrap_or_else(|| Stage::of_requests(context.unwrap_or(0), generation.unwrap_or(0))),
            context_requests: context,
            context_tokens: number("context_tokens"),
            generation_requests: generation,
            generation_tokens: number("generation_tokens"),
            batch: number("batch").or(both),
            padded_batch: number("padded"),
            tokens: number("tokens"),
            number: number("number"),
            capture_mode: groups.name("mode").map(|text| text.as_str()),
            is_loop_step: self.loop_step,
            is_plain_word: self.plain_word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_reads_as_it_says() {
        let rules = StageRules::built_in();
        for pattern in &rules.patterns {
            assert!(!pattern.examples.is_empty(), "{} has a pattern without an example", pattern.framework);
            for example in &pattern.examples {
                let step = rules.step(&example.text).unwrap_or_else(|| panic!("{} is no step", example.text));
                assert_eq!(step.stage, example.stage, "{}", example.text);
                assert_eq!(step.batch, example.batch, "{}", example.text);
                assert_eq!(step.padded_batch, example.padded, "{}", example.text);
                assert_eq!(step.number, example.number, "{}", example.text);
                assert_eq!(step.capture_mode, example.mode.as_deref(), "{}", example.text);
            }
        }
        for name in &rules.not_steps {
            assert_eq!(rules.step(name), None, "{name}");
        }
    }

    #[test]
    fn requests_and_tokens_are_kept_by_phase() {
        let step = StageRules::built_in().step("execute_context_9(4096)_generation_37(41)").unwrap();
        assert_eq!((step.context_requests, step.context_tokens), (Some(9), Some(4096)));
        assert_eq!((step.generation_requests, step.generation_tokens), (Some(37), Some(41)));
        let step = StageRules::built_in().step("step[EXTEND bs=15 toks=15360]").unwrap();
        assert_eq!((step.batch, step.tokens), (Some(15), Some(15360)));
    }
}
