//! One trace from the runs of several passes: the kernels of the first, with the counters of all.
//!
//! Passes are separate executions, so a dispatch is matched by its properties, not by its number: the same
//! rank, GPU, kernel, grid and workgroup, and the same occurrence. If both passes counted waves, the counts
//! must be equal.

use std::collections::{HashMap, HashSet};

use trace::{
    AgentId, Counter, CounterId, CounterKind, OptI64, ProcessId, RowRef, Status, StrId, Table, Trace,
};

/// Counted in every pass where it fits: equal launches have equal values.
const WAVES: &str = "SQ_WAVES";

/// How well a pass agrees with the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The pass.
    pub pass: usize,
    /// Dispatches of the first pass.
    pub dispatches: usize,
    /// Of those, how many this pass also has.
    pub matched: usize,
    /// Dispatches of this pass that the first does not have.
    pub extra: usize,
    /// Matched dispatches whose waves differ: their counters are left out.
    pub disagreeing: usize,
    /// Matched dispatches whose waves could be compared.
    pub checked: usize,
}

impl Agreement {
    /// Whether every dispatch was matched with the same work.
    pub fn is_whole(&self) -> bool {
        self.matched == self.dispatches && self.extra == 0 && self.disagreeing == 0
    }
}

/// Merged passes.
#[derive(Debug)]
pub struct Merged {
    /// The first pass with the counters of all passes.
    pub trace: Trace,
    /// How the others agree with it.
    pub agreements: Vec<Agreement>,
}

/// What makes dispatches equal: position of the process and GPU, name, grid and workgroup.
type Likeness = (usize, usize, StrId, Option<[u32; 3]>, Option<[u32; 3]>);

/// Merges passes, each with its number; `None` if there are none.
pub fn merge(passes: Vec<(usize, Trace)>) -> Option<Merged> {
    let mut passes = passes.into_iter();
    let (first, mut trace) = passes.next()?;
    trace.counters.pass.iter_mut().for_each(|pass| *pass = OptI64::some(first as i64));
    let own = DispatchesByName::of(&trace, |name| name);
    let mut counted: HashSet<(usize, StrId)> = HashSet::new();
    let mut waves = waves(&trace);
    for row in 0..trace.counters.len() {
        if let (Some(kernel), Some(kind)) = counter_row(&trace, row) {
            counted.insert((kernel, kind));
        }
    }
    let mut agreements = Vec::new();
    for (number, other) in passes {
        agreements.push(add(&mut trace, &own, &mut counted, &mut waves, number, &other));
    }
    for agreement in agreements.iter().filter(|agreement| !agreement.is_whole()) {
        trace.health.report("passes", Status::Warn, Some(agreement.matched as f64), told(agreement));
    }
    Some(Merged { trace, agreements })
}

fn told(agreement: &Agreement) -> String {
    let Agreement { pass, dispatches, matched, extra, disagreeing, .. } = agreement;
    let mut text = format!("pass {pass} has {matched} of the {dispatches} dispatches of the first");
    if *extra > 0 {
        text.push_str(&format!(", and {extra} others"));
    }
    if *disagreeing > 0 {
        text.push_str(&format!("; {disagreeing} have different wave counts and were left out"));
    }
    text
}

