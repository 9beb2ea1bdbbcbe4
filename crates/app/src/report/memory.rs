//! Held memory in a report, if the run records allocations or comes with a memory snapshot.

use analysis::memory;
use report::{Report, Section, SectionItem, Table};
use trace::{ArgNeeds, Needs, Trace};

/// Tables of `memory`, and their names in a report with the tables of other analyses.
const TABLES: &[(&str, &str)] = &[
    ("devices", "memory_devices"),
    ("peak_owners", "peak_owners"),
    ("peak_ops", "peak_ops"),
    ("never_freed", "never_freed"),
    ("largest_blocks", "largest_blocks"),
    ("fragmentation", "fragmentation"),
    ("out_of_memory", "out_of_memory"),
];

/// Adds what memory needs.
pub fn needs(needs: Needs) -> Needs {
    let own = memory::needs();
    let args = match (needs.args, own.args) {
        (ArgNeeds::Keys(keys), ArgNeeds::Keys(more)) => ArgNeeds::Keys([keys, more].concat()),
        (ArgNeeds::None, args) | (args, ArgNeeds::None) => args,
        _ => ArgNeeds::All,
    };
    Needs { memory_allocations: true, regions: true, python_frames: true, args, ..needs }
}

/// The peak and what held it; `None` for a run that records no memory.
pub fn report(trace: &Trace) -> Option<Report> {
    let found = memory::compute(trace);
    if found.devices.is_empty() {
        return None;
    }
    let mut report = memory::present(trace, &found);
    report.tables.retain(|table| !table.rows.is_empty());
    report.tables.retain_mut(|table| {
        let Some((_, name)) = TABLES.iter().find(|(own, _)| *own == table.name) else { return false };
        table.name = name.to_string();
        true
    });
    // A snapshot has its own clock, and the other analyses already report missing data.
    Some(Report { trace_start_ns: None, health: Vec::new(), ..report })
}

/// Its section of the document.
pub fn section(report: &Report) -> Option<Section> {
    let is_of_memory = |table: &&Table| TABLES.iter().any(|(_, name)| *name == table.name);
    let shown = report.tables.iter().filter(is_of_memory);
    let mut parts: Vec<SectionItem> = shown.map(|table| SectionItem::table(&table.name)).collect();
    if parts.is_empty() {
        return None;
    }
    parts.insert(0, SectionItem::chart("memory_timeline"));
    let text = "How much memory was held at most, what held it, and what is never freed.";
    Some(Section::new("held_memory", "Held memory", text, parts))
}
