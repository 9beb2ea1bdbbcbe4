//! The report of `roofline`.

use report::{Note, Remedy, Report};
use trace::Trace;

use super::place::PlacedWork;
use super::{Roofline, chart, op_tables, tables};
use crate::base;

/// The whole report.
pub fn present(trace: &Trace, roofline: &Roofline) -> Report {
    let mut report = base::report("roofline", trace);
    let Roofline { kernels, ops, coverage, peaks, .. } = roofline;
    report.tables = vec![
        roofline.kernels_table(),
        tables::levels(kernels, peaks),
        tables::types(kernels, peaks),
        tables::peaks(peaks),
    ];
    // The `kernels` table is part of the contract and stays even when empty.
    report.tables.retain(|table| !table.rows.is_empty() || table.name == "kernels");
    if ops.is_empty() {
        // Counted kernels can be placed without their launches.
        report.health.retain(|check| check.id != "coverage");
    } else {
        // Without counters there are only models, and kernel rows would just list absent values.
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
