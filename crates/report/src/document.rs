//! Documents: reports in reading order, for pages, PDF and Markdown.

use crate::chart::Chart;
use crate::{Report, Table};

/// A report with a title, its main figures, and sections that define its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// A line below the title.
    pub subtitle: String,
    /// Version of the program that made it.
    pub version: String,
    /// The main figures.
    pub figures: Vec<Figure>,
    /// Tables, findings, charts, inputs, health and notes.
    pub report: Report,
    /// Sections in order; parts that the report does not have are skipped.
    pub sections: Vec<Section>,
}

/// A main figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Its label.
    pub label: String,
    /// The number with its unit.
    pub value: String,
    /// Its base, or how to read it.
    pub note: String,
}

/// Parts under one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Stable name, for links.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What it shows.
    pub text: String,
    /// Its parts, in order.
    pub parts: Vec<SectionItem>,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionItem {
    /// The chart with this name.
    Chart(String),
    /// The table with this name.
    Table(String),
    /// All findings.
    Findings,
    /// Inputs and health checks.
    Health,
    /// Notes.
    Notes,
}

/// A part that exists.
#[derive(Clone, Copy, Debug)]
pub enum SectionContent<'a> {
    /// A chart.
    Chart(&'a Chart),
    /// A table.
    Table(&'a Table),
    /// All findings.
    Findings,
    /// Inputs and health checks.
    Health,
    /// Notes.
    Notes,
}

impl Section {
    /// A section with these parts.
    pub fn new(id: &str, title: &str, text: &str, parts: Vec<SectionItem>) -> Self {
        Self { id: id.into(), title: title.into(), text: text.into(), parts }
    }
}

impl SectionItem {
    /// The chart with this name.
    pub fn chart(name: &str) -> Self {
        SectionItem::Chart(name.into())
    }

    /// The table with this name.
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

    /// Sections with their existing parts, without empty ones.
    pub fn outline(&self) -> Vec<(&Section, Vec<SectionContent<'_>>)> {
        let found = |part: &SectionItem| match part {
            SectionItem::Chart(name) => {
                let chart = self.report.charts.iter().find(|chart| chart.name == *name);
                chart.filter(|chart| !chart.is_empty()).map(SectionContent::Chart)
            }
            SectionItem::Table(name) => {
                self.report.table(name).filter(|table| !table.rows.is_empty()).map(SectionContent::Table)
            }
            SectionItem::Findings => (!self.report.findings.is_empty()).then_some(SectionContent::Findings),
            SectionItem::Health => Some(SectionContent::Health),
            SectionItem::Notes => (!self.report.notes.is_empty()).then_some(SectionContent::Notes),
        };
        let sections = self.sections.iter().map(|section| {
            let parts: Vec<SectionContent> = section.parts.iter().filter_map(found).collect();
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
        assert!(matches!(&outline[0].1[..], [SectionContent::Table(table)] if table.name == "kernels"));
    }
}
