//! The collectives of a GPU: what the trace says, and how much is computed before, during and after.

use std::collections::BTreeMap;

use analysis::causes::idle::GpuAccount;
use model::lanes::Bucket;
use serde_json::Value as Json;
use trace::{Map, Ns, ProcessId, RowRef, StrId, Table, Trace};

use super::build::Union;
use super::{Collective, Group, NONE};
use crate::operation::Operation;

const GROUP_RANKS: &str = "Process Group Ranks";
const GROUP_DESCRIPTION: &str = "Process Group Description";
const SOURCE_RANK: &str = "Src Rank";
const TARGET_RANK: &str = "Dst Rank";
const SEQUENCE: &str = "seq_num";
const SPLITS: &str = "In split size";

/// Arguments of torch's collectives that the trace's own table does not have.
pub(super) const ARGUMENTS: &[&str] =
    &[GROUP_RANKS, GROUP_DESCRIPTION, SOURCE_RANK, TARGET_RANK, SEQUENCE, SPLITS];

/// Longest list of ranks that is kept.
const MOST_RANKS: usize = 1 << 17;

/// What a trace says about groups apart from its collectives.
pub(super) struct GroupFacts {
    /// Description and ranks by name, from torch's `distributedInfo`.
    by_name: Map<String, (String, Vec<u32>)>,
    keys: [Option<StrId>; 6],
    /// Row of `collectives` by row of `kernels`.
    row_of_kernel: Map<usize, usize>,
}

impl GroupFacts {
    pub fn of(trace: &Trace) -> Self {
        let mut by_name = Map::default();
        let info = trace.strings.find("distributedInfo");
        for fact in trace.metadata.iter().filter(|fact| Some(fact.key) == info) {
            let info: Json = serde_json::from_str(trace.strings.get(fact.value)).unwrap_or_default();
            for group in info["pg_config"].as_array().into_iter().flatten() {
                let text = |key: &str| group[key].as_str().unwrap_or_default().to_string();
                let ranks = group["ranks"].as_array().into_iter().flatten();
                let ranks = ranks.filter_map(|rank| u32::try_from(rank.as_u64()?).ok()).collect();
                by_name.insert(text("pg_name"), (text("pg_desc"), ranks));
            }
        }
        let collectives = &trace.collectives;
        let row_of_kernel = (0..collectives.len())
            .filter_map(|row| Some((collectives.row[row].row_of(Table::Kernels)?, row)))
            .collect();
        let mut keys = [None; 6];
        keys.iter_mut().zip(ARGUMENTS).for_each(|(key, name)| *key = trace.strings.find(name));
        Self { by_name, keys, row_of_kernel }
    }

    fn argument<'t>(&self, trace: &'t Trace, owner: RowRef, key: usize) -> Option<&'t str> {
        Some(trace.strings.get(trace.args.value(owner, self.keys[key]?)?)).filter(|text| !text.is_empty())
    }

    fn group(&self, trace: &Trace, row: usize) -> Group {
        let collectives = &trace.collectives;
        let owner = collectives.row[row];
        let name = trace.strings.get(collectives.group[row]).to_string();
        let size = collectives.group_size[row].get().and_then(|size| u32::try_from(size).ok());
        let listed = self.argument(trace, owner, 0).map(ranks_of).unwrap_or_default();
        let described = self.argument(trace, owner, 1).unwrap_or_default();
        let known = self.by_name.get(&name);
        let whole =
            |ranks: &Vec<u32>| size.is_none_or(|size| size as usize == ranks.len()) && !ranks.is_empty();
        let ranks = Some(listed).filter(whole).or_else(|| known.map(|known| known.1.clone()).filter(whole));
        let description = match known {
            Some((text, _)) if described.is_empty() => text.clone(),
            _ => described.to_string(),
        };
        Group { name, description, size, ranks: ranks.unwrap_or_default() }
    }
}

/// `[0, 1, 2]`; empty if the list is cut (`[0, 1, ..., 63]`).
fn ranks_of(text: &str) -> Vec<u32> {
    let ranks: Option<Vec<u32>> = numbers_of(text).into_iter().map(|rank| u32::try_from(rank).ok()).collect();
    ranks.unwrap_or_default()
}

fn numbers_of(text: &str) -> Vec<u64> {
    let inner = text.trim().trim_matches('"').trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
    let parts: Option<Vec<u64>> =
        inner.split(',').take(MOST_RANKS).map(|part| part.trim().parse().ok()).collect();
    parts.unwrap_or_default()
}

/// The groups of one digest as they are met.
#[derive(Default)]
struct Groups {
    all: Vec<Group>,
    places: Map<Group, u16>,
    /// Consecutive collectives are often of one group.
    known: Map<(StrId, Option<StrId>), u16>,
}

impl Groups {
    fn place(&mut self, group: Group) -> u16 {
        let next = self.all.len().min(usize::from(u16::MAX)) as u16;
        let place = *self.places.entry(group.clone()).or_insert(next);
        if place == next {
            self.all.push(group);
        }
        place
    }
}

