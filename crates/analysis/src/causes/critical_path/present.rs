//! The report of `critical-path`.

use rayon::prelude::*;
use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use trace::Trace;

use super::result::{CriticalPath, DependencyTime, PlaceTime, Prediction, WorkSlack};
use super::rules::Rules;
use super::track::{PathStep, PathSteps};
use super::walk::Bound;
use crate::base;

/// Which rows of the path a report has.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathRows {
    /// Every segment gets a row of its own; otherwise neighbours share rows if there are very many.
    pub all_segments: bool,
    /// Only so many, and the number of others; 0 for all.
    pub first: usize,
}

/// The whole report.
pub fn present(trace: &Trace, path: &CriticalPath, rows: PathRows) -> Report {
    let mut report = base::report("critical-path", trace);
    let tables = [
        path.bounds_table(),
        path.kernels_table(trace),
        work_table(trace, "copies", COPIES, &path.copies),
        what_if(&path.what_if),
        places(&path.places),
        dependencies(&path.dependencies),
        steps(trace, &path.steps, rows),
    ];
    // Scripts rely on some tables even when they are empty.
    let is_kept = |table: &Table| !table.rows.is_empty() || KEPT.contains(&table.name.as_str());
    report.tables = tables.into_iter().filter(is_kept).collect();
    report.health.extend(path.doubts.iter().cloned());
    report.notes = path.notes.clone();
    let most = Rules::built_in().limits.path_rows;
    if path.steps.len() > most && !rows.all_segments {
        let text = format!(
            "the path has {} segments; neighbours are joined into {most} rows at most",
            path.steps.len()
        );
        report.notes.push(Note::new(text, Remedy::AllSegments));
    }
    report
}

/// Tables that stay even when they are empty.
const KEPT: [&str; 5] = ["bounds", "kernels", "what_if", "places", "path"];

const KERNELS: &str = "Kernels: 1 % faster here saves that much";
const COPIES: &str = "Copies: 1 % faster here saves that much";

impl CriticalPath {
    /// The table `bounds`: what the run waits for.
    pub fn bounds_table(&self) -> Table {
        let columns = vec![
            Column::text("kind"),
            Column::int("total_ns", Unit::Ns).key(),
            Column::int("share_pct", Unit::Pct).key(),
            Column::int("segments", Unit::None),
        ];
        let mut table = Table::new("bounds", "What the run waits for", columns);
        for one in &self.bounds {
            table.push(vec![
                Value::from(one.bound.name()),
                Value::Int(one.total_ns),
                Value::Float(one.share_pct),
                Value::from(one.segments),
            ]);
        }
        table
    }

    /// The table `kernels`: how each kernel affects the run time.
    pub fn kernels_table(&self, trace: &Trace) -> Table {
        work_table(trace, "kernels", KERNELS, &self.kernels)
    }
}

