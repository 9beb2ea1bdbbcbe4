//! Documents: reports in the order of reading, for pages, PDF and Markdown.

use crate::chart::Chart;
use crate::{Report, Table};

/// A report with a title, its main figures, and sections that say what comes after what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What it is about.
    pub title: String,
    /// A line below the title.
    pub subtitle: String,
    /// Version of the program that made it.
    pub version: String,
    /// The main figures.
    pub figures: Vec<Figure>,
    /// Tables, findings, charts, inputs, health and notes.
    pub report: Report,
    /// What comes after what; parts that the report does not have are skipped.
    pub sections: Vec<Section>,
}

/// A main figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// What it is of, or how to take it.
    pub note: String,
}

/// Parts under one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Stable name, for links.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What is seen there.
    pub text: String,
    /// In this order.
    pub parts: Vec<SectionItem>,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionItem {
    /// The chart of that name.
    Chart(String),
    /// The table of that name.
    Table(String),
    /// All findings.
    Findings,
    /// Inputs and health checks.
    Health,
    /// Remarks.
    Notes,
}

/// A part that is there.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A chart.
    Chart(&'a Chart),
    /// A table.
    Table(&'a Table),
    /// All findings.
    Findings,
    /// Inputs and health checks.
    Health,
    /// Remarks.
    Notes,
}

impl Section {
    /// A section with these parts.
    pub fn new(id: &str, title: &str, text: &str, parts: Vec<SectionItem>) -> Self {
        Self { id: id.into(), title: title.into(), text: text.into(), parts }
    }
}

impl SectionItem {
    /// The chart of that name.
    pub fn chart(name: &str) -> Self {
        SectionItem::Chart(name.into())
    }

    /// The table of that name.
    pub fn table(name: &str) -> Self {
        SectionItem::Table(name.into())
    }
}

impl Document {
    /// A report as a document of one section: charts, findings, tables.
    pub fn of(title: &str, version: &str, report: Report) -> Self {
        let mut parts: Vec<SectionItem> =
            report.charts.iter().map(|chart| SectionItem::chart(&chart.name)).collect();
        parts.push(SectionItem::Findings);
        parts.extend(report.tables.iter().map(|table| SectionItem::table(&table.name)));
        parts.extend([SectionItem::Notes, SectionItem::Health]);
        let sections = vec![Section::new("results", "Results", "", parts)];
        Self { title: title.into(), version: version.into(), report, sections, ..Self::default() }
    }

    /// Sections with the parts that are there, without those that would be empty.
    pub fn outline(&self) -> Vec<(&Section, Vec<Found<'_>>)> {
        let found = |part: &SectionItem| match part {
            SectionItem::Chart(name) => {
                let chart = self.report.charts.iter().find(|chart| chart.name == *name);
                chart.filter(|chart| !chart.is_empty()).map(Found::Chart)
            }
            SectionItem::Table(name) => {
                self.report.table(name).filter(|table| !table.rows.is_empty()).map(Found::Table)
            }
            SectionItem::Findings => (!self.report.findings.is_empty()).then_some(Found::Findings),
            SectionItem::Health => Some(Found::Health),
            SectionItem::Notes => (!self.report.notes.is_empty()).then_some(Found::Notes),
        };
        let sections = self.sections.iter().map(|section| {
            let parts: Vec<Found> = section.parts.iter().filter_map(found).collect();
            (section, parts)
        });
        sections.filter(|(_, parts)| !parts.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit, Value};

    #[test]
    fn sections_without_parts_are_left_out() {
        let mut table = Table::new("kernels", "Kernels", vec![Column::int("calls", Unit::None)]);
        table.push(vec![Value::Int(1)]);
        let report =
            Report { tables: vec![table, Table::new("empty", "Empty", vec![])], ..Report::default() };
        let section = |id: &str, parts| Section::new(id, id, "", parts);
        let sections = vec![
            section(
                "a",
                vec![SectionItem::Findings, SectionItem::table("kernels"), SectionItem::chart("none")],
            ),
            section("b", vec![SectionItem::table("empty"), SectionItem::Notes]),
        ];
        let document = Document { report, sections, ..Document::default() };
        let outline = document.outline();
        assert_eq!(outline.len(), 1);
        assert!(matches!(&outline[0].1[..], [Found::Table(table)] if table.name == "kernels"));
    }
}
