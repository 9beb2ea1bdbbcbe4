//! The panels of hardware counters in a report, if a run has counters.

use analysis::kernels::panels::{Block, Blocks, PanelsOptions, catalogue, panels};
use report::{Report, Section, SectionItem};
use trace::Trace;

/// The panels; `None` for a run without counters.
pub fn report(trace: &Trace) -> Option<Report> {
    if trace.counters.is_empty() && trace.counter_columns.columns.is_empty() {
        return None;
    }
    let numbers = catalogue::Catalogue::builtin().panels.iter().map(|panel| panel.number);
    let blocks = numbers.map(|panel| Block { panel, table: None, row: None }).collect();
    let options = PanelsOptions { blocks: Blocks(blocks), for_people: true, ..PanelsOptions::default() };
    panels(std::slice::from_ref(trace), &options).ok()
}

/// Their section of the document.
pub fn section(report: &Report) -> Option<Section> {
    let tables = report.tables.iter().filter(|table| table.name.starts_with("panel_"));
    let mut parts: Vec<SectionItem> = tables.map(|table| SectionItem::table(&table.name)).collect();
    if parts.is_empty() {
        return None;
    }
    parts.insert(0, SectionItem::chart("memory_chart"));
    let text =
        "What bounds the kernels, by their hardware counters: all dispatches together, as ratios of sums.";
    Some(Section::new("panels", "Hardware panels", text, parts))
}
