//! Modelled ops next to the measured work of their kernels. If those kernels have no counters, counters of
//! another run of the program are joined by canonical name, and by launch size if both sides record it: each
//! dispatch then counts as the average of such dispatches.

use std::collections::{BTreeSet, HashSet};

use trace::{Map, StrId, Trace};

use super::formulas;
use super::modelled::Modelled;
use super::place::Work;
use crate::kernels::bottleneck::{Figures, each_counter, put_counter};
use model::names;

/// The measured work of one op, or why it is not known.
pub(super) type Measured = Result<Work, String>;

/// The measured work of all ops.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    /// In the order of the ops.
    pub ops: Vec<Measured>,
    /// How many of the kernels have counters.
    pub counts: JoinedCounters,
}

/// How many kernels of modelled ops have counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedCounters {
    /// Kernels of modelled ops.
    pub kernels: usize,
    /// Kernels with counters.
    pub counted: usize,
    /// Display names of kernels without counters.
    pub uncounted: Vec<String>,
    /// Whether the counters come from another run.
    pub other_run: bool,
}

/// Which inputs have counters.
pub fn counted_sources(trace: &Trace) -> Vec<bool> {
    let mut counted = vec![false; trace.sources.len()];
    each_counter(trace, |kernel, _, _| {
        if let Some(source) = source_of(trace, kernel) {
            counted[source] = true;
        }
    });
    counted
}

/// The input that a kernel was read from.
pub(super) fn source_of(trace: &Trace, kernel: usize) -> Option<usize> {
    trace.kernels.process[kernel].get().and_then(|process| trace.processes[process].source.get())
}

/// Work-items of a launch and of a workgroup, if recorded. Counter tables have totals, not axes.
type Launch = Option<(u64, u64)>;

/// Dispatches of one kernel and launch size: summed counters, each with the number of dispatches it covers.
#[derive(Clone, Debug, Default)]
struct CountedDispatches {
    counters: Map<StrId, (f64, u32)>,
}

impl CountedDispatches {
    fn add(&mut self, other: &CountedDispatches) {
        for (&counter, &(value, dispatches)) in &other.counters {
            let sum = self.counters.entry(counter).or_default();
            *sum = (sum.0 + value, sum.1 + dispatches);
        }
    }
}

/// Kernels with one canonical name, by launch size.
type ByLaunch = Vec<(Launch, CountedDispatches)>;

/// Finds the measured work of each modelled op.
pub(super) fn join(trace: &Trace, modelled: &Modelled, arch: &str) -> Joined {
    let keys = Keys::of(trace);
    let counted = counted_kernels(trace, &keys);
    // The kernels of each op: how many dispatches by name and launch size.
    let mut parts: Vec<Map<(u32, Launch), u32>> = vec![Map::default(); modelled.ops.len()];
    let mut served: Map<(u32, Launch), BTreeSet<usize>> = Map::default();
    let mut own: Vec<(CountedDispatches, u32)> = vec![(CountedDispatches::default(), 0); modelled.ops.len()];
    for (kernel, op) in modelled.of_kernel.iter().enumerate() {
        let Some(op) = *op else { continue };
        let key = (keys.name[kernel], keys.launch[kernel]);
        *parts[op].entry(key).or_default() += 1;
        served.entry(key).or_default().insert(op);
        own[op].1 += 1;
    }
    let mut seen: HashSet<(usize, StrId)> = HashSet::new();
    each_counter(trace, |kernel, counter, value| {
        if let Some(op) = modelled.of_kernel.get(kernel).copied().flatten() {
            let sum = own[op].0.counters.entry(counter).or_default();
            sum.0 += value;
            sum.1 += u32::from(seen.insert((kernel, counter)));
        }
    });

    let carried = own.iter().any(|(own, _)| !own.counters.is_empty());
    let mut joined = Joined::default();
    joined.counts.other_run = !carried;
    let mut missing: BTreeSet<u32> = BTreeSet::new();
    let mut all: BTreeSet<u32> = BTreeSet::new();
    for (op, parts) in parts.iter().enumerate() {
        all.extend(parts.keys().map(|(name, _)| *name));
        let (own, dispatches) = &own[op];
        let whole: Vec<(StrId, f64)> =
            own.counters.iter().filter(|(_, sum)| sum.1 == *dispatches).map(|(&c, sum)| (c, sum.0)).collect();
        if !whole.is_empty() {
            joined.ops.push(Ok(formulas::work(arch, &figures(trace, whole))));
            continue;
        }
        if carried {
            joined.ops.push(Err("not all of its dispatches were counted".into()));
            continue;
        }
        let found = of_parts(parts, &counted, &served, &keys);
        if let Err(Lacking::NotCounted(names)) = &found {
            missing.extend(names);
        }
        joined.ops.push(match found {
            Ok(sums) => Ok(formulas::work(arch, &figures(trace, sums))),
            Err(why) => Err(why.text(&keys)),
        });
    }
    joined.counts.kernels = all.len();
    joined.counts.counted = all.len() - missing.len();
    joined.counts.uncounted =
        missing.iter().map(|&name| names::display_name(&keys.names[name as usize])).collect();
    joined
}

