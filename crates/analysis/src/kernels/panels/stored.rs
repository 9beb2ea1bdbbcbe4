//! Panels that another program computed, shown as they are.

use trace::{Map, StoredMetric, StrId, Trace};

use super::options::Blocks;
use super::select::{Choice, ChoiceError};
use super::top::TopKernel;
use super::values::{RowValues, TableValues};

/// Whether a run has stored panels and no counters to compute them from.
pub(super) fn has_stored(trace: &Trace) -> bool {
    !trace.metrics.is_empty() && trace.counters.is_empty() && trace.counter_columns.columns.is_empty()
}

/// Other spellings of statistics that we have a name for.
const STATISTICS: [(&str, &str); 4] = [
    ("Percent of Peak", "pct_of_peak"),
    ("Pct of Peak", "pct_of_peak"),
    ("PoP", "pct_of_peak"),
    ("Std Dev", "std"),
];

/// The tables of the chosen kernel, or of the whole run.
pub(super) fn tables(
    trace: &Trace,
    blocks: &Blocks,
    choice: &Choice,
    top: &[TopKernel],
) -> Result<Vec<TableValues>, ChoiceError> {
    let chosen: Vec<StrId> = top.iter().filter(|kernel| kernel.chosen).map(|kernel| kernel.name).collect();
    if chosen.len() > 1 || !choice.dispatches.is_empty() || !choice.gpus.is_empty() {
        return Err(ChoiceError::OneKernel);
    }
    let Some(process) = trace.metrics.first().map(|metric| metric.process) else { return Ok(Vec::new()) };
    let kernel = match chosen.first() {
        Some(name) => *name,
        // A run with one kernel may have values for the kernel only.
        None if trace.metrics.iter().all(|metric| !metric.kernel.is_empty()) => {
            top.first().map_or(StrId::EMPTY, |kernel| kernel.name)
        }
        None => StrId::EMPTY,
    };
    let mut tables: Vec<TableValues> = Vec::new();
    let mut rows: Map<StrId, (usize, usize)> = Map::default();
    for metric in trace.metrics.iter().filter(|metric| metric.process == process && metric.kernel == kernel) {
        let Some([panel, table, row]) = place(trace.strings.get(metric.id)) else { continue };
        if !blocks.want_row(panel, table, row) {
            continue;
        }
        let at = *rows.entry(metric.id).or_insert_with(|| {
            let at = tables.iter().position(|known| (known.panel, known.table) == (panel, table));
            let at = at.unwrap_or_else(|| {
                tables.push(empty_table(trace, metric, panel, table));
                tables.len() - 1
            });
            tables[at].rows.push(empty_row(trace, metric));
            (at, tables[at].rows.len() - 1)
        });
        set(&mut tables[at.0], at.1, &statistic(trace.strings.get(metric.statistic)), metric.value);
    }
    for table in &mut tables {
        let columns = table.columns.len();
        for row in &mut table.rows {
            row.cells.resize(columns, Err(ABSENT.into()));
        }
        table.rows.sort_by_key(|row| place(&row.id));
    }
    tables.sort_by_key(|table| (table.panel, table.table));
    Ok(tables)
}

const ABSENT: &str = "the analysis has no value";

/// The parts of `16.3.4`.
fn place(id: &str) -> Option<[u32; 3]> {
    let mut numbers = id.split('.').map(|number| number.parse().ok());
    let place = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(place)
}

fn statistic(name: &str) -> String {
    let known = STATISTICS.iter().find(|(spelling, _)| spelling.eq_ignore_ascii_case(name));
    known.map_or_else(|| name.to_ascii_lowercase().replace(' ', "_"), |(_, key)| key.to_string())
}

fn empty_table(trace: &Trace, metric: &StoredMetric, panel: u32, table: u32) -> TableValues {
    TableValues {
        panel,
        panel_title: trace.strings.get(metric.panel).into(),
        table,
        title: trace.strings.get(metric.table).into(),
        columns: Vec::new(),
        labels: Vec::new(),
        channels: false,
        rows: Vec::new(),
    }
}

