//! L2 channels at a glance: one line per table of 128 rows, for people.

use report::{Column, Table, Unit, Value};

use super::tables::{Style, round};
use super::values::TableValues;

/// Characters in a strip; each stands for several channels if the GPU has more.
const STRIP: usize = 16;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One row per column of a table by channel: lowest, mean and highest channel, and a strip of all channels.
pub(super) fn glance(tables: &[&TableValues], style: &Style) -> Table {
    let columns = vec![
        Column::text("table"),
        Column::text("metric"),
        Column::int("lowest", Unit::Exact).key(),
        Column::int("mean", Unit::Exact).key(),
        Column::int("highest", Unit::Exact).key(),
        Column::text("channels").normal(),
    ];
    let mut glance = Table::new("panel_18", "18 L2 channels at a glance (-b 18 shows each)", columns);
    for table in tables {
        // For statistics, the median is enough here.
        let middle = table.columns.iter().position(|key| key == "median");
        let shown = middle.map_or(0..table.columns.len(), |at| at..at + 1);
        for column in shown {
            let values: Vec<f64> =
                table.rows.iter().filter_map(|row| row.cells[column].as_ref().ok().copied()).collect();
            let Some(lowest) = values.iter().copied().reduce(f64::min) else { continue };
            let highest = values.iter().copied().fold(lowest, f64::max);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let number = |value: f64| Value::Float(round(value, style.decimals.unwrap_or(2)));
            let metric = if middle.is_some() { table.title.clone() } else { words(&table.columns[column]) };
            glance.push(vec![
                Value::Text(format!("{}.{}", table.panel, table.table)),
                Value::Text(metric),
                number(lowest),
                number(mean),
                number(highest),
                Value::Text(strip(&values, highest)),
            ]);
        }
    }
    glance
}

fn words(key: &str) -> String {
    key.replace("l2_", "L2 ").replace('_', " ")
}

/// Heights from 0 to the highest value, so that equal channels look equal.
fn strip(values: &[f64], highest: f64) -> String {
    let per_letter = values.len().div_ceil(STRIP);
    let letter = |group: &[f64]| {
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        let share = if highest > 0.0 { (mean / highest).clamp(0.0, 1.0) } else { 0.0 };
        LEVELS[((share * 7.0).round() as usize).min(7)]
    };
    values.chunks(per_letter.max(1)).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_are_as_high_as_their_channels() {
        assert_eq!(strip(&[0.0, 50.0, 100.0], 100.0), "▁▅█");
        assert_eq!(strip(&[7.0; 128], 7.0).chars().count(), 16);
    }
}
