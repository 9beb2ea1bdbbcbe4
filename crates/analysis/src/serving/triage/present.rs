//! The report of `triage`.

use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use serde_json::{Value as Json, json};

use super::Triage;
use super::coverage;
use super::kernel_table::KernelRow;
use super::sites::SiteTotals;
use crate::base;
use model::Run;
use stats::percent;

/// The tables of the triage, with their coverage.
pub fn present(context: &Run, triage: &Triage) -> Report {
    let mut report = base::report("triage", context.trace);
    if triage.small_kernels.count > 0 {
        let text = format!(
            "{} kernels below {} % of their stage's GPU time left out, {:.1} % of all GPU time",
            triage.small_kernels.count, context.min_share_pct, triage.small_kernels.share_pct
        );
        report.notes.push(Note::new(text, Remedy::AllShares));
    }
    report.tables =
        vec![triage.kernels_table(), triage.overlap.table(), triage.fuse.table(), triage.ops_table()];
    report.findings.extend(triage.overlap.findings().into_iter().chain(triage.fuse.findings()));
    // Largest gain first, whatever the table; findings without a figure come last.
    report.findings.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.gain_ceiling_ns)));
    coverage::add(context, &triage.coverage, &mut report);
    report.notes.extend(triage.overlap.notes.iter().cloned());
    report.notes.extend(triage.fuse.notes.iter().map(|note| Note::from(note.as_str())));
    report
}

impl Triage {
    /// The table `kernel_table`: the cost of each kernel and where it comes from.
    pub fn kernels_table(&self) -> Table {
        let mut table = Table::new("kernel_table", "Kernels", columns());
        self.kernels.iter().for_each(|kernel| table.push(cells(kernel)));
        table
    }
}

impl Triage {
    /// The table `op_savings`: how much sooner the run would end without each op.
    pub fn ops_table(&self) -> Table {
        let columns = vec![
            Column::text("op").key(),
            Column::int("calls", Unit::None),
            Column::int("gpu_ns", Unit::Ns).key(),
            Column::int("gpu_share_pct", Unit::Pct).normal(),
            Column::int("removal_saves_ns", Unit::Ns).key(),
        ];
        let mut table = Table::new("op_savings", "What the run would save without an op", columns);
        for op in &self.ops {
            table.push(vec![
                op.op.as_str().into(),
                op.calls.into(),
                Value::Int(op.gpu_ns),
                Value::Float(op.gpu_share_pct),
                Value::Int(op.removal_saves_ns),
            ]);
        }
        table
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("stage"),
        Column::text("kernel_name").data(),
        Column::text("display_name"),
        Column::text("category"),
        Column::text("classified_by").detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("calls", Unit::None),
        Column::text("mnk").normal(),
        Column::int("roof_pct", Unit::Pct).normal(),
        Column::text("backend").normal(),
        Column::int("mean_ns", Unit::Ns).detail(),
        Column::int("time_share_pct", Unit::Pct).key(),
        Column::text("source_line"),
        Column::text("cpu_op").detail(),
        Column::text("module").detail(),
        Column::text("python_location").data(),
        Column::text("mapping_source").detail(),
        Column::int("confidence", Unit::None).detail(),
        Column::int("site_share_pct", Unit::Pct).detail(),
        Column::text("sites").data(),
        Column::text("notes").detail(),
    ]
}

fn cells(kernel: &KernelRow) -> Vec<Value> {
    let top = kernel.top_site();
    let why = top.why_unknown();
    let known = |text: &str| if text.is_empty() { Value::absent(why) } else { Value::from(text) };
    vec![
        kernel.stage.name().into(),
        kernel.kernel_name.as_str().into(),
        kernel.display_name.as_str().into(),
        kernel.category.name().into(),
        kernel.classified_by.into(),
        Value::Int(kernel.total_ns),
        kernel.calls.into(),
        kernel.mnk.as_ref().map_or_else(|why| Value::absent(why), |mnk| Value::from(mnk.as_str())),
        kernel.roof_pct.map_or_else(Value::absent, Value::Float),
        kernel.backend.as_str().into(),
        Value::Int(kernel.mean_ns()),
        Value::Float(kernel.time_share_pct),
        known(short_frame(&top.location)),
        known(&top.cpu_op),
        known(&top.module),
        known(&top.location),
        top.source_name().into(),
        Value::Float(top.confidence()),
        Value::Float(percent(top.total_ns, kernel.total_ns)),
        Value::Json(sites(kernel)),
        kernel.notes.as_str().into(),
    ]
}

/// All places that a kernel comes from, as JSON.
pub(super) fn sites(kernel: &KernelRow) -> Json {
    kernel.sites.iter().map(|site| describe(site, kernel.total_ns)).collect()
}

/// `…/layers/quantization/unquant.py(103): apply` as `unquant.py(103): apply`.
fn short_frame(frame: &str) -> &str {
    let path = frame.find("(").map_or(frame, |end| &frame[..end]);
    path.rfind('/').map_or(frame, |at| &frame[at + 1..])
}

fn describe(site: &SiteTotals, of_ns: i64) -> Json {
    let text = |text: &str| if text.is_empty() { Json::Null } else { Json::from(text) };
    json!({
        "python_location": text(&site.location),
        "cpu_op": text(&site.cpu_op),
        "module": text(&site.module),
        "modules": site.modules,
        "model_frame": text(&site.model_frame),
        "library_frame": text(&site.library_frame),
        "call_chain": text(&site.chain),
        "launch": text(&site.launch),
        "calls": site.calls,
        "total_ns": site.total_ns,
        "share_pct": percent(site.total_ns, of_ns),
        "mapping_source": site.source_name(),
        "confidence": site.confidence(),
    })
}
