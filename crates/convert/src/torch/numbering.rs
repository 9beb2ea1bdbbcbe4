//! Numbers that continue from block to block, and ids that several recordings in one file do not share.

use trace::{Map, ProcessId, StrId, Trace};

/// Numbers that continue from block to block.
#[derive(Default)]
pub(super) struct Numbering {
    pub(super) event_index: i64,
    /// Bytes in use per agent.
    pub(super) allocated: Map<u32, i64>,
    pub(super) sizes: Map<i64, i64>,
    /// Added to the correlation ids of each process, so that ids of several recordings do not collide.
    pub(super) offsets: Vec<i64>,
    pub(super) flow: i64,
}

impl Numbering {
    /// Several recordings in one file get separate ranges of ids; a single one keeps its ids.
    pub(super) fn prepare(&mut self, trace: &Trace) {
        if self.offsets.len() == trace.processes.len() {
            return;
        }
        let mut groups: Vec<(StrId, usize)> = Vec::new();
        let mut known: Map<StrId, usize> = Map::default();
        let mut highest: Vec<i64> = Vec::new();
        let group_of: Vec<usize> = trace
            .processes
            .iter()
            .enumerate()
            .map(|(i, process)| {
                let found = known.get(&process.guid).copied().filter(|_| !process.guid.is_empty());
                found.unwrap_or_else(|| {
                    groups.push((process.guid, i));
                    known.insert(process.guid, i);
                    i
                })
            })
            .collect();
        highest.resize(trace.processes.len(), 0);
        if groups.len() > 1 {
            let columns = [
                (&trace.regions.process, &trace.regions.correlation),
                (&trace.kernels.process, &trace.kernels.correlation),
                (&trace.memory_copies.process, &trace.memory_copies.correlation),
            ];
            for (processes, ids) in columns {
                for (process, &id) in processes.iter().zip(ids) {
                    if let Some(process) = process.get() {
                        let top = &mut highest[group_of[process]];
                        *top = id.max(*top);
                    }
                }
            }
        }
        let mut offset = 0;
        let mut starts = vec![0; trace.processes.len()];
        for &(_, first) in &groups {
            starts[first] = offset;
            offset += highest[first];
        }
        self.offsets = group_of.iter().map(|&first| starts[first]).collect();
    }

    pub(super) fn correlation(&self, process: ProcessId, id: i64) -> i64 {
        id + process.get().and_then(|p| self.offsets.get(p)).copied().unwrap_or(0)
    }
}
