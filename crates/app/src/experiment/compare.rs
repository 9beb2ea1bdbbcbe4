//! Two trials side by side: first whether they can be compared, then how their figures differ.

use report::{Column, Report, Table, Unit, Value};
use serde_json::Value as Json;
use store::{Metric, Store, Trial};

use super::{StoreLocation, deltas, report};
use crate::failure::Failure;

/// Fields of the profile that must be equal; one that is missing counts as different.
const COMPARABLE: [&str; 7] = [
    "base_image",
    "resource_class",
    "gpu_device_ids",
    "server_flags",
    "benchmark_config_hash",
    "observed_arch",
    "profile_stage",
];

/// A field of both profiles.
struct Field<'a> {
    name: &'static str,
    base: Option<&'a Json>,
    candidate: Option<&'a Json>,
}

impl Field<'_> {
    fn verdict(&self) -> &'static str {
        match (self.base, self.candidate) {
            (Some(base), Some(candidate)) if base == candidate => "same",
            (Some(_), Some(_)) => "differs",
            _ => "missing",
        }
    }
}

/// How two trials of an experiment differ.
pub fn compare(place: &StoreLocation, name: &str, base: &str, candidate: &str) -> Result<Report, Failure> {
    compare_trials(&mut place.open()?, name, base, candidate)
}

/// How two trials of an experiment of an open store differ.
pub fn compare_trials(store: &mut Store, name: &str, base: &str, candidate: &str) -> Result<Report, Failure> {
    let (base, candidate) = (store.trial(name, base)?, store.trial(name, candidate)?);
    let fields = fields(&base, &candidate);
    let wrong: Vec<&str> =
        fields.iter().filter(|field| field.verdict() != "same").map(|field| field.name).collect();
    let note = match wrong.is_empty() {
        true => "the trials are comparable".to_string(),
        false => format!("the trials are not comparable: {} differ or are missing", wrong.join(", ")),
    };
    let mut compared = report(vec![comparability(&fields), figures(&base, &candidate)], vec![note]);
    match deltas::deltas(store, &base, &candidate) {
        Ok((table, chart)) => {
            compared.tables.push(table);
            compared.charts.extend(chart);
            compared.notes.push("kernel times come from one run each, so their changes include noise".into());
        }
        Err(why) => compared.notes.push(format!("no kernels to compare: {why}").into()),
    }
    Ok(compared)
}

fn fields<'a>(base: &'a Trial, candidate: &'a Trial) -> Vec<Field<'a>> {
    let of = |trial: &'a Trial, name: &str| trial.metadata.get(name).filter(|value| !value.is_null());
    COMPARABLE.map(|name| Field { name, base: of(base, name), candidate: of(candidate, name) }).into()
}

fn comparability(fields: &[Field]) -> Table {
    let columns = vec![
        Column::text("field"),
        Column::text("verdict"),
        Column::text("base").normal(),
        Column::text("candidate").normal(),
    ];
    let mut table = Table::new("comparability", "Comparability", columns);
    let cell = |value: Option<&Json>| match value {
        None => Value::absent("not known"),
        Some(Json::String(text)) => Value::from(text.as_str()),
        Some(other) => Value::Text(other.to_string()),
    };
    for field in fields {
        table.push(vec![
            Value::from(field.name),
            Value::from(field.verdict()),
            cell(field.base),
            cell(field.candidate),
        ]);
    }
    table
}

/// `better` or `worse` if the intervals are apart, `unclear` if they overlap; without intervals, by direction
/// alone.
fn direction(base: &Metric, candidate: &Metric) -> &'static str {
    let apart = match (base.low, base.high, candidate.low, candidate.high) {
        (Some(a), Some(b), Some(c), Some(d)) => b < c || d < a,
        _ => return "no interval",
    };
    match apart {
        false => "unclear",
        true if (candidate.value > base.value) == base.higher_is_better => "better",
        true => "worse",
    }
}

fn figures(base: &Trial, candidate: &Trial) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::int("base_value", Unit::None).key(),
        Column::int("candidate_value", Unit::None).key(),
        Column::text("unit"),
        Column::int("change_pct", Unit::Pct).key(),
        Column::text("verdict"),
    ];
    let mut table = Table::new("figures", "Metrics", columns);
    let mut names: Vec<&str> = [base, candidate]
        .iter()
        .flat_map(|trial| &trial.row.metrics)
        .map(|metric| metric.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let of =
        |trial: &'_ Trial, name: &str| trial.row.metrics.iter().find(|metric| metric.name == name).cloned();
    for name in names {
        let (base, candidate) = (of(base, name), of(candidate, name));
        let value = |metric: &Option<Metric>| {
            metric.as_ref().map_or_else(
                || Value::absent("the trial does not have it"),
                |metric| Value::Float(metric.value),
            )
        };
        let unit = base.as_ref().or(candidate.as_ref()).map_or("", |metric| metric.unit.as_str());
        let (change, verdict) = match (&base, &candidate) {
            (Some(a), Some(b)) if a.unit != b.unit => (Value::absent("the units differ"), "the units differ"),
            (Some(a), Some(b)) if a.value == 0.0 => (Value::absent("the base is zero"), direction(a, b)),
            (Some(a), Some(b)) => (Value::Float((b.value / a.value - 1.0) * 100.0), direction(a, b)),
            _ => (Value::absent("one trial does not have it"), "missing"),
        };
        table.push(vec![
            Value::from(name),
            value(&base),
            value(&candidate),
            Value::from(unit),
            change,
            Value::from(verdict),
        ]);
    }
    table
}
