//! The questions in `evals/questions.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Error;

/// All questions.
#[derive(Debug, Deserialize)]
pub struct Questions {
    kind: BTreeMap<String, QuestionKind>,
    question: Vec<Question>,
}

#[derive(Debug, Deserialize)]
struct QuestionKind {
    text: String,
    expect: Vec<Field>,
}

/// A field of an answer that is checked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// What is wrong, in one word.
    Cause,
    /// Where.
    Place,
    /// How much.
    Number,
}

/// One question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// A unique name.
    pub id: String,
    /// What is asked.
    pub kind: String,
    /// The run that it is about.
    pub a: RunSpec,
    /// The run to compare it with.
    pub b: Option<RunSpec>,
    /// The kernel that gets faster or slower in a prediction.
    pub kernel: Option<String>,
    /// The factor on that kernel's time.
    pub factor: Option<f64>,
    /// How far the number may be off, in percent.
    #[serde(default)]
    pub tolerance: f64,
    expect: Option<Vec<Field>>,
}

/// How a run is made.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// The scenario's name.
    pub scenario: String,
    /// The format it is written in.
    pub format: String,
    /// Steps, if not the scenario's.
    pub steps: Option<u64>,
    /// Ranks, if not the scenario's.
    pub ranks: Option<u32>,
    /// What the profiler loses.
    pub lose: Option<String>,
    /// Which kernels take longer.
    pub scale: Option<String>,
    /// Which rank is late.
    pub straggler: Option<String>,
    /// Which link is slow.
    pub slow_link: Option<String>,
    /// How far clocks are off.
    pub clock_offset_ms: Option<f64>,
    /// How far they drift.
    pub drift_ppm: Option<f64>,
    /// Whether its random numbers differ from those of the other run.
    pub other_seed: bool,
}

impl Questions {
    /// The questions of the repository.
    pub fn load() -> Result<Self, Error> {
        toml::from_str(include_str!("../../../evals/questions.toml"))
            .map_err(|error| Error::Questions(error.to_string()))
    }

    /// The questions in order.
    pub fn iter(&self) -> impl Iterator<Item = &Question> {
        self.question.iter()
    }

    /// The question as the agent reads it, with these paths.
    pub fn text(&self, question: &Question, a: &str, b: &str) -> String {
        let text = self.kind.get(&question.kind).map_or("", |kind| kind.text.as_str());
        let factor = question.factor.map(|factor| factor.to_string()).unwrap_or_default();
        text.replace("{a}", a)
            .replace("{b}", b)
            .replace("{kernel}", question.kernel.as_deref().unwrap_or_default())
            .replace("{factor}", &factor)
    }

    /// The fields that are checked.
    pub fn expected<'a>(&'a self, question: &'a Question) -> &'a [Field] {
        let of_kind = || self.kind.get(&question.kind).map_or(&[][..], |kind| kind.expect.as_slice());
        question.expect.as_deref().unwrap_or_else(of_kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_sixty_questions_and_no_text_gives_its_scenario_away() {
        let questions = Questions::load().expect("the questions read");
        let mut ids: Vec<&str> = questions.iter().map(|question| question.id.as_str()).collect();
        assert!(ids.len() >= 60, "{}", ids.len());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), questions.iter().count(), "ids differ");
        for question in questions.iter() {
            let text = questions.text(question, "runs/x", "runs/y");
            assert!(text.contains("runs/x") && !text.contains('{'), "{text}");
            assert!(!text.contains(&question.a.scenario), "{}: {text}", question.id);
            assert!(!questions.expected(question).is_empty(), "{}", question.id);
        }
    }
}
