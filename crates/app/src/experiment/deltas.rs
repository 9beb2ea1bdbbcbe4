//! How the kernels of two trials differ, from what `summary` said of each.

use std::collections::BTreeMap;

use model::names::display_name;
use report::chart::{Axis, Chart, Mark, Step};
use report::{Column, Table, Unit, Value, show};
use serde_json::Value as Json;
use store::{Store, Trial};

use super::known::file_name;

/// The artifact with the kernels.
const FILE: &str = "summary.json";
/// Name of the table and of its chart.
const NAME: &str = "kernel_changes";
/// Larger artifacts are not read for this.
const MOST_BYTES: i64 = 256 << 20;
/// Kernels with a separate step in the chart.
const STEPS: usize = 8;

/// Calls and time of a kernel.
#[derive(Clone, Copy, Default)]
struct Times {
    calls: i64,
    total_ns: i64,
}

/// Kernels by name.
type Kernels = BTreeMap<String, Times>;

/// The table and the chart of the differences, or why there are none.
pub fn deltas(store: &Store, base: &Trial, candidate: &Trial) -> Result<(Table, Option<Chart>), String> {
    let (before, after) = (kernels(store, base)?, kernels(store, candidate)?);
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let of = |kernels: &Kernels| kernels.get(name).map_or(0, |times| times.total_ns);
        of(&after) - of(&before)
    };
    names.sort_by_key(|name| (std::cmp::Reverse(change(name).abs()), *name));
    let columns = vec![
        Column::text("name"),
        Column::int("base_ns", Unit::Ns),
        Column::int("candidate_ns", Unit::Ns),
        Column::int("change_ns", Unit::Ns).key(),
        Column::int("delta_pct", Unit::Pct).key(),
        Column::int("base_calls", Unit::None).detail(),
        Column::int("candidate_calls", Unit::None).detail(),
    ];
    let mut table = Table::new(NAME, "Kernels, largest change first", columns);
    for name in &names {
        let (a, b) = (before.get(*name), after.get(*name));
        let number = |times: Option<&Times>, of: fn(&Times) -> i64| {
            Value::int_or(times.map(of), "the trial does not have this kernel")
        };
        let delta = match (a, b) {
            (Some(a), Some(b)) if a.total_ns > 0 => {
                Value::Float((b.total_ns as f64 / a.total_ns as f64 - 1.0) * 100.0)
            }
            _ => Value::absent("only one trial has this kernel"),
        };
        table.push(vec![
            Value::from(name.as_str()),
            number(a, |times| times.total_ns),
            number(b, |times| times.total_ns),
            Value::Int(change(name)),
            delta,
            number(a, |times| times.calls),
            number(b, |times| times.calls),
        ]);
    }
    let steps: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), change(name))).collect();
    let total = |kernels: &Kernels| kernels.values().map(|times| times.total_ns).sum::<i64>();
    Ok((table, waterfall(total(&before), total(&after), &steps)))
}

/// From the GPU time of one trial to that of the other.
fn waterfall(before: i64, after: i64, changes: &[(&str, i64)]) -> Option<Chart> {
    if before == after || before == 0 {
        return None;
    }
    let step = |label: &str, value: i64, total: bool| Step {
        label: label.to_string(),
        value: value as f64,
        total,
        tip: String::new(),
    };
    // Cut to the width of a chart, whole names of library kernels all look the same.
    let kernel = |name: &str, change: i64| Step {
        tip: format!("{name}: {}", show(&Value::Int(change), Unit::Ns)),
        ..step(&display_name(name), change, false)
    };
    let (first, rest) = changes.split_at(changes.len().min(STEPS));
    let mut steps = vec![step("base", before, true)];
    steps.extend(first.iter().filter(|(_, change)| *change != 0).map(|(name, change)| kernel(name, *change)));
    let others: i64 = rest.iter().map(|(_, change)| change).sum();
    if others != 0 {
        steps.push(step("all others", others, false));
    }
    steps.push(step("candidate", after, true));
    let chart = Chart::new(NAME, "GPU time of kernels", Mark::Waterfall(steps))
        .with_description("From the base to the candidate, the largest changes first.")
        .with_x(Axis::of(Unit::Ns));
    Some(chart)
}

/// The kernels of a trial, all ranks together.
fn kernels(store: &Store, trial: &Trial) -> Result<Kernels, String> {
    let name = &trial.row.name;
    let artifact = trial.artifacts.iter().find(|artifact| file_name(&artifact.path) == FILE);
    let artifact = artifact.ok_or_else(|| format!("trial `{name}` has no {FILE}"))?;
    if artifact.bytes > MOST_BYTES {
        return Err(format!("{FILE} of trial `{name}` is too large to compare"));
    }
    let unreadable = |why: String| format!("{FILE} of trial `{name}` cannot be read: {why}");
    let bytes = store.content(&artifact.sha256).map_err(|error| unreadable(error.to_string()))?;
    let document: Json = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    let mut kernels = Kernels::new();
    for row in document["tables"]["kernels"].as_array().into_iter().flatten() {
        if let (Some(name), Some(total)) = (row["name"].as_str(), row["total_ns"].as_i64()) {
            let times = kernels.entry(name.to_string()).or_default();
            times.total_ns += total;
            times.calls += row["calls"].as_i64().unwrap_or(0);
        }
    }
    Ok(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_from_one_total_to_the_other() {
        let changes: Vec<(String, i64)> = (0..12).map(|at| (format!("k{at}"), 100 - at * 20)).collect();
        let changes: Vec<(&str, i64)> =
            changes.iter().map(|(name, change)| (name.as_str(), *change)).collect();
        let sum: i64 = changes.iter().map(|(_, change)| change).sum();
        let chart = waterfall(1000, 1000 + sum, &changes).expect("a chart");
        let Mark::Waterfall(steps) = &chart.mark else { panic!("{chart:?}") };
        let (first, last) = (&steps[0], &steps[steps.len() - 1]);
        assert!(first.total && last.total);
        let between: f64 = steps[1..steps.len() - 1].iter().map(|step| step.value).sum();
        assert_eq!(first.value + between, last.value);
        assert!(waterfall(5, 5, &[]).is_none());
    }
}
