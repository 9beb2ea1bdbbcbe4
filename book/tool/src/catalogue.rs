//! Pages that are generated from tables of the code: metrics with their formulas, rules with their reasons.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::{Failure, cell};

/// The architectures of the catalogue, in the order in which its metrics number them.
const ARCHITECTURES: [&str; 4] = ["gfx908", "gfx90a", "gfx942", "gfx950"];
const MADE: &str = "<!-- Made from tables of the code by scripts/book-refresh: edit those. -->\n\n";

/// All such pages of a repository by name, and the table of contents with theirs.
pub fn pages(repository: &Path, summary: &str) -> Result<BTreeMap<String, String>, Failure> {
    let file = |name: &str| {
        std::fs::read_to_string(repository.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let table = |name: &str| -> Result<toml::Table, Failure> {
        Ok(toml::from_str(&file(name)?).map_err(|error| format!("{name}: {error}"))?)
    };
    let reasons = table("book/reasons.toml")?;
    let panels = panels(repository)?;
    let mut pages = panel_pages(&panels, &file("crates/analysis/panels/names.toml")?);
    let (explain, limits) = (file("docs/explain.md")?, file("crates/analysis/rules/explain.toml")?);
    pages.insert("rules/explain.md".into(), rules_of_explain(&explain, &limits, part(&reasons, "explain")?)?);
    pages.insert("rules/fusions.md".into(), fusions(&table("crates/analysis/rules/fusions.toml")?));
    pages.insert(
        "rules/bottleneck.md".into(),
        bottleneck(&table("crates/analysis/rules/bottleneck.toml")?, part(&reasons, "bottleneck")?)?,
    );
    pages.insert("catalogue/roofline.md".into(), roofline(&table("crates/analysis/rules/roofline.toml")?));
    pages.insert("catalogue/op-models.md".into(), op_models(&table("crates/analysis/rules/ops.toml")?));
    let chapter = |panel: &toml::Table| {
        let (number, title) = (number(panel, "panel"), text(panel, "title"));
        format!("  - [{number} {title}](catalogue/panel-{number:02}.md)\n")
    };
    let chapters: String = panels.iter().map(chapter).collect();
    pages.insert("SUMMARY.md".into(), crate::contents::below(summary, "(catalogue/panels.md)", &chapters));
    Ok(pages)
}

fn rows<'a>(table: &'a toml::Table, name: &str) -> impl Iterator<Item = &'a toml::Table> {
    table.get(name).and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_table)
}

/// A table of the book's own texts.
fn part<'a>(reasons: &'a toml::Table, name: &str) -> Result<&'a toml::Table, Failure> {
    let part = reasons.get(name).and_then(toml::Value::as_table);
    part.ok_or_else(|| format!("book/reasons.toml has no words for `{name}`").into())
}

fn text<'a>(row: &'a toml::Table, key: &str) -> &'a str {
    row.get(key).and_then(toml::Value::as_str).unwrap_or_default()
}

fn words(row: &toml::Table, key: &str) -> Vec<String> {
    let list = row.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    list.filter_map(|word| Some(word.as_str()?.to_string())).collect()
}

/// A formula for a cell of a table.
fn code(text: &str) -> String {
    if text.is_empty() || text == "none" { "–".into() } else { format!("`{}`", text.replace('|', "\\|")) }
}

/// A part of a TOML file as it is written, with the remarks above it.
fn section(file: &str, name: &str) -> String {
    let lines: Vec<&str> = file.lines().collect();
    let Some(at) = lines.iter().position(|line| *line == format!("[{name}]")) else { return String::new() };
    let start = lines[..at].iter().rposition(|line| !line.starts_with('#')).map_or(0, |before| before + 1);
    let rest = lines[at + 1..].iter().take_while(|line| !line.is_empty() && !line.starts_with('['));
    [&lines[start..=at], &rest.copied().collect::<Vec<_>>()].concat().join("\n")
}

/// The rules as docs/explain.md lists them, which a test compares with the code.
fn rules_of_explain(listed: &str, limits: &str, reasons: &toml::Table) -> Result<String, Failure> {
    let mut page = format!(
        "{MADE}# Rules of explain\n\nWhat each rule of [`explain`](../explain.md) finds, why it matters, how it is judged and what it cannot know. \
         Shares (`min_pct`) are of the time from the first to the last GPU work of the GPU in question. A finding's severity follows from the share of its gain:\n\n```toml\n{}\n```\n\n",
        section(limits, "severity")
    );
    let mut known = Vec::new();
    let lines = listed.lines().skip_while(|line| !line.starts_with("| rule |")).skip(2);
    for line in lines.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, finds, needs] = cells[..] else { return Err(format!("docs/explain.md: {line}").into()) };
        let id = id.trim_matches('`');
        let reason = part(reasons, id)?;
        write!(
            page,
            "## {id}\n\nFinds {finds}.\n\n**Why.** {}\n\n**How it judges.** {}\n\n**Needs** {needs}; without, it cannot judge and says so.\n\n**Limits.** {}\n\n",
            text(reason, "why"),
            text(reason, "how"),
            text(reason, "limits")
        )?;
        let thresholds = section(limits, id);
        if !thresholds.is_empty() {
            write!(page, "```toml\n{thresholds}\n```\n\n")?;
        }
        known.push(id);
    }
    match reasons.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("`{name}` of book/reasons.toml is no rule").into()),
        None => Ok(page.trim_end().to_string() + "\n"),
    }
}

