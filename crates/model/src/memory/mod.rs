//! Which memory was held when, and by which owner: allocations paired with frees, for every device.
//!
//! ```text
//! snapshot of an allocator ─┐
//! torch [memory] events ────┼─► replay ─► blocks with their lifetimes, owners ─► `memory`, SQL
//! rocpd allocations ────────┘
//! ```
//!
//! A record may begin when memory is already held. A block that is freed but never allocated in the record,
//! and a block that the snapshot lists as held without an event, were held before it. Sizes are those that
//! the program requested; a snapshot also records how far the allocator rounds them up.
//!
//! Cost: one pass over the events with one look-up each; about 70 bytes a block.

mod allocations;
mod owners;
mod snapshot;

use trace::{AgentId, AgentKind, Map, Ns, OptI64, ProcessId, StackId, StreamId, Trace};

pub use allocations::COUNTED;
pub use owners::Owner;
use owners::Owners;

/// All that is known about the memory of a run.
#[derive(Clone, Debug, Default)]
pub struct MemoryHistory {
    /// Devices with at least one block or segment, in the order of the trace.
    pub devices: Vec<DeviceMemory>,
    /// All owners, each once.
    pub owners: Vec<Owner>,
}

/// The memory of one device, as one process saw it.
#[derive(Clone, Debug, Default)]
pub struct DeviceMemory {
    /// The process.
    pub process: ProcessId,
    /// The device.
    pub agent: AgentId,
    /// The device's name for people.
    pub label: String,
    /// Whether it is the host's memory.
    pub is_host: bool,
    /// Blocks in order of allocation; those from before the record first.
    pub blocks: Vec<Held>,
    /// Allocations and frees in the order of time.
    pub changes: Vec<Change>,
    /// Memory taken from the driver or given back, in time order, as change in bytes.
    pub reserved_changes: Vec<(Ns, i64)>,
    /// Bytes taken from the driver at the end, if the source records it.
    pub reserved_at_end: Option<i64>,
    /// Rows of `allocator_segments`.
    pub segments: Vec<u32>,
    /// Rows of `allocator_blocks`.
    pub snapshot_blocks: Vec<u32>,
    /// Rows of `allocator_events` where the device ran out of memory.
    pub out_of_memory: Vec<u32>,
    /// Allocations of an address that was still held: the free before them is not in the record.
    pub lost_frees: usize,
}

/// A block of memory and how long it was held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// Address, as a bit pattern.
    pub address: OptI64,
    /// Bytes that the program requested.
    pub bytes: i64,
    /// When it was allocated; `None`: before the record.
    pub from: Option<Ns>,
    /// When it was freed; `None`: never.
    pub to: Option<Ns>,
    /// Index into `owners`.
    pub owner: u32,
    /// Where in the program, if recorded.
    pub stack: StackId,
    /// HIP stream.
    pub stream: StreamId,
}

/// An allocation or a free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Ns,
    /// Which of `blocks`.
    pub block: u32,
    /// Allocated or freed.
    pub is_alloc: bool,
}

/// The most that was held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Bytes.
    pub bytes: i64,
    /// When it was first reached; `None`: at the start of the record.
    pub at: Option<Ns>,
    /// Number of changes up to and including the one that reached it.
    pub changes: usize,
}

