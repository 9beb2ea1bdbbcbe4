//! The table, the findings and the notes of `bottleneck`.

use report::{Column, Finding, Note, Remedy, Report, Severity, Table, Unit, Value};
use trace::Trace;

use super::{Applies, Bottlenecks, KernelBottleneck, Verdict};
use crate::base;

/// Kernels below this share of the time appear only in the table.
const LEAST_SHARE_PCT: f64 = 5.0;
/// Most findings.
const MOST: usize = 5;
/// List missing counters only for this many kernels with the most time: the lists repeat the same names.
const LISTED: usize = 1_000;
const NOT_LISTED: &str = "only listed for the 1,000 kernels with most time";
/// Why a column of the strongest label is empty.
const NO_LABEL: &str = "no label applies";

/// The whole report.
pub fn present(trace: &Trace, bottlenecks: &Bottlenecks) -> Report {
    let mut report = base::report("bottleneck", trace);
    // Counters do not need launches, so a run without host calls misses nothing.
    if trace.regions.is_empty() {
        report.health.retain(|check| check.id != "coverage");
    }
    report.health.extend(crate::kernels::occupancy::impossible_clock(trace));
    report.tables = vec![bottlenecks.table()];
    report.findings = bottlenecks.findings();
    if !trace.counters.is_empty() || !trace.counter_columns.is_empty() {
        report.notes.push(
            "gaps between kernels are not judged: they run one at a time while counters are read".into(),
        );
    }
    report.notes.extend(what_is_not_known(bottlenecks).into_iter().map(Note::from));
    report.notes.extend(how_to_collect(bottlenecks));
    report
}

impl Bottlenecks {
    /// The table `bottlenecks`: one row per kernel.
    pub fn table(&self) -> Table {
        let columns = vec![
            base::kernel_column("name"),
            Column::int("total_ns", Unit::Ns).normal(),
            Column::int("share_pct", Unit::Pct).key(),
            Column::text("label"),
            Column::int("score", Unit::None),
            Column::text("evidence").detail(),
            Column::text("secondary").normal(),
            Column::int("gain_ns", Unit::Ns).detail(),
            Column::text("advice").detail(),
            Column::text("figures").data(),
            Column::text("missing").data(),
            Column::text("missing_facts").data(),
            Column::int("achieved_occupancy_pct", Unit::Pct).data(),
        ];
        let mut table = Table::new("bottlenecks", "What bounds each kernel", columns);
        self.kernels.iter().enumerate().for_each(|(row, kernel)| table.push(cells(kernel, row < LISTED)));
        table
    }

    /// The labels of the kernels with the most time, in full.
    pub fn findings(&self) -> Vec<Finding> {
        // Nobody can optimise the runtime's own copies and fills.
        let worth = |kernel: &&KernelBottleneck| {
            kernel.share_pct >= LEAST_SHARE_PCT && !model::names::is_of_runtime(&kernel.name)
        };
        self.kernels.iter().filter(worth).filter_map(finding).take(MOST).collect()
    }
}

fn cells(kernel: &KernelBottleneck, listed: bool) -> Vec<Value> {
    let verdict = &kernel.verdict;
    let first = verdict.labels.first();
    let of_first = |get: &dyn Fn(&Applies) -> Value| first.map_or_else(|| Value::absent(NO_LABEL), get);
    let list = |names: &dyn Fn() -> serde_json::Value| match listed {
        true => Value::Json(names()),
        false => Value::absent(NOT_LISTED),
    };
    let secondary: Vec<&str> = verdict.labels.iter().skip(1).map(|other| other.label).collect();
    vec![
        Value::from(kernel.name.as_str()),
        Value::Int(kernel.total_ns),
        Value::Float(kernel.share_pct),
        Value::from(verdict.label()),
        of_first(&|first| Value::Float(first.score)),
        of_first(&|first| Value::Text(first.text())),
        Value::Text(secondary.join(", ")),
        of_first(&|first| Value::int_or(first.gain_ns, "what it costs was not counted")),
        of_first(&|first| Value::from(first.advice)),
        of_first(&|first| Value::Json(evidence(first))),
        list(&|| verdict.counters.to_vec().into()),
        list(&|| verdict.lacks().into()),
        kernel.achieved_occupancy_pct.map_or_else(Value::absent, Value::Float),
    ]
}

/// Each condition of a label, split into fields for scripts.
fn evidence(applies: &Applies) -> serde_json::Value {
    let items = applies.evidence.iter().map(|item| {
        serde_json::json!({
            "metric": item.metric,
            "value": item.value,
            "threshold": item.threshold,
            "source": item.source,
        })
    });
    items.collect()
}

fn finding(kernel: &KernelBottleneck) -> Option<Finding> {
    let first = kernel.verdict.labels.first()?;
    let name = model::names::display_name(&kernel.name);
    let evidence = first.evidence.iter();
    Some(Finding {
        id: "bottleneck".into(),
        severity: Severity::Info,
        title: format!("{name}: {} ({})", first.label, first.text()),
        evidence: evidence.map(|item| (item.threshold.to_owned(), Value::Float(item.value))).collect(),
        gain_ceiling_ns: first.gain_ns,
        recommendation: first.advice.to_owned(),
        ..Finding::default()
    })
}

/// What keeps rates from being judged, as text.
pub(super) fn what_is_not_known(bottlenecks: &Bottlenecks) -> Vec<String> {
    let timed = |name: &&str| name.ends_with("_ns");
    let without = |lack: &dyn Fn(&Verdict) -> bool| {
        bottlenecks.kernels.iter().filter(|kernel| lack(&kernel.verdict)).count()
    };
    let no_time = without(&|verdict| verdict.lacks().iter().any(timed));
    let no_gpu = without(&|verdict| !verdict.lacks().iter().all(timed));
    let mut notes = Vec::new();
    if no_time > 0 {
        notes.push(format!("{no_time} kernels have no duration, so nothing that is a rate can be judged"));
    }
    if no_gpu > 0 {
        notes.push(format!(
            "the GPU of {no_gpu} kernels or its product is not known, so shares of its peaks cannot be judged"
        ));
    }
    notes
}

/// How to collect the counters that are missing.
pub(super) fn how_to_collect(bottlenecks: &Bottlenecks) -> Option<Note> {
    let missing = &bottlenecks.missing_counters;
    if missing.is_empty() {
        return None;
    }
    let Some(arch) = bottlenecks.arch.as_deref() else {
        return Some("the GPU is not known, so the counters to collect are not known".into());
    };
    let names: Vec<&str> = missing.iter().map(String::as_str).collect();
    let passes = hw::passes::plan(arch, &names).ok().map(|plan| plan.passes.len());
    let passes = match passes {
        Some(1) => "in one pass".to_owned(),
        Some(passes) => format!("in {passes} passes"),
        None => String::new(),
    };
    let text = format!("{} counters would show more", missing.len());
    Some(Note::new(text, Remedy::CollectCounters { names: missing.clone(), passes }))
}