fn fusions(table: &toml::Table) -> String {
    let mut page = format!(
        "{MADE}# Fusions\n\nSequences of kernels that some program is known to have as one kernel. `triage` and `explain` look for them. \
         A pattern lists groups of kernels in order: `a|b` either, `a?` optional, `a+` repeated, `(a)` may stand between. It must occur about once \
         per layer (or step) and on one stream. *On ROCm*: `yes` if the path is there for AMD GPUs, `possible` if the code has it but nobody confirmed it there, `no` if not.\n\n"
    );
    for fusion in rows(table, "fusion") {
        let title = text(fusion, "title");
        write!(
            page,
            "## {}\n\n`{}`: {}.\n\n```text\n{}\n```\n\n",
            title,
            text(fusion, "id"),
            text(fusion, "rationale"),
            text(fusion, "steps")
        )
        .expect("text");
        let models = words(fusion, "models");
        if !models.is_empty() {
            write!(page, "Only for models named {}.\n\n", models.join(", ")).expect("text");
        }
        if let Some(ranks) = fusion.get("min_ranks") {
            write!(page, "Needs at least {ranks} ranks.\n\n").expect("text");
        }
        page.push_str(
            "| framework | on ROCm | fused kernel | how to turn it on | source |\n|---|---|---|---|---|\n",
        );
        for path in rows(fusion, "paths") {
            let cells = ["framework", "rocm", "fused", "switch", "source"].map(|key| cell(text(path, key)));
            writeln!(page, "| {} |", cells.join(" | ")).expect("text");
        }
        page.push('\n');
    }
    page.push_str("## Not looked for\n\nPatterns of other lists that are left out, and why.\n\n| pattern | why |\n|---|---|\n");
    for row in rows(table, "not_covered") {
        writeln!(page, "| {} | {} |", cell(text(row, "pattern")), cell(text(row, "why"))).expect("text");
    }
    page
}

fn bottleneck(table: &toml::Table, reasons: &toml::Table) -> Result<String, Failure> {
    let mut page = format!(
        "{MADE}# Rules of bottleneck\n\nHow [`bottleneck`](../bottleneck.md) labels a kernel. A label applies if all its conditions are true; of several, the one \
         with the highest score is the label and the others are `secondary`. A condition whose feature is not known leaves the rule undecided. *Gain* is the largest \
         possible gain in nanoseconds of all dispatches.\n\n"
    );
    let mut known = Vec::new();
    for rule in rows(table, "rule") {
        let label = text(rule, "label");
        if !known.contains(&label) {
            let reason = part(reasons, label)?;
            write!(page, "## {label}\n\n{}\n\n**What to do:** ", text(reason, "why"))?;
            write!(page, "{}.\n\n**Limits.** {}\n\n", text(rule, "advice"), text(reason, "limits"))?;
            page.push_str("| conditions | score | gain |\n|---|---|---|\n");
            for same in rows(table, "rule").filter(|same| text(same, "label") == label) {
                let when: Vec<String> = words(same, "when").iter().map(|word| code(word)).collect();
                let [score, gain] = ["score", "gain"].map(|key| code(text(same, key)));
                writeln!(page, "| {} | {score} | {gain} |", when.join(" and "))?;
            }
            page.push('\n');
            known.push(label);
        }
    }
    if let Some(name) = reasons.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("`{name}` of book/reasons.toml is no label").into());
    }
    page.push_str(
        "## Features\n\nNames in capitals are counters, summed over instances and dispatches of the kernel. Of several formulas the first counts whose \
         counters were all collected.\n\n| feature | GPUs | formula |\n|---|---|---|\n",
    );
    for feature in rows(table, "feature") {
        let gpus = words(feature, "archs").join(", ");
        let formulas: Vec<String> = words(feature, "formulas").iter().map(|formula| code(formula)).collect();
        let gpus = if gpus.is_empty() { "all".into() } else { gpus };
        writeln!(page, "| `{}` | {gpus} | {} |", text(feature, "name"), formulas.join(", else "))?;
    }
    Ok(page)
}

