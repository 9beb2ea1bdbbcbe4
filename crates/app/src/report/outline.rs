//! What a report of a run contains, in reading order.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::kernels::efficiency;
use analysis::kernels::efficiency::efficiency_needs;
use analysis::ops;
use analysis::serving::requests;
use analysis::timeline::breakdown::{self, Breakdown, GpuTime};
use analysis::timeline::summary::{self, Summary};
use analysis::{BreakdownOptions, RooflineOptions, SummaryOptions, explain};
use model::call_tree::NodeKind;
use model::classify::Classifier;
use model::stages::Stage;
use report::{
    Chart, Document, Figure, Finding, Note, Remedy, Report, Section, SectionItem, Unit, Value, show,
};
use trace::{RowRef, Trace};

use super::{memory, panels, roofline};
use crate::causes::for_target;
use crate::failure::Failure;
use crate::input::{Input, keep_run, one_run, read_mapping};
use crate::observer::Observer;
use crate::timeline;
use crate::triage::{TriageRequest, triage};

/// (id, heading, what it shows, charts, tables) in reading order.
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
        "efficiency",
        "Efficiency",
        "From the time at the GPU's peak to the measured time. The parts add up to the span of all GPUs.",
        &["efficiency"],
        &["efficiency", "efficiency_stages", "efficiency_kernels", "not_measured"],
    ),
    (
        "requests",
        "Requests",
        "From the arrival of each request to its first token, and on to its last. The parts of a time add up to it.",
        &["first_token"],
        &["latency", "requests", "servers"],
    ),
    (
        "findings",
        "Findings",
        "Possible savings, largest first. A ceiling is the most you can save by removing that one cause; ceilings may overlap.",
        &[],
        &["idle_causes", "rules"],
    ),
    ("kernels", "Kernels", "", &["kernel_share", "durations"], &["kernels"]),
    ("categories", "Categories", "", &["categories", "stage_categories"], &["categories"]),
    (
        "ops",
        "Ops and modules",
        "Which ops and modules launched the GPU work. `self gpu` is what a row launches itself, so that the column adds up to the GPU time.",
        &["flame_graph", "module_tree"],
        &["ops", "modules", "op_shapes"],
    ),
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

/// The tables of `ops` in a document.
const OPS_TABLES: [&str; 3] = ["ops", "modules", "op_shapes"];

/// Maximum findings in a document.
const MOST_FINDINGS: usize = 50;

/// What the analyses say about a run.
pub struct Run {
    report: Report,
    /// The main figures.
    figures: Vec<Figure>,
    /// The result of triage, if the run has serving stages.
    triage: Option<Report>,
}

impl Run {
    /// Reads a run once and runs every analysis.
    pub fn read(
        input: &Input,
        mapping: Option<&PathBuf>,
        target_arch: &Option<String>,
        triage_request: &Result<TriageRequest, Failure>,
        observer: &dyn Observer,
    ) -> Result<Self, Failure> {
        let needs = requests::with_ids(memory::needs(efficiency_needs()));
        let trace = input.read(&needs, observer)?;
        one_run(&trace.sources, "report")?;
        let mapping = read_mapping(mapping, &needs, observer)?;
        let classifier = Classifier::builtin();
        let (mut report, summary) = summary_of_run(&trace);
        report.command = "report".into();
        report.tables.extend(analysis::info(&trace).tables.into_iter().filter(|table| table.name == "gpus"));
        let mut context = model::Run::new(&trace, mapping.as_deref(), &classifier, 0.0)
            .map_err(|error| Failure::input(error.to_string()))?
            .with_stage_patterns(&input.filters.stage_patterns);
        let (staged, breakdown) = add_gpu_time(&mut report, &context);
        let explained = explain::compute(&context, &[]);
        let split = efficiency::compute(&context, &explained.accounts, &RooflineOptions::default());
        add(&mut report, explain::present(&context, &explained, &for_target(target_arch)));
        // Missing cells carry their reason; the roofline has the remaining notes.
        add(&mut report, Report { notes: Vec::new(), ..efficiency::present(&trace, &split) });
        add(&mut report, ops_of(&context, mapping.as_deref()));
        add(&mut report, requests_of(&trace));
        let more = [memory::report(&trace), roofline::report(&trace), panels::report(&trace)];
        for more in more.into_iter().flatten() {
            add(&mut report, more);
        }
        let triage = match (staged, triage_request) {
            (false, _) => None,
            (true, Err(failure)) => return Err(failure.clone()),
            (true, Ok(request)) => match request.of_read_run(&mut context, observer)? {
                Some(triage) => Some(triage),
                None => Some(triage(request, observer)?),
            },
        };
        Ok(Self { report, figures: figures(&summary, &breakdown), triage })
    }

