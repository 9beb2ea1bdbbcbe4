//! The roofline in a report, if a run has counters or ops with shapes.

use analysis::RooflineOptions;
use report::{Report, Section, SectionItem, Table};
use trace::Trace;

/// Tables of the roofline, and their names in a report with the tables of other analyses.
const TABLES: &[(&str, &str)] = &[("kernels", "roofline"), ("ops", "roofline_ops")];

/// Kernels and ops on the roofline; `None` if neither operations nor bytes are known.
pub fn report(trace: &Trace) -> Option<Report> {
    if trace.kernels.is_empty() {
        return None;
    }
    let counted = !trace.counters.is_empty() || !trace.counter_columns.is_empty();
    let mut found = analysis::roofline(trace, &RooflineOptions::default());
    let wanted = |name: &str| TABLES.iter().find(|(own, _)| *own == name && (counted || name != "kernels"));
    found.tables.retain(|table| wanted(&table.name).is_some());
    for table in &mut found.tables {
        if let Some((_, name)) = wanted(&table.name) {
            table.name = name.to_string();
        }
    }
    (!found.tables.is_empty()).then_some(found)
}

/// Its section of the document.
pub fn section(report: &Report) -> Option<Section> {
    let is_of_roofline = |table: &&Table| TABLES.iter().any(|(_, name)| *name == table.name);
    let shown = report.tables.iter().filter(is_of_roofline);
    let mut parts: Vec<SectionItem> = shown.map(|table| SectionItem::table(&table.name)).collect();
    if parts.is_empty() {
        return None;
    }
    parts.insert(0, SectionItem::chart("roofline"));
    let text = "Operations per byte against the ceilings of the GPU: what a kernel could reach at most.";
    Some(Section::new("roofline", "Roofline", text, parts))
}
