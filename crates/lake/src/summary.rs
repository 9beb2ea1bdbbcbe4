//! `summary` as plans over a lake: one statement per table, whatever engine runs it.

use analysis::SummaryOptions;
use analysis::timeline::summary::{MovedTotal, NamedTotal, RegionTotal, Summary, Totals, of_totals};
use stats::Durations;
use trace::Trace;

use crate::rows::{Cell, collect};
use crate::{Engine, Error};

/// The category of Python frames.
const PYTHON: &str = "python_function";

/// Calls and times of a group, in the order in which [`times`] reads them.
const TIMES: &str =
    "count(*), sum(duration), min(duration), max(duration), median(duration), stddev_samp(duration)";

/// Calls of a known size, in the order in which [`moved`] reads them.
const SIZES: &str =
    "count(size), sum(size), min(size), max(size), sum(CASE WHEN size IS NOT NULL THEN duration ELSE 0 END)";

/// Where the time of a lake's runs went; the trace has the names.
pub fn summary(
    engine: &dyn Engine,
    options: &SummaryOptions,
    python: bool,
) -> Result<(Trace, Summary), Error> {
    let ask = Ask { engine, by_rank: options.by_rank, runs: runs(engine)? };
    let mut totals = Totals::default();
    for row in ask.rows(&["name"], TIMES, "kernels", "")? {
        totals.kernels.push(ask.named(&row, &row[3], 4));
    }
    for row in ask.rows(&["name"], &format!("{TIMES}, {SIZES}"), "memory_copies", "")? {
        let calls = ask.named(&row, &row[3], 4);
        totals.copies.push(MovedTotal { calls, level: String::new(), sized: moved(&row[10..]) });
    }
    for row in ask.rows(&["type", "level"], &format!("{TIMES}, {SIZES}"), "memory_allocations", "")? {
        let calls = ask.named(&row, &row[3], 5);
        totals.allocations.push(MovedTotal { calls, level: row[4].text().into(), sized: moved(&row[11..]) });
    }
    let frames = if python { String::new() } else { format!("category IS DISTINCT FROM '{PYTHON}'") };
    let what = format!("{TIMES}, sum(self_duration)");
    for row in ask.rows(&["category", "name"], &what, "regions", &frames)? {
        let calls = ask.named(&row, &row[4], 5);
        let self_ns = row[11].int().unwrap_or(0);
        totals.regions.push(RegionTotal { category: row[3].text().into(), calls, self_ns });
    }
    if !python {
        let skipped = format!("SELECT count(*) FROM regions WHERE category = '{PYTHON}'");
        let skipped = collect(engine, &skipped)?;
        let count = skipped.rows.first().and_then(|row| row[0].int()).unwrap_or(0);
        totals.frames_skipped = u64::try_from(count).unwrap_or(0);
    }
    let marks = "\"value\" IS NULL AND (category LIKE 'MARKER\\_%' OR category LIKE 'rocm\\_marker\\_%' \
                 OR category LIKE 'instant%' OR category LIKE 'user%')";
    for row in ask.rows(&["category", "coalesce(location, name)"], "count(*)", "samples", marks)? {
        let calls = count(&row[5]);
        totals.markers.push((ask.label(&row), row[3].text().into(), row[4].text().into(), calls));
    }
    Ok(of_totals(&totals, options))
}

/// How many runs a lake has.
fn runs(engine: &dyn Engine) -> Result<usize, Error> {
    let found = collect(engine, "SELECT count(DISTINCT run) FROM sources")?;
    Ok(found.rows.first().map_or(0, |row| count(&row[0])))
}

struct Ask<'a> {
    engine: &'a dyn Engine,
    by_rank: bool,
    runs: usize,
}

impl Ask<'_> {
    /// Rows with run, node and rank (empty unless asked for), the names, and the figures.
    fn rows(&self, names: &[&str], figures: &str, from: &str, only: &str) -> Result<Vec<Vec<Cell>>, Error> {
        let of_rank = if self.by_rank { "run, node, rank" } else { "'' AS run, '' AS node, 0 AS rank" };
        let filter = if only.is_empty() { String::new() } else { format!(" WHERE {only}") };
        let places: Vec<String> = (1..=3 + names.len()).map(|place| place.to_string()).collect();
        let (names, places) = (names.join(", "), places.join(", "));
        let sql = format!("SELECT {of_rank}, {names}, {figures} FROM {from}{filter} GROUP BY {places}");
        Ok(collect(self.engine, &sql)?.rows)
    }

    fn label(&self, row: &[Cell]) -> Option<String> {
        let rank = row[2].int().unwrap_or(0);
        let label = if self.runs > 1 { format!("{} · {rank}", row[0].text()) } else { rank.to_string() };
        self.by_rank.then_some(label)
    }

    fn named(&self, row: &[Cell], name: &Cell, at: usize) -> NamedTotal {
        NamedTotal { rank: self.label(row), name: name.text().into(), times: times(&row[at..]) }
    }
}

fn count(cell: &Cell) -> usize {
    cell.int().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn times(cells: &[Cell]) -> Durations {
    let whole = |cell: &Cell| cell.int().unwrap_or(0);
    Durations {
        calls: count(&cells[0]),
        total: whole(&cells[1]),
        min: whole(&cells[2]),
        max: whole(&cells[3]),
        median: cells[4].real().map_or(0, |median| median as i64),
        stddev: cells[5].real().map(|spread| spread.round() as i64),
    }
}

fn moved(cells: &[Cell]) -> (usize, i64, i64, i64, i64) {
    let whole = |cell: &Cell| cell.int().unwrap_or(0);
    (count(&cells[0]), whole(&cells[1]), whole(&cells[2]), whole(&cells[3]), whole(&cells[4]))
}