    /// The document, with the result of triage if it ran.
    pub fn document(mut self, title: &str, observer: &dyn Observer) -> Document {
        if let Some(mut triage) = self.triage.take() {
            // Its findings are among those of `explain`, and the run already has the efficiency waterfall.
            triage.tables.retain(|table| self.report.tables.iter().all(|there| there.name != table.name));
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
        self.figures.extend(self.report.findings.first().and_then(largest_gain));
        Document {
            title: title.into(),
            subtitle: subtitle(&self.report),
            version: env!("CARGO_PKG_VERSION").into(),
            figures: self.figures,
            sections: sections(&self.report),
            report: self.report,
        }
    }
}

/// The outline, with held memory, roofline and panels before the run, if they exist.
fn sections(report: &Report) -> Vec<Section> {
    let mut sections: Vec<Section> = OUTLINE.iter().map(section).collect();
    let last = sections.len() - 1;
    let more = [memory::section(report), roofline::section(report), panels::section(report)];
    sections.splice(last..last, more.into_iter().flatten());
    sections
}

fn section((id, title, text, charts, tables): &Outline) -> Section {
    let mut parts: Vec<SectionItem> = charts.iter().map(|name| SectionItem::chart(name)).collect();
    if *id == "findings" {
        parts.push(SectionItem::Findings);
    }
    parts.extend(tables.iter().map(|name| SectionItem::table(name)));
    if *id == "run" {
        parts.extend([SectionItem::Notes, SectionItem::Health]);
    }
    Section::new(id, title, text, parts)
}

/// The summary of the run without its captures, which the other analyses leave out themselves.
fn summary_of_run(trace: &Arc<Trace>) -> (Report, Summary) {
    let summary_of = |trace: &Trace| {
        let summary = summary::compute(trace, &SummaryOptions::default());
        (summary::present(trace, &summary), summary)
    };
    if trace.sources.iter().all(|source| source.role.is_none()) {
        return summary_of(trace);
    }
    let mut run = Arc::clone(trace);
    keep_run(&mut run);
    summary_of(&run)
}

/// Ops and modules, if the trace has any.
fn ops_of(run: &model::Run, mapping: Option<&Trace>) -> Report {
    let found = ops::compute(run, &ops::OpsOptions { mapping, ..ops::OpsOptions::default() });
    let mut report = Report::default();
    if found.tree.has(NodeKind::Op) || found.tree.has(NodeKind::Module) {
        report.tables = ops::tables(&found);
        report.tables.retain(|table| OPS_TABLES.contains(&table.name.as_str()) && !table.rows.is_empty());
        report.charts = ops::charts(&found);
    }
    report
}

/// Requests, if spans name them.
fn requests_of(trace: &Trace) -> Report {
    let found = requests::compute(trace);
    match found.requests.is_empty() {
        true => Report::default(),
        false => requests::present(trace, &found),
    }
}

/// Only the charts of a run, with the problems of its trace.
pub fn charts(input: &Input, observer: &dyn Observer) -> Result<Report, Failure> {
    let classifier = Classifier::builtin();
    let trace = input.read_classified(&timeline::needs(), observer, || classifier.clone())?;
    one_run(&trace.sources, "report")?;
    let run = model::Run::new(&trace, None, &classifier, 0.0)
        .map_err(|error| Failure::input(error.to_string()))?
        .with_stage_patterns(&input.filters.stage_patterns);
    let mut report = Report { tables: Vec::new(), notes: Vec::new(), ..analysis::info(&trace) };
    report.command = "report".into();
    (report.charts, _) = gpu_charts(&run);
    match report.charts.is_empty() {
        true => Err(Failure::input("there is no GPU work to draw charts of")),
        false => Ok(report),
    }
}

/// Charts of GPU work, by stage if the run has stages, and whether it has.
fn gpu_charts(run: &model::Run) -> (Vec<Chart>, bool) {
    let stage_of = |row: RowRef| run.stage(row).name();
    let staged = run.stages.present().iter().any(|&stage| stage != Stage::Other);
    let stage_of = staged.then_some(&stage_of as &dyn Fn(RowRef) -> &'static str);
    (analysis::charts(run.trace, &run.classes, stage_of), staged)
}

/// Adds the breakdown and the charts; returns whether the run has stages, and the breakdown.
fn add_gpu_time(report: &mut Report, run: &model::Run) -> (bool, Breakdown) {
    let stage_of = |row: RowRef| run.stage(row).name();
    let staged = run.stages.present().iter().any(|&stage| stage != Stage::Other);
    let stage_of = staged.then_some(&stage_of as &dyn Fn(RowRef) -> &'static str);
    let options = BreakdownOptions { stage_of, ..BreakdownOptions::default() };
    let breakdown = breakdown::compute(run.trace, &run.classes, &options);
    add(report, breakdown::present(run.trace, &breakdown));
    (report.charts, _) = gpu_charts(run);
    (staged, breakdown)
}

/// Adds the result of another analysis of the same inputs.
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

fn time(ns: i64) -> String {
    show(&Value::Int(ns), Unit::Ns)
}

fn figure(label: &str, value: String, note: String) -> Figure {
    Figure { label: label.into(), value, note }
}

/// The main figures of a run.
fn figures(summary: &Summary, breakdown: &Breakdown) -> Vec<Figure> {
    let mut figures = gpu_figures(&breakdown.gpus);
    if !summary.kernels.is_empty() {
        let calls: usize = summary.kernels.iter().map(|kernel| kernel.calls).sum();
        let count = |count: usize| show(&Value::from(count), Unit::None);
        let names = count(summary.kernels.len());
        figures.push(figure("kernel calls", count(calls), format!("of {names} kernels")));
    }
    let sizes: Vec<i64> = summary.copies.iter().filter_map(|copy| copy.moved.bytes()).collect();
    if !sizes.is_empty() {
        let bytes = show(&Value::Int(sizes.iter().sum()), Unit::Bytes);
        let total: i64 = summary.copies.iter().map(|copy| copy.times.total).sum();
        figures.push(figure("copied and filled", bytes, format!("in {}", time(total))));
    }
    figures
}

/// How the GPUs spent their time.
fn gpu_figures(gpus: &[GpuTime]) -> Vec<Figure> {
    let sum = |of: fn(&GpuTime) -> i64| gpus.iter().map(of).sum::<i64>();
    let (total, longest) = (sum(|gpu| gpu.total_ns), gpus.iter().map(|gpu| gpu.total_ns).max());
    let Some(longest) = longest.filter(|longest| *longest > 0) else { return Vec::new() };
    let all = match gpus {
        [_] => "of one GPU".to_string(),
        many => format!("over {} GPUs", many.len()),
    };
    let share = |part: i64| show(&Value::Float(100.0 * part as f64 / total as f64), Unit::Pct);
    let mut figures = vec![figure("GPU span", time(longest), "first to last GPU work".into())];
    let busy = sum(|gpu| gpu.busy_ns);
    figures.push(figure("GPU busy", share(busy), format!("{}, {all}", time(busy))));
    let rest = [
        ("idle", sum(|gpu| gpu.idle_ns)),
        ("exposed communication", sum(|gpu| gpu.exposed_communication_ns)),
    ];
    for (label, part) in rest.into_iter().filter(|(_, part)| *part > 0) {
        figures.push(figure(label, share(part), format!("{}, {all}", time(part))));
    }
    figures
}

/// The most that a finding could win.
fn largest_gain(finding: &Finding) -> Option<Figure> {
    Some(figure("largest gain", time(finding.gain_ceiling_ns?), finding.id.clone()))
}