fn work_table(trace: &Trace, name: &str, title: &str, works: &[WorkSlack]) -> Table {
    let columns = vec![
        base::kernel_column("name"),
        Column::int("calls", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("on_path_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
        Column::int("slack_ns", Unit::Ns).key(),
        Column::int("free_slack_ns", Unit::Ns).detail(),
        Column::int("near_critical", Unit::None).detail(),
        Column::int("saved_by_1pct_ns", Unit::Ns).key(),
    ];
    let mut table = Table::new(name, title, columns);
    for work in works {
        table.push(vec![
            Value::from(trace.strings.get(work.name)),
            Value::from(work.calls),
            Value::Int(work.total_ns),
            Value::Int(work.on_path_ns),
            Value::Float(work.share_pct),
            Value::Int(work.slack_ns),
            Value::Int(work.free_slack_ns),
            Value::from(work.near_critical),
            Value::int_or(
                work.saved_by_1pct_ns,
                "propagated for the kernels with most time on the path only",
            ),
        ]);
    }
    table
}

fn what_if(predictions: &[Prediction]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::int("factor", Unit::None).key(),
        Column::int("predicted_span_ns", Unit::Ns).key(),
        Column::int("saving_ns", Unit::Ns).key(),
        Column::int("saving_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("what_if", "What if", columns);
    for one in predictions {
        table.push(vec![
            Value::from(one.name.as_str()),
            one.factor.map_or_else(|| Value::absent("several questions at once"), Value::Float),
            Value::Int(one.predicted_span_ns),
            Value::Int(one.saving_ns),
            Value::Float(one.saving_pct),
        ]);
    }
    table
}

fn steps(trace: &Trace, steps: &PathSteps, wanted: PathRows) -> Table {
    let columns = vec![
        Column::int("index", Unit::None).key(),
        Column::text("kind"),
        Column::text("name"),
        Column::int("at_ns", Unit::Ns).normal(),
        Column::int("duration_ns", Unit::Ns).key(),
        Column::int("start_ns", Unit::Ns).data(),
        Column::int("end_ns", Unit::Ns).data(),
    ];
    let begin = steps.iter().next().map_or(0, |step| step.start);
    let mut table = Table::new("path", "The critical path in time order", columns);
    let most = Rules::built_in().limits.path_rows;
    let together = if wanted.all_segments { 1 } else { steps.len().div_ceil(most).max(1) };
    let all = steps.len().div_ceil(together);
    let shown = if wanted.first == 0 { all } else { all.min(wanted.first) };
    let row = |index: usize| {
        let run: Vec<PathStep> =
            steps.range(index * together..steps.len().min((index + 1) * together)).collect();
        let longest = run.iter().max_by_key(|step| step.duration())?;
        let (first, last) = (run.first()?, run.last()?);
        let name = longest.label.text(trace);
        let name = match run.len() {
            1 => name.to_string(),
            more => format!("{name} and {} more", more - 1),
        };
        Some(vec![
            Value::from(index),
            Value::from(most_time(&run).name()),
            Value::Text(name),
            Value::Int(first.start - begin),
            Value::Int(last.end - first.start),
            Value::Int(first.start),
            Value::Int(last.end),
        ])
    };
    let rows: Vec<Option<Vec<Value>>> = (0..shown).into_par_iter().map(row).collect();
    table.rows = rows.into_iter().flatten().collect();
    table.hidden = all - shown;
    table
}

/// The bound with the most time.
fn most_time(run: &[PathStep]) -> Bound {
    let mut time = [0i64; Bound::ALL.len()];
    run.iter().for_each(|step| time[step.bound as usize] += step.duration());
    Bound::ALL
        .into_iter()
        .max_by_key(|&bound| (time[bound as usize], std::cmp::Reverse(bound)))
        .unwrap_or(Bound::NotRecorded)
}

/// Time on the path by stream and thread.
fn places(places: &[PlaceTime]) -> Table {
    let columns = vec![
        Column::int("rank", Unit::None).detail(),
        Column::int("pid", Unit::Exact).detail(),
        Column::int("agent", Unit::None).detail(),
        Column::text("place"),
        Column::text("kind"),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("places", "Where the path runs", columns);
    for one in places {
        table.push(vec![
            Value::int_or(one.rank, "the input does not record a rank"),
            Value::int_or(one.pid, "the input does not record the process"),
            Value::int_or(one.agent, "not a GPU, or the input does not record which"),
            Value::from(one.place.as_str()),
            Value::from(one.bound.name()),
            Value::Int(one.total_ns),
            Value::Float(one.share_pct),
        ]);
    }
    table
}

/// What follows what, and how that is known.
fn dependencies(dependencies: &[DependencyTime]) -> Table {
    let columns = vec![
        Column::text("dependency"),
        Column::text("known_from"),
        Column::int("count", Unit::None).key(),
        Column::int("on_path_ns", Unit::Ns).key(),
    ];
    let mut table = Table::new("dependencies", "What follows what, and where that is known from", columns);
    for one in dependencies {
        table.push(vec![
            Value::from(one.dependency),
            Value::from(one.known_from),
            Value::from(one.count),
            Value::Int(one.on_path_ns),
        ]);
    }
    table
}
