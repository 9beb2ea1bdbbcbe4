//! The parts of a space file besides its parameters: what to measure, for how long, what launches need, what
//! affects the result.

use serde_json::{Map, Value as Json};

use super::expression::{Expression, Scalar};
use super::read::{Read, kind, known_keys};
use super::{Setting, Space, SpaceError};

/// What to measure, if the file says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objective {
    /// `dispatch_time`, `process_time`, or an expression that finds a printed number.
    pub metric: Option<String>,
    /// Kernels whose dispatches count.
    pub kernel: Option<String>,
    /// How to combine their times: `sum`, `mean`, `median`, `min`, `max`.
    pub aggregate: Option<String>,
    /// Whether larger values are better.
    pub maximise: Option<bool>,
}

/// Limits of the search, if the file has them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Configurations to try.
    pub trials: Option<usize>,
    /// Minutes to spend.
    pub minutes: Option<f64>,
    /// Maximum runs of a configuration in one trial.
    pub repeats: Option<usize>,
    /// Longest run, in seconds.
    pub timeout: Option<f64>,
}

/// What a launch needs, as expressions over the parameters.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    amounts: Vec<(Resource, Expression)>,
}

/// A limited resource of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Lds,
    Vgpr,
    Agpr,
    Threads,
}

const RESOURCES: &[(&str, Resource)] = &[
    ("lds_bytes", Resource::Lds),
    ("vgpr", Resource::Vgpr),
    ("agpr", Resource::Agpr),
    ("threads", Resource::Threads),
];

impl Resources {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }

    /// The amount of a resource that a configuration needs; `None` if the file does not say, or the
    /// expression gives no valid number.
    pub(crate) fn amount(&self, resource: Resource, space: &Space, levels: &[u16]) -> Option<u32> {
        let (_, expression) = self.amounts.iter().find(|(known, _)| *known == resource)?;
        match expression.evaluate(&|name| space.scalar(name, &|p| levels[p])) {
            Scalar::Number(n) if n >= 0.0 => Some(n.ceil().min(f64::from(u32::MAX)) as u32),
            _ => None,
        }
    }
}

const SPACE: &str = "the search space";

fn section<'a>(object: &'a Map<String, Json>, key: &str) -> Read<Option<&'a Map<String, Json>>> {
    let Some(value) = object.get(key) else { return Ok(None) };
    value.as_object().map(Some).ok_or_else(|| kind(SPACE, key, "an object"))
}

fn text(fields: &Map<String, Json>, place: &str, key: &str) -> Read<Option<String>> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    value.as_str().map(|text| Some(text.to_string())).ok_or_else(|| kind(place, key, "a text"))
}

fn number(fields: &Map<String, Json>, place: &str, key: &str) -> Read<Option<f64>> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    let number = value.as_f64().filter(|number| *number > 0.0 && *number < 1e9);
    number.map(Some).ok_or_else(|| kind(place, key, "a number above zero"))
}

fn count(fields: &Map<String, Json>, place: &str, key: &str) -> Read<Option<usize>> {
    let whole = number(fields, place, key)?;
    match whole {
        Some(number) if number.fract() != 0.0 => Err(kind(place, key, "a whole number above zero")),
        other => Ok(other.map(|number| number as usize)),
    }
}

/// How to combine dispatch times.
const AGGREGATES: &[&str] = &["sum", "mean", "median", "min", "max"];

pub(super) fn objective(object: &Map<String, Json>) -> Read<Objective> {
    let Some(fields) = section(object, "objective")? else { return Ok(Objective::default()) };
    let place = "`objective`";
    known_keys(fields, place, &["metric", "kernel", "agg", "direction"])?;
    let aggregate = text(fields, place, "agg")?;
    if aggregate.as_ref().is_some_and(|typed| !AGGREGATES.contains(&typed.as_str())) {
        return Err(kind(place, "agg", "one of sum, mean, median, min, max"));
    }
    let maximise = match text(fields, place, "direction")?.as_deref() {
        None => None,
        Some("minimize" | "minimise" | "min") => Some(false),
        Some("maximize" | "maximise" | "max") => Some(true),
        Some(_) => return Err(kind(place, "direction", "`minimize` or `maximize`")),
    };
    let objective = Objective {
        metric: text(fields, place, "metric")?,
        kernel: text(fields, place, "kernel")?,
        aggregate,
        maximise,
    };
    let of_dispatches = objective.metric.as_deref().is_none_or(|metric| metric == "dispatch_time");
    if !of_dispatches && (objective.kernel.is_some() || objective.aggregate.is_some()) {
        return Err(kind(place, "metric", "`dispatch_time` if `kernel` or `agg` is given"));
    }
    Ok(objective)
}

pub(super) fn limits(object: &Map<String, Json>) -> Read<Limits> {
    let Some(fields) = section(object, "budget")? else { return Ok(Limits::default()) };
    let place = "`budget`";
    known_keys(fields, place, &["trials", "minutes", "repeats", "timeout"])?;
    Ok(Limits {
        trials: count(fields, place, "trials")?,
        minutes: number(fields, place, "minutes")?,
        repeats: count(fields, place, "repeats")?,
        timeout: number(fields, place, "timeout")?,
    })
}

/// Names and values of what affects the result besides the commands, such as a problem's shape; and file
/// names.
pub(super) type Deciding = (Vec<(String, String)>, Vec<String>);

pub(super) fn deciding(object: &Map<String, Json>) -> Read<Deciding> {
    let (mut values, mut files) = (Vec::new(), Vec::new());
    let Some(fields) = section(object, "key")? else { return Ok((values, files)) };
    for (name, value) in fields {
        if name == "files" {
            let wrong = || kind("`key`", "files", "a list of file names");
            for file in value.as_array().ok_or_else(wrong)? {
                files.push(file.as_str().ok_or_else(wrong)?.to_string());
            }
            continue;
        }
        let setting = Setting::of_json(value);
        let setting = setting.ok_or_else(|| kind("`key`", name, "a string, a number or a boolean"))?;
        values.push((name.clone(), setting.to_string()));
    }
    Ok((values, files))
}

pub(super) fn resources(object: &Map<String, Json>, space: &Space) -> Read<Resources> {
    let mut resources = Resources::default();
    let Some(fields) = section(object, "resources")? else { return Ok(resources) };
    known_keys(fields, "`resources`", &["lds_bytes", "vgpr", "agpr", "threads"])?;
    for (name, value) in fields {
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            _ => return Err(kind("`resources`", name, "a number or an expression in quotes")),
        };
        let expression = space.expression(&format!("`{name}` of `resources`"), &text)?;
        if let Some((_, resource)) = RESOURCES.iter().find(|(known, _)| known == name) {
            resources.amounts.push((*resource, expression));
        }
    }
    Ok(resources)
}

/// A command in the file may be an object with its words.
pub(super) fn words_of<'a>(key: &str, value: &'a Json) -> Read<&'a Json> {
    let Json::Object(fields) = value else { return Ok(value) };
    known_keys(fields, &format!("`{key}`"), &["argv"])?;
    fields.get("argv").ok_or_else(|| SpaceError::Kind {
        place: SPACE.into(),
        key: key.into(),
        expected: "a command, a list of its words, or an object with `argv`",
    })
}
