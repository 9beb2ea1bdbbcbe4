//! The rows, agents, streams and processes that each filter selects.

use regex::{Regex, RegexBuilder};
use trace::{AgentKind, RowRef, Selection, StrId, Subset, Table, Trace};

use super::frequent::most_frequent;
use super::{FilterError, Filters};
use model::classify::{Category, Classes, Classifier};
use model::names;
use model::stages::{Stage, StageSource, Stages};

/// Most names to show in an error.
const SHOWN: usize = 5;
/// Most characters to show of each name.
const NAME_WIDTH: usize = 48;

/// Processes with the selected ranks and pids.
pub(super) fn processes(filters: &Filters, trace: &Trace) -> Result<Subset, FilterError> {
    let ranks: Vec<Option<u32>> =
        (0..trace.processes.len()).map(|process| trace.rank_of(trace::ProcessId::at(process))).collect();
    let pids: Vec<Option<i64>> = trace.processes.iter().map(|process| Some(process.pid)).collect();
    Ok(numbered("rank", &filters.ranks, &ranks)?.and(numbered("process", &filters.pids, &pids)?))
}

/// Agents by the number shown by `info` and `breakdown`: GPUs, and whatever else ran kernels.
pub(super) fn agents(filters: &Filters, trace: &Trace) -> Result<Subset, FilterError> {
    let mut works: Vec<bool> = trace.agents.iter().map(|agent| agent.kind == AgentKind::Gpu).collect();
    for agent in &trace.kernels.agent {
        if let Some(agent) = agent.get() {
            works[agent] = true;
        }
    }
    let number = |(agent, works): (&trace::Agent, bool)| agent.absolute_index.get().filter(|_| works);
    let numbers: Vec<Option<i64>> = trace.agents.iter().zip(works).map(number).collect();
    numbered("agent", &filters.agents, &numbers)
}

/// Streams by their id in the source, in any process.
pub(super) fn streams(filters: &Filters, trace: &Trace) -> Result<Subset, FilterError> {
    let numbers: Vec<Option<i64>> = trace.streams.iter().map(|stream| Some(stream.id)).collect();
    numbered("stream", &filters.streams, &numbers)
}

/// The items with a wanted number; every wanted number must exist.
fn numbered<N>(what: &'static str, wanted: &[N], numbers: &[Option<N>]) -> Result<Subset, FilterError>
where
    N: Copy + Ord + ToString,
{
    if wanted.is_empty() {
        return Ok(Subset::all());
    }
    if let Some(absent) = wanted.iter().find(|number| !numbers.contains(&Some(**number))) {
        let mut known: Vec<N> = numbers.iter().copied().flatten().collect();
        known.sort_unstable();
        known.dedup();
        return Err(FilterError::NoSuch { what, wanted: absent.to_string(), present: listed(what, &known) });
    }
    Ok(Subset::of(numbers.len(), |i| numbers[i].is_some_and(|number| wanted.contains(&number))))
}

/// Most values that fit on a line.
const LISTED: usize = 24;

fn listed(what: &str, known: &[impl ToString]) -> String {
    if known.is_empty() {
        return "none that is numbered".into();
    }
    let mut shown: Vec<String> = known.iter().take(LISTED).map(|value| value.to_string()).collect();
    if known.len() > LISTED {
        shown.push(format!("and {} more", known.len() - LISTED));
    }
    let plural = match what {
        "process" => "processes".into(),
        _ if known.len() == 1 => what.to_string(),
        _ => format!("{what}s"),
    };
    format!("{plural} {}", shown.join(", "))
}

/// Kernels, copies and fills whose name matches: as recorded, demangled, or as shown in reports. Each name is
/// tested once.
pub(super) fn names(filters: &Filters, trace: &Trace, selection: &mut Selection) -> Result<(), FilterError> {
    let Some(pattern) = &filters.kernel else { return Ok(()) };
    let rows_of = rows_by_name(trace);
    let text = |id: usize| trace.strings.get(StrId(id as u32));
    let matching: Vec<bool> =
        (0..rows_of.len()).map(|id| rows_of[id] > 0 && matches(pattern, text(id))).collect();
    if !matching.contains(&true) {
        let named = || (0..rows_of.len()).filter(|&id| rows_of[id] > 0).map(|id| (text(id), rows_of[id]));
        let ignoring = RegexBuilder::new(pattern.as_str()).case_insensitive(true).build();
        let other_case = ignoring.map_or(Vec::new(), |pattern| {
            most_frequent(named().filter(|(name, _)| matches(&pattern, name)), SHOWN)
        });
        return Err(FilterError::NoKernel {
            pattern: pattern.to_string(),
            other_case: shortened(&other_case),
            frequent: shortened(&most_frequent(named(), SHOWN)),
        });
    }
    keep_work(trace, selection, |row| matching[name_of(trace, row).0 as usize]);
    Ok(())
}

fn matches(pattern: &Regex, name: &str) -> bool {
    pattern.is_match(name)
        || pattern.is_match(&names::demangle(name))
        || pattern.is_match(&names::display_name(name))
}

/// Names as shown in reports, short enough for a line with several of them.
fn shortened(names: &[String]) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|name| names::display_name(name)).collect();
    for name in &mut short {
        if let Some((cut, _)) = name.char_indices().nth(NAME_WIDTH) {
            name.truncate(cut);
            name.push('…');
        }
    }
    short.dedup();
    short
}

