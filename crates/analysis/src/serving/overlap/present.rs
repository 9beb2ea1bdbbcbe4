//! The tables and findings of the overlap analysis.

use report::{Column, Finding, Report, Table, Unit, Value};

use super::{Concurrency, Overlap, OverlapOpportunity};
use crate::base;
use crate::words::duration;
use model::Run;
use stats::percent;
use trace::Trace;

const FORMULA: &str = "gain_ceiling_ns = sum over steps of min(exposed_ns, beside_ns) of the step, on the GPU where that is most";

/// Why there is no free gain.
const ORDER_UNKNOWN: &str = "the order between streams is not recorded";

/// The whole report.
pub fn present(context: &Run, overlap: &Overlap) -> Report {
    let mut report = base::report("overlap", context.trace);
    report.tables = vec![overlap.table(), concurrency(context.trace, &overlap.concurrency)];
    report.findings = overlap.findings();
    report.trace_start_ns = context.trace.bounds().map(|(first, _)| first);
    report.notes = overlap.notes.clone();
    report
}

impl Overlap {
    /// `overlap_opportunities`, most urgent first.
    pub fn table(&self) -> Table {
        let columns = vec![
            Column::text("stage"),
            Column::text("priority"),
            normal(Column::text("verdict")),
            base::kernel_column("kernel_name").detail(),
            Column::text("display_name"),
            normal(Column::text("category")),
            normal(Column::text("python_scope")),
            Column::int("calls", Unit::None).detail(),
            Column::int("total_ns", Unit::Ns),
            Column::int("time_share_pct", Unit::Pct),
            Column::int("exclusive_pct", Unit::Pct),
            Column::int("hidden_pct", Unit::Pct),
            Column::int("hidden_by_compute_pct", Unit::Pct).detail(),
            Column::int("exposed_ns", Unit::Ns),
            Column::text("dependency_risk"),
            normal(Column::text("risk_reason")),
            Column::text("recommendation"),
            Column::int("gain_ceiling_ns", Unit::Ns).key(),
            Column::int("free_gain_ns", Unit::Ns),
            normal(Column::text("confidence")),
        ];
        let mut table = Table::new("overlap_opportunities", "What could overlap", columns);
        self.opportunities.iter().for_each(|one| table.push(cells(one)));
        table
    }

    /// The urgent opportunities with their evidence, most severe first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            self.opportunities.iter().filter_map(OverlapOpportunity::finding).collect();
        findings.sort_by_key(|finding| {
            (std::cmp::Reverse(finding.severity), -finding.gain_ceiling_ns.unwrap_or(0))
        });
        findings
    }
}

fn normal(column: Column) -> Column {
    Column { importance: report::Importance::Normal, ..column }
}

fn scope(one: &OverlapOpportunity) -> Value {
    match &one.python_scope {
        Ok(scope) => Value::from(scope.as_str()),
        Err(why) => Value::absent(why),
    }
}

fn cells(one: &OverlapOpportunity) -> Vec<Value> {
    vec![
        Value::from(one.stage),
        Value::from(one.priority),
        Value::from("headroom"),
        Value::from(one.kernel_name.as_str()),
        Value::from(one.display_name.as_str()),
        Value::from(one.category),
        scope(one),
        Value::from(one.calls),
        Value::Int(one.total_ns),
        Value::Float(one.time_share_pct),
        Value::Float(one.exclusive_pct),
        Value::Float(one.hidden_pct),
        Value::Float(one.hidden_by_compute_pct),
        Value::Int(one.exposed_ns),
        Value::from(one.dependency_risk),
        Value::from(one.risk_reason.as_str()),
        Value::from(one.recommendation),
        Value::Int(one.gain_ceiling_ns),
        Value::int_or(one.free_gain_ns, ORDER_UNKNOWN),
        Value::from(one.confidence),
    ]
}

