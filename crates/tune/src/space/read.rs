//! Reading a search space from JSON, with errors that name the key, the parameter or the constraint.

use std::path::Path;

use serde_json::{Map, Value as Json};

use super::expression::{Expression, SyntaxError, scalar};
use super::sections;
use super::{CommandText, Constraint, Parameter, Setting, Space, SpaceError};

const SPACE_KEYS: &[&str] = &[
    "params",
    "constraints",
    "derived",
    "build",
    "run",
    "check",
    "env",
    "objective",
    "budget",
    "key",
    "resources",
];
const PARAMETER_KEYS: &[&str] =
    &["values", "range", "step", "pow2", "bool", "categorical", "default", "when"];
/// More values than this are a mistake in the step.
const MOST_VALUES: usize = 10_000;

pub(super) type Read<T> = Result<T, SpaceError>;

impl Space {
    /// Reads a space from a file.
    pub fn read(path: &Path) -> Read<Self> {
        Self::parse(&std::fs::read_to_string(path)?)
    }

    /// Reads a space from JSON text.
    pub fn parse(text: &str) -> Read<Self> {
        match serde_json::from_str(text)? {
            Json::Array(rows) => Self::of_list(&rows),
            Json::Object(object) if object.contains_key("params") => Self::of_object(&object),
            Json::Object(object) if object.is_empty() => {
                Err(SpaceError::Empty { why: "it has no parameters".into() })
            }
            // Without `params` every value is a parameter; a constraint shows that `params` was forgotten.
            Json::Object(object) if !object.keys().any(|key| key == "constraints") => {
                Self { parameters: parameters(&object)?.0, ..Self::default() }.sound()
            }
            _ => Err(SpaceError::Shape),
        }
    }

    fn of_object(object: &Map<String, Json>) -> Read<Self> {
        known_keys(object, "the search space", SPACE_KEYS)?;
        let listed = object.get("params").and_then(Json::as_object);
        let listed = listed.ok_or_else(|| kind("the search space", "params", "an object of parameters"))?;
        let (parameters, conditions) = parameters(listed)?;
        let mut space = Self { parameters, ..Self::default() };
        if let Some(derived) = object.get("derived") {
            let expected = "an object of expressions";
            let derived = derived.as_object().ok_or_else(|| kind("the search space", "derived", expected))?;
            for (name, text) in derived {
                let text = text.as_str().ok_or_else(|| kind("`derived`", name, "an expression in quotes"))?;
                let expression = space.expression(&format!("`{name}` of `derived`"), text)?;
                space.derived.push((name.clone(), expression));
            }
        }
        for (parameter, text) in conditions {
            let place = format!("the condition of `{}`", space.parameters[parameter].name);
            let when = space.expression(&place, &text)?;
            space.parameters[parameter].when = Some(when);
        }
        for (i, text) in texts(object, "the search space", "constraints")?.into_iter().enumerate() {
            let expression = space.expression(&format!("constraint {}", i + 1), &text)?;
            space.constraints.push(Constraint { text, expression });
        }
        for key in ["build", "run", "check"] {
            if let Some(command) = object.get(key) {
                space.commands.push((key.into(), command_text(key, sections::words_of(key, command)?)?));
            }
        }
        if let Some(env) = object.get("env") {
            let expected = "an object of strings";
            let env = env.as_object().ok_or_else(|| kind("the search space", "env", expected))?;
            for (name, value) in env {
                let setting =
                    Setting::of_json(value).ok_or_else(|| kind("`env`", name, "a string or a number"))?;
                space.environment.push((name.clone(), setting.to_string()));
            }
        }
        space.objective = sections::objective(object)?;
        space.limits = sections::limits(object)?;
        (space.key, space.key_files) = sections::deciding(object)?;
        space.resources = sections::resources(object, &space)?;
        space.sound()
    }