fn roofline(table: &toml::Table) -> String {
    let mut page = format!(
        "{MADE}# Formulas of roofline\n\nWhat [`roofline`](../roofline.md) computes from counters, summed over a kernel's dispatches and over all instances.\n\n\
         ## Operations\n\n| type | unit | GPUs | operations |\n|---|---|---|---|\n"
    );
    for row in rows(table, "flops") {
        let gpus = words(row, "archs").join(", ");
        writeln!(
            page,
            "| {} | {} | {gpus} | {} |",
            text(row, "data_type"),
            text(row, "pipe"),
            code(text(row, "formula"))
        )
        .expect("text");
    }
    page.push_str("\n## Bytes\n\nOf several formulas the first counts whose counters were all collected.\n\n| level | GPUs | bytes |\n|---|---|---|\n");
    for row in rows(table, "bytes") {
        let formulas: Vec<String> = words(row, "formulas").iter().map(|formula| code(formula)).collect();
        writeln!(
            page,
            "| {} | {} | {} |",
            text(row, "level"),
            words(row, "archs").join(", "),
            formulas.join(", else ")
        )
        .expect("text");
    }
    page
}

fn op_models(table: &toml::Table) -> String {
    let mut page = format!(
        "{MADE}# Models of torch ops\n\nThe least that an op must compute and move, from the shapes, types and values that the trace has of its inputs. `roofline` and \
         `efficiency` use them where there are no counters. Caches are perfect: nothing moves twice. `0` in *reads* and *writes* is the tensor at that position, \
         `tensors` all of them; `as` gives the type.\n\n| ops | inputs | operations | reads | writes |\n|---|---|---|---|---|\n"
    );
    for op in rows(table, "op") {
        let names: Vec<String> = words(op, "names").iter().map(|name| code(name)).collect();
        let inputs = op.get("inputs").and_then(toml::Value::as_table).into_iter().flatten();
        let inputs: Vec<String> =
            inputs.map(|(at, dims)| format!("{at}: {}", dims.as_str().unwrap_or_default())).collect();
        let list = |key| {
            let parts: Vec<String> = words(op, key).iter().map(|part| code(part)).collect();
            if parts.is_empty() { "–".to_string() } else { parts.join(", ") }
        };
        let flops =
            if op.contains_key("convolution") { "of a convolution".into() } else { code(text(op, "flops")) };
        let inputs = if inputs.is_empty() { "–".into() } else { cell(&inputs.join("; ")) };
        writeln!(
            page,
            "| {} | {inputs} | {flops} | {} | {} |",
            names.join(", "),
            list("reads"),
            list("writes")
        )
        .expect("text");
    }
    page
}

