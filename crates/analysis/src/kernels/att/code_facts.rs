//! What other tools know about code: memory accesses by source line (Omniprobe), and kernel code (Nexus).

use std::collections::BTreeMap;

use report::{Column, InputFact, Report, Table, Unit, Value};
use trace::{AccessEffect, CodeFacts, Map, Needs, SourceAccess, Trace};

use super::classes::class_of;
use crate::base;

/// What to read from a trace to join it with such files.
pub fn code_facts_needs() -> Needs {
    Needs { kernels: true, ..Needs::nothing() }
}

/// An access and its kernel in a trace.
#[derive(Clone, Debug)]
pub struct JoinedAccess<'f> {
    /// The access.
    pub access: &'f SourceAccess,
    /// The time of its kernel in the trace: of its dispatch, otherwise the mean of all launches.
    pub kernel_ns: Option<f64>,
}

/// Accesses joined to the kernels of a trace, most costly first.
pub fn compute_accesses<'f>(facts: &'f [CodeFacts], trace: Option<&Trace>) -> Vec<JoinedAccess<'f>> {
    let times = trace.map(KernelTimes::of).unwrap_or_default();
    let joined = facts.iter().flat_map(|facts| &facts.accesses);
    let mut joined: Vec<JoinedAccess> =
        joined.map(|access| JoinedAccess { access, kernel_ns: times.of_access(access) }).collect();
    joined.sort_by_key(|joined| std::cmp::Reverse(excess(joined.access)));
    joined
}

/// Cache lines beyond those needed, or bank conflicts.
fn excess(access: &SourceAccess) -> u64 {
    match access.effect {
        AccessEffect::CacheLines { needed, used } => used.saturating_sub(needed),
        AccessEffect::BankConflicts(conflicts) => conflicts,
    }
}

/// Times of a trace's kernels by name.
#[derive(Default)]
struct KernelTimes {
    /// Total time and number of launches.
    by_name: Map<String, (i64, u64)>,
    by_dispatch: Map<(String, i64), i64>,
}

impl KernelTimes {
    fn of(trace: &Trace) -> Self {
        let mut times = Self::default();
        for row in 0..trace.kernels.len() {
            let name = bare(trace.strings.get(trace.kernels.name[row]));
            let duration = trace.kernels.end[row] - trace.kernels.start[row];
            if let Some(dispatch) = trace.kernels.dispatch[row].get() {
                times.by_dispatch.insert((name.to_string(), dispatch), duration);
            }
            let sum = times.by_name.entry_ref(name).or_default();
            *sum = (sum.0 + duration, sum.1 + 1);
        }
        times
    }

    fn of_access(&self, access: &SourceAccess) -> Option<f64> {
        let name = bare(&access.kernel);
        let exact = access.dispatch.and_then(|dispatch| self.by_dispatch.get(&(name.to_string(), dispatch)));
        let mean = || self.by_name.get(name).map(|(sum, launches)| *sum as f64 / *launches as f64);
        exact.map(|ns| *ns as f64).or_else(mean)
    }
}