impl OverlapOpportunity {
    /// The opportunity as a finding with its evidence, if it is worth one.
    pub fn finding(&self) -> Option<Finding> {
        let rule = self.rule?;
        let mut evidence: Vec<(String, Value)> = Vec::new();
        let mut add = |key: &str, value: Value| evidence.push((key.to_string(), value));
        add("stage", Value::from(self.stage));
        add("kernel_name", Value::from(self.kernel_name.as_str()));
        add("python_scope", scope(self));
        add("calls", Value::from(self.calls));
        add("total_ns", Value::Int(self.total_ns));
        add("exposed_ns", Value::Int(self.exposed_ns));
        add("beside_ns", Value::Int(self.beside_ns));
        add("beside", Value::from(self.beside));
        add("formula", Value::from(FORMULA));
        add("gain_share_of_busy_pct", Value::Float(self.gain_share_of_busy_pct));
        add("free_gain_ns", Value::int_or(self.free_gain_ns, ORDER_UNKNOWN));
        add("dependency_risk", Value::from(self.dependency_risk));
        add("risk_reason", Value::from(self.risk_reason.as_str()));
        add("example_start_ns", Value::Int(self.example.start_ns));
        add("example_end_ns", Value::Int(self.example.end_ns));
        add("example_exposed_ns", Value::Int(self.example.exposed_ns));
        add("example_stream", Value::from(self.example.stream.as_str()));
        add("example_gpu", Value::from(self.example.gpu.as_str()));
        if let Some(collective) = &self.collective {
            add("collective", Value::from(collective.as_str()));
        }
        let (what, exposed) = (&self.display_name, duration(self.exposed_ns));
        let title = match rule {
            "exposed-communication" => format!("`{what}` runs {exposed} with no computation in parallel"),
            "exposed-copies" => format!("`{what}` runs {exposed} with nothing in parallel"),
            "serialised-streams" => format!("events keep `{what}` from overlapping other streams"),
            _ => format!("`{what}` runs alone for {exposed} that computation could hide"),
        };
        Some(Finding {
            id: rule.into(),
            severity: self.severity,
            title,
            evidence,
            gain_ceiling_ns: Some(self.gain_ceiling_ns),
            recommendation: format!("{}: {}", self.recommendation, self.risk_reason),
            next_step: Some(report::NextStep::CriticalPath),
            ..Finding::default()
        })
    }
}

/// The table of what each GPU ran in parallel.
fn concurrency(trace: &Trace, gpus: &[Concurrency]) -> Table {
    let columns = vec![
        Column::int("rank", Unit::None).key(),
        Column::int("agent", Unit::None).key(),
        Column::int("events", Unit::None).key(),
        Column::int("streams", Unit::None),
        Column::int("busy_ns", Unit::Ns),
        Column::int("overlapped_ns", Unit::Ns),
        Column::int("overlapped_pct", Unit::Pct).key(),
        Column::int("peak_streams", Unit::None),
        Column::int("exposed_communication_ns", Unit::Ns).key(),
        Column::int("exposed_memcpy_ns", Unit::Ns).key(),
        Column::int("event_waits", Unit::None),
        Column::int("blocking_calls", Unit::None),
    ];
    let mut table = Table::new("concurrency", "Concurrency: what ran in parallel", columns);
    for one in gpus {
        table.push(vec![
            base::rank_of(one.gpu.rank),
            base::agent_of(trace, one.gpu.agent),
            Value::from(one.events),
            Value::from(one.streams),
            Value::Int(one.busy_ns),
            Value::Int(one.overlapped_ns),
            Value::Float(percent(one.overlapped_ns, one.busy_ns)),
            Value::Int(i64::from(one.peak_streams)),
            Value::Int(one.exposed_communication_ns),
            Value::Int(one.exposed_memcpy_ns),
            Value::from(one.event_waits),
            Value::from(one.blocking_calls),
        ]);
    }
    table
}
