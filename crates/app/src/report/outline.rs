//! What a report of a run holds, and in which order it is read.

use std::path::PathBuf;

use analysis::explain::{explain, explain_needs};
use analysis::{BreakdownOptions, SummaryOptions};
use model::classify::Classifier;
use model::stages::Stage;
use report::{Document, Figure, Note, Part, Remedy, Report, Section, Table, Unit, Value, show};
use trace::{Needs, RowRef, Trace};

use super::{panels, roofline};
use crate::causes::for_target;
use crate::failure::Failure;
use crate::input::{Input, keep_run, one_run, read_mapping};
use crate::observer::Observer;

/// (id, heading, what is seen there, charts, tables) in the order of reading.
type Outline = (&'static str, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const OUTLINE: &[Outline] = &[
    (
        "timeline",
        "Timeline",
        "How the GPUs spent the time between their first and last piece of work.",
        &["timeline"],
        &["timeline", "combinations"],
    ),
    (
        "findings",
        "Findings",
        "What could be won, most first. A ceiling is the most that could be won if that one thing were gone; ceilings may be about the same time.",
        &[],
        &["idle_causes", "rules"],
    ),
    ("kernels", "Kernels", "", &["kernel_share", "durations"], &["kernels"]),
    ("categories", "Categories", "", &["categories", "stage_categories"], &["categories"]),
    (
        "triage",
        "Triage",
        "Which kernels cost most and where they come from, what could overlap, what could be fused.",
        &[],
        &["kernel_table", "overlap_opportunities", "fuse_opportunities"],
    ),
    ("memory", "Memory", "", &["copy_bandwidth"], &["memory_copies", "memory_allocations"]),
    (
        "host",
        "Host",
        "What the host did: API calls, operations, markers. `self` is a region's time without the regions inside it.",
        &[],
        &["domains", "regions"],
    ),
    ("run", "Run", "", &[], &["gpus", "coverage"]),
];

/// Findings that a document has room for.
const MOST_FINDINGS: usize = 50;

/// What the analyses say of a run.
pub struct Run {
    report: Report,
    /// Whether it has stages of serving, which triage looks at.
    pub staged: bool,
}

impl Run {
    /// Reads a run once and asks every analysis.
    pub fn read(
        input: &Input,
        mapping: Option<&PathBuf>,
        target_arch: &Option<String>,
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
        let counters = Needs { shapes: true, counters: true, counter_columns: true, ..explain_needs() };
        let needs = Needs { memory_allocations: true, ..counters };
        let trace = input.read(&needs, observer)?;
        one_run(&trace.sources, "report")?;
        let mapping = read_mapping(mapping, &needs, observer)?;
        let classifier = Classifier::builtin();
        let mut report = summary_of_run(&trace);
        report.command = "report".into();
        report.tables.extend(analysis::info(&trace).tables.into_iter().filter(|table| table.name == "gpus"));
        let context = model::Run::new(&trace, mapping.as_ref(), &classifier, 0.0)
            .map_err(|error| Failure::input(error.to_string()))?
            .with_stage_patterns(&input.filters.stage_patterns);
        let staged = add_gpu_time(&mut report, &context);
        let explained = explain(&context, &[], &for_target(target_arch));
        add(&mut report, explained);
        for more in [roofline::report(&trace), panels::report(&trace)].into_iter().flatten() {
            add(&mut report, more);
        }
        Ok(Self { report, staged })
    }

    /// The document, with what triage says where it was asked.
    pub fn document(mut self, title: &str, triage: Option<Report>, observer: &dyn Observer) -> Document {
        if let Some(triage) = triage {
            // Its findings are among those of `explain`.
            add(&mut self.report, Report { findings: Vec::new(), ..triage });
        }
        let findings = &mut self.report.findings;
        if findings.len() > MOST_FINDINGS {
            let text = format!("{} findings with less to win are left out", findings.len() - MOST_FINDINGS);
            self.report.notes.push(Note::new(text, Remedy::SeeFindings));
            findings.truncate(MOST_FINDINGS);
        }
        let part = self.report.health.iter().filter(|check| check.id == "selection");
        self.report
            .notes
            .splice(0..0, part.map(|check| Note::from(check.message.as_str())).collect::<Vec<_>>());
        self.report.speak(&|remedy| observer.remedy(remedy));
        Document {
            title: title.into(),
            subtitle: subtitle(&self.report),
            version: env!("CARGO_PKG_VERSION").into(),
            figures: figures(&self.report),
            sections: sections(&self.report),
            report: self.report,
        }
    }
}

/// The outline, with roofline and panels before the run where there are any.
fn sections(report: &Report) -> Vec<Section> {
    let mut sections: Vec<Section> = OUTLINE.iter().map(section).collect();
    let last = sections.len() - 1;
    sections.splice(last..last, [roofline::section(report), panels::section(report)].into_iter().flatten());
    sections
}

fn section((id, title, text, charts, tables): &Outline) -> Section {
    let mut parts: Vec<Part> = charts.iter().map(|name| Part::chart(name)).collect();
    if *id == "findings" {
        parts.push(Part::Findings);
    }
    parts.extend(tables.iter().map(|name| Part::table(name)));
    if *id == "run" {
        parts.extend([Part::Notes, Part::Health]);
    }
    Section::new(id, title, text, parts)
}

