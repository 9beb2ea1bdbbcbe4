//! The report for one run, or for several side by side with the first as the baseline.

use report::{Column, HealthCheck, HealthStatus, Note, Remedy, Report, Table, Value};
use trace::{Map, Needs, Trace};

use super::channels::glance;
use super::dispatches::Dispatches;
use super::machine;
use super::memory_chart;
use super::options::{Blocks, NormalUnit, Rule, TimeUnit};
use super::select::{Choice, ChoiceError, choose};
use super::stored;
use super::tables::{Style, table};
use super::top::{TopKernel, dispatch_table, kernel_table};
use super::values::{TableValues, evaluate};
use crate::base;
use crate::kernels::gpu::Specs;

/// What to show and how.
#[derive(Clone, Debug, Default)]
pub struct PanelsOptions {
    /// How values of many dispatches are combined, and whose formulas to use.
    pub rule: Rule,
    /// The unit that work is normalised by.
    pub unit: NormalUnit,
    /// The unit of durations.
    pub time: TimeUnit,
    /// Panels, tables and metrics; empty means all, or an overview for people.
    pub blocks: Blocks,
    /// Digits after the decimal point.
    pub decimals: Option<u32>,
    /// Which dispatches to evaluate.
    pub choice: Choice,
    /// Corrected facts about the GPU.
    pub corrections: Vec<(String, f64)>,
    /// Whether a person reads it: bars, the drawn memory chart, and only what was requested.
    pub for_people: bool,
    /// Show only kernels and dispatches.
    pub list_stats: bool,
}

/// What to read from a trace for panels.
pub fn panels_needs() -> Needs {
    Needs { kernels: true, shapes: true, counters: true, counter_columns: true, ..Needs::nothing() }
}

/// The facts about a run's GPU, with the user's corrections and the catalogue's product data.
pub fn specs_of(trace: &Trace, corrections: &[(String, f64)]) -> Specs {
    let mut specs = Specs::of(trace);
    machine::complete(&mut specs, trace);
    specs.corrected(corrections)
}

/// One evaluated run.
pub struct EvaluatedRun<'t> {
    /// The run.
    pub trace: &'t Trace,
    /// Rows of the chosen dispatches.
    pub rows: Vec<u32>,
    /// Kernels with their times, most time first.
    pub top: Vec<TopKernel>,
    /// Facts about its GPU.
    pub specs: Specs,
    /// The values of each wanted table.
    pub tables: Vec<TableValues>,
    /// Whether there are panels for its architecture.
    pub is_known: bool,
    /// Whether it has hardware counters.
    pub is_counted: bool,
    /// Whether its values were computed by another program.
    pub is_stored: bool,
}

impl<'t> EvaluatedRun<'t> {
    fn of(trace: &'t Trace, options: &PanelsOptions) -> Result<Self, ChoiceError> {
        let (rows, top) = choose(trace, &options.choice)?;
        let specs = specs_of(trace, &options.corrections);
        if stored::has_stored(trace) {
            let tables = stored::tables(trace, &wanted(options), &options.choice, &top)?;
            let tables = if options.list_stats { Vec::new() } else { tables };
            return Ok(Self {
                trace,
                rows,
                top,
                specs,
                tables,
                is_known: true,
                is_counted: true,
                is_stored: true,
            });
        }
        let dispatches = Dispatches::of(trace, specs.clone(), options.rule, options.unit).only(rows.clone());
        let (is_known, is_counted) = (dispatches.architecture().is_some(), dispatches.has_counters());
        let tables = if options.list_stats { Vec::new() } else { evaluate(&dispatches, &wanted(options)) };
        Ok(Self { trace, rows, top, specs, tables, is_known, is_counted, is_stored: false })
    }
}

/// People get an overview unless they ask for more.
fn wanted(options: &PanelsOptions) -> Blocks {
    let overview = options.for_people && options.blocks.0.is_empty();
    if overview {
        Blocks(["2", "3"].iter().filter_map(|block| block.parse().ok()).collect())
    } else {
        options.blocks.clone()
    }
}

/// Evaluates the panels of each run.
pub fn compute<'t>(runs: &'t [Trace], options: &PanelsOptions) -> Result<Vec<EvaluatedRun<'t>>, ChoiceError> {
    runs.iter().map(|trace| EvaluatedRun::of(trace, options)).collect()
}

/// [`compute`] and [`present`] in one.
pub fn panels(runs: &[Trace], options: &PanelsOptions) -> Result<Report, ChoiceError> {
    Ok(present(&compute(runs, options)?, options))
}