fn empty_row(trace: &Trace, metric: &StoredMetric) -> RowValues {
    RowValues {
        id: trace.strings.get(metric.id).into(),
        metric: trace.strings.get(metric.name).into(),
        unit: trace.strings.get(metric.unit).into(),
        channel: None,
        labels: Vec::new(),
        cells: Vec::new(),
    }
}

fn set(table: &mut TableValues, row: usize, statistic: &str, value: f64) {
    let column = table.columns.iter().position(|known| known == statistic).unwrap_or_else(|| {
        table.columns.push(statistic.to_string());
        table.columns.len() - 1
    });
    let cells = &mut table.rows[row].cells;
    if cells.len() <= column {
        cells.resize(column + 1, Err(ABSENT.into()));
    }
    if !value.is_nan() {
        cells[column] = Ok(value);
    }
}

#[cfg(test)]
mod tests {
    use trace::{Kernel, Process, Source};

    use super::*;
    use crate::kernels::panels::{PanelsOptions, panels};

    fn analysed() -> Trace {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("analysis.db", "rocprof-compute-analysis"));
        trace.add_metadata(source, "compute_version", "3.9.0");
        let process = trace.add_process(Process::new(source, 0));
        for (name, start, end) in [("gemm", 0, 100), ("copy", 100, 110)] {
            let name = trace.strings.intern(name);
            trace.kernels.push(Kernel { name, start, end, process, ..Kernel::default() });
        }
        for (kernel, id, statistic, value) in [
            ("", "2.1.3", "Percent of Peak", 55.0),
            ("", "2.1.3", "Avg", 51.0),
            ("", "2.1.1", "Avg", f64::NAN),
            ("gemm", "2.1.3", "Avg", 60.0),
            ("", "30.1.0", "Value", 7.0),
        ] {
            let mut text = |text| trace.strings.intern(text);
            let metric = StoredMetric {
                process,
                kernel: text(kernel),
                id: text(id),
                name: text("metric"),
                panel: text("Speed-of-Light"),
                table: text("Speed-of-Light"),
                unit: text("Percent"),
                statistic: text(statistic),
                value,
            };
            trace.metrics.push(metric);
        }
        trace.finish();
        trace
    }

    fn of(choice: Choice) -> Result<Vec<TableValues>, ChoiceError> {
        let trace = analysed();
        let (_, top) = super::super::select::choose(&trace, &choice)?;
        tables(&trace, &Blocks::default(), &choice, &top)
    }

    #[test]
    fn tables_are_those_of_the_run_or_of_one_kernel() {
        let whole = of(Choice::default()).unwrap();
        assert_eq!(whole.iter().map(|t| (t.panel, t.table)).collect::<Vec<_>>(), [(2, 1), (30, 1)]);
        assert_eq!(whole[0].columns, ["pct_of_peak", "avg"]);
        let rows: Vec<_> = whole[0].rows.iter().map(|row| (row.id.as_str(), row.cells.clone())).collect();
        let absent = Err(ABSENT.to_string());
        assert_eq!(rows[0], ("2.1.1", vec![absent.clone(), absent]));
        assert_eq!(rows[1], ("2.1.3", vec![Ok(55.0), Ok(51.0)]));
        let gemm = of(Choice { kernels: vec!["gemm".into()], ..Choice::default() }).unwrap();
        assert_eq!(gemm[0].rows[0].cells, [Ok(60.0)]);
    }

    #[test]
    fn a_choice_that_was_not_analysed_is_refused() {
        let both = Choice { kernels: vec!["gemm".into(), "copy".into()], ..Choice::default() };
        let one_dispatch = Choice { dispatches: vec!["0".into()], ..Choice::default() };
        assert_eq!(of(both).unwrap_err(), ChoiceError::OneKernel);
        assert_eq!(of(one_dispatch).unwrap_err(), ChoiceError::OneKernel);
    }

    #[test]
    fn no_warning_asks_for_counters_that_were_used_up() {
        let report = panels(&[analysed()], &PanelsOptions::default()).unwrap();
        assert!(
            report
                .health
                .iter()
                .all(|check| !["counters", "architecture", "clock"].contains(&check.id.as_str()))
        );
        assert!(report.notes.iter().any(|note| note.text.contains("rocprof-compute 3.9.0")));
        assert!(report.tables.iter().any(|table| table.name == "panel_30.1"));
    }
}
