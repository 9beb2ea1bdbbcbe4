//! The metric catalogue: panels, tables and formulas per architecture, from `panels/*.toml`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use trace::Map;

use super::expression::{Expression, parse};

/// Architectures with a catalogue, in the order of its `rows` fields.
pub const ARCHITECTURES: [&str; 4] = ["gfx908", "gfx90a", "gfx942", "gfx950"];

const FILES: &[&str] = &[
    include_str!("../../../panels/02_speed_of_light.toml"),
    include_str!("../../../panels/03_memory_chart.toml"),
    include_str!("../../../panels/05_command_processor.toml"),
    include_str!("../../../panels/06_workgroup_manager.toml"),
    include_str!("../../../panels/07_wavefront.toml"),
    include_str!("../../../panels/10_instruction_mix.toml"),
    include_str!("../../../panels/11_compute_pipeline.toml"),
    include_str!("../../../panels/12_lds.toml"),
    include_str!("../../../panels/13_instruction_cache.toml"),
    include_str!("../../../panels/14_scalar_cache.toml"),
    include_str!("../../../panels/15_address_and_data.toml"),
    include_str!("../../../panels/16_vector_cache.toml"),
    include_str!("../../../panels/17_l2.toml"),
    include_str!("../../../panels/18_l2_channels.toml"),
    include_str!("../../../panels/30_memory_bandwidth.toml"),
];

/// A panel.
#[derive(Debug, Deserialize)]
pub struct Panel {
    /// Its number.
    #[serde(rename = "panel")]
    pub number: u32,
    /// Its heading.
    pub title: String,
    /// Whether it is only shown if its counters were collected or it was requested.
    #[serde(default)]
    pub optional: bool,
    /// Its tables.
    #[serde(rename = "table")]
    pub tables: Vec<PanelTable>,
}

/// A table of a panel.
#[derive(Debug, Deserialize)]
pub struct PanelTable {
    /// Its number in the panel.
    pub number: u32,
    /// Its heading.
    pub title: String,
    /// Statistics over the dispatches.
    #[serde(default)]
    pub columns: Vec<Statistic>,
    /// Columns with their own formula.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Text columns.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Whether there is a row per L2 channel.
    #[serde(default)]
    pub channels: bool,
    /// Whether the vendor rounds to whole numbers.
    #[serde(default)]
    pub vendor_rounds: bool,
    /// Its metrics.
    #[serde(default, rename = "metric")]
    pub metrics: Vec<Metric>,
}

/// What a column shows of a formula's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The ratio of sums, or the mean of ratios with the vendor's rule.
    Avg,
    /// The average, if the vendor's heading is `Value`.
    Value,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The sample standard deviation.
    StdDev,
    /// The first quartile.
    Q1,
    /// The median.
    Median,
    /// The third quartile.
    Q3,
    /// The most the hardware can do.
    Peak,
    /// `avg` in percent of `peak`.
    PctOfPeak,
}

impl Statistic {
    /// Its key in reports.
    pub fn key(self) -> &'static str {
        match self {
            Statistic::Avg => "avg",
            Statistic::Value => "value",
            Statistic::Min => "min",
            Statistic::Max => "max",
            Statistic::StdDev => "std_dev",
            Statistic::Q1 => "q1",
            Statistic::Median => "median",
            Statistic::Q3 => "q3",
            Statistic::Peak => "peak",
            Statistic::PctOfPeak => "pct_of_peak",
        }
    }
}

/// A column with its own formula.
#[derive(Debug, Deserialize)]
pub struct Series {
    /// Key of the column and of its formula.
    pub key: String,
    /// Heading.
    pub title: String,
}

/// A metric.
#[derive(Debug, Deserialize)]
pub struct Metric {
    /// Its name.
    pub name: String,
    rows: String,
    /// Cells of the text columns.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(flatten)]
    formula: Formula,
    #[serde(default)]
    on: Vec<Formula>,
}