/// The panels of one run, or of several side by side.
pub fn present(evaluated: &[EvaluatedRun<'_>], options: &PanelsOptions) -> Report {
    let Some(first) = evaluated.first() else {
        return Report { command: "panels".into(), ..Report::default() };
    };
    let mut report = base::report("panels", first.trace);
    for run in &evaluated[1..] {
        let other = base::report("panels", run.trace);
        report.inputs.extend(other.inputs);
        report.health.extend(other.health);
    }
    // Counters do not need launches, so missing host calls are not worth a warning here.
    report.health.retain(|check| check.id != "coverage");
    let style = Style {
        decimals: options.decimals.or(options.for_people.then_some(2)),
        time: options.time,
        bars: options.for_people,
        rule: options.rule,
    };
    for run in evaluated {
        if run.is_stored {
            report.notes.push(as_computed(run).into());
            continue;
        }
        report.health.extend(check_facts(run));
        // The formulas are AMD's and use the counters as they are; this check says if they cannot be right.
        report.health.extend(crate::kernels::occupancy::impossible_clock(run.trace));
    }
    let blocks = &options.blocks;
    let everything = blocks.0.is_empty();
    if everything || options.list_stats || blocks.want_table(0, 1) {
        for (number, run) in evaluated.iter().enumerate() {
            let mut table = kernel_table(run.trace, &run.top, options.time);
            name_run(&mut table, number, evaluated.len());
            report.tables.push(table);
        }
    }
    let dispatch_list = !options.for_people || options.list_stats;
    if (everything && dispatch_list) || (!everything && blocks.want_table(0, 2)) {
        report.tables.push(dispatch_table(first.trace, &first.rows, options.time));
    }
    if options.list_stats {
        return report;
    }
    if (everything && !options.for_people) || (!everything && blocks.want_table(1, 1)) {
        report.tables.push(system_table(&first.specs));
    }
    let mut channels: Vec<&TableValues> = Vec::new();
    for values in &first.tables {
        let same = |run: &EvaluatedRun<'_>| -> Option<usize> {
            run.tables.iter().position(|other| (other.panel, other.table) == (values.panel, values.table))
        };
        let others: Option<Vec<&TableValues>> =
            evaluated[1..].iter().map(|run| same(run).map(|at| &run.tables[at])).collect();
        let Some(others) = others else { continue };
        let drawn = options.for_people && values.panel == 3 && evaluated.len() == 1 && !first.is_stored;
        if drawn {
            continue;
        }
        if options.for_people && values.channels && !asked_for_channels(blocks) {
            channels.push(values);
            continue;
        }
        let all: Vec<&TableValues> = std::iter::once(values).chain(others).collect();
        if options.for_people && all.iter().all(|values| is_empty(values)) {
            continue;
        }
        report.tables.push(table(&all, &style));
    }
    if !channels.is_empty() {
        report.tables.push(glance(&channels, &style));
    }
    if let Some(chart) = first.tables.iter().find(|values| values.panel == 3)
        && evaluated.len() == 1
        && !first.is_stored
    {
        report.charts.push(memory_chart::chart(chart, options.unit));
    }
    // The vendor's own values use the facts unchanged.
    if options.rule == Rule::RatioOfSums {
        for (key, what) in CLOCKS.iter().filter(|(key, _)| evaluated.iter().any(|run| lacks_clock(run, key)))
        {
            let text = format!("{what} cannot be computed without {key}");
            report.notes.push(Note::new(text, Remedy::GpuFact(key.to_string())));
        }
    }
    let optional = super::catalogue::Catalogue::builtin().panels.iter().filter(|panel| panel.optional);
    for panel in optional.filter(|panel| blocks.0.iter().all(|block| block.panel == panel.number)) {
        if evaluated.iter().any(|run| !run.is_stored && run.tables.is_empty()) {
            let text = format!(
                "panel {} is computed on gfx950 only; an analysis database may have it",
                panel.number
            );
            report.notes.push(text.as_str().into());
        }
    }
    report.notes.extend(missing(evaluated));
    if options.for_people && everything {
        report.notes.push(more_panels().into());
    }
    report
}

/// The memory chart of a run as text, if it was evaluated.
pub fn memory_chart_text(trace: &Trace, options: &PanelsOptions) -> Option<String> {
    let blocks = wanted(options);
    if !blocks.want_table(3, 1) || stored::has_stored(trace) {
        return None;
    }
    let (rows, _) = choose(trace, &options.choice).ok()?;
    let specs = specs_of(trace, &options.corrections);
    let dispatches = Dispatches::of(trace, specs, options.rule, options.unit).only(rows);
    let chart = Blocks(vec!["3".parse().ok()?]);
    let tables = evaluate(&dispatches, &chart);
    tables.first().map(|values| memory_chart::text(values, options.unit))
}

fn asked_for_channels(blocks: &Blocks) -> bool {
    blocks.0.iter().any(|block| block.panel == 18 && (block.table.is_some() || blocks.0.len() == 1))
}

fn is_empty(values: &TableValues) -> bool {
    values.rows.iter().all(|row| row.cells.iter().all(Result::is_err))
}