/// Bytes that a GPU sends to each rank in all-to-all operations.
pub(super) fn traffic(trace: &Trace, facts: &GroupFacts, gpu: &GpuAccount) -> Vec<(u32, u64)> {
    let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
    for row in gpu.rows.iter().filter(|row| row.work.bucket == Bucket::Communication) {
        let told = row.row.row_of(Table::Kernels).and_then(|kernel| facts.row_of_kernel.get(&kernel));
        let Some(&told) = told else { continue };
        let operation = Operation::of_name(trace.strings.get(trace.collectives.operation[told]));
        let bytes = trace.collectives.bytes[told].get().and_then(|bytes| u64::try_from(bytes).ok());
        let (Operation::AllToAll, Some(bytes)) = (operation, bytes) else { continue };
        let ranks = facts.group(trace, told).ranks;
        let splits = facts.argument(trace, row.row, 5).map(numbers_of).unwrap_or_default();
        let total: u64 = splits.iter().sum();
        for (place, &rank) in ranks.iter().enumerate() {
            *sent.entry(rank).or_default() += match splits.get(place) {
                Some(&part) if splits.len() == ranks.len() && total > 0 => {
                    (u128::from(bytes) * u128::from(part) / u128::from(total)) as u64
                }
                _ => bytes / ranks.len() as u64,
            };
        }
    }
    sent.into_iter().collect()
}

/// The collectives of a GPU by start; `compute` is when it computes.
pub(super) fn of_gpu(
    trace: &Trace,
    facts: &GroupFacts,
    gpu: &GpuAccount,
    compute: &Union,
    step_of: impl Fn(RowRef) -> u32,
) -> (Vec<Group>, Vec<Collective>) {
    let mut groups = Groups::default();
    let mut streams: Vec<(u32, u32)> = Vec::new();
    // Few kernel names exist, and searching each for words takes longer than everything else here.
    let mut operations: Map<StrId, Operation> = Map::default();
    let mut rows = Vec::new();
    for row in gpu.rows.iter().filter(|row| row.work.bucket == Bucket::Communication) {
        let Some(kernel) = row.row.row_of(Table::Kernels) else { continue };
        let (start, end) = (row.work.start, row.work.end);
        let key = (trace.kernels.stream[kernel].0, trace.kernels.queue[kernel].0);
        let stream = streams.iter().position(|known| *known == key).unwrap_or_else(|| {
            streams.push(key);
            streams.len() - 1
        });
        let told = facts.row_of_kernel.get(&kernel).copied();
        let mut found = match told {
            Some(row) => of_row(trace, facts, &mut groups, row),
            None => Collective {
                group: groups.place(Group { name: format!("stream {}", stream + 1), ..Group::default() }),
                ..Collective::default()
            },
        };
        if found.operation == Operation::Unknown {
            let name = trace.kernels.name[kernel];
            found.operation =
                *operations.entry(name).or_insert_with(|| Operation::of_name(trace.strings.get(name)));
        }
        let tail = compute.last_end_before(end).map_or(end - start, |last| (end - last.max(start)).max(0));
        rows.push(Collective {
            start,
            time_ns: end - start,
            compute_ns: compute.until(start),
            exposed_ns: end - start - compute.within(start, end),
            tail_ns: tail,
            step: step_of(row.row),
            stream: stream.min(usize::from(u16::MAX)) as u16,
            ..found
        });
    }
    (groups.all, rows)
}

/// The collective in a row of `collectives`, without times.
fn of_row(trace: &Trace, facts: &GroupFacts, groups: &mut Groups, row: usize) -> Collective {
    let collectives = &trace.collectives;
    let owner = collectives.row[row];
    let ranks_text = facts.keys[0].and_then(|key| trace.args.value(owner, key));
    let key = (collectives.group[row], ranks_text);
    let group = match groups.known.get(&key) {
        Some(&group) => group,
        None => {
            let group = groups.place(facts.group(trace, row));
            groups.known.insert(key, group);
            group
        }
    };
    let number =
        |key: usize| facts.argument(trace, owner, key).and_then(|text| text.trim().parse::<i64>().ok());
    let operation = Operation::of_name(trace.strings.get(collectives.operation[row]));
    let peer = collectives.peer[row].get().or_else(|| match operation {
        Operation::Send => number(3),
        Operation::Receive => number(2),
        _ => None,
    });
    Collective {
        sequence: collectives.sequence[row].get().or_else(|| number(4)).unwrap_or(i64::MIN),
        bytes: collectives.bytes[row].get().unwrap_or(-1),
        peer: peer.and_then(|peer| u32::try_from(peer).ok()).unwrap_or(NONE),
        group,
        operation,
        ..Collective::default()
    }
}

/// The collectives of sources that record nothing else, by process.
pub(super) fn without_timeline(
    trace: &Trace,
    facts: &GroupFacts,
) -> Vec<(ProcessId, Vec<Group>, Vec<Collective>)> {
    let collectives = &trace.collectives;
    let mut found: Vec<(ProcessId, Groups, Vec<Collective>)> = Vec::new();
    let mut places: Map<ProcessId, usize> = Map::default();
    for row in 0..collectives.len() {
        let process = collectives.process[row];
        let place = *places.entry(process).or_insert_with(|| {
            found.push((process, Groups::default(), Vec::new()));
            found.len() - 1
        });
        let Some(time_ns) = collectives.time_ns[row].get() else { continue };
        let (_, groups, rows) = &mut found[place];
        let start = collectives.start[row].get().unwrap_or(Ns::MIN);
        let of_row = of_row(trace, facts, groups, row);
        rows.push(Collective { start, time_ns, exposed_ns: time_ns, tail_ns: time_ns, ..of_row });
    }
    let finish = |(process, groups, mut rows): (ProcessId, Groups, Vec<Collective>)| {
        rows.sort_by_key(|row| row.start);
        (process, groups.all, rows)
    };
    found.into_iter().map(finish).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_list_of_ranks_is_not_taken_for_the_whole() {
        assert_eq!(ranks_of("[0, 1, 2, 7]"), [0, 1, 2, 7]);
        assert_eq!(ranks_of("[0, 1, ..., 63]"), Vec::<u32>::new());
        assert_eq!(ranks_of(""), Vec::<u32>::new());
    }
}