/// The formulas of a metric on some architectures.
#[derive(Debug, Default, Deserialize)]
pub struct Formula {
    #[serde(default)]
    gpus: Vec<String>,
    #[serde(default)]
    unit: String,
    /// The level pass it reads.
    #[serde(default)]
    pub level: String,
    /// Why it differs from the vendor's.
    #[serde(default)]
    pub why: String,
    /// The vendor's version.
    #[serde(default)]
    pub vendor: BTreeMap<String, String>,
    /// `value`, `peak` and the formulas of series.
    #[serde(flatten)]
    texts: BTreeMap<String, toml::Value>,
}

impl Metric {
    /// Its row on an architecture.
    pub fn row(&self, architecture: usize) -> Option<u32> {
        let mut places = self.rows.split('/');
        match self.rows.contains('/') {
            true => places.nth(architecture)?.parse().ok(),
            false => self.rows.parse().ok(),
        }
    }

    /// Its formulas on an architecture, if it exists there.
    pub fn on(&self, architecture: usize) -> Option<&Formula> {
        self.row(architecture)?;
        let name = ARCHITECTURES[architecture];
        let special = self.on.iter().find(|formula| formula.gpus.iter().any(|gpu| gpu == name));
        special.or(self.on.is_empty().then_some(&self.formula))
    }

    /// Its unit on an architecture.
    pub fn unit(&self, architecture: usize, vendor: bool) -> &str {
        let Some(formula) = self.on(architecture) else { return "" };
        match formula.vendor.get("unit") {
            Some(unit) if vendor => unit,
            _ if formula.unit.is_empty() => &self.formula.unit,
            _ => &formula.unit,
        }
    }
}

impl Formula {
    /// The text of a formula: `value`, `peak` or a series' key.
    pub fn text(&self, key: &str, vendor: bool) -> Option<&str> {
        let theirs = self.vendor.get(key).filter(|_| vendor).map(String::as_str);
        theirs.or_else(|| self.texts.get(key)?.as_str())
    }

    /// The level pass it reads, if any.
    pub fn level(&self, vendor: bool) -> Option<&str> {
        let theirs = self.vendor.get("level").filter(|_| vendor).map(String::as_str);
        Some(theirs.unwrap_or(&self.level)).filter(|level| !level.is_empty())
    }
}

/// Names that formulas use besides counters.
#[derive(Debug, Deserialize)]
struct NamesFile {
    facts: BTreeMap<String, String>,
    formulas: BTreeMap<String, String>,
}

/// Names that formulas use besides counters, parsed.
#[derive(Debug)]
pub struct Names {
    /// Facts about the GPU: name in formulas, name in `sysinfo.csv`.
    pub facts: Map<String, String>,
    /// Quantities made from counters.
    pub formulas: Map<String, Expression>,
}

/// All panels.
#[derive(Debug)]
pub struct Catalogue {
    /// Sorted by number.
    pub panels: Vec<Panel>,
    /// Other names.
    pub names: Names,
}

impl Catalogue {
    /// The built-in catalogue, read once.
    pub fn builtin() -> &'static Catalogue {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| {
            let read =
                |text: &&str| formats::tables::built_in(text).expect("the built-in catalogue is well formed");
            let names: NamesFile = formats::tables::built_in(include_str!("../../../panels/names.toml"))
                .expect("the built-in names are well formed");
            let formula = |(name, text): (String, String)| {
                (name, parse(&text).expect("the built-in formulas are well formed"))
            };
            Catalogue {
                panels: FILES.iter().map(read).collect(),
                names: Names {
                    facts: names.facts.into_iter().collect(),
                    formulas: names.formulas.into_iter().map(formula).collect(),
                },
            }
        })
    }
}

/// Where the default differs from the vendor's formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `17.2`
    pub table: String,
    /// The metric, or the table's title if rows are channels.
    pub metric: String,
    /// The architectures.
    pub gpus: Vec<&'static str>,
    /// Why it differs.
    pub why: &'static str,
}