/// The panels in the order of their numbers.
fn panels(repository: &Path) -> Result<Vec<toml::Table>, Failure> {
    let mut panels = Vec::new();
    for entry in std::fs::read_dir(repository.join("crates/analysis/panels"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("names.toml") {
            panels.push(toml::from_str::<toml::Table>(&std::fs::read_to_string(path)?)?);
        }
    }
    panels.sort_by_key(|panel| number(panel, "panel"));
    panels.retain(|panel| rows(panel, "table").any(|table| rows(table, "metric").next().is_some()));
    Ok(panels)
}

fn number(row: &toml::Table, key: &str) -> i64 {
    row.get(key).and_then(toml::Value::as_integer).unwrap_or_default()
}

/// The row of a metric on an architecture; `rows` has one number for all, or one for each.
fn row_of(metric: &toml::Table, architecture: usize) -> Option<u32> {
    let rows = text(metric, "rows");
    let mut places = rows.split('/');
    if rows.contains('/') { places.nth(architecture)?.parse().ok() } else { rows.parse().ok() }
}

/// One line of a table: what a metric is on some architectures.
#[derive(PartialEq)]
struct Line {
    unit: String,
    formula: String,
    peak: String,
}

/// What a metric is, and on which architectures.
fn lines(table: &toml::Table, metric: &toml::Table) -> Vec<(Vec<usize>, Line)> {
    let mut lines: Vec<(Vec<usize>, Line)> = Vec::new();
    for architecture in (0..ARCHITECTURES.len()).filter(|at| row_of(metric, *at).is_some()) {
        let special =
            |on: &&toml::Table| words(on, "gpus").iter().any(|gpu| gpu == ARCHITECTURES[architecture]);
        let plain = rows(metric, "on").next().is_none().then_some(metric);
        let Some(formula) = rows(metric, "on").find(special).or(plain) else { continue };
        let mut parts: Vec<String> = Vec::new();
        parts.extend((!text(formula, "value").is_empty()).then(|| code(text(formula, "value"))));
        for series in rows(table, "series") {
            parts.push(format!("{}: {}", text(series, "title"), code(text(formula, text(series, "key")))));
        }
        let unit = [formula, metric].map(|row| text(row, "unit")).into_iter().find(|unit| !unit.is_empty());
        let peak = Some(text(formula, "peak")).filter(|peak| !peak.is_empty()).map(code);
        let line = Line {
            unit: cell(unit.unwrap_or_default()),
            formula: parts.join("; "),
            peak: peak.unwrap_or_default(),
        };
        match lines.iter_mut().find(|(_, other)| *other == line) {
            Some((members, _)) => members.push(architecture),
            None => lines.push((vec![architecture], line)),
        }
    }
    lines
}

/// `2.1.7 (gfx908, gfx90a), 2.1.8 (gfx942)`; only the number if it is the same on all.
fn ids(table: &str, metric: &toml::Table, members: &[usize]) -> String {
    let mut ids: Vec<(u32, Vec<&str>)> = Vec::new();
    for at in members {
        let Some(row) = row_of(metric, *at) else { continue };
        match ids.iter_mut().find(|(other, _)| *other == row) {
            Some((_, gpus)) => gpus.push(ARCHITECTURES[*at]),
            None => ids.push((row, vec![ARCHITECTURES[*at]])),
        }
    }
    let id = |(row, gpus): &(u32, Vec<&str>)| match gpus.len() == ARCHITECTURES.len() {
        true => format!("{table}.{row}"),
        false => format!("{table}.{row} ({})", gpus.join(", ")),
    };
    ids.iter().map(id).collect::<Vec<_>>().join(", ")
}

fn panel_table(panel: i64, table: &toml::Table) -> String {
    let (number, title) = (format!("{panel}.{}", number(table, "number")), text(table, "title"));
    let channels = table.get("channels").and_then(toml::Value::as_bool).unwrap_or_default();
    let metrics: Vec<_> = rows(table, "metric").map(|metric| (metric, lines(table, metric))).collect();
    let peaks = metrics.iter().any(|(_, lines)| lines.iter().any(|(_, line)| !line.peak.is_empty()));
    let (heading, rule) = if peaks { (" peak |", "---|") } else { ("", "") };
    let mut page = format!(
        "## {number} {title}\n\n| metric | unit | id | formula |{heading}\n|---|---|---|---|{rule}\n"
    );
    for (metric, lines) in metrics {
        let name = if channels { format!("{title} of a channel") } else { text(metric, "name").to_string() };
        for (members, line) in lines {
            let ids = ids(&number, metric, &members);
            write!(page, "| {} | {} | {ids} | {} |", cell(&name), line.unit, line.formula).expect("text");
            if peaks {
                write!(page, " {} |", line.peak).expect("text");
            }
            page.push('\n');
        }
    }
    page.push('\n');
    page
}

/// A page per panel, and one with the names that formulas use.
fn panel_pages(panels: &[toml::Table], names: &str) -> BTreeMap<String, String> {
    let mut index = format!(
        "{MADE}# Metrics of panels\n\nThe metrics that [`panels`](../panels.md) shows, with their formulas. `panels --list-metrics ARCH` prints them too. \
         A value is the ratio of sums over the dispatches; `min`, `max` and quartiles are over dispatches. Names in capitals with an underscore are counters; \
         `D` is the duration in nanoseconds, `N` the normalisation (`--normal-unit`). An id without GPUs is the same on all four (gfx908, gfx90a, gfx942, gfx950).\n\n| panel | tables | metrics |\n|---|---|---|\n"
    );
    let mut pages = BTreeMap::new();
    for panel in panels {
        let (number, title) = (number(panel, "panel"), text(panel, "title"));
        let file = format!("panel-{number:02}.md");
        let tables: Vec<&toml::Table> = rows(panel, "table").collect();
        let metrics: usize = tables.iter().map(|table| rows(table, "metric").count()).sum();
        writeln!(index, "| [{number} {title}]({file}) | {} | {metrics} |", tables.len()).expect("text");
        let tables: String = tables.iter().map(|table| panel_table(number, table)).collect();
        let page = format!(
            "{MADE}# Panel {number}: {title}\n\nNames: [metrics of panels](panels.md#names).\n\n{tables}"
        );
        pages.insert(format!("catalogue/{file}"), page.trim_end().to_string() + "\n");
    }
    let names = names.trim();
    write!(index, "\n## Names\n\nNames that formulas use besides counters.\n\n```toml\n{names}\n```\n")
        .expect("text");
    pages.insert("catalogue/panels.md".into(), index);
    pages
}
