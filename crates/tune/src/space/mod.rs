//! The search space: parameters with their values, and the constraints between them.
//!
//! ```text
//! {"params": {"BLOCK_M": {"range": [16, 256], "pow2": true, "default": 64},
//!             "num_warps": [1, 2, 4, 8],
//!             "SPLIT_K": {"values": [1, 2, 4], "when": "BLOCK_M <= 64", "default": 1}},
//!  "constraints": ["BLOCK_M * num_warps <= 1024"]}
//! ```
//!
//! Other accepted forms: an object of plain lists, and a list of whole configurations.

mod enumerate;
mod error;
mod expression;
mod read;
mod sections;
mod setting;

pub use enumerate::{Candidates, Size};
pub use error::SpaceError;
pub use expression::{Expression, Scalar, SyntaxError};
pub(crate) use sections::Resource;
pub use sections::{Limits, Objective, Resources};
pub use setting::Setting;

use serde_json::{Map, Value as Json};

/// A parameter and its values.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name in templates.
    pub name: String,
    /// Its values in the order of the file.
    pub values: Vec<Setting>,
    /// The value to use if nothing is known yet.
    pub default: Option<usize>,
    /// If it is false, the parameter stays at its default.
    pub(crate) when: Option<Expression>,
    pub(crate) scalars: Vec<Scalar>,
}

impl Parameter {
    /// Whether all values are numbers, so that they can be interpolated and extrapolated.
    pub fn is_numeric(&self) -> bool {
        self.values.iter().all(|value| value.number().is_some())
    }
}

/// A constraint as the user wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub text: String,
    pub expression: Expression,
}

/// A command in a space file: a line to split into words, or the words themselves.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandText {
    /// To be split.
    Line(String),
    /// Already split.
    Words(Vec<String>),
}

/// Parameters, constraints, and the commands that a space file may name.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// In the order of the file.
    pub parameters: Vec<Parameter>,
    /// Further features for the model, by name.
    pub(crate) derived: Vec<(String, Expression)>,
    pub(crate) constraints: Vec<Constraint>,
    /// Whole configurations, if the file lists them: levels of each parameter.
    pub(crate) listed: Option<Vec<Vec<u16>>>,
    /// Command templates of the file: `build`, `run`, `check`.
    pub commands: Vec<(String, CommandText)>,
    /// Environment variables for all commands; values are templates.
    pub environment: Vec<(String, String)>,
    /// What to measure.
    pub objective: Objective,
    /// Limits of the search.
    pub limits: Limits,
    /// Resources of a launch.
    pub resources: Resources,
    /// Other facts that affect the result: names and values.
    pub key: Vec<(String, String)>,
    /// Files whose contents affect the result.
    pub key_files: Vec<String>,
}

impl Space {
    /// The value of a parameter or derived feature if parameters have these levels.
    pub(crate) fn scalar(&self, name: usize, levels: &dyn Fn(usize) -> u16) -> Scalar {
        match self.parameters.get(name) {
            Some(parameter) => parameter.scalars[usize::from(levels(name))].clone(),
            None => self.derived[name - self.parameters.len()].1.evaluate(&|name| self.scalar(name, levels)),
        }
    }

    /// Settings of a configuration, by parameter.
    pub fn settings(&self, levels: &[u16]) -> Vec<(&str, &Setting)> {
        self.parameters
            .iter()
            .zip(levels)
            .map(|(parameter, level)| (parameter.name.as_str(), &parameter.values[usize::from(*level)]))
            .collect()
    }

    /// A configuration as a JSON object.
    pub fn to_json(&self, levels: &[u16]) -> Json {
        let entries =
            self.settings(levels).into_iter().map(|(name, value)| (name.to_string(), value.to_json()));
        Json::Object(entries.collect::<Map<_, _>>())
    }

    /// A configuration as text: `BLOCK_M=64 num_warps=4`.
    pub fn describe(&self, levels: &[u16]) -> String {
        let settings = self.settings(levels).into_iter().map(|(name, value)| format!("{name}={value}"));
        settings.collect::<Vec<_>>().join(" ")
    }

    /// Names of all parameters.
    pub fn names(&self) -> Vec<&str> {
        self.parameters.iter().map(|parameter| parameter.name.as_str()).collect()
    }

    /// The configuration of all defaults; the first value if a parameter has none.
    pub fn defaults(&self) -> Vec<u16> {
        self.parameters.iter().map(|parameter| parameter.default.unwrap_or(0) as u16).collect()
    }

    /// Whether the file has defaults.
    pub fn has_defaults(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.default.is_some() && parameter.when.is_none())
    }
}
