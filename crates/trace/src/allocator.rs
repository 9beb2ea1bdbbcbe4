//! What a caching allocator recorded about itself: its events, and the segments and blocks at the end.

use crate::columns::{Remap, Remapping, table};
use crate::ids::{AgentId, OptI64, ProcessId, StackId, StrId, StreamId};

/// What an allocator did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AllocatorAction {
    /// Gave a block to the program.
    #[default]
    Alloc,
    /// The program gave the block back.
    FreeRequested,
    /// The block can be used again.
    FreeCompleted,
    /// Took memory from the driver.
    SegmentAlloc,
    /// Gave memory back to the driver.
    SegmentFree,
    /// Mapped more of an expandable segment.
    SegmentMap,
    /// Unmapped a part of an expandable segment.
    SegmentUnmap,
    /// Could not find the requested memory.
    OutOfMemory,
    /// The snapshot was taken.
    Snapshot,
    /// Unknown.
    Other,
}

impl AllocatorAction {
    /// torch's names for the known actions.
    const NAMES: [(&'static str, AllocatorAction); 9] = [
        ("alloc", AllocatorAction::Alloc),
        ("free_requested", AllocatorAction::FreeRequested),
        ("free_completed", AllocatorAction::FreeCompleted),
        ("segment_alloc", AllocatorAction::SegmentAlloc),
        ("segment_free", AllocatorAction::SegmentFree),
        ("segment_map", AllocatorAction::SegmentMap),
        ("segment_unmap", AllocatorAction::SegmentUnmap),
        ("oom", AllocatorAction::OutOfMemory),
        ("snapshot", AllocatorAction::Snapshot),
    ];

    /// The action with that name in torch's snapshots.
    pub fn of(name: &str) -> Self {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map_or(AllocatorAction::Other, |(_, action)| *action)
    }

    /// torch's name for it.
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(_, action)| *action == self);
        known.map_or("other", |(name, _)| name)
    }
}

/// State of a block when the snapshot was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BlockState {
    /// Not in use.
    #[default]
    Free,
    /// Held by the program.
    Allocated,
    /// Given back, but a stream may still use it.
    AwaitingFree,
}

impl BlockState {
    /// The state with that name in torch's snapshots.
    pub fn of(name: &str) -> Self {
        match name {
            "active_allocated" => BlockState::Allocated,
            "active_pending_free" | "active_awaiting_free" => BlockState::AwaitingFree,
            _ => BlockState::Free,
        }
    }

    /// torch's name for it.
    pub fn name(self) -> &'static str {
        match self {
            BlockState::Free => "inactive",
            BlockState::Allocated => "active_allocated",
            BlockState::AwaitingFree => "active_awaiting_free",
        }
    }
}

impl Remap for AllocatorAction {
    fn remap(self, _: &Remapping) -> Self {
        self
    }
}

impl Remap for BlockState {
    fn remap(self, _: &Remapping) -> Self {
        self
    }
}

table! {
    /// Actions of an allocator, in time order.
    AllocatorEvents of
    /// One action of an allocator.
    AllocatorEvent {
        /// What it did.
        action: AllocatorAction,
        /// When.
        start: i64,
        /// Same as `start`.
        end: i64,
        /// Address of the block or segment, as a bit pattern.
        address: OptI64,
        /// Bytes requested, or of the segment.
        bytes: OptI64,
        /// Bytes free on the device when memory ran out.
        device_free: OptI64,
        /// The process.
        process: ProcessId,
        /// The device.
        agent: AgentId,
        /// HIP stream.
        stream: StreamId,
        /// Where in the program.
        stack: StackId,
    }
}

table! {
    /// Memory that an allocator held from the driver when the snapshot was taken.
    AllocatorSegments of
    /// One segment.
    AllocatorSegment {
        /// Its address, as a bit pattern.
        address: i64,
        /// Its size.
        bytes: i64,
        /// `large`, `small`.
        kind: StrId,
        /// Whether it can grow.
        expandable: bool,
        /// The process.
        process: ProcessId,
        /// The device.
        agent: AgentId,
        /// HIP stream.
        stream: StreamId,
    }
}

table! {
    /// Parts of segments when the snapshot was taken.
    AllocatorBlocks of
    /// One block.
    AllocatorBlock {
        /// Its address, as a bit pattern.
        address: i64,
        /// Its size.
        bytes: i64,
        /// Bytes that the program requested.
        requested: OptI64,
        /// Held or free.
        state: BlockState,
        /// Address of its segment.
        segment: i64,
        /// The process.
        process: ProcessId,
        /// The device.
        agent: AgentId,
        /// HIP stream.
        stream: StreamId,
        /// Where in the program it was allocated, if recorded.
        stack: StackId,
    }
}

/// A line of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Function.
    pub name: StrId,
    /// File.
    pub file: StrId,
    /// Line; zero: unknown.
    pub line: u32,
}

/// Call stacks, each as numbers of distinct frames, innermost first.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    numbers: Vec<u32>,
    ends: Vec<u32>,
}

impl Stacks {
    /// Builds stacks from distinct frames; `ends[i]` is where the numbers of stack `i` end.
    pub fn new(frames: Vec<Frame>, numbers: Vec<u32>, ends: Vec<u32>) -> Self {
        Self { frames, numbers, ends }
    }

    /// Number of stacks.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no stacks.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The frames of a stack, innermost first.
    pub fn get(&self, stack: StackId) -> impl DoubleEndedIterator<Item = Frame> + '_ {
        let range = stack.get().and_then(|stack| {
            let start = if stack == 0 { 0 } else { self.ends[stack - 1] };
            Some(start as usize..*self.ends.get(stack)? as usize)
        });
        self.numbers[range.unwrap_or(0..0)].iter().map(|&frame| self.frames[frame as usize])
    }

    /// Adds the stacks of another trace, with their ids remapped.
    pub(crate) fn append(&mut self, other: Self, by: &Remapping) {
        let (frames, numbers) = (self.frames.len() as u32, self.numbers.len() as u32);
        let carried =
            |frame: Frame| Frame { name: frame.name.remap(by), file: frame.file.remap(by), ..frame };
        self.frames.extend(other.frames.into_iter().map(carried));
        self.numbers.extend(other.numbers.into_iter().map(|number| number + frames));
        self.ends.extend(other.ends.into_iter().map(|end| end + numbers));
    }
}
