//! PC samples: which instructions waves were at, and with stochastic sampling why they did not issue.

use std::collections::BTreeMap;

use report::{Column, Report, Table, Unit, Value};
use trace::{ArgNeeds, Map, Needs, RowRef, StrId, Table as Rows, Trace};

use super::classes::class_of;
use crate::base;

const COMMENT: &str = "Instruction_Comment";
const REASON: &str = "Stall_Reason";
const ISSUED: &str = "Wave_Issued_Instruction";
/// What the JSON form calls the two; the reason is a field of the snapshot.
const JSON_ISSUED: &str = "wave_issued";
const SNAPSHOT: &str = "snapshot";

/// Stands for the text of an instruction that the profiler could not tell.
const UNKNOWN: &str = "not recorded";

/// What a trace must be read with.
pub fn pc_sample_needs() -> Needs {
    let args = [COMMENT, REASON, ISSUED, JSON_ISSUED, SNAPSHOT].map(String::from).to_vec();
    Needs { kernels: true, samples: true, args: ArgNeeds::Keys(args), ..Needs::nothing() }
}

/// Where the samples of a trace read with [`pc_sample_needs`] were; none when it has none.
pub fn pc_samples_report(trace: &Trace) -> Option<Report> {
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
        // Readers put the source line where there is no instruction.
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
    let share = |count: usize, kernel: &str| Value::Float(100.0 * count as f64 / total[kernel] as f64);
    let columns = |what: &str, more: &[Column]| {
        let mut columns = vec![Column::text("kernel").normal(), Column::text(what)];
        columns.extend_from_slice(more);
        columns.push(Column::int("samples", Unit::None).key());
        columns.push(Column::int("share_pct", Unit::Pct).key());
        columns
    };
    let mut instructions = Table::new(
        "instructions",
        "Instructions by samples",
        columns("instruction", &[Column::text("source").normal()]),
    );
    for ((kernel, instruction, source), &count) in &hot {
        let source = match *source {
            "" => Value::absent("the sample has no source line"),
            source => Value::from(source),
        };
        instructions.push(vec![
            (*kernel).into(),
            (*instruction).into(),
            source,
            count.into(),
            share(count, kernel),
        ]);
    }
    let mut lines = Table::new("sources", "Source lines by samples", columns("source", &[]));
    for ((kernel, source), &count) in &sources {
        lines.push(vec![(*kernel).into(), (*source).into(), count.into(), share(count, kernel)]);
    }
    let mut stalls = Table::new("stalls", "Why waves did not issue", columns("cause", &[]));
    for ((kernel, reason), &count) in &reasons {
        stalls.push(vec![(*kernel).into(), Value::Text(reason.clone()), count.into(), share(count, kernel)]);
    }
    let mut classes = Table::new("mix", "Sampled instructions by class", columns("class", &[]));
    for ((kernel, class), &count) in &mix {
        classes.push(vec![(*kernel).into(), (*class).into(), count.into(), share(count, kernel)]);
    }
    let mut report = base::report("att", trace);
    report.tables = vec![stalls, instructions, lines, classes];
    report.tables.retain(|table| !table.rows.is_empty());
    report.tables.iter_mut().for_each(|table| {
        table.sort_by("samples");
    });
    if unknown > 0 {
        report.notes.push(format!("{unknown} of {} samples have no instruction", rows.len()).into());
    }
    if reasons.is_empty() {
        report
            .notes
            .push("host-trap samples say where waves were, not why; stochastic sampling tells both".into());
    }
    Some(report)
}

/// The reason in a snapshot, which is an object.
fn stall_reason(snapshot: &str) -> String {
    let fields: serde_json::Value = serde_json::from_str(snapshot).unwrap_or_default();
    fields["stall_reason"].as_str().unwrap_or_default().to_string()
}

/// `ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_ALU_DEPENDENCY` as people say it.
fn plain(reason: &str) -> String {
    let word = reason.rsplit_once("REASON_").map_or(reason, |(_, word)| word);
    word.to_ascii_lowercase().replace('_', " ")
}
