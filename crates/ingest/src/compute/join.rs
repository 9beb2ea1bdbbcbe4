//! Joins the passes of a workload: the n-th launch of a kernel with a grid is the same dispatch in every pass.

use trace::{Health, Map, Status, StrId};

use super::spans::Spans;
use super::table::{Counter, Dispatch, Table};
use super::time::Time;

/// Identifies a launch: kernel, work-items, and how many earlier launches have the same two.
type LaunchKey = (StrId, u64, u32);

fn places(dispatches: &[Dispatch]) -> Vec<LaunchKey> {
    let mut seen: Map<(StrId, u64), u32> = Map::default();
    let place = |dispatch: &Dispatch| {
        let like = (dispatch.kernel, dispatch.grid.to_bits());
        let count = seen.entry(like).or_default();
        *count += 1;
        (like.0, like.1, *count - 1)
    };
    dispatches.iter().map(place).collect()
}

/// For each row of `main` the row of `other` that is the same launch.
pub(super) fn matches(main: &[Dispatch], other: &[Dispatch]) -> Vec<Option<usize>> {
    let rows: Map<LaunchKey, usize> =
        places(other).into_iter().enumerate().map(|(row, p)| (p, row)).collect();
    places(main).iter().map(|place| rows.get(place).copied()).collect()
}

/// The columns of a level pass, with values matched to the rows of `main`.
pub(super) fn align(main: &Table, level: &Table, health: &mut Health) -> Vec<Counter> {
    let rows = matches(&main.dispatches, &level.dispatches);
    let matched = rows.iter().flatten().count();
    let file = level.file.display();
    if level.dispatches.is_empty() {
        health.report("empty_pass", Status::Warn, Some(0.0), format!("`{file}` has no dispatches"));
    } else if matched < main.dispatches.len() || matched < level.dispatches.len() {
        let message = format!(
            "`{file}` does not match the other passes: it has {matched} of {} dispatches, and {} of its {} rows have no match (matched by kernel, grid and occurrence)",
            main.dispatches.len(),
            level.dispatches.len() - matched,
            level.dispatches.len(),
        );
        health.report("level_rows", Status::Warn, Some(matched as f64), message);
    }
    let value = |values: &[f64], row: &Option<usize>| row.map_or(f64::NAN, |row| values[row]);
    let aligned = level.counters.iter().map(|counter| Counter {
        name: counter.name.clone(),
        values: rows.iter().map(|row| value(&counter.values, row)).collect(),
    });
    aligned.collect()
}

/// Joins tables of one run each: the launches in every pass, the first of equal columns, mean durations.
pub(super) fn passes(mut tables: Vec<Table>, health: &mut Health) -> Table {
    tables.retain(|table| {
        if table.dispatches.is_empty() {
            let message = format!("`{}` has no dispatches", table.file.display());
            health.report("empty_pass", Status::Warn, Some(0.0), message);
        }
        !table.dispatches.is_empty()
    });
    if tables.is_empty() {
        return Table::default();
    }
    let mut first = tables.remove(0);
    let mut keep: Vec<bool> = vec![true; first.dispatches.len()];
    let matched: Vec<Vec<Option<usize>>> = tables
        .iter()
        .map(|table| {
            let rows = matches(&first.dispatches, &table.dispatches);
            for (keep, row) in keep.iter_mut().zip(&rows) {
                *keep &= row.is_some();
            }
            rows
        })
        .collect();
    let kept: Vec<usize> = (0..keep.len()).filter(|&row| keep[row]).collect();
    let most = tables.iter().map(|table| table.dispatches.len()).chain([keep.len()]).max().unwrap_or(0);
    if kept.len() < most {
        let message = format!(
            "{} of {most} launches are not in every pass and were left out: the passes ran different launches",
            most - kept.len()
        );
        health.report("unmatched_launches", Status::Warn, Some((most - kept.len()) as f64), message);
    }
    for column in &mut first.counters {
        column.values = kept.iter().map(|&row| column.values[row]).collect();
    }
    let mut times: Vec<Vec<(Time, Time)>> =
        kept.iter().map(|&row| vec![(first.dispatches[row].start, first.dispatches[row].end)]).collect();
    for (table, rows) in tables.iter().zip(&matched) {
        // `keep` holds only rows that every table has.
        let rows: Vec<usize> = kept.iter().filter_map(|&row| rows[row]).collect();
        for (place, &row) in rows.iter().enumerate() {
            times[place].push((table.dispatches[row].start, table.dispatches[row].end));
        }
        for counter in &table.counters {
            if first.column(&counter.name).is_none() {
                let values = rows.iter().map(|&row| counter.values[row]).collect();
                first.counters.push(Counter { name: counter.name.clone(), values });
            }
        }
        first.damaged += table.damaged;
        first.odd_cells += table.odd_cells;
        first.cut |= table.cut;
        first.rounded_times |= table.rounded_times;
    }
    if !first.spans.is_empty() && tables.iter().all(|table| !table.spans.is_empty()) {
        // Runs are minutes apart: a mean of their times is meaningless, so the first run's are used.
        first.dispatches = kept.iter().map(|&row| first.dispatches[row]).collect();
        let mut spans: Vec<Spans> = kept.iter().map(|&row| first.spans[row].clone()).collect();
        for (table, rows) in tables.iter().zip(&matched) {
            for (spans, &row) in spans.iter_mut().zip(&kept) {
                spans.extend(rows[row].map_or(&Spans::default(), |row| &table.spans[row]));
            }
        }
        first.durations = spans.iter().map(Spans::median).collect();
        first.spans = spans;
        return first;
    }
    (first.durations, first.spans) = (Vec::new(), Vec::new());
    let mean = |which: fn(&(Time, Time)) -> Time, times: &[(Time, Time)]| {
        Time::mean(&times.iter().map(which).collect::<Vec<_>>())
    };
    let dispatch = |(row, times): (&usize, &Vec<(Time, Time)>)| Dispatch {
        start: mean(|pair| pair.0, times),
        end: mean(|pair| pair.1, times),
        ..first.dispatches[*row]
    };
    first.dispatches = kept.iter().zip(&times).map(dispatch).collect();
    first
}

