//! How long the run would take if an op took longer or shorter, with its host time, its launches and the
//! kernels and copies that it launches. Removing an op is what a fusion does.

use rayon::prelude::*;
use regex::Regex;
use trace::{Map, Ns, ProcessId, StrId, ThreadId, Trace};

use super::NONE;
use super::host::Role;
use super::part::WorkSubset;
use super::scenario::{Changes, Engine};
use super::what_if::WhatIfError;

/// Number of similar names to suggest if none matches.
const OFFERED: usize = 3;

/// Selects ops by name.
#[derive(Clone, Debug)]
pub(super) enum OpName {
    /// A full name; if none matches, a case-insensitive part of one; if none matches, a regular expression.
    Text { text: String, part: Regex, pattern: Option<Regex> },
    /// A pattern between slashes.
    Pattern(Regex),
}

impl OpName {
    /// The matching names of a run.
    fn choose(&self, trace: &Trace, names: &[StrId]) -> Vec<StrId> {
        let text = |name: StrId| trace.strings.get(name);
        let is_meant = self.chooser(|holds| names.iter().any(|&name| holds(text(name))));
        names.iter().copied().filter(|&name| is_meant(text(name))).collect()
    }

    /// Matches the selected names; `any` says whether any name of the run satisfies a condition.
    pub fn chooser(&self, any: impl Fn(&dyn Fn(&str) -> bool) -> bool) -> Box<dyn Fn(&str) -> bool + '_> {
        match self {
            OpName::Pattern(pattern) => Box::new(|name| pattern.is_match(name)),
            OpName::Text { text, part, pattern } => match pattern {
                _ if any(&|name| name == text) => Box::new(move |name| name == text),
                Some(pattern) if !any(&|name| part.is_match(name)) => Box::new(|name| pattern.is_match(name)),
                _ => Box::new(|name| part.is_match(name)),
            },
        }
    }
}

/// How much sooner the run ends if ops take `factor` times as long; negative if it ends later.
pub(super) fn saving(engine: &Engine, wanted: &OpName, shown: &str, factor: f64) -> Result<Ns, WhatIfError> {
    let ops = Ops::named(engine, wanted, shown)?;
    Ok(engine.sooner(&ops.changes(engine, factor, |_| false)))
}

/// How much sooner the run ends if the regions and GPU work of `part` take `factor` times as long.
pub(super) fn saving_of_part(engine: &Engine, part: &WorkSubset, factor: f64) -> Ns {
    saving_of_ops(engine, part, &Ops::of_names(engine, &part.names), factor)
}

fn saving_of_ops(engine: &Engine, part: &WorkSubset, ops: &Ops, factor: f64) -> Ns {
    let works = &engine.run.works;
    let is_part = |work: usize| {
        let rows = if works.is_copy_row[work] { &part.copies } else { &part.kernels };
        rows.get(works.row[work] as usize) == Some(&true)
    };
    engine.sooner(&ops.changes(engine, factor, is_part))
}

impl Engine<'_> {
    /// How much sooner the run would end without each of these ops: its host time, its launches and its GPU
    /// work, replayed or not.
    pub(crate) fn without_each(&self, run: &model::Run, ops: &[&str]) -> Vec<Ns> {
        let parts: Vec<WorkSubset> = ops.par_iter().map(|op| WorkSubset::of_op(run, op)).collect();
        let names: Vec<StrId> = parts.iter().flat_map(|part| part.names.iter().copied()).collect();
        // Most regions match none of the ops, so they are scanned once for all.
        let rows = rows_named(self, &names);
        let saving = |part: &WorkSubset| {
            let is_own = |row: &u32| part.names.contains(&self.trace.regions.name[*row as usize]);
            let own = Ops::at(self, rows.iter().copied().filter(is_own));
            saving_of_ops(self, part, &own, 0.0).max(0)
        };
        parts.par_iter().map(saving).collect()
    }
}

/// When ops run, by thread: in time order, without overlaps.
struct Ops {
    times: Map<(ProcessId, ThreadId), Vec<(Ns, Ns)>>,
}

