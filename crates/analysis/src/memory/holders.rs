//! What holds memory: at the peak, at the end, and forever.

use model::memory::{DeviceMemory, Held, MemoryHistory};
use trace::{Map, Ns, OptI64};

/// Number of largest blocks to list.
const LARGEST: usize = 100;

/// Blocks of one owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holder {
    /// The line of the program; empty if listed by operation.
    pub line: String,
    /// The operation.
    pub op: String,
    /// The module or optimizer.
    pub module: String,
    /// Blocks.
    pub blocks: usize,
    /// Their bytes.
    pub bytes: i64,
}

/// A block that is still held at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveBlock {
    /// Its address.
    pub address: OptI64,
    /// Its bytes.
    pub bytes: i64,
    /// The line that allocated it.
    pub line: String,
    /// The operation that allocated it.
    pub op: String,
    /// When it was allocated; `None` if before the record.
    pub from: Option<Ns>,
}

/// Blocks from one line that were allocated in the record and never freed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeverFreed {
    /// The line.
    pub line: String,
    /// Blocks.
    pub blocks: usize,
    /// Their bytes.
    pub bytes: i64,
    /// When the first was allocated.
    pub first: Ns,
    /// When the last was allocated.
    pub last: Ns,
}

/// Bytes of some blocks by owner, largest first; owners with the same key are merged.
fn holders(
    history: &MemoryHistory,
    device: &DeviceMemory,
    blocks: &[u32],
    key: impl Fn(&model::memory::Owner) -> Holder,
) -> Vec<Holder> {
    let mut by_owner = vec![(0usize, 0i64); history.owners.len()];
    for &block in blocks {
        let block = &device.blocks[block as usize];
        let sum = &mut by_owner[block.owner as usize];
        *sum = (sum.0 + 1, sum.1 + block.bytes);
    }
    let mut places: Map<(String, String, String), usize> = Map::default();
    let mut found: Vec<Holder> = Vec::new();
    for (owner, &(blocks, bytes)) in history.owners.iter().zip(&by_owner).filter(|(_, sum)| sum.0 > 0) {
        let holder = key(owner);
        let place = (holder.line.clone(), holder.op.clone(), holder.module.clone());
        let place = *places.entry(place).or_insert_with(|| {
            found.push(holder);
            found.len() - 1
        });
        found[place].blocks += blocks;
        found[place].bytes += bytes;
    }
    found.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| (&a.line, &a.op).cmp(&(&b.line, &b.op))));
    found
}

pub(super) fn by_line(history: &MemoryHistory, device: &DeviceMemory, blocks: &[u32]) -> Vec<Holder> {
    holders(history, device, blocks, |owner| Holder { line: owner.name().into(), ..Holder::default() })
}

pub(super) fn by_op(history: &MemoryHistory, device: &DeviceMemory, blocks: &[u32]) -> Vec<Holder> {
    holders(history, device, blocks, |owner| Holder {
        op: owner.op.clone(),
        module: owner.module.clone(),
        ..Holder::default()
    })
}

fn at_end(device: &DeviceMemory) -> impl Iterator<Item = &Held> {
    device.blocks.iter().filter(|block| block.to.is_none())
}

pub(super) fn largest(history: &MemoryHistory, device: &DeviceMemory) -> Vec<LiveBlock> {
    let mut held: Vec<&Held> = at_end(device).collect();
    held.sort_by_key(|block| (std::cmp::Reverse(block.bytes), block.address));
    let live = |block: &&Held| {
        let owner = &history.owners[block.owner as usize];
        let (line, op) = (owner.name().to_string(), owner.op.clone());
        LiveBlock { address: block.address, bytes: block.bytes, line, op, from: block.from }
    };
    held.iter().take(LARGEST).map(live).collect()
}

pub(super) fn never_freed(history: &MemoryHistory, device: &DeviceMemory) -> Vec<NeverFreed> {
    let mut places: Map<&str, usize> = Map::default();
    let mut found: Vec<NeverFreed> = Vec::new();
    for block in at_end(device) {
        let Some(from) = block.from else { continue };
        let line = history.owners[block.owner as usize].name();
        let place = *places.entry(line).or_insert_with(|| {
            found.push(NeverFreed { line: line.into(), first: from, ..NeverFreed::default() });
            found.len() - 1
        });
        // Blocks are in order of allocation.
        let sum = &mut found[place];
        *sum = NeverFreed {
            blocks: sum.blocks + 1,
            bytes: sum.bytes + block.bytes,
            last: from,
            ..std::mem::take(sum)
        };
    }
    found.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.line.cmp(&b.line)));
    found
}
