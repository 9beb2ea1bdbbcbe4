//! What the run would take if an op took longer or shorter with all that belongs to it: its host time, its launches and the
//! kernels and copies that it launches. Removing an op is what a fusion does.

use rayon::prelude::*;
use regex::Regex;
use trace::{Map, Ns, ProcessId, StrId, ThreadId, Trace};

use super::NONE;
use super::host::Role;
use super::part::WorkSubset;
use super::scenario::{Changes, Engine};
use super::what_if::WhatIfError;

/// Names that are offered where none fits.
const OFFERED: usize = 3;

/// Which ops are meant.
#[derive(Clone, Debug)]
pub(super) enum OpName {
    /// A full name; where there is none, part of one in any case; where there is none, a regular expression.
    Text { text: String, part: Regex, pattern: Option<Regex> },
    /// What stands between slashes.
    Pattern(Regex),
}

impl OpName {
    /// Those of a run's names that are meant.
    fn choose(&self, trace: &Trace, names: &[StrId]) -> Vec<StrId> {
        let text = |name: StrId| trace.strings.get(name);
        let is_meant = self.chooser(|holds| names.iter().any(|&name| holds(text(name))));
        names.iter().copied().filter(|&name| is_meant(text(name))).collect()
    }

    /// Tells names that are meant; `any` says whether one of the run's names holds what is looked for.
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

/// How much sooner the run ends if ops take `factor` times as long; less than nothing where they take longer.
pub(super) fn saving(engine: &Engine, wanted: &OpName, shown: &str, factor: f64) -> Result<Ns, WhatIfError> {
    let ops = Ops::named(engine, wanted, shown)?;
    Ok(engine.sooner(&ops.changes(engine, factor, |_| false)))
}

/// The same of a part of the run: its regions, and its GPU work wherever that was launched.
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
    /// How much sooner the run would end without each of these ops: its host time, its launches and its GPU work, replayed
    /// or not.
    pub(crate) fn without_each(&self, run: &model::Run, ops: &[&str]) -> Vec<Ns> {
        let parts: Vec<WorkSubset> = ops.par_iter().map(|op| WorkSubset::of_op(run, op)).collect();
        let names: Vec<StrId> = parts.iter().flat_map(|part| part.names.iter().copied()).collect();
        // Most regions are none of them, so they are looked at once for all.
        let rows = rows_named(self, &names);
        let saving = |part: &WorkSubset| {
            let is_own = |row: &u32| part.names.contains(&self.trace.regions.name[*row as usize]);
            let own = Ops::at(self, rows.iter().copied().filter(is_own));
            saving_of_ops(self, part, &own, 0.0).max(0)
        };
        parts.par_iter().map(saving).collect()
    }
}

/// Where ops run, by thread: in time order, without overlaps.
struct Ops {
    times: Map<(ProcessId, ThreadId), Vec<(Ns, Ns)>>,
}

/// Ops, annotations and ranges; calls of the runtime are part of them.
fn is_op(engine: &Engine, row: usize) -> bool {
    let (trace, run) = (engine.trace, &engine.run);
    run.calls.of_region(trace, row).is_none() && run.profiler.is_program(trace, row)
}

/// Regions that one thread looks at.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Ops of these names as rows of `regions`, rising.
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

    /// Those at these rows, which rise.
    fn at(engine: &Engine, rows: impl Iterator<Item = u32>) -> Self {
        let regions = &engine.trace.regions;
        let mut times: Map<(ProcessId, ThreadId), Vec<(Ns, Ns)>> = Map::default();
        for row in rows.map(|row| row as usize) {
            let thread = (regions.process[row], regions.thread[row]);
            let times = times.entry(thread).or_default();
            // Rows are in the order of their starts.
            match times.last_mut() {
                Some(last) if regions.start[row] <= last.1 => last.1 = last.1.max(regions.end[row]),
                _ => times.push((regions.start[row], regions.end[row])),
            }
        }
        Self { times }
    }

    /// Whether a call is made in one of them.
    fn hold(&self, trace: &Trace, call: usize) -> bool {
        let regions = &trace.regions;
        let Some(times) = self.times.get(&(regions.process[call], regions.thread[call])) else {
            return false;
        };
        let after = times.partition_point(|time| time.0 <= regions.start[call]);
        after > 0 && regions.start[call] < times[after - 1].1
    }

    /// What changes; `besides` tells work that takes `factor` times as long wherever it was launched.
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
        // An op that is gone waits for nothing either.
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
