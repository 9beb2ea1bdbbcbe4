//! Whether an answer is right: its cause, its place and its number within the tolerance.

use serde_json::Value as Json;

use crate::questions::Field;
use crate::truth::Truth;

/// What an agent concludes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conclusion {
    /// What is wrong, in one word.
    pub cause: Option<String>,
    /// Where.
    pub place: Option<String>,
    /// How much, in the unit that was asked for.
    pub number: Option<f64>,
}

impl Conclusion {
    /// From the JSON object that agents answer with; models also write numbers as texts.
    pub fn of(json: &Json) -> Self {
        let text = |name: &str| match &json[name] {
            Json::String(text) => Some(text.clone()),
            Json::Number(number) => Some(number.to_string()),
            Json::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_string()),
            _ => None,
        };
        let number = json["number"].as_f64().or_else(|| json["number"].as_str()?.trim().parse().ok());
        Self { cause: text("cause"), place: text("place"), number }
    }
}

/// Why an answer is wrong; `None` if it is right.
pub fn wrong(answer: &Conclusion, truth: &Truth, fields: &[Field], tolerance: f64) -> Option<String> {
    for field in fields {
        let problem = match field {
            Field::Cause => cause(answer.cause.as_deref(), &truth.causes),
            Field::Place => place(answer.place.as_deref(), &truth.places),
            Field::Number => number(answer.number, truth.number, tolerance),
        };
        if problem.is_some() {
            return problem;
        }
    }
    None
}

fn cause(given: Option<&str>, right: &[String]) -> Option<String> {
    let given = given.unwrap_or_default().trim().to_lowercase().replace(['_', ' '], "-");
    let is_right = right.iter().any(|cause| cause.to_lowercase() == given);
    (!is_right).then(|| format!("cause is `{given}`, not `{}`", right.join("` or `")))
}

/// Longer places name everything and say nothing.
const LONGEST_PLACE: usize = 600;
/// Shorter words fit many names.
const SHORTEST_WORD: usize = 5;

/// A place is right if the name has every longer word of it, so that a name may be shortened.
fn place(given: Option<&str>, right: &[String]) -> Option<String> {
    let given = given.unwrap_or_default().trim().to_lowercase();
    let fits = |name: &String| {
        let name = name.to_lowercase();
        if given == name {
            return true;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = given.split(|c| !is_word(c)).filter(|word| word.len() >= SHORTEST_WORD).peekable();
        words.peek().is_some() && words.all(|word| name.contains(word))
    };
    let is_right = given.len() <= LONGEST_PLACE && right.iter().any(fits);
    (!is_right).then(|| {
        let right: Vec<String> = right.iter().map(|name| name.chars().take(80).collect()).collect();
        format!("place is `{}`, not `{}`", given.chars().take(120).collect::<String>(), right.join("` or `"))
    })
}

fn number(given: Option<f64>, right: Option<f64>, tolerance: f64) -> Option<String> {
    let (Some(given), Some(right)) = (given, right) else { return Some("there is no number".into()) };
    let off = (given - right).abs();
    let allowed = right.abs() * tolerance / 100.0;
    (off > allowed || !given.is_finite())
        .then(|| format!("number is {given:.3}, not {right:.3} ± {tolerance} %"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn truth() -> Truth {
        Truth {
            causes: vec!["idle-gpu".into()],
            places: vec!["/workspace/serve/tokenizer.py(118): encode_batch".into()],
            number: Some(50.0),
        }
    }

    #[test]
    fn conclusions_are_checked_and_not_words_around_them() {
        let all = [Field::Cause, Field::Place, Field::Number];
        let given = |cause: &str, place: &str, number: f64| {
            let answer = Conclusion::of(&json!({ "cause": cause, "place": place, "number": number }));
            wrong(&answer, &truth(), &all, 10.0)
        };
        assert_eq!(given("idle_gpu", "encode_batch", 52.0), None);
        assert_eq!(given("Idle GPU", "serve/tokenizer.py(118)", 46.0), None);
        assert!(given("launch-bound", "encode_batch", 52.0).unwrap().contains("cause"));
        assert!(given("idle-gpu", "decode_batch", 52.0).unwrap().contains("place"));
        assert!(given("idle-gpu", "a", 52.0).unwrap().contains("place"), "short words fit everything");
        assert!(given("idle-gpu", "encode_batch", 60.0).unwrap().contains("number"));
        assert!(given("idle-gpu", "encode_batch", f64::NAN).is_some());
    }

    #[test]
    fn an_empty_answer_is_wrong() {
        assert!(wrong(&Conclusion::default(), &truth(), &[Field::Cause], 0.0).is_some());
        assert!(wrong(&Conclusion::default(), &truth(), &[Field::Number], 100.0).is_some());
        assert!(wrong(&Conclusion::default(), &Truth::default(), &[Field::Cause], 0.0).is_some());
    }

    #[test]
    fn numbers_may_be_texts() {
        assert_eq!(Conclusion::of(&json!({ "number": "12.5", "place": 3 })).number, Some(12.5));
        assert_eq!(Conclusion::of(&json!({ "place": 3 })).place, Some("3".into()));
    }
}