/// Adds the counters of a pass to the dispatches that they belong to.
fn add(
    trace: &mut Trace,
    own: &DispatchesByName,
    counted: &mut HashSet<(usize, StrId)>,
    waves: &mut HashMap<usize, f64>,
    number: usize,
    other: &Trace,
) -> Agreement {
    let names: Vec<StrId> = {
        let strings = &mut trace.strings;
        other.kernels.name.iter().map(|&name| strings.intern(other.strings.get(name))).collect()
    };
    let theirs = DispatchesByName::of_named(other, &names);
    let mut agreement = Agreement { pass: number, dispatches: trace.kernels.len(), ..Agreement::default() };
    let other_waves = self::waves(other);
    let mut row_of: HashMap<usize, usize> = HashMap::new();
    for (likeness, rows) in &theirs.rows {
        let mine = own.rows.get(likeness).map_or(&[][..], Vec::as_slice);
        agreement.matched += mine.len().min(rows.len());
        agreement.extra += rows.len().saturating_sub(mine.len());
        for (&mine, &their) in mine.iter().zip(rows) {
            match (waves.get(&mine), other_waves.get(&their)) {
                (Some(a), Some(b)) => {
                    agreement.checked += 1;
                    if a != b {
                        agreement.disagreeing += 1;
                        continue;
                    }
                }
                (None, Some(&b)) => {
                    waves.insert(mine, b);
                }
                _ => {}
            }
            row_of.insert(their, mine);
        }
    }
    let mut kinds: HashMap<(CounterId, ProcessId, AgentId), CounterId> = HashMap::new();
    let mut added: Vec<(usize, StrId)> = Vec::new();
    for row in 0..other.counters.len() {
        let counter = other.counters.get(row);
        let Some(&kernel) = counter.kernel.row_of(Table::Kernels).and_then(|row| row_of.get(&row)) else {
            continue;
        };
        let kind =
            counter.counter.get().map_or_else(CounterKind::default, |id| other.counter_kinds[id].clone());
        let mut text = |id: StrId| trace.strings.intern(other.strings.get(id));
        let (name, description, block) = (text(kind.name), text(kind.description), text(kind.block));
        let (expression, unit) = (text(kind.expression), text(kind.unit));
        // Anchors are in every pass and are added once.
        if counted.contains(&(kernel, name)) {
            continue;
        }
        let (process, agent) = (trace.kernels.process[kernel], trace.kernels.agent[kernel]);
        let id = *kinds.entry((counter.counter, process, agent)).or_insert_with(|| {
            trace.add_counter_kind(CounterKind { name, description, block, expression, unit, process, agent })
        });
        added.push((kernel, name));
        let (kernel, pass) = (RowRef::kernel(kernel), OptI64::some(number as i64));
        trace.counters.push(Counter { kernel, counter: id, pass, ..counter });
    }
    counted.extend(added);
    agreement
}

/// The kernel's row and the counter's name.
fn counter_row(trace: &Trace, row: usize) -> (Option<usize>, Option<StrId>) {
    let kernel = trace.counters.kernel[row].row_of(Table::Kernels);
    (kernel, trace.counters.counter[row].get().map(|id| trace.counter_kinds[id].name))
}

/// Waves of each dispatch, over all instances.
fn waves(trace: &Trace) -> HashMap<usize, f64> {
    let mut waves = HashMap::new();
    for row in 0..trace.counters.len() {
        if let (Some(kernel), Some(name)) = counter_row(trace, row)
            && trace.strings.get(name) == WAVES
        {
            *waves.entry(kernel).or_insert(0.0) += trace.counters.value[row];
        }
    }
    waves
}

/// Dispatches by their properties, in dispatch order.
struct DispatchesByName {
    rows: HashMap<Likeness, Vec<usize>>,
}

impl DispatchesByName {
    fn of(trace: &Trace, name: impl Fn(StrId) -> StrId) -> Self {
        let names: Vec<StrId> = trace.kernels.name.iter().map(|&id| name(id)).collect();
        Self::of_named(trace, &names)
    }

    fn of_named(trace: &Trace, names: &[StrId]) -> Self {
        let processes = places_of_processes(trace);
        let agents = places_of_agents(trace);
        let kernels = &trace.kernels;
        let mut rows: HashMap<Likeness, Vec<usize>> = HashMap::new();
        for (row, &name) in names.iter().enumerate() {
            let shape = trace.shapes.get(kernels.shape[row]);
            let process = kernels.process[row].get().map_or(0, |id| processes[id]);
            let agent = kernels.agent[row].get().map_or(0, |id| agents[id]);
            rows.entry((process, agent, name, shape.grid, shape.workgroup)).or_default().push(row);
        }
        for list in rows.values_mut() {
            list.sort_by_key(|&row| (kernels.dispatch[row].get().unwrap_or(0), kernels.start[row], row));
        }
        Self { rows }
    }
}

/// The position of each process among those with kernels, by rank if known: pids differ from run to run.
fn places_of_processes(trace: &Trace) -> Vec<usize> {
    let mut used = vec![false; trace.processes.len()];
    trace.kernels.process.iter().filter_map(|id| id.get()).for_each(|id| used[id] = true);
    let mut order: Vec<usize> = (0..used.len()).filter(|&id| used[id]).collect();
    order.sort_by_key(|&id| (trace.rank_of(ProcessId::at(id)), id));
    let mut places = vec![0; used.len()];
    order.iter().enumerate().for_each(|(place, &id)| places[id] = place);
    places
}

/// Each GPU's number in its process.
fn places_of_agents(trace: &Trace) -> Vec<usize> {
    let number = |agent: &trace::Agent| {
        agent.type_index.get().or(agent.logical_index.get()).or(agent.absolute_index.get()).unwrap_or(0)
    };
    trace.agents.iter().map(|agent| number(agent).max(0) as usize).collect()
}