/// Why the counters do not cover an op.
enum Lacking {
    /// These kernels were not counted.
    NotCounted(Vec<u32>),
    /// This kernel was counted, but ops of other shapes launch it with the same size.
    Shared(u32),
}

impl Lacking {
    fn text(&self, keys: &Keys) -> String {
        let shown = |name: &u32| names::display_name(&keys.names[*name as usize]);
        match self {
            Lacking::NotCounted(names) => {
                let names: Vec<String> = names.iter().map(shown).collect();
                format!("not counted: {}", names.join(", "))
            }
            Lacking::Shared(name) => format!("{} serves other shapes with launches alike", shown(name)),
        }
    }
}

/// Counters of all dispatches of an op, from counted dispatches with the same name and launch size.
fn of_parts(
    parts: &Map<(u32, Launch), u32>,
    counted: &Map<u32, ByLaunch>,
    served: &Map<(u32, Launch), BTreeSet<usize>>,
    keys: &Keys,
) -> Result<Vec<(StrId, f64)>, Lacking> {
    let mut order: Vec<(&(u32, Launch), &u32)> = parts.iter().collect();
    order.sort_by_key(|((name, launch), _)| (&keys.names[*name as usize], *launch));
    let mut not_counted = Vec::new();
    let mut found = Vec::new();
    for (key, &dispatches) in order {
        match counted.get(&key.0).and_then(|launches| alike(launches, key.1)) {
            Some(_) if served[key].len() > 1 => return Err(Lacking::Shared(key.0)),
            Some(alike) => found.push((alike, f64::from(dispatches))),
            None => not_counted.push(key.0),
        }
    }
    if !not_counted.is_empty() {
        not_counted.dedup();
        return Err(Lacking::NotCounted(not_counted));
    }
    // A counter that one of the kernels lacks cannot be summed for the op.
    let mut sums: Map<StrId, (f64, usize)> = Map::default();
    for (alike, dispatches) in &found {
        for (&counter, &(value, of)) in &alike.counters {
            let sum = sums.entry(counter).or_default();
            *sum = (sum.0 + dispatches * value / f64::from(of.max(1)), sum.1 + 1);
        }
    }
    let parts = found.len();
    Ok(sums.into_iter().filter(|(_, sum)| sum.1 == parts).map(|(counter, sum)| (counter, sum.0)).collect())
}

/// Dispatches with the same launch size; all dispatches if one side does not record sizes.
fn alike(launches: &ByLaunch, launch: Launch) -> Option<CountedDispatches> {
    if let Some((_, alike)) = launches.iter().find(|(known, _)| *known == launch) {
        return Some(alike.clone());
    }
    let sized = launches.iter().any(|(known, _)| known.is_some());
    if launch.is_some() && sized {
        return None;
    }
    let mut all = CountedDispatches::default();
    launches.iter().for_each(|(_, alike)| all.add(alike));
    Some(all)
}

fn figures(trace: &Trace, sums: Vec<(StrId, f64)>) -> Figures {
    let mut figures = Figures::new();
    for (counter, value) in sums {
        put_counter(&mut figures, trace.strings.get(counter), value);
    }
    figures
}

/// Every kernel that has counters, by name and launch size.
fn counted_kernels(trace: &Trace, keys: &Keys) -> Map<u32, ByLaunch> {
    let mut found: Map<u32, ByLaunch> = Map::default();
    let mut seen: HashSet<(usize, StrId)> = HashSet::new();
    each_counter(trace, |kernel, counter, value| {
        let launches = found.entry(keys.name[kernel]).or_default();
        let launch = keys.launch[kernel];
        let at = launches.iter().position(|(known, _)| *known == launch).unwrap_or_else(|| {
            launches.push((launch, CountedDispatches::default()));
            launches.len() - 1
        });
        let sum = launches[at].1.counters.entry(counter).or_default();
        sum.0 += value;
        sum.1 += u32::from(seen.insert((kernel, counter)));
    });
    found
}

/// The keys that join kernels.
struct Keys {
    /// Canonical names.
    names: Vec<String>,
    /// For each kernel, an index into `names`.
    name: Vec<u32>,
    launch: Vec<Launch>,
}

impl Keys {
    fn of(trace: &Trace) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut numbers: Map<String, u32> = Map::default();
        let mut known: Map<StrId, u32> = Map::default();
        let name = trace.kernels.name.iter().map(|&id| {
            *known.entry(id).or_insert_with(|| {
                let spelt = names::canonical(trace.strings.get(id));
                *numbers.entry(spelt.clone()).or_insert_with(|| {
                    names.push(spelt);
                    names.len() as u32 - 1
                })
            })
        });
        let name = name.collect();
        let launch = |&shape| {
            let shape: &trace::LaunchShape = trace.shapes.get(shape);
            let items = |sizes: [u32; 3]| sizes.iter().map(|&size| u64::from(size.max(1))).product::<u64>();
            shape.grid.map(items).zip(shape.workgroup.map(items))
        };
        Self { names, name, launch: trace.kernels.shape.iter().map(launch).collect() }
    }
}
