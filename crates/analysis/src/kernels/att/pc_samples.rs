//! PC samples: which instructions waves were at and, with stochastic sampling, why they did not issue.

use std::collections::BTreeMap;

use report::{Column, Report, Table, Unit, Value};
use trace::{ArgNeeds, Map, Needs, RowRef, StrId, Table as Rows, Trace};

use super::classes::class_of;
use crate::base;

const COMMENT: &str = "Instruction_Comment";
const REASON: &str = "Stall_Reason";
const ISSUED: &str = "Wave_Issued_Instruction";
/// The names of these two in the JSON format; the reason is a field of the snapshot.
const JSON_ISSUED: &str = "wave_issued";
const SNAPSHOT: &str = "snapshot";

/// Shown for an instruction whose text the profiler did not have.
const UNKNOWN: &str = "not recorded";

/// What to read from a trace for PC samples.
pub fn pc_sample_needs() -> Needs {
    let args = [COMMENT, REASON, ISSUED, JSON_ISSUED, SNAPSHOT].map(String::from).to_vec();
    Needs { kernels: true, samples: true, args: ArgNeeds::Keys(args), ..Needs::nothing() }
}

/// Where the PC samples of a run were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PcSamples {
    /// All samples.
    pub samples: usize,
    /// Samples without an instruction.
    pub without_instruction: usize,
    /// Why waves did not issue, most samples first; empty if this kind of sampling does not record it.
    pub stalls: Vec<SampledShare>,
    /// Instructions, most samples first.
    pub instructions: Vec<SampledInstruction>,
    /// Source lines, most samples first.
    pub sources: Vec<SampledShare>,
    /// Classes of instructions, most samples first.
    pub classes: Vec<SampledShare>,
}

/// Samples of a kernel with the same value.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledShare {
    /// The kernel.
    pub kernel: String,
    /// The value they share.
    pub what: String,
    /// Number of samples.
    pub samples: usize,
    /// Share of the kernel's samples.
    pub share_pct: f64,
}

/// Samples at one instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledInstruction {
    /// Number of samples; `what` is the instruction.
    pub share: SampledShare,
    /// Its source line, if the samples have it.
    pub source: Option<String>,
}

/// [`compute_pc_samples`] and [`present_pc_samples`] in one.
pub fn pc_samples_report(trace: &Trace) -> Option<Report> {
    Some(present_pc_samples(trace, &compute_pc_samples(trace)?))
}

/// Where the samples are in a trace that was read with [`pc_sample_needs`]; `None` if it has none.
pub fn compute_pc_samples(trace: &Trace) -> Option<PcSamples> {
    let kind = trace.strings.find("pc_sampling")?;
    let rows: Vec<usize> = (0..trace.samples.len()).filter(|&row| trace.samples.kind[row] == kind).collect();
    if rows.is_empty() {
        return None;
    }
    let mut kernel_of: Map<(u32, i64), StrId> = Map::default();
    for i in 0..trace.kernels.len() {
        if let Some(dispatch) = trace.kernels.dispatch[i].get() {
            kernel_of.insert((trace.kernels.process[i].0, dispatch), trace.kernels.name[i]);
        }
    }
    let argument = |row: usize, name: &str| -> &str {
        let value =
            trace.strings.find(name).and_then(|name| trace.args.value(RowRef::new(Rows::Samples, row), name));
        value.map_or("", |value| trace.strings.get(value))
    };
    let mut hot: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    let mut sources: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut reasons: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut mix: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut total: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unknown = 0;
    for &row in &rows {
        let dispatch = trace.samples.dispatch[row].get();
        let kernel = dispatch.and_then(|id| kernel_of.get(&(trace.samples.process[row].0, id)));
        let kernel = kernel.map_or("a dispatch that is not recorded", |name| trace.strings.get(*name));
        let source = argument(row, COMMENT);
        // Readers put the source line here if there is no instruction.
        let instruction = match trace.strings.get(trace.samples.location[row]) {
            text if text.is_empty() || text == source => UNKNOWN,
            text => text,
        };
        unknown += usize::from(instruction == UNKNOWN);
        *total.entry(kernel).or_default() += 1;
        *hot.entry((kernel, instruction, source)).or_default() += 1;
        *mix.entry((kernel, class_of(instruction).name.as_str())).or_default() += 1;
        if !source.is_empty() {
            *sources.entry((kernel, source)).or_default() += 1;
        }
        let issued = [ISSUED, JSON_ISSUED].map(|name| argument(row, name)).concat();
        let reason = match argument(row, REASON) {
            "" => stall_reason(argument(row, SNAPSHOT)),
            reason => reason.to_string(),
        };
        if !reason.is_empty() || !issued.is_empty() {
            let cause = match issued.as_str() {
                "1" | "true" | "TRUE" => "issued".to_string(),
                _ if reason.is_empty() => UNKNOWN.to_string(),
                _ => plain(&reason),
            };
            *reasons.entry((kernel, cause)).or_default() += 1;
        }
    }
    let share = |kernel: &str, what: &str, samples: usize| SampledShare {
        kernel: kernel.to_string(),
        what: what.to_string(),
        samples,
        share_pct: 100.0 * samples as f64 / total[kernel] as f64,
    };
    let mut found = PcSamples {
        samples: rows.len(),
        without_instruction: unknown,
        stalls: reasons.iter().map(|((kernel, reason), &count)| share(kernel, reason, count)).collect(),
        instructions: hot
            .iter()
            .map(|((kernel, instruction, source), &count)| SampledInstruction {
                share: share(kernel, instruction, count),
                source: (!source.is_empty()).then(|| source.to_string()),
            })
            .collect(),
        sources: sources.iter().map(|((kernel, source), &count)| share(kernel, source, count)).collect(),
        classes: mix.iter().map(|((kernel, class), &count)| share(kernel, class, count)).collect(),
    };
    for shares in [&mut found.stalls, &mut found.sources, &mut found.classes] {
        shares.sort_by_key(|share| std::cmp::Reverse(share.samples));
    }
    found.instructions.sort_by_key(|instruction| std::cmp::Reverse(instruction.share.samples));
    Some(found)
}