#[cfg(test)]
mod tests {
    use trace::{Kernel, LaunchShape, Process, Source};

    use super::*;

    /// Dispatches as (name, grid, waves, other counter).
    fn pass(dispatches: &[(&str, u32, f64, &str, f64)]) -> Trace {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("a", "test"));
        let process = trace.add_process(Process::new(source, 1));
        for (at, &(name, grid, waves, counter, value)) in dispatches.iter().enumerate() {
            let name = trace.strings.intern(name);
            let shape = LaunchShape { grid: Some([grid, 1, 1]), ..LaunchShape::default() };
            let shape = trace.shapes.intern(shape);
            let start = 10 * at as i64;
            trace.kernels.push(Kernel {
                name,
                start,
                end: start + 5,
                process,
                shape,
                dispatch: OptI64::some(at as i64 + 1),
                ..Kernel::default()
            });
            for (counter, value) in [(WAVES, waves), (counter, value)] {
                let name = trace.strings.intern(counter);
                let known = trace.counter_kinds.iter().position(|kind| kind.name == name).map(CounterId::at);
                let counter = known.unwrap_or_else(|| {
                    trace.add_counter_kind(CounterKind { name, process, ..CounterKind::default() })
                });
                let kernel = RowRef::kernel(at);
                trace.counters.push(Counter { kernel, counter, value, ..Counter::default() });
            }
        }
        trace.finish();
        trace
    }

    fn value(trace: &Trace, kernel: usize, counter: &str) -> Vec<(f64, i64)> {
        (0..trace.counters.len())
            .filter(|&row| {
                let (at, name) = counter_row(trace, row);
                at == Some(kernel) && name.is_some_and(|name| trace.strings.get(name) == counter)
            })
            .map(|row| (trace.counters.value[row], trace.counters.pass[row].get().unwrap()))
            .collect()
    }

    #[test]
    fn dispatches_are_found_by_what_they_are() {
        let first = pass(&[("a", 64, 1.0, "X", 1.0), ("b", 64, 2.0, "X", 2.0), ("a", 64, 1.0, "X", 3.0)]);
        // The other pass ran `b` first, and `a` once with another grid.
        let second = pass(&[
            ("b", 64, 2.0, "Y", 20.0),
            ("a", 64, 1.0, "Y", 10.0),
            ("a", 128, 2.0, "Y", 99.0),
            ("a", 64, 1.0, "Y", 30.0),
        ]);
        let merged = merge(vec![(1, first), (2, second)]).unwrap();
        let y = |kernel| value(&merged.trace, kernel, "Y");
        assert_eq!([y(0), y(1), y(2)], [vec![(10.0, 2)], vec![(20.0, 2)], vec![(30.0, 2)]]);
        assert_eq!(value(&merged.trace, 0, WAVES), [(1.0, 1)], "an anchor counts once");
        let expected = Agreement { pass: 2, dispatches: 3, matched: 3, extra: 1, disagreeing: 0, checked: 3 };
        assert_eq!(merged.agreements, [expected]);
        assert!(merged.trace.health.problems().any(|check| check.id == "passes"));
    }

    #[test]
    fn other_work_is_left_out_and_said() {
        let first = pass(&[("a", 64, 1.0, "X", 1.0), ("a", 64, 4.0, "X", 2.0)]);
        let second = pass(&[("a", 64, 1.0, "Y", 10.0), ("a", 64, 5.0, "Y", 20.0)]);
        let merged = merge(vec![(1, first), (2, second)]).unwrap();
        assert_eq!(value(&merged.trace, 0, "Y"), [(10.0, 2)]);
        assert!(value(&merged.trace, 1, "Y").is_empty());
        assert_eq!(merged.agreements[0].disagreeing, 1);
        let told = merged.trace.health.problems().find(|check| check.id == "passes").unwrap();
        assert!(told.message.contains("different wave counts"), "{}", told.message);
    }

    #[test]
    fn missing_dispatches_are_counted() {
        let first = pass(&[("a", 64, 1.0, "X", 1.0), ("b", 64, 1.0, "X", 2.0)]);
        let second = pass(&[("a", 64, 1.0, "Y", 10.0)]);
        let merged = merge(vec![(1, first), (2, second)]).unwrap();
        assert_eq!((merged.agreements[0].matched, merged.agreements[0].dispatches), (1, 2));
        assert!(!merged.agreements[0].is_whole());
        assert!(merge(Vec::new()).is_none());
    }
}