/// Every formula that differs from the vendor's.
pub fn differences() -> Vec<Difference> {
    let mut found = Vec::new();
    for panel in &Catalogue::builtin().panels {
        for table in &panel.tables {
            for metric in &table.metrics {
                for formula in
                    metric.on.iter().chain([&metric.formula]).filter(|formula| !formula.why.is_empty())
                {
                    let on = |at: &usize| metric.on(*at).is_some_and(|other| std::ptr::eq(other, formula));
                    let gpus = (0..ARCHITECTURES.len()).filter(on).map(|at| ARCHITECTURES[at]).collect();
                    let metric = if table.channels { table.title.clone() } else { metric.name.clone() };
                    let table = format!("{}.{}", panel.number, table.number);
                    found.push(Difference { table, metric, gpus, why: &formula.why });
                }
            }
        }
    }
    found
}

/// The index of an architecture in the catalogue. gfx940 and gfx941 are early gfx942.
pub fn architecture(name: &str) -> Option<usize> {
    let name = name.split(':').next().unwrap_or(name);
    let name = if matches!(name, "gfx940" | "gfx941") { "gfx942" } else { name };
    ARCHITECTURES.iter().position(|known| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every formula of every architecture parses, and every field of the files is a known one.
    #[test]
    fn the_whole_catalogue_is_sound() {
        for panel in &Catalogue::builtin().panels {
            for table in &panel.tables {
                let keys: Vec<&str> = table.series.iter().map(|series| series.key.as_str()).collect();
                for metric in &table.metrics {
                    let place = format!("{}.{} {}", panel.number, table.number, metric.name);
                    assert_eq!(metric.labels.len(), table.labels.len(), "{place}");
                    for formula in metric.on.iter().chain([&metric.formula]) {
                        for (key, text) in &formula.texts {
                            let known =
                                ["value", "peak"].contains(&key.as_str()) || keys.contains(&key.as_str());
                            assert!(known, "{place}: unknown field {key}");
                            parse(text.as_str().unwrap()).unwrap_or_else(|error| panic!("{place}: {error}"));
                        }
                        for (key, text) in &formula.vendor {
                            match key.as_str() {
                                "max" | "unit" | "level" => {}
                                _ => _ = parse(text).unwrap_or_else(|error| panic!("{place}: {error}")),
                            }
                        }
                        assert_eq!(formula.vendor.is_empty(), formula.why.is_empty(), "{place}: say why");
                    }
                    for (at, name) in ARCHITECTURES.iter().enumerate() {
                        assert_eq!(metric.row(at).is_some(), metric.on(at).is_some(), "{place} on {name}");
                    }
                }
            }
        }
    }

    /// Row numbers have no gaps or duplicates on any architecture, and their count matches the vendor's,
    /// without its experimental panel.
    #[test]
    fn rows_are_numbered_as_the_vendor_numbers_them() {
        for (at, metrics) in [312, 358, 360, 430].into_iter().enumerate() {
            let mut found = 0;
            for panel in &Catalogue::builtin().panels {
                for table in &panel.tables {
                    let mut rows: Vec<u32> =
                        table.metrics.iter().filter_map(|metric| metric.row(at)).collect();
                    rows.sort_unstable();
                    let expected: Vec<u32> = (0..rows.len() as u32).collect();
                    assert_eq!(rows, expected, "{}.{} on {}", panel.number, table.number, ARCHITECTURES[at]);
                    found += if table.channels || panel.optional { 0 } else { rows.len() };
                }
            }
            assert_eq!(found, metrics, "{}", ARCHITECTURES[at]);
        }
    }

    #[test]
    fn architectures_are_known_by_their_names() {
        assert_eq!(architecture("gfx942"), Some(2));
        assert_eq!(architecture("gfx90a:sramecc+:xnack-"), Some(1));
        assert_eq!(architecture("gfx941"), Some(2));
        assert_eq!(architecture("gfx1100"), None);
    }
}