/// Number of rows of GPU work by name.
fn rows_by_name(trace: &Trace) -> Vec<usize> {
    let mut rows = vec![0; trace.strings.len()];
    for name in trace.kernels.name.iter().chain(&trace.memory_copies.name) {
        rows[name.0 as usize] += 1;
    }
    rows
}

fn name_of(trace: &Trace, row: RowRef) -> StrId {
    match row.get() {
        Some((Table::Kernels, row)) => trace.kernels.name[row],
        Some((Table::MemoryCopies, row)) => trace.memory_copies.name[row],
        _ => StrId::EMPTY,
    }
}

/// GPU work by kernel category, and host regions by the source's own category.
pub(super) fn categories(
    filters: &Filters,
    trace: &Trace,
    classifier: &dyn Fn() -> Classifier,
    selection: &mut Selection,
) -> Result<(), FilterError> {
    if filters.categories.is_empty() {
        return Ok(());
    }
    let of_regions = region_categories(trace);
    let classifier = &classifier();
    let (mut on_gpu, mut on_host): (Vec<Category>, Vec<StrId>) = (Vec::new(), Vec::new());
    let mut classes = None;
    for wanted in &filters.categories {
        if let Some(category) = Category::parse(&wanted.to_lowercase()) {
            on_gpu.push(category);
            classes.get_or_insert_with(|| Classes::of(trace, classifier));
            continue;
        }
        let same = of_regions.iter().filter(|(_, name)| name.eq_ignore_ascii_case(wanted));
        let found: Vec<StrId> = same.map(|(id, _)| *id).collect();
        if found.is_empty() {
            return Err(no_category(trace, classifier, wanted, &of_regions));
        }
        on_host.extend(found);
    }
    if let Some(classes) = classes {
        let category = |row: RowRef| classes.of_row(trace, row).map(|class| class.category);
        for wanted in &on_gpu {
            if !gpu_rows(trace).any(|row| category(row) == Some(*wanted)) {
                return Err(no_category(trace, classifier, wanted.name(), &of_regions));
            }
        }
        keep_work(trace, selection, |row| category(row).is_some_and(|category| on_gpu.contains(&category)));
    }
    if !on_host.is_empty() {
        let regions = Subset::of(trace.regions.len(), |row| on_host.contains(&trace.regions.category[row]));
        selection.regions = std::mem::take(&mut selection.regions).and(regions);
    }
    Ok(())
}

fn region_categories(trace: &Trace) -> Vec<(StrId, &str)> {
    let mut ids: Vec<StrId> = trace.regions.category.clone();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().filter(|id| !id.is_empty()).map(|id| (id, trace.strings.get(id))).collect()
}

fn no_category(
    trace: &Trace,
    classifier: &Classifier,
    wanted: &str,
    of_regions: &[(StrId, &str)],
) -> FilterError {
    let classes = Classes::of(trace, classifier);
    let used: Vec<Category> =
        gpu_rows(trace).filter_map(|row| Some(classes.of_row(trace, row)?.category)).collect();
    let kernels = Category::ALL.iter().filter(|category| used.contains(category)).map(|c| c.name());
    let known: Vec<&str> = kernels.chain(of_regions.iter().map(|(_, name)| *name)).collect();
    let present = if known.is_empty() { "none".into() } else { known.join(", ") };
    FilterError::NoSuch { what: "category", wanted: format!("`{wanted}`"), present }
}

/// GPU work by stage.
pub(super) fn stages(filters: &Filters, trace: &Trace, selection: &mut Selection) -> Result<(), FilterError> {
    if filters.stages.is_empty() {
        return Ok(());
    }
    let stages = Stages::with(trace, None, &filters.stage_patterns);
    let present = stages.present();
    let is_there = |wanted: &&Stage| present.iter().any(|&stage| wanted.covers(stage));
    if let Some(absent) = filters.stages.iter().find(|wanted| !is_there(wanted)) {
        let told = gpu_rows(trace).any(|row| stages.told_by(row) != StageSource::None);
        let names: Vec<&str> = present.iter().map(|stage: &Stage| stage.name()).collect();
        let present = if told { names.join(", ") } else { "no step annotation that names a stage".into() };
        return Err(FilterError::NoSuch { what: "GPU work of stage", wanted: absent.name().into(), present });
    }
    keep_work(trace, selection, |row| filters.stages.iter().any(|wanted| wanted.covers(stages.stage(row))));
    Ok(())
}

fn gpu_rows(trace: &Trace) -> impl Iterator<Item = RowRef> {
    let copies = (0..trace.memory_copies.len()).map(|row| RowRef::new(Table::MemoryCopies, row));
    (0..trace.kernels.len()).map(RowRef::kernel).chain(copies)
}

/// Narrows the selected GPU work to rows for which `wanted` holds.
fn keep_work(trace: &Trace, selection: &mut Selection, wanted: impl Fn(RowRef) -> bool) {
    let kernels = Subset::of(trace.kernels.len(), |row| wanted(RowRef::kernel(row)));
    let copies = Subset::of(trace.memory_copies.len(), |row| wanted(RowRef::new(Table::MemoryCopies, row)));
    selection.kernels = std::mem::take(&mut selection.kernels).and(kernels);
    selection.memory_copies = std::mem::take(&mut selection.memory_copies).and(copies);
}