impl MemoryHistory {
    /// The memory of a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut owners = Owners::default();
        let mut devices = Devices::default();
        snapshot::replay(trace, &mut devices, &mut owners);
        allocations::replay(trace, &mut devices, &mut owners);
        let mut devices: Vec<DeviceMemory> = devices.all.into_iter().map(Replay::finish).collect();
        devices.retain(|device| !(device.blocks.is_empty() && device.segments.is_empty()));
        label(trace, &mut devices);
        Self { devices, owners: owners.all }
    }

    /// First and last change of any device.
    pub fn span(&self) -> Option<(Ns, Ns)> {
        let first = self.devices.iter().filter_map(|device| device.changes.first()).map(|change| change.at);
        let last = self.devices.iter().filter_map(|device| device.changes.last()).map(|change| change.at);
        first.min().zip(last.max())
    }

    /// Cuts the record to these moments: what was allocated earlier is held at the start, what was freed
    /// later is held at the end.
    pub fn between(mut self, trace: &Trace, start: Ns, end: Ns) -> Self {
        self.devices = self.devices.into_iter().map(|device| device.between(start, end)).collect();
        let moment = |row: &u32| trace.allocator_events.start[*row as usize];
        for device in &mut self.devices {
            device.out_of_memory.retain(|row| (start..=end).contains(&moment(row)));
        }
        self
    }

    /// Whether the trace has no data about memory.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

impl DeviceMemory {
    fn between(mut self, start: Ns, end: Ns) -> Self {
        let is_out =
            |held: &Held| held.to.is_some_and(|to| to < start) || held.from.is_some_and(|from| from > end);
        let mut place = vec![u32::MAX; self.blocks.len()];
        let mut kept: Vec<Held> = Vec::new();
        for (number, held) in self.blocks.iter().enumerate().filter(|(_, held)| !is_out(held)) {
            place[number] = kept.len() as u32;
            let from = held.from.filter(|from| *from >= start);
            kept.push(Held { from, to: held.to.filter(|to| *to <= end), ..*held });
        }
        self.changes.retain(|change| (start..=end).contains(&change.at));
        for change in &mut self.changes {
            change.block = place[change.block as usize];
        }
        self.reserved_at_end = self.reserved_at(end);
        self.reserved_changes.retain(|(at, _)| (start..=end).contains(at));
        let replay =
            Replay { device: DeviceMemory { blocks: kept, ..self }, open: Map::default(), base: None };
        replay.finish()
    }

    /// Bytes that were held before the first event.
    pub fn at_start(&self) -> i64 {
        self.blocks.iter().filter(|block| block.from.is_none()).map(|block| block.bytes).sum()
    }

    /// Bytes that were held at the end.
    pub fn at_end(&self) -> i64 {
        self.blocks.iter().filter(|block| block.to.is_none()).map(|block| block.bytes).sum()
    }

    /// The most that was held.
    pub fn peak(&self) -> Peak {
        let mut held = self.at_start();
        let mut peak = Peak { bytes: held, ..Peak::default() };
        for (number, change) in self.changes.iter().enumerate() {
            held += self.bytes_of(change);
            if held > peak.bytes {
                peak = Peak { bytes: held, at: Some(change.at), changes: number + 1 };
            }
        }
        peak
    }

    /// Change in bytes from an allocation or free.
    pub fn bytes_of(&self, change: &Change) -> i64 {
        let bytes = self.blocks[change.block as usize].bytes;
        if change.is_alloc { bytes } else { -bytes }
    }

    /// The blocks held after the first `changes` changes.
    pub fn held_after(&self, changes: usize) -> Vec<u32> {
        let mut held: Vec<bool> = self.blocks.iter().map(|block| block.from.is_none()).collect();
        for change in &self.changes[..changes] {
            held[change.block as usize] = change.is_alloc;
        }
        (0..).zip(held).filter(|(_, held)| *held).map(|(block, _)| block).collect()
    }

    /// Bytes taken from the driver at a moment, if the source records it.
    pub fn reserved_at(&self, at: Ns) -> Option<i64> {
        let after = self.reserved_changes.iter().filter(|(moment, _)| *moment > at);
        Some(self.reserved_at_end? - after.map(|(_, bytes)| bytes).sum::<i64>())
    }
}

/// The devices found so far.
#[derive(Default)]
struct Devices {
    all: Vec<Replay>,
    places: Map<(ProcessId, AgentId), usize>,
}

