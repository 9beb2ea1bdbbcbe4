//! Memory in use on each device, followed through allocations and frees.

use trace::{AgentId, Map, ProcessId, Trace};

/// Current allocations.
#[derive(Default)]
pub(crate) struct InUse {
    /// (device, bytes) of each live block, by (process, address).
    blocks: Map<(ProcessId, i64), (AgentId, i64)>,
    totals: Map<(ProcessId, AgentId), i64>,
    /// Frees of blocks whose allocation was not recorded.
    pub unmatched: u64,
}

/// Bytes in use on a device after a row.
pub(crate) struct Level {
    /// The device.
    pub agent: AgentId,
    /// The process that holds them.
    pub process: ProcessId,
    /// Bytes.
    pub bytes: i64,
}

impl InUse {
    /// Memory in use after row `row` of `memory_allocations`; `None` if unknown.
    pub fn after(&mut self, trace: &Trace, row: usize) -> Option<Level> {
        let rows = &trace.memory_allocations;
        let (process, agent) = (rows.process[row], rows.agent[row]);
        let address = rows.address[row].get();
        let size = rows.bytes[row].get();
        let freed = trace.strings.get(rows.kind[row]).contains("FREE") || size.is_some_and(|size| size < 0);
        let (agent, change) = if freed {
            // A free often has neither device nor size: they come from the block.
            let block = address.and_then(|address| self.blocks.remove(&(process, address)));
            match (block, size.filter(|size| *size != 0)) {
                (Some((agent, bytes)), _) => (agent, -bytes),
                (None, Some(size)) => (agent, -size.abs()),
                (None, None) => {
                    self.unmatched += 1;
                    return None;
                }
            }
        } else {
            let bytes = size?;
            if let Some(address) = address {
                self.blocks.insert((process, address), (agent, bytes));
            }
            (agent, bytes)
        };
        let total = self.totals.entry((process, agent)).or_insert(0);
        *total += change;
        Some(Level { agent, process, bytes: *total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{MemoryAllocation, OptI64};

    #[test]
    fn frees_find_their_block_and_strays_are_counted() {
        let mut trace = Trace::default();
        let [alloc, free] = ["ALLOC", "FREE"].map(|word| trace.strings.intern(word));
        let rows = [(alloc, 64, 1, 0), (alloc, 36, 2, 0), (free, 0, 1, u32::MAX), (free, 0, 9, u32::MAX)];
        for (kind, bytes, address, agent) in rows {
            let (bytes, address, agent) = (OptI64::some(bytes), OptI64::some(address), AgentId(agent));
            trace.memory_allocations.push(MemoryAllocation {
                kind,
                bytes,
                address,
                agent,
                process: ProcessId(0),
                ..Default::default()
            });
        }
        let mut in_use = InUse::default();
        let levels: Vec<_> =
            (0..4).map(|row| in_use.after(&trace, row).map(|level| (level.agent, level.bytes))).collect();
        let gpu = AgentId(0);
        assert_eq!(levels, [Some((gpu, 64)), Some((gpu, 100)), Some((gpu, 36)), None]);
        assert_eq!(in_use.unmatched, 1);
    }
}