fn name_run(table: &mut Table, number: usize, runs: usize) {
    if runs > 1 {
        table.title.push_str(&format!(" of run {}", number + 1));
        if number > 0 {
            table.name.push_str(&format!("_{}", number + 1));
        }
    }
}

/// Table 1.1, the system.
fn system_table(specs: &Specs) -> Table {
    let mut table =
        Table::new("panel_1.1", "1.1 System info", vec![Column::text("fact"), Column::text("value")]);
    for (key, value) in specs.iter() {
        let value =
            if value.is_empty() { Value::absent("the workload does not say") } else { Value::from(value) };
        table.push(vec![Value::from(key), value]);
    }
    table
}

/// Clocks that peaks are computed from, and the peaks that need them.
const CLOCKS: [(&str, &str); 2] =
    [("max_sclk", "peaks of arithmetic and caches"), ("max_mclk", "the peak of memory")];

fn lacks_clock(run: &EvaluatedRun<'_>, key: &str) -> bool {
    run.is_known && !run.is_stored && run.specs.number(key).is_none_or(|clock| clock <= 0.0)
}

/// Problems with the facts about the GPU, worded for whoever can correct them.
fn check_facts(run: &EvaluatedRun<'_>) -> Vec<HealthCheck> {
    let warn = |id: &str, message: String| HealthCheck {
        id: id.into(),
        status: HealthStatus::Warn,
        value: None,
        message,
    };
    let mut checks = Vec::new();
    if !run.is_counted {
        let message = "there are no hardware counters: most metrics cannot be computed".to_string();
        checks.push(warn("counters", message));
    }
    let gpus = Specs::architectures(run.trace);
    if gpus.len() > 1 {
        let message =
            format!("the inputs ran on {}; formulas and peaks are those of the first", gpus.join(", "));
        checks.push(warn("architecture", message));
    }
    if !run.is_known {
        let name = run.specs.text("gpu_arch").unwrap_or("");
        let message = match name {
            "" => "the architecture of the GPU is not known, so that no panel can be computed".to_string(),
            name => format!("no panels are known for the architecture `{name}`"),
        };
        checks.push(warn("architecture", message));
        return checks;
    }
    for (key, what) in CLOCKS {
        if lacks_clock(run, key) {
            let is = if run.specs.number(key).is_some() { "0" } else { "missing" };
            checks.push(warn("clock", format!("{key} is {is}: {what} cannot be computed")));
        }
    }
    checks
}

/// Which program computed the values, and for which run.
fn as_computed(run: &EvaluatedRun<'_>) -> String {
    let fact = |key: &str| {
        let found = run.trace.metadata.iter().find(|fact| run.trace.strings.get(fact.key) == key);
        found.map_or("", |fact| run.trace.strings.get(fact.value))
    };
    let mut text = format!("values are shown as rocprof-compute {} computed them", fact("compute_version"));
    let runs = run.trace.processes.len();
    if runs > 1 {
        text += &format!("; the database has {runs} workloads, and the first is shown");
    }
    text
}

/// Reasons for empty cells, each with the metrics it affects; the most common reasons first.
fn missing(runs: &[EvaluatedRun<'_>]) -> Vec<Note> {
    const REASONS: usize = 8;
    const IDS: usize = 6;
    let mut by_reason: Map<&str, Vec<&str>> = Map::default();
    for row in runs.iter().flat_map(|run| &run.tables).flat_map(|values| &values.rows) {
        // A peak that does not exist is not missing.
        for why in
            row.cells.iter().filter_map(|cell| cell.as_ref().err()).filter(|why| why.contains("counter "))
        {
            let ids = by_reason.entry(why).or_default();
            if ids.last() != Some(&row.id.as_str()) {
                ids.push(&row.id);
            }
        }
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = by_reason.into_iter().collect();
    reasons.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(b.0)));
    let hidden = reasons.len().saturating_sub(REASONS);
    let line = |(why, ids): &(&str, Vec<&str>)| {
        let shown = ids.iter().take(IDS).copied().collect::<Vec<_>>().join(", ");
        let more = ids.len().saturating_sub(IDS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Note::from(format!("N/A: {why}: {shown}{more}"))
    };
    let mut notes: Vec<Note> = reasons.iter().take(REASONS).map(line).collect();
    if hidden > 0 {
        let text = format!("N/A: {hidden} more counters were not collected");
        notes.push(Note::new(text, Remedy::Everything));
    }
    notes
}

fn more_panels() -> String {
    let panels = super::catalogue::Catalogue::builtin()
        .panels
        .iter()
        .filter(|panel| panel.number > 3 && !panel.optional);
    let names: Vec<String> = panels.map(|panel| format!("{} {}", panel.number, panel.title)).collect();
    format!("more panels with -b NUMBER, or -b all: {}", names.join(", "))
}