/// Ops, annotations and ranges; runtime calls are part of them.
fn is_op(engine: &Engine, row: usize) -> bool {
    let (trace, run) = (engine.trace, &engine.run);
    run.calls.of_region(trace, row).is_none() && run.profiler.is_program(trace, row)
}

/// Regions per thread batch.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Rows in `regions` of ops with these names, sorted.
fn rows_named(engine: &Engine, meant: &[StrId]) -> Vec<u32> {
    let names = &engine.trace.regions.name;
    let mut is_meant = vec![false; engine.trace.strings.len()];
    meant.iter().for_each(|name| is_meant[name.0 as usize] = true);
    let wanted = |&row: &usize| is_meant[names[row].0 as usize] && is_op(engine, row);
    let rows = (0..names.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
    rows.filter(wanted).map(|row| row as u32).collect()
}

impl Ops {
    fn named(engine: &Engine, wanted: &OpName, shown: &str) -> Result<Self, WhatIfError> {
        let trace = engine.trace;
        let regions = &trace.regions;
        let mut names: Vec<StrId> =
            (0..regions.len()).filter(|&row| is_op(engine, row)).map(|row| regions.name[row]).collect();
        names.sort_unstable();
        names.dedup();
        let meant = wanted.choose(trace, &names);
        if meant.is_empty() {
            let texts: Vec<&str> = names.iter().map(|&name| trace.strings.get(name)).collect();
            let text = shown.trim_start_matches("op:");
            return Err(WhatIfError::no_op(text, &expr::names::nearest(text, &texts, OFFERED)));
        }
        Ok(Self::of_names(engine, &meant))
    }

    fn of_names(engine: &Engine, meant: &[StrId]) -> Self {
        Self::at(engine, rows_named(engine, meant).into_iter())
    }

    /// The ops at these rows, which are sorted.
    fn at(engine: &Engine, rows: impl Iterator<Item = u32>) -> Self {
        let regions = &engine.trace.regions;
        let mut times: Map<(ProcessId, ThreadId), Vec<(Ns, Ns)>> = Map::default();
        for row in rows.map(|row| row as usize) {
            let thread = (regions.process[row], regions.thread[row]);
            let times = times.entry(thread).or_default();
            // Rows are sorted by start.
            match times.last_mut() {
                Some(last) if regions.start[row] <= last.1 => last.1 = last.1.max(regions.end[row]),
                _ => times.push((regions.start[row], regions.end[row])),
            }
        }
        Self { times }
    }

    /// Whether a call is made inside one of the ops.
    fn hold(&self, trace: &Trace, call: usize) -> bool {
        let regions = &trace.regions;
        let Some(times) = self.times.get(&(regions.process[call], regions.thread[call])) else {
            return false;
        };
        let after = times.partition_point(|time| time.0 <= regions.start[call]);
        after > 0 && regions.start[call] < times[after - 1].1
    }

    /// What changes; `besides` selects further work to scale by `factor`, however it was launched.
    fn changes(&self, engine: &Engine, factor: f64, besides: impl Fn(usize) -> bool) -> Changes {
        let (trace, run) = (engine.trace, &engine.run);
        let works = &run.works;
        let launched: Vec<bool> = (0..works.len())
            .map(|work| works.launch_of(work).is_some_and(|call| self.hold(trace, call)))
            .collect();
        let less = |work: usize| (works.duration(work) as f64 * (1.0 - factor)).round() as Ns;
        let shorter = |work: usize| if launched[work] || besides(work) { less(work) } else { 0 };
        let less = (0..works.len()).map(shorter).collect();
        let host = self.times.iter().flat_map(|(&(process, thread), times)| {
            times.iter().map(move |&(from, to)| (process, thread, from, to))
        });
        let mut changes = Changes::none();
        changes.less = less;
        changes.skip(engine, host);
        changes.skipped_share = 1.0 - factor;
        changes.launches = Some((launched, factor));
        // A removed op does not wait either.
        if factor == 0.0 {
            let host = &run.host;
            let waits = |&place: &usize| {
                let region = host.region[place];
                host.role[place] == Role::Return && region != NONE && self.hold(trace, region as usize)
            };
            changes.no_wait_in = (0..host.role.len()).filter(waits).map(|place| host.region[place]).collect();
            changes.no_wait_in.sort_unstable();
        }
        changes
    }
}
