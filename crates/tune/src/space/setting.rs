//! What a parameter can be set to.

use std::fmt;

use serde_json::{Number, Value as Json};

/// One value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// On or off; one or zero in expressions.
    Bool(bool),
    /// A word, such as a data type.
    Text(String),
}

impl Setting {
    /// The setting for a JSON value; `None` for lists, objects, null and numbers out of range.
    pub fn of_json(value: &Json) -> Option<Self> {
        match value {
            Json::Bool(on) => Some(Setting::Bool(*on)),
            Json::Number(n) => n
                .as_i64()
                .map(Setting::Int)
                .or_else(|| n.as_f64().filter(|f| f.is_finite()).map(Setting::Float)),
            Json::String(text) => Some(Setting::Text(text.clone())),
            _ => None,
        }
    }

    /// The setting as JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Setting::Int(n) => (*n).into(),
            Setting::Float(f) => Number::from_f64(*f).map_or(Json::Null, Json::Number),
            Setting::Bool(on) => (*on).into(),
            Setting::Text(text) => text.clone().into(),
        }
    }

    /// Its number; `None` for words.
    pub fn number(&self) -> Option<f64> {
        match self {
            Setting::Int(n) => Some(*n as f64),
            Setting::Float(f) => Some(*f),
            Setting::Bool(on) => Some(f64::from(u8::from(*on))),
            Setting::Text(_) => None,
        }
    }
}

/// Its form on a command line.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Int(n) => write!(f, "{n}"),
            Setting::Float(x) => write!(f, "{x}"),
            Setting::Bool(on) => write!(f, "{on}"),
            Setting::Text(text) => f.write_str(text),
        }
    }
}
