//! The catalogue as a table: the metrics of an architecture and their formulas.

use report::{Column, Report, Table, Unit, Value};

use super::catalogue::{ARCHITECTURES, Catalogue};
use super::options::{Blocks, Rule};

/// Every metric of an architecture with its formulas.
pub fn list_metrics(architecture: usize, blocks: &Blocks, rule: Rule) -> Report {
    let vendor = rule == Rule::MeanOfRatios;
    let columns = vec![
        Column::text("id"),
        Column::text("metric"),
        Column::text("unit").normal(),
        Column::text("formula").normal(),
        Column::text("peak").detail(),
        Column::text("level_pass").detail(),
        Column::text("why_not_as_the_vendor").data(),
    ];
    let title = format!("Metrics on {}", ARCHITECTURES[architecture]);
    let mut table = Table::new("metrics", &title, columns);
    let mut panels = Table::new(
        "panels",
        &format!("Panels on {}", ARCHITECTURES[architecture]),
        vec![
            Column::int("panel", Unit::Exact).key(),
            Column::text("title"),
            Column::int("metrics", Unit::None).key(),
        ],
    );
    for panel in &Catalogue::builtin().panels {
        let mut count = 0;
        for part in &panel.tables {
            let mut rows: Vec<_> =
                part.metrics.iter().filter_map(|m| Some((m.row(architecture)?, m))).collect();
            rows.sort_by_key(|(row, _)| *row);
            for (row, metric) in rows {
                let Some(formula) = metric.on(architecture) else { continue };
                if !blocks.want_row(panel.number, part.number, row) {
                    continue;
                }
                count += 1;
                let mut text = formula.text("value", vendor).unwrap_or_default().to_string();
                for series in &part.series {
                    let own = formula.text(&series.key, vendor).unwrap_or_default();
                    text.push_str(&format!(
                        "{}{}: {own}",
                        if text.is_empty() { "" } else { "; " },
                        series.title
                    ));
                }
                table.push(vec![
                    Value::Text(format!("{}.{}.{row}", panel.number, part.number)),
                    Value::Text(if part.channels {
                        format!("{} of a channel", part.title)
                    } else {
                        metric.name.clone()
                    }),
                    Value::from(metric.unit(architecture, vendor)),
                    Value::Text(text),
                    Value::from(formula.text("peak", vendor).unwrap_or_default()),
                    Value::from(formula.level(vendor).unwrap_or_default()),
                    Value::from(formula.why.as_str()),
                ]);
            }
        }
        if count > 0 {
            panels.push(vec![
                Value::Int(panel.number.into()),
                Value::from(panel.title.as_str()),
                Value::Int(count),
            ]);
        }
    }
    Report { command: "panels".into(), tables: vec![panels, table], ..Report::default() }
}
