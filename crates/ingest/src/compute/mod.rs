//! Workload folders of ROCm Compute Profiler (rocprof-compute, formerly Omniperf), of every generation.
//!
//! ```text
//! pmc_perf.csv (wide or long), or its passes joined ─┐
//! results_*.csv, the passes before `analyze` ─────────┤
//! SQ_*.csv level passes, matched launch by launch ───┼─► kernels + counter columns (or counter rows)
//! ml_api_trace_*: operators of torch and Triton ─────┤   + regions
//! sysinfo.csv, roofline.csv ─────────────────────────┘   + metadata
//! ```
//!
//! The folder is only read. Launches of different passes are matched by kernel, grid and occurrence, never by
//! row number.

pub mod analysis;
mod facts;
mod files;
mod header;
mod join;
mod long;
mod multiplex;
mod number;
mod operators;
mod spans;
mod table;
mod time;

use std::path::Path;

use rapidhash::v3::rapidhash_v3;
use trace::{
    Agent, AgentId, AgentKind, Counter, CounterColumn, CounterKind, Kernel, LaunchShape, Map, Needs, OptI64,
    Process, ProcessId, RowRef, Source, Status, StrId, Trace,
};

pub use self::facts::{ROOFLINE, SYSINFO};
use self::files::{WorkloadFile, operator_files};
pub(crate) use self::files::{
    has_workload_name, is_legacy_table, is_workload_table, repeats_workload, workload_of,
};
use self::table::{Dispatch, Table};
use crate::bytes::read_whole;
use crate::times::are_believable;
use crate::{Error, Format, Input, Progress};

/// The accumulation counter of a level pass, under one name in every level file.
const ACCUMULATION: &str = "SQ_ACCUM_PREV_HIRES";

