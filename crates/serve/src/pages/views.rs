//! What the page of a trial shows: a table of sections, each with tables and charts of artifacts.

use std::sync::LazyLock;

use serde::Deserialize;
use store::Artifact;

/// A section of the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its anchor in the address.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// One sentence below it.
    #[serde(default)]
    pub text: String,
    /// The command that makes what it shows.
    pub make: String,
    /// What it shows.
    pub part: Vec<ViewItem>,
}

/// A table or a chart.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewItem {
    /// Files that may hold it; the first existing one is used.
    pub artifacts: Vec<String>,
    /// The table.
    pub table: Option<String>,
    /// Columns that are shown first.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Not shown if this table was shown before.
    #[serde(default)]
    pub unless: Option<String>,
    /// The chart.
    pub chart: Option<String>,
    /// Whether the chart can be zoomed.
    #[serde(default)]
    pub zoom: bool,
    /// A column of a table as bars.
    pub bars: Option<BarsOf>,
    /// Configurations as lines across their parameters.
    pub parallel: Option<ParallelOf>,
}

/// A column of a table as bars.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarsOf {
    /// The table.
    pub table: String,
    /// The column with the names of the bars.
    pub label: String,
    /// The column with their lengths.
    pub value: String,
    /// The heading.
    pub title: String,
}

/// Configurations as lines across their parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParallelOf {
    /// The table.
    pub table: String,
    /// The column with the parameters of a row, as an object.
    pub parameters: String,
    /// Columns that may hold the result; the first existing one is used.
    pub values: Vec<String>,
}

#[derive(Deserialize)]
struct Views {
    section: Vec<Section>,
}

static VIEWS: LazyLock<Views> =
    LazyLock::new(|| formats::tables::built_in(include_str!("views.toml")).expect("views.toml is sound"));

/// All sections, in the order of reading.
pub fn sections() -> &'static [Section] {
    &VIEWS.section
}

/// The name of a file without its folders.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The columns of a table that are shown first.
pub fn columns(artifact: &str, table: &str) -> Vec<String> {
    let parts = VIEWS.section.iter().flat_map(|section| &section.part);
    let is_it = |part: &&ViewItem| {
        part.table.as_deref() == Some(table) && part.artifacts.iter().any(|name| name == file_name(artifact))
    };
    parts.filter(is_it).map(|part| part.columns.clone()).next().unwrap_or_default()
}

impl ViewItem {
    /// The artifacts of a trial that may hold it, the preferred one first.
    pub fn among<'a>(&'a self, artifacts: &'a [Artifact]) -> impl Iterator<Item = &'a Artifact> {
        let named =
            |name: &'a String| artifacts.iter().find(move |artifact| file_name(&artifact.path) == name);
        self.artifacts.iter().filter_map(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_shows_one_thing() {
        for part in sections().iter().flat_map(|section| &section.part) {
            let kinds =
                [part.table.is_some(), part.chart.is_some(), part.bars.is_some(), part.parallel.is_some()];
            assert_eq!(kinds.into_iter().filter(|kind| *kind).count(), 1, "{:?}", part.artifacts);
            assert!(!part.artifacts.is_empty());
        }
    }

    #[test]
    fn columns_and_tables_are_those_of_the_contract() {
        let contract = include_str!("../../../../schemas/tables.toml");
        for part in sections().iter().flat_map(|section| &section.part) {
            for column in &part.columns {
                assert!(contract.contains(&format!("\"{column}")), "{column}");
            }
        }
    }
}