    /// A list of whole configurations, as in the first version of this format.
    fn of_list(rows: &[Json]) -> Read<Self> {
        let mut names: Vec<String> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let place = format!("configuration {}", i + 1);
            let row = row.as_object().ok_or_else(|| kind(&place, "it", "an object"))?;
            names.extend(row.keys().filter(|key| !names.contains(key)).cloned().collect::<Vec<_>>());
        }
        let mut parameters: Vec<Parameter> = names.into_iter().map(|name| parameter(name, vec![])).collect();
        let mut listed = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let mut levels = Vec::new();
            for parameter in &mut parameters {
                let missing = || SpaceError::Missing { number: i + 1, name: parameter.name.clone() };
                let value = row.get(&parameter.name).ok_or_else(missing)?;
                let value = Setting::of_json(value).ok_or_else(|| {
                    kind(
                        &format!("configuration {}", i + 1),
                        &parameter.name,
                        "a number, a string or a boolean",
                    )
                })?;
                let known = parameter.values.iter().position(|other| *other == value);
                let level = known.unwrap_or_else(|| {
                    parameter.scalars.push(scalar(&value));
                    parameter.values.push(value);
                    parameter.values.len() - 1
                });
                levels.push(level as u16);
            }
            if !listed.contains(&levels) {
                listed.push(levels);
            }
        }
        if listed.is_empty() || parameters.is_empty() {
            return Err(SpaceError::Empty { why: "the list is empty".into() });
        }
        Ok(Self { parameters, listed: Some(listed), ..Self::default() })
    }

    /// Checks the whole: there is a parameter, and conditions have no cycle.
    fn sound(self) -> Read<Self> {
        if self.parameters.is_empty() {
            return Err(SpaceError::Empty { why: "it has no parameters".into() });
        }
        self.order()?;
        Ok(self)
    }

    pub(super) fn expression(&self, place: &str, text: &str) -> Read<Expression> {
        let mut names = self.names();
        names.extend(self.derived.iter().map(|(name, _)| name.as_str()));
        Expression::parse(text, &|name| names.iter().position(|known| *known == name)).map_err(|error| {
            let near = match &error {
                SyntaxError::Name { name } => expr::names::nearest(name, &names, 2),
                _ => Vec::new(),
            };
            SpaceError::Expression { place: place.into(), text: text.into(), error, near }
        })
    }
}

pub(super) fn kind(place: &str, key: &str, expected: &'static str) -> SpaceError {
    SpaceError::Kind { place: place.into(), key: key.into(), expected }
}

fn wrong(name: &str, why: impl Into<String>) -> SpaceError {
    SpaceError::Parameter { name: name.into(), why: why.into() }
}

pub(super) fn known_keys(
    object: &Map<String, Json>,
    place: &str,
    known: &'static [&'static str],
) -> Read<()> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(SpaceError::Key { place: place.into(), key: key.clone(), known }),
        None => Ok(()),
    }
}

fn texts(object: &Map<String, Json>, place: &str, key: &str) -> Read<Vec<String>> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    let wrong = || kind(place, key, "a list of expressions in quotes");
    let list = value.as_array().ok_or_else(wrong)?;
    list.iter().map(|item| item.as_str().map(str::to_string).ok_or_else(wrong)).collect()
}

fn command_text(key: &str, value: &Json) -> Read<CommandText> {
    let wrong = || kind("the search space", key, "a command, or a list of its words");
    match value {
        Json::String(line) => Ok(CommandText::Line(line.clone())),
        Json::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_string).ok_or_else(wrong));
            Ok(CommandText::Words(words.collect::<Read<_>>()?))
        }
        _ => Err(wrong()),
    }
}

fn parameter(name: String, values: Vec<Setting>) -> Parameter {
    let scalars = values.iter().map(scalar).collect();
    Parameter { name, values, default: None, when: None, scalars }
}

/// Parameters by number, with the texts of their conditions.
type Conditions = Vec<(usize, String)>;

