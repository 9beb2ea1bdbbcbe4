//! The report of `roofline`.

use report::{Note, Remedy, Report};
use trace::Trace;

use super::place::PlacedWork;
use super::{Roofline, chart, op_tables, tables};
use crate::base;

/// All of it as a report.
pub fn present(trace: &Trace, roofline: &Roofline) -> Report {
    let mut report = base::report("roofline", trace);
    let Roofline { kernels, ops, coverage, peaks, .. } = roofline;
    report.tables = vec![
        roofline.kernels_table(),
        tables::levels(kernels, peaks),
        tables::types(kernels, peaks),
        tables::peaks(peaks),
    ];
    // The tables of the contract are there even when they are empty.
    report.tables.retain(|table| !table.rows.is_empty() || table.name == "kernels");
    if ops.is_empty() {
        // What was counted needs no launch to be placed.
        report.health.retain(|check| check.id != "coverage");
    } else {
        // Without counters the models are all there is, and kernels would only name what is absent.
        let at = usize::from(roofline.is_counted);
        report.tables.insert(at, op_tables::ops(ops, roofline.joined.is_some()));
        report.tables.insert(at + 1, op_tables::coverage(coverage));
    }
    report.findings = op_tables::findings(roofline);
    let least: Vec<PlacedWork> = ops.iter().map(|op| op.least.clone()).collect();
    report.charts.extend(chart::chart(kernels, &least, peaks));
    report.notes = roofline.notes.clone();
    report.notes.extend(op_tables::notes(coverage, roofline.joined.as_ref()).into_iter().map(Note::from));
    report.notes.extend(if roofline.is_counted {
        tables::remarks(kernels).into_iter().map(Note::from).collect()
    } else {
        let text = "there are no counters in the input, so only ops are placed";
        vec![Note::new(text, Remedy::RooflineCounters)]
    });
    report
}