/// Reads one workload folder (`input.files` are its tables), or a results table of the legacy rocprof, which
/// has the same columns under any file name.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let mut trace = Trace::default();
    let path = input.path.to_string_lossy();
    let source = Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) };
    let source = trace.add_source(source);
    let (mut joined, mut passes, mut levels, mut times) = (None, Vec::new(), Vec::new(), None);
    let mut identity = 0u64;
    // If there is a joined table, the passes that it was made from are not read.
    let part_of = |file: &Path| match input.format {
        Format::Rocprof => Some(WorkloadFile::Joined),
        _ => WorkloadFile::of(file),
    };
    let has_joined = input.files.iter().any(|file| part_of(file) == Some(WorkloadFile::Joined));
    for file in &input.files {
        let Some(part) = part_of(file) else { continue };
        if has_joined && matches!(part, WorkloadFile::Pass | WorkloadFile::Times | WorkloadFile::Results)
            || matches!(part, WorkloadFile::Operators | WorkloadFile::Launches)
        {
            continue;
        }
        let bytes = match read_whole(file, progress) {
            Ok(bytes) => bytes,
            Err(Error::Empty { path }) => {
                let message = format!("`{}` is empty", path.display());
                trace.health.report("empty_pass", Status::Warn, Some(0.0), message);
                continue;
            }
            Err(error) => return Err(error),
        };
        identity = identity.rotate_left(1) ^ rapidhash_v3(&bytes);
        progress.advance(bytes.mapped_len() as u64);
        let table = Table::wide(file, &bytes, &mut trace.strings)
            .or_else(|| long::read(file, &bytes, &mut trace.strings));
        let Some(table) = table else {
            let message = format!("`{}` is not a table of dispatches", file.display());
            trace.health.report("unreadable_input", Status::Warn, None, message);
            continue;
        };
        report_damage(&table, &mut trace);
        match part {
            WorkloadFile::Joined => joined = Some(table),
            WorkloadFile::Pass | WorkloadFile::Results => passes.push(table),
            WorkloadFile::Level => levels.push(table),
            WorkloadFile::Times => times = Some(table),
            WorkloadFile::Operators | WorkloadFile::Launches => {}
        }
    }
    let mut main = match joined {
        Some(table) => table,
        None => {
            let level_copies = levels.iter().map(without_accumulation);
            let mut main = join::passes(passes.into_iter().chain(level_copies).collect(), &mut trace.health);
            if let Some(times) = &times {
                join::undisturbed_times(&mut main, times);
            }
            main
        }
    };
    if main.dispatches.is_empty() {
        let why = "it has no dispatches".to_string();
        let format = match input.format {
            Format::Rocprof => "a table of rocprof",
            _ => "a rocprof-compute workload",
        };
        return Err(Error::Damaged { path: input.path.clone(), format, why });
    }
    multiplex::fill(&mut main, &input.path, &mut trace.health);
    let facts = match input.format {
        Format::Rocprof => {
            let message =
                "the legacy rocprof does not record the GPU, so metrics that depend on it are missing";
            trace.health.report("gpu", Status::Warn, None, message.to_string());
            Vec::new()
        }
        _ => {
            facts::roofline(&input.path, &mut trace, source);
            facts::sysinfo(&input.path, &mut trace, source)
        }
    };
    let fact = |key: &str| facts.iter().find(|(k, _)| k == key).map_or("", |(_, value)| value.as_str());
    let guid = trace.strings.intern(&format!("compute-{identity:016x}"));
    let hostname = trace.strings.intern(fact("hostname"));
    let command = trace.strings.intern(fact("command"));
    let process = trace.add_process(Process { guid, hostname, command, ..Process::new(source, 0) });
    let (name, product) = (trace.strings.intern(fact("gpu_arch")), trace.strings.intern(fact("gpu_model")));
    let compute_units = fact("cu_per_gpu").parse().map_or(OptI64::NONE, OptI64::some);
    let gpu = Agent { process, kind: AgentKind::Gpu, name, product, compute_units, ..Agent::default() };
    let pair = operator_files(&input.files, &main.file).filter(|_| needs.regions || needs.links);
    if let Some(pair) = pair {
        operators::read(&pair, &mut main, process, progress, &mut trace)?;
    }
    push_kernels(&main, process, &gpu, &mut trace);
    if input.format == Format::Rocprof {
        name_functions(&mut trace);
    }
    if needs.counter_columns {
        push_columns(main, &levels, &mut trace);
    } else if needs.counters {
        push_rows(&main, &levels, process, &mut trace);
    }
    Ok(trace)
}

/// Counters of a level pass also belong in the joined table; its accumulation is identified only by its pass.
fn without_accumulation(level: &Table) -> Table {
    let counters = level.counters.iter().filter(|counter| counter.name != ACCUMULATION);
    Table {
        file: level.file.clone(),
        dispatches: level.dispatches.clone(),
        counters: counters.cloned().collect(),
        ..Table::default()
    }
}

fn report_damage(table: &Table, trace: &mut Trace) {
    let file = table.file.display();
    let health = &mut trace.health;
    if table.damaged > 0 {
        let message = format!("{} lines of `{file}` could not be read", table.damaged);
        health.report("damaged_rows", Status::Warn, Some(table.damaged as f64), message);
    }
    if table.odd_cells > 0 {
        let message = format!("{} cells of `{file}` are not numbers", table.odd_cells);
        health.report("odd_cells", Status::Warn, Some(table.odd_cells as f64), message);
    }
    if table.cut {
        health.report("truncated", Status::Warn, None, format!("`{file}` ends in the middle of a line"));
    }
}