impl Devices {
    fn of(&mut self, process: ProcessId, agent: AgentId) -> &mut Replay {
        let place = *self.places.entry((process, agent)).or_insert_with(|| {
            let device = DeviceMemory { process, agent, ..DeviceMemory::default() };
            self.all.push(Replay { device, open: Map::default(), base: None });
            self.all.len() - 1
        });
        &mut self.all[place]
    }

    /// The device on which a process holds an address.
    fn holder(&self, process: ProcessId, address: i64) -> Option<AgentId> {
        let mut devices = self.all.iter().filter(|replay| replay.device.process == process);
        devices.find(|replay| replay.open.contains_key(&address)).map(|replay| replay.device.agent)
    }
}

/// A device while its events are replayed.
struct Replay {
    device: DeviceMemory,
    /// The block that is held at an address.
    open: Map<i64, u32>,
    /// Bytes held before the first event, and their owner, if the source counts them.
    base: Option<(i64, u32)>,
}

impl Replay {
    fn alloc(&mut self, at: Ns, block: Held) {
        if let Some(held) = block.address.get().and_then(|address| self.open.remove(&address)) {
            // Its free is not in the record, but it ended by now.
            self.device.lost_frees += 1;
            self.end(at, held);
        }
        let number = self.device.blocks.len() as u32;
        self.device.changes.push(Change { at, block: number, is_alloc: true });
        if let Some(address) = block.address.get() {
            self.open.insert(address, number);
        }
        self.device.blocks.push(Held { from: Some(at), ..block });
    }

    /// A free. Without a seen allocation, but with a size, the block is from before the record.
    fn free(&mut self, at: Ns, block: Held, bytes: Option<i64>) {
        let Some(address) = block.address.get() else { return };
        match (self.open.remove(&address), bytes) {
            (Some(held), _) => self.end(at, held),
            (None, Some(bytes)) => {
                let number = self.device.blocks.len() as u32;
                self.device.blocks.push(Held { bytes, ..block });
                self.end(at, number);
            }
            (None, None) => {}
        }
    }

    fn end(&mut self, at: Ns, block: u32) {
        self.device.blocks[block as usize].to = Some(at);
        self.device.changes.push(Change { at, block, is_alloc: false });
    }

    /// A block held at the end; without an allocation in the record it was held before.
    fn held_at_end(&mut self, block: Held) {
        let known = block.address.get().and_then(|address| self.open.get(&address));
        if known.is_none() {
            self.device.blocks.push(block);
        }
    }

    fn finish(self) -> DeviceMemory {
        let mut device = self.device;
        if let Some((base, owner)) = self.base {
            // Memory held before the record and never freed has no event of its own.
            let bytes = base - device.at_start();
            if bytes > 0 {
                device.blocks.push(Held { bytes, owner, ..Held::default() });
            }
        }
        let mut order: Vec<u32> = (0..device.blocks.len() as u32).collect();
        order.sort_by_key(|&block| device.blocks[block as usize].from);
        let mut place = vec![0; order.len()];
        for (new, &old) in (0..).zip(&order) {
            place[old as usize] = new;
        }
        for change in &mut device.changes {
            change.block = place[change.block as usize];
        }
        device.blocks = order.iter().map(|&block| device.blocks[block as usize]).collect();
        device
    }
}

fn label(trace: &Trace, devices: &mut [DeviceMemory]) {
    let processes = trace.process_labels();
    let several = devices.iter().any(|device| device.process != devices[0].process);
    for device in devices {
        let agent = device.agent.get().and_then(|agent| trace.agents.get(agent));
        device.is_host = agent.is_some_and(|agent| agent.kind == AgentKind::Cpu);
        let index = agent.and_then(|agent| agent.type_index.get().or(agent.absolute_index.get()));
        let name = match (device.is_host, index) {
            (true, _) => "host".to_string(),
            (false, Some(index)) => format!("GPU {index}"),
            (false, None) => "unknown device".to_string(),
        };
        let process = device.process.get().filter(|_| several).and_then(|process| processes.get(process));
        device.label = process.map_or(name.clone(), |process| format!("{process} {name}"));
    }
}