/// The summary of the run without the captures beside it, which the other analyses leave out themselves.
fn summary_of_run(trace: &Trace) -> Report {
    if trace.sources.iter().all(|source| source.role.is_none()) {
        return analysis::summary(trace, &SummaryOptions::default());
    }
    let mut run = trace.clone();
    keep_run(&mut run);
    analysis::summary(&run, &SummaryOptions::default())
}

/// Adds the breakdown and the charts; tells whether the run has stages.
fn add_gpu_time(report: &mut Report, run: &model::Run) -> bool {
    let stage_of = |row: RowRef| run.stage(row).name();
    let staged = run.stages.present().iter().any(|&stage| stage != Stage::Other);
    let stage_of = staged.then_some(&stage_of as &dyn Fn(RowRef) -> &'static str);
    let options = BreakdownOptions { stage_of, ..BreakdownOptions::default() };
    add(report, analysis::breakdown(run.trace, &run.classes, &options));
    report.charts = analysis::charts(run.trace, &run.classes, stage_of);
    staged
}

/// Adds what another analysis of the same inputs says.
fn add(report: &mut Report, other: Report) {
    report.tables.extend(other.tables);
    report.findings.extend(other.findings);
    report.verdict = report.verdict.take().or(other.verdict);
    report.trace_start_ns = report.trace_start_ns.or(other.trace_start_ns);
    report.charts.extend(other.charts);
    for note in other.notes {
        if !report.notes.contains(&note) {
            report.notes.push(note);
        }
    }
    for check in other.health {
        if !report.health.contains(&check) {
            report.health.push(check);
        }
    }
    for input in other.inputs {
        if !report.inputs.contains(&input) {
            report.inputs.push(input);
        }
    }
}

fn subtitle(report: &Report) -> String {
    let mut formats: Vec<&str> = report.inputs.iter().map(|input| input.format.as_str()).collect();
    formats.sort_unstable();
    formats.dedup();
    let bytes: u64 = report.inputs.iter().map(|input| input.bytes).sum();
    let size = show(&Value::Int(bytes as i64), Unit::Bytes);
    match &report.inputs[..] {
        [only] => format!("{} · {} · {size}", only.path, only.format),
        many => format!("{} inputs · {} · {size}", many.len(), formats.join(", ")),
    }
}

/// The main figures, from the tables that tell them.
fn figures(report: &Report) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut push = |label: &str, value: Option<String>, note: String| {
        if let Some(value) = value {
            figures.push(Figure { label: label.into(), value, note });
        }
    };
    let time = |ns: i64| show(&Value::Int(ns), Unit::Ns);
    let share = |part: i64, whole: i64| show(&Value::Float(100.0 * part as f64 / whole as f64), Unit::Pct);
    if let Some(timeline) = report.table("timeline").filter(|table| !table.rows.is_empty()) {
        let gpus = timeline.rows.len();
        let all = if gpus == 1 { "of one GPU".to_string() } else { format!("over {gpus} GPUs") };
        let (total, longest) = (sum(timeline, "total_ns"), most(timeline, "total_ns"));
        push("GPU span", longest.filter(|span| *span > 0).map(time), "first to last GPU work".into());
        for (label, column) in [
            ("GPU busy", "busy_ns"),
            ("idle", "idle_ns"),
            ("exposed communication", "exposed_communication_ns"),
        ] {
            let (Some(part), Some(total)) = (sum(timeline, column), total.filter(|total| *total > 0)) else {
                continue;
            };
            if part > 0 || column == "busy_ns" {
                push(label, Some(share(part, total)), format!("{}, {all}", time(part)));
            }
        }
    }
    if let Some(kernels) = report.table("kernels") {
        let calls = sum(kernels, "calls").map(|calls| show(&Value::Int(calls), Unit::None));
        let names = show(&Value::from(kernels.rows.len() + kernels.hidden), Unit::None);
        push("kernel calls", calls, format!("of {names} kernels"));
    }
    if let Some(copies) = report.table("memory_copies") {
        let bytes = sum(copies, "bytes").map(|bytes| show(&Value::Int(bytes), Unit::Bytes));
        let note = sum(copies, "total_ns").map_or(String::new(), |total| format!("in {}", time(total)));
        push("copied and filled", bytes, note);
    }
    if let Some(most) = report.findings.first().and_then(|finding| finding.gain_ceiling_ns) {
        push("largest gain", Some(time(most)), report.findings[0].id.clone());
    }
    figures
}

fn numbers<'a>(table: &'a Table, column: &str) -> Option<impl Iterator<Item = i64> + 'a> {
    let column = table.column(column)?;
    let number = move |row: &'a Vec<Value>| match row[column] {
        Value::Int(number) => Some(number),
        _ => None,
    };
    Some(table.rows.iter().filter_map(number))
}

/// Of the numbers that are there; absent when none is.
fn sum(table: &Table, column: &str) -> Option<i64> {
    let all: Vec<i64> = numbers(table, column)?.collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

fn most(table: &Table, column: &str) -> Option<i64> {
    numbers(table, column)?.max()
}