fn push_kernels(main: &Table, process: ProcessId, gpu: &Agent, trace: &mut Trace) {
    let mut agents: Map<i64, AgentId> = Map::default();
    let mut without_time = 0;
    for (row, dispatch) in main.dispatches.iter().enumerate() {
        let number = dispatch.gpu as i64;
        let agent = *agents.entry(number).or_insert_with(|| {
            let index = OptI64::some(number);
            trace.add_agent(Agent { absolute_index: index, type_index: index, ..gpu.clone() })
        });
        let told = main.durations.get(row).copied().unwrap_or_else(|| dispatch.duration());
        let start = dispatch.start.ns;
        let ends = start.saturating_add(told.max(0.0).round() as i64);
        // Impossible times count as missing.
        let (start, end, duration) =
            if are_believable(start, ends) { (start, ends, told) } else { (0, 0, f64::NAN) };
        without_time += u64::from(duration.is_nan() || duration <= 0.0);
        trace.counter_columns.duration.push(duration);
        trace.kernels.push(Kernel {
            name: dispatch.kernel,
            start,
            end,
            process,
            agent,
            dispatch: whole(dispatch.id),
            correlation: dispatch.correlation,
            shape: trace.shapes.intern(shape(dispatch)),
            ..Kernel::default()
        });
    }
    if without_time > 0 {
        let cause = if main.rounded_times { ": a spreadsheet has rounded the times" } else { "" };
        let message = format!(
            "{without_time} of {} dispatches have no duration{cause}, so they have no rates",
            main.dispatches.len()
        );
        trace.health.report("durations", Status::Warn, Some(without_time as f64), message);
    }
}

/// Gives kernels the names that every other tool uses: the legacy rocprof names their descriptors.
fn name_functions(trace: &mut Trace) {
    let mut known: Map<StrId, StrId> = Map::default();
    for name in &mut trace.kernels.name {
        *name = *known.entry(*name).or_insert_with(|| {
            let text = trace.strings.get(*name);
            let bare = [" [clone .kd]", " (.kd)", ".kd"].iter().find_map(|end| text.strip_suffix(end));
            match bare.map(str::to_owned) {
                Some(bare) => trace.strings.intern(&bare),
                None => *name,
            }
        });
    }
}

fn shape(dispatch: &Dispatch) -> LaunchShape {
    let line = |items: f64| (items.is_finite() && items >= 0.0).then_some([items as u32, 1, 1]);
    LaunchShape {
        grid: line(dispatch.grid),
        workgroup: line(dispatch.workgroup),
        lds_bytes: whole(dispatch.lds),
        scratch_bytes: whole(dispatch.scratch),
        vgpr: whole(dispatch.vgpr),
        agpr: whole(dispatch.agpr),
        sgpr: whole(dispatch.sgpr),
    }
}

fn whole(number: f64) -> OptI64 {
    if number.is_finite() { OptI64::some(number as i64) } else { OptI64::NONE }
}

/// The name of a level pass: its file's name.
fn pass_of(level: &Table) -> String {
    level.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn push_columns(main: Table, levels: &[Table], trace: &mut Trace) {
    let mut columns = Vec::with_capacity(main.counters.len());
    for level in levels {
        let pass = trace.strings.intern(&pass_of(level));
        for counter in join::align(&main, level, &mut trace.health) {
            let name = trace.strings.intern(&counter.name);
            columns.push(CounterColumn { counter: name, pass, values: counter.values });
        }
    }
    for counter in main.counters {
        let name = trace.strings.intern(&counter.name);
        columns.push(CounterColumn { counter: name, pass: StrId::EMPTY, values: counter.values });
    }
    trace.counter_columns.columns = columns;
}

fn push_rows(main: &Table, levels: &[Table], process: ProcessId, trace: &mut Trace) {
    // Newer releases name an accumulation after its level; rows here do the same.
    let mut accumulations = Vec::new();
    for level in levels {
        for mut counter in join::align(main, level, &mut trace.health) {
            if counter.name == ACCUMULATION {
                counter.name = format!("{}_ACCUM", pass_of(level));
                accumulations.push(counter);
            }
        }
    }
    for counter in main.counters.iter().chain(&accumulations) {
        let name = trace.strings.intern(&counter.name);
        let kind = trace.add_counter_kind(CounterKind { name, process, ..CounterKind::default() });
        for (row, &value) in counter.values.iter().enumerate() {
            if !value.is_nan() {
                trace.counters.push(Counter {
                    kernel: RowRef::kernel(row),
                    counter: kind,
                    value,
                    ..Counter::default()
                });
            }
        }
    }
}