/// All parameters, and the texts of their conditions, which may name later parameters.
fn parameters(object: &Map<String, Json>) -> Read<(Vec<Parameter>, Conditions)> {
    let (mut parameters, mut conditions) = (Vec::new(), Vec::new());
    for (name, value) in object {
        let word = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !word {
            return Err(wrong(
                name,
                "needs a name of letters, digits and `_` to be used in templates and expressions",
            ));
        }
        let (values, fields) = match value {
            Json::Array(list) => (settings(name, list)?, None),
            Json::Object(fields) => (expand(name, fields)?, Some(fields)),
            _ => return Err(wrong(name, "must be a list of values or an object with `values` or `range`")),
        };
        if values.is_empty() {
            return Err(wrong(name, "has no values"));
        }
        if let Some(twice) = values.iter().enumerate().find(|(i, value)| values[..*i].contains(value)) {
            return Err(wrong(name, format!("has the value `{}` twice", twice.1)));
        }
        let mut parameter = parameter(name.clone(), values);
        if let Some(default) = fields.and_then(|fields| fields.get("default")) {
            let level = Setting::of_json(default)
                .and_then(|default| parameter.values.iter().position(|value| *value == default));
            let level = level.ok_or_else(|| {
                wrong(name, format!("has the default {default}, which is not one of its values"))
            })?;
            parameter.default = Some(level);
        }
        if let Some(when) = fields.and_then(|fields| fields.get("when")) {
            let text =
                when.as_str().ok_or_else(|| kind(&format!("`{name}`"), "when", "an expression in quotes"))?;
            if parameter.default.is_none() {
                return Err(wrong(
                    name,
                    "has a condition, so it needs a `default` for when the condition is false",
                ));
            }
            conditions.push((parameters.len(), text.to_string()));
        }
        parameters.push(parameter);
    }
    Ok((parameters, conditions))
}

fn settings(name: &str, list: &[Json]) -> Read<Vec<Setting>> {
    let setting = |value| {
        Setting::of_json(value).ok_or_else(|| {
            wrong(name, format!("has the value {value}, which is not a number, string or boolean"))
        })
    };
    list.iter().map(setting).collect()
}

fn expand(name: &str, fields: &Map<String, Json>) -> Read<Vec<Setting>> {
    known_keys(fields, &format!("parameter `{name}`"), PARAMETER_KEYS)?;
    let forms: Vec<&str> = ["values", "range", "bool", "categorical"]
        .into_iter()
        .filter(|key| fields.contains_key(*key))
        .collect();
    match forms[..] {
        ["values" | "categorical"] => {
            let list = fields[forms[0]].as_array();
            settings(name, list.ok_or_else(|| kind(&format!("parameter `{name}`"), forms[0], "a list"))?)
        }
        ["bool"] => Ok(vec![Setting::Bool(false), Setting::Bool(true)]),
        ["range"] => range(name, fields),
        [] => Err(wrong(name, "has neither `values` nor `range`, `bool` or `categorical`")),
        _ => Err(wrong(name, format!("has `{}`; use only one", forms.join("` and `")))),
    }
}

/// From the first to the last, inclusive, by a step or by powers of two.
fn range(name: &str, fields: &Map<String, Json>) -> Read<Vec<Setting>> {
    let bounds: Vec<&Json> = fields["range"].as_array().map(|list| list.iter().collect()).unwrap_or_default();
    let bounds: Vec<f64> = bounds.into_iter().filter_map(Json::as_f64).collect();
    let [first, last] = bounds[..] else {
        return Err(kind(&format!("parameter `{name}`"), "range", "a list of two numbers"));
    };
    if first > last {
        return Err(wrong(name, format!("has a range that ends before it starts ({first} to {last})")));
    }
    let pow2 = fields.get("pow2").is_some_and(|value| value != &Json::Bool(false));
    if pow2 && fields.contains_key("step") {
        return Err(wrong(name, "has `step` and `pow2`; use only one"));
    }
    if pow2 {
        if first < 1.0 {
            return Err(wrong(name, format!("has powers of two from {first}; they start at 1")));
        }
        let powers = (0..63).map(|n| 1i64 << n).filter(|n| (first..=last).contains(&(*n as f64)));
        let powers: Vec<Setting> = powers.map(Setting::Int).collect();
        return match powers.is_empty() {
            true => Err(wrong(name, format!("has no power of two between {first} and {last}"))),
            false => Ok(powers),
        };
    }
    let step = fields.get("step").map_or(Some(1.0), Json::as_f64).filter(|step| *step > 0.0);
    let step = step.ok_or_else(|| wrong(name, "has a step that is not a number above zero"))?;
    let count = ((last - first) / step * (1.0 + 1e-12)).floor();
    if count >= MOST_VALUES as f64 {
        return Err(wrong(name, format!("has more than {MOST_VALUES} values")));
    }
    let whole = first.fract() == 0.0 && step.fract() == 0.0;
    let value = |i: usize| {
        let value = first + i as f64 * step;
        if whole { Setting::Int(value as i64) } else { Setting::Float(value) }
    };
    Ok((0..=count as usize).map(value).collect())
}