/// Takes the times of a run without counters, whose kernels were not slowed.
pub(super) fn undisturbed_times(main: &mut Table, times: &Table) {
    let rows = matches(&main.dispatches, &times.dispatches);
    for (dispatch, row) in main.dispatches.iter_mut().zip(rows) {
        if let Some(row) = row {
            (dispatch.start, dispatch.end) = (times.dispatches[row].start, times.dispatches[row].end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(launches: &[(u32, f64)], name: &str, values: &[f64]) -> Table {
        let dispatch = |&(kernel, start): &(u32, f64)| Dispatch {
            kernel: StrId(kernel),
            grid: 64.0,
            start: Time::parse(start.to_string().as_bytes()),
            end: Time::parse((start + 10.0).to_string().as_bytes()),
            ..Dispatch::default()
        };
        Table {
            file: "pass.csv".into(),
            dispatches: launches.iter().map(dispatch).collect(),
            counters: vec![Counter { name: name.into(), values: values.to_vec() }],
            ..Table::default()
        }
    }

    #[test]
    fn launches_meet_by_kernel_and_occurrence_not_by_row() {
        let mut health = Health::default();
        let main = table(&[(1, 0.0), (2, 20.0), (1, 40.0)], "A", &[1.0, 2.0, 3.0]);
        let level = table(&[(2, 0.0), (1, 0.0)], "B", &[22.0, 11.0]);
        let aligned = align(&main, &level, &mut health);
        assert_eq!(aligned[0].values[..2], [11.0, 22.0]);
        assert!(aligned[0].values[2].is_nan());
        assert_eq!(health.checks[0].id, "level_rows");
    }

    #[test]
    fn passes_keep_common_launches_and_mean_times() {
        let mut health = Health::default();
        let one = table(&[(1, 0.0), (2, 20.0), (1, 40.0)], "A", &[1.0, 2.0, 3.0]);
        let two = table(&[(2, 22.0), (1, 4.0)], "B", &[22.0, 11.0]);
        let joined = passes(vec![one, two, table(&[], "C", &[])], &mut health);
        assert_eq!(joined.dispatches.len(), 2);
        assert_eq!(joined.column("A").unwrap().values, [1.0, 2.0]);
        assert_eq!(joined.column("B").unwrap().values, [11.0, 22.0]);
        assert_eq!((joined.dispatches[0].start.ns, joined.dispatches[0].duration()), (2, 10.0));
        let ids: Vec<_> = health.checks.iter().map(|check| check.id).collect();
        assert_eq!(ids, ["empty_pass", "unmatched_launches"]);
    }
}