/// A kernel's name without the additions of instrumentation and descriptors.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix("__amd_crk_").unwrap_or(name);
    [" [clone .kd]", ".kd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The tables of all files; `trace` is the run with their kernels.
pub fn code_facts_report(facts: &[CodeFacts], trace: Option<&Trace>) -> Report {
    let mut report = match trace {
        Some(trace) => base::report("att", trace),
        None => Report { command: "att".into(), ..Report::default() },
    };
    for facts in facts {
        let (path, format) = (facts.path.clone(), facts.format.to_string());
        report.inputs.push(InputFact { path, format, ..InputFact::default() });
        report.health.extend(base::health(&facts.health));
    }
    // Only kernel times are taken from the trace, so launches do not matter.
    report.health.retain(|check| check.id != "coverage");
    let accesses = compute_accesses(facts, trace);
    report.tables =
        vec![memory_lines(&accesses), bank_conflicts(&accesses), code_mix(facts), code_lines(facts)];
    report.tables.retain(|table| !table.rows.is_empty());
    if !accesses.is_empty() {
        report.notes.push(
            "counts are sums over all waves of a dispatch; a line that uses more cache lines than it needs reads memory that it throws away".into(),
        );
    }
    if let Some(bytes) = facts.iter().find_map(|facts| facts.cache_line_bytes) {
        report.notes.push(format!("cache lines of {bytes} bytes").into());
    }
    if let Some(trace) = trace {
        let known = accesses.iter().filter(|joined| joined.kernel_ns.is_some()).count();
        if known < accesses.len() {
            let text = format!(
                "{} of {} accesses are of kernels that the trace does not have",
                accesses.len() - known,
                accesses.len()
            );
            report.notes.push(text.into());
        }
        if trace.kernels.is_empty() {
            report.notes.push("the trace has no kernels".into());
        }
    }
    report
}

fn common_columns() -> Vec<Column> {
    vec![
        Column::text("source"),
        Column::text("code").normal(),
        base::kernel_column("kernel").normal(),
        Column::int("dispatch", Unit::Exact).detail(),
        Column::text("access"),
        Column::int("executions", Unit::None),
        Column::int("bytes_per_lane", Unit::None).detail(),
    ]
}

fn common_cells(access: &SourceAccess) -> Vec<Value> {
    let text = |text: &str| match text {
        "" => Value::absent("the file does not say"),
        text => Value::from(text),
    };
    vec![
        text(&access.source),
        text(&access.code),
        text(&access.kernel),
        Value::int_or(access.dispatch, "the tool does not know it"),
        text(&access.kind),
        Value::Int(access.executions as i64),
        Value::int_or(access.bytes.map(|bytes| bytes as i64), "the file does not say"),
    ]
}

fn kernel_time(joined: &JoinedAccess) -> Value {
    joined
        .kernel_ns
        .map_or_else(|| Value::absent("needs a trace with this kernel"), |ns| Value::Int(ns.round() as i64))
}

fn memory_lines(accesses: &[JoinedAccess]) -> Table {
    let mut columns = common_columns();
    columns.extend([
        Column::text("instruction").detail(),
        Column::int("lines_needed", Unit::None).key(),
        Column::int("lines_used", Unit::None).key(),
        Column::int("used_per_needed", Unit::None).key(),
        Column::int("kernel_time_ns", Unit::Ns).detail(),
    ]);
    let mut table = Table::new("memory_lines", "Cache lines by source line", columns);
    for joined in accesses {
        let AccessEffect::CacheLines { needed, used } = joined.access.effect else { continue };
        let mut cells = common_cells(joined.access);
        cells.extend([
            Value::from(joined.access.instruction.as_str()),
            Value::Int(needed as i64),
            Value::Int(used as i64),
            if needed > 0 {
                Value::Float(used as f64 / needed as f64)
            } else {
                Value::absent("none was needed")
            },
            kernel_time(joined),
        ]);
        table.push(cells);
    }
    table
}

fn bank_conflicts(accesses: &[JoinedAccess]) -> Table {
    let mut columns = common_columns();
    columns.extend([
        Column::int("conflicts", Unit::None).key(),
        Column::int("conflicts_per_execution", Unit::None).key(),
        Column::int("kernel_time_ns", Unit::Ns).detail(),
    ]);
    let mut table = Table::new("bank_conflicts", "LDS bank conflicts by source line", columns);
    for joined in accesses {
        let AccessEffect::BankConflicts(conflicts) = joined.access.effect else { continue };
        let executions = joined.access.executions;
        let mut cells = common_cells(joined.access);
        cells.extend([
            Value::Int(conflicts as i64),
            if executions > 0 {
                Value::Float((100.0 * conflicts as f64 / executions as f64).round() / 100.0)
            } else {
                Value::absent("it was not executed")
            },
            kernel_time(joined),
        ]);
        table.push(cells);
    }
    table
}

fn code_mix(facts: &[CodeFacts]) -> Table {
    let columns = vec![
        base::kernel_column("kernel"),
        Column::text("class"),
        Column::int("instructions", Unit::None).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("code_mix", "Instructions in the code by class", columns);
    for listing in facts.iter().flat_map(|facts| &facts.listings) {
        let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
        for instruction in &listing.instructions {
            *classes.entry(class_of(instruction).name.as_str()).or_default() += 1;
        }
        let mut classes: Vec<(&str, usize)> = classes.into_iter().collect();
        classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (class, count) in classes {
            let share = 100.0 * count as f64 / listing.instructions.len() as f64;
            table.push(vec![
                Value::from(listing.kernel.as_str()),
                Value::from(class),
                Value::from(count),
                Value::Float(share),
            ]);
        }
    }
    table
}

fn code_lines(facts: &[CodeFacts]) -> Table {
    let columns = vec![Column::text("source"), Column::text("code"), base::kernel_column("kernel").normal()];
    let mut table = Table::new("code_lines", "Source lines of the kernels", columns);
    for listing in facts.iter().flat_map(|facts| &facts.listings) {
        for (source, code) in &listing.lines {
            let code = match code.trim() {
                "" => Value::absent("the tool did not find the file"),
                code => Value::from(code),
            };
            table.push(vec![Value::from(source.as_str()), code, Value::from(listing.kernel.as_str())]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use trace::{Kernel, OptI64, Process, Source};

    use super::*;

    fn access(kernel: &str, dispatch: Option<i64>, effect: AccessEffect) -> SourceAccess {
        SourceAccess { kernel: kernel.into(), dispatch, effect, executions: 4, ..SourceAccess::default() }
    }

    #[test]
    fn accesses_meet_their_kernel_by_dispatch_then_by_name() {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("run.db", "rocpd"));
        let process = trace.add_process(Process::new(source, 1));
        for (dispatch, start, end) in [(1, 0, 100), (2, 200, 500)] {
            let name = trace.strings.intern("f(int*) [clone .kd]");
            let dispatch = OptI64::some(dispatch);
            trace.kernels.push(Kernel { name, start, end, process, dispatch, ..Kernel::default() });
        }
        trace.finish();
        let lines = |needed, used| AccessEffect::CacheLines { needed, used };
        let facts = CodeFacts {
            accesses: vec![
                access("__amd_crk_f(int*)", Some(2), lines(8, 8)),
                access("f(int*)", None, lines(8, 64)),
                access("g", Some(1), AccessEffect::BankConflicts(3)),
            ],
            ..CodeFacts::default()
        };
        let facts = [facts];
        let joined = compute_accesses(&facts, Some(&trace));
        let times: Vec<Option<f64>> = joined.iter().map(|joined| joined.kernel_ns).collect();
        assert_eq!(
            times,
            [Some(200.0), None, Some(300.0)],
            "most excess first; the mean, nothing, the dispatch"
        );
        let report = code_facts_report(&facts, Some(&trace));
        let names: Vec<&str> = report.tables.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["memory_lines", "bank_conflicts"]);
        assert!(report.notes.iter().any(|note| note.text.starts_with("1 of 3 accesses")));
    }
}