/// The whole report.
pub fn present_pc_samples(trace: &Trace, found: &PcSamples) -> Report {
    let mut report = base::report("att", trace);
    report.tables = vec![
        shares("stalls", "Why waves did not issue", "cause", &found.stalls),
        instructions(&found.instructions),
        shares("sources", "Source lines by samples", "source", &found.sources),
        shares("mix", "Sampled instructions by class", "class", &found.classes),
    ];
    report.tables.retain(|table| !table.rows.is_empty());
    if found.without_instruction > 0 {
        let (without, all) = (found.without_instruction, found.samples);
        report.notes.push(format!("{without} of {all} samples have no instruction").into());
    }
    if found.stalls.is_empty() {
        report
            .notes
            .push("host-trap samples say where waves were, not why; stochastic sampling shows both".into());
    }
    report
}

fn columns(what: &str, more: &[Column]) -> Vec<Column> {
    let mut columns = vec![base::kernel_column("kernel").normal(), Column::text(what)];
    columns.extend_from_slice(more);
    columns.push(Column::int("samples", Unit::None).key());
    columns.push(Column::int("share_pct", Unit::Pct).key());
    columns
}

fn shares(name: &str, title: &str, what: &str, rows: &[SampledShare]) -> Table {
    let mut table = Table::new(name, title, columns(what, &[]));
    for row in rows {
        let (kernel, what) = (row.kernel.as_str().into(), row.what.as_str().into());
        table.push(vec![kernel, what, row.samples.into(), Value::Float(row.share_pct)]);
    }
    table
}

fn instructions(rows: &[SampledInstruction]) -> Table {
    let columns = columns("instruction", &[Column::text("source").normal()]);
    let mut table = Table::new("instructions", "Instructions by samples", columns);
    for SampledInstruction { share, source } in rows {
        let no_line = || Value::absent("the sample has no source line");
        table.push(vec![
            share.kernel.as_str().into(),
            share.what.as_str().into(),
            source.as_deref().map_or_else(no_line, Value::from),
            share.samples.into(),
            Value::Float(share.share_pct),
        ]);
    }
    table
}

/// The reason in a snapshot, which is an object.
fn stall_reason(snapshot: &str) -> String {
    let fields: serde_json::Value = serde_json::from_str(snapshot).unwrap_or_default();
    fields["stall_reason"].as_str().unwrap_or_default().to_string()
}

/// `ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ALU_DEPENDENCY` in plain words.
fn plain(reason: &str) -> String {
    let word = reason.rsplit_once("REASON_").map_or(reason, |(_, word)| word);
    word.to_ascii_lowercase().replace('_', " ")
}
