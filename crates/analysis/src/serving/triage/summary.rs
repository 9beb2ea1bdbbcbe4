//! `profile_summary.md`: the triage on one page, for people.

use std::fmt::Write;

use report::{Column, HealthStatus, Note, Report, Table, Unit, Value, render};
use serde_json::Value as Json;
use trace::Map;

use model::Run;
use model::classify::Category;
use model::stages::Stage;
use stats::percent;

/// Most kernels and opportunities on the page; the JSON files have all.
const ROWS: usize = 15;

/// The page, from a report of the triage and its metadata.
pub(super) fn summary(context: &Run, report: &Report, metadata: &Json) -> String {
    let mut text = String::from("# Profile summary\n\n");
    let field = |name: &str| match &metadata[name] {
        Json::Null => {
            let why = metadata["absent"][name].as_str().unwrap_or("not known");
            format!("unknown ({why})")
        }
        Json::String(value) => value.clone(),
        other => other.to_string(),
    };
    let source = |name: &str| metadata["field_sources"][name].as_str().unwrap_or_default().to_string();
    let facts = [
        ("Model", field("model_name")),
        ("Framework", metadata["framework"].as_str().unwrap_or("unknown").to_string()),
        ("Stage", field("profile_stage")),
        ("Architecture", format!("{} ({})", field("observed_arch"), source("observed_arch"))),
        ("Architecture match", format!("{}: {}", field("arch_match"), field("hardware_relevance_reason"))),
        (
            "ROCm",
            match source("rocm_version").as_str() {
                "" => field("rocm_version"),
                by => format!("{} ({by})", field("rocm_version")),
            },
        ),
        ("Image", field("base_image")),
        ("Trace", field("source_trace_path")),
    ];
    for (name, value) in facts {
        _ = writeln!(text, "- **{name}**: {}", value.replace('\n', " "));
    }
    text.push_str("\n## GPU time\n\n");
    for line in busy(context) {
        _ = writeln!(text, "- {line}");
    }
    let mut page = Report { tables: vec![categories(context)], ..Report::default() };
    page.tables.extend(report.tables.iter().cloned());
    for table in &mut page.tables {
        table.limit(ROWS);
        render::markdown_table(&mut text, table);
        if table.rows.is_empty() {
            text.push_str("\nNone.\n");
        }
    }
    if !report.findings.is_empty() {
        text.push_str("\n## Findings\n\n");
        for finding in &report.findings {
            _ = writeln!(
                text,
                "- **{}** ({}): {}",
                finding.title,
                finding.severity.name(),
                finding.recommendation
            );
        }
    }
    text.push_str("\n## Coverage and warnings\n\n");
    for check in &report.health {
        if check.status != HealthStatus::Pass || ["located", "classified", "graph_join"].contains(&&*check.id)
        {
            _ = writeln!(text, "- {}: {}", check.status.name(), check.message);
        }
    }
    let said = |note: &&Note| report.health.iter().any(|check| check.message == note.text);
    for note in report.notes.iter().filter(|note| !said(note)) {
        _ = writeln!(text, "- {note}");
    }
    text
}

/// How busy the GPU of each source was, from its first work to its last.
fn busy(context: &Run) -> Vec<String> {
    let mut spans: Map<u32, (i64, i64, i64)> = Map::default();
    for &row in &context.rows {
        let (start, end) = context.time(row);
        let process = context.place(row).and_then(|place| context.work.process(place).get());
        let source = process.map_or(u32::MAX, |process| context.trace.processes[process].source.0);
        // Rows are sorted by start, so time past the latest end is newly busy.
        let (_, last, busy) = spans.entry(source).or_insert((start, start, 0));
        *busy += (end - start.max(*last)).max(0);
        *last = (*last).max(end);
    }
    let mut spans: Vec<_> = spans.into_iter().collect();
    spans.sort_unstable();
    let line = |(source, (first, last, busy)): (u32, (i64, i64, i64))| {
        let path = context.trace.sources.get(source as usize).map_or("", |source| source.path.as_str());
        let name = path.rsplit('/').next().unwrap_or_default();
        let span = last - first;
        let ms = |ns: i64| format!("{:.3} ms", ns as f64 / 1e6);
        format!(
            "`{name}`: busy {} of {} ({:.1} %), idle {}",
            ms(busy),
            ms(span),
            percent(busy, span),
            ms(span - busy)
        )
    };
    spans.into_iter().map(line).collect()
}

/// GPU time by stage, category and backend.
fn categories(context: &Run) -> Table {
    let mut totals: Map<(Stage, Category, &str), (usize, i64)> = Map::default();
    let mut stages: Map<Stage, i64> = Map::default();
    for &row in &context.rows {
        let backend = context.class(row).map_or("unknown", |class| &class.backend);
        let (calls, total) = totals.entry((context.stage(row), context.category(row), backend)).or_default();
        *calls += 1;
        *total += context.duration(row);
        *stages.entry(context.stage(row)).or_default() += context.duration(row);
    }
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by_key(|((stage, category, backend), (_, total))| {
        (*stage, std::cmp::Reverse(*total), *category, *backend)
    });
    let columns = vec![
        Column::text("stage"),
        Column::text("category"),
        Column::text("backend"),
        Column::int("calls", Unit::None),
        Column::int("total_ns", Unit::Ns),
        Column::int("share_pct", Unit::Pct),
    ];
    let mut table = Table::new("categories", "Categories", columns);
    for ((stage, category, backend), (calls, total)) in totals {
        table.push(vec![
            stage.name().into(),
            category.name().into(),
            backend.into(),
            calls.into(),
            Value::Int(total),
            Value::Float(percent(total, stages[&stage])),
        ]);
    }
    table
}
