//! Identifies the dictionaries of a snapshot by their keys, and turns them into rows.

use trace::{
    AllocatorAction, AllocatorBlock, AllocatorBlocks, AllocatorEvent, AllocatorEvents, AllocatorSegment,
    AllocatorSegments, BlockState, Frame, OptI64, StackId, StrId, StreamId, Strings,
};

use super::value::Value;

/// Declares the keys that are read: a name for each, and its number.
macro_rules! keys {
    ($($key:ident $name:literal,)*) => {
        /// A key of a dictionary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Key { $($key,)* }

        /// The names of all keys, in the order of their numbers.
        pub(super) const KEYS: &[&str] = &[$($name,)*];

        const ALL: &[Key] = &[$(Key::$key,)*];
    };
}

keys! {
    Name "name",
    File "filename",
    Line "line",
    Action "action",
    Addr "addr",
    Size "size",
    Stream "stream",
    Time "time_us",
    Frames "frames",
    DeviceFree "device_free",
    Device "device",
    Address "address",
    TotalSize "total_size",
    SegmentType "segment_type",
    Expandable "is_expandable",
    Blocks "blocks",
    Requested "requested_size",
    State "state",
    History "history",
    RealSize "real_size",
    Stage "stage",
    Segments "segments",
    DeviceTraces "device_traces",
    AllocConf "PYTORCH_CUDA_ALLOC_CONF",
    ExpandableSegments "expandable_segments",
    MaxSplit "max_split_size",
}

impl Key {
    /// The key that a value is; texts are numbered from 1 on in the order of the keys.
    #[inline]
    pub fn of(value: Value) -> Option<Self> {
        match value {
            Value::Text(StrId(number)) => ALL.get((number as usize).wrapping_sub(1)).copied(),
            _ => None,
        }
    }
}

/// Allocator settings that are kept as facts about the run.
const SETTINGS: [Key; 3] = [Key::AllocConf, Key::ExpandableSegments, Key::MaxSplit];

/// Whether a key's value is a list of rows.
pub(super) fn holds_rows(key: Value) -> bool {
    matches!(Key::of(key), Some(Key::Segments | Key::DeviceTraces | Key::Blocks))
}

type Entries = [(Key, Value)];

fn value(entries: &Entries, key: Key) -> Option<Value> {
    entries.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
}

fn number(entries: &Entries, key: Key) -> Option<i64> {
    match value(entries, key)? {
        Value::Int(number) => Some(number),
        _ => None,
    }
}

fn text(entries: &Entries, key: Key) -> Option<StrId> {
    match value(entries, key)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn stack(entries: &Entries) -> StackId {
    match value(entries, Key::Frames) {
        Some(Value::Stack(number)) => StackId(number),
        _ => StackId::NONE,
    }
}

/// A frame, if the dictionary is one.
#[inline]
pub(super) fn frame(entries: &Entries) -> Option<Frame> {
    let (mut name, mut file, mut line) = (None, None, None);
    for (key, value) in entries {
        match (key, value) {
            (Key::Name, Value::Text(text)) => name = Some(*text),
            (Key::File, Value::Text(text)) => file = Some(*text),
            (Key::Line, Value::Int(number)) => line = Some(*number),
            _ => return None,
        }
    }
    Some(Frame {
        name: name?,
        file: file?,
        line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
    })
}

/// The start or end of a named part of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Annotation {
    pub is_start: bool,
    pub name: StrId,
    pub device: i64,
    pub at: i64,
}

/// The rows of a snapshot. Ids of streams, agents and processes are filled in at the end: until then a stream
/// id is an index into `streams`.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub events: AllocatorEvents,
    pub blocks: AllocatorBlocks,
    pub segments: AllocatorSegments,
    /// Device of each segment.
    pub segment_device: Vec<i64>,
    /// Segment of each block, once known.
    pub block_segment: Vec<u32>,
    pub annotations: Vec<Annotation>,
    pub settings: Vec<(Key, Value)>,
    /// The source's numbers of streams.
    pub streams: Vec<i64>,
    /// The events of each device, as a list of rows.
    pub device_traces: Option<Value>,
    /// Whether there was a list of segments, maybe empty.
    pub has_segments: bool,
    /// Rows that lack required fields.
    pub damaged: u64,
}

impl Rows {
    /// Adds the row for a dictionary.
    pub fn add(&mut self, entries: &Entries, lists: &mut [Vec<Value>], strings: &Strings) -> Value {
        let has = |key: Key| entries.iter().any(|(known, _)| *known == key);
        if has(Key::Action) {
            self.event(entries, strings)
        } else if has(Key::State) {
            self.block(entries, lists, strings)
        } else if has(Key::Blocks) {
            self.segment(entries, lists)
        } else if has(Key::RealSize) {
            // The history of a block in older snapshots; the last use is the one that counts.
            match value(entries, Key::Frames) {
                Some(stack @ Value::Stack(_)) => stack,
                _ => Value::Opaque,
            }
        } else if has(Key::Stage) {
            self.annotation(entries, strings)
        } else if has(Key::Segments) || has(Key::DeviceTraces) {
            self.device_traces = value(entries, Key::DeviceTraces).or(self.device_traces);
            self.has_segments |= has(Key::Segments);
            Value::Opaque
        } else {
            let known = entries.iter().filter(|(key, _)| SETTINGS.contains(key));
            self.settings.extend(known.take(SETTINGS.len().saturating_sub(self.settings.len())));
            Value::Opaque
        }
    }

    fn stream(&mut self, entries: &Entries) -> StreamId {
        let Some(id) = number(entries, Key::Stream) else { return StreamId::NONE };
        let known = self.streams.iter().rposition(|known| *known == id);
        // There are rarely more than a few; beyond this it is not a list of streams.
        if known.is_none() && self.streams.len() >= 4096 {
            return StreamId::NONE;
        }
        StreamId::at(known.unwrap_or_else(|| {
            self.streams.push(id);
            self.streams.len() - 1
        }))
    }

    fn event(&mut self, entries: &Entries, strings: &Strings) -> Value {
        let Some(action) = text(entries, Key::Action) else {
            self.damaged += 1;
            return Value::Opaque;
        };
        let start = number(entries, Key::Time).unwrap_or(0).saturating_mul(1000);
        let stream = self.stream(entries);
        self.events.push(AllocatorEvent {
            action: AllocatorAction::of(strings.get(action)),
            start,
            end: start,
            address: number(entries, Key::Addr).into(),
            bytes: number(entries, Key::Size).into(),
            device_free: number(entries, Key::DeviceFree).into(),
            stream,
            stack: stack(entries),
            ..AllocatorEvent::default()
        });
        Value::Event(self.events.len() as u32 - 1)
    }

    fn block(&mut self, entries: &Entries, lists: &[Vec<Value>], strings: &Strings) -> Value {
        let (Some(bytes), Some(state)) = (number(entries, Key::Size), text(entries, Key::State)) else {
            self.damaged += 1;
            return Value::Opaque;
        };
        let history = || match value(entries, Key::History) {
            Some(Value::List(list)) => lists[list as usize].iter().rev().find_map(|item| match item {
                Value::Stack(stack) => Some(StackId(*stack)),
                _ => None,
            }),
            _ => None,
        };
        let own = stack(entries);
        self.blocks.push(AllocatorBlock {
            // Older snapshots give no address for a block; its position in the segment gives it.
            address: number(entries, Key::Address).unwrap_or(i64::MIN),
            bytes,
            requested: number(entries, Key::Requested).map_or(OptI64::NONE, OptI64::some),
            state: BlockState::of(strings.get(state)),
            stack: if own.is_some() { own } else { history().unwrap_or_default() },
            ..AllocatorBlock::default()
        });
        self.block_segment.push(u32::MAX);
        Value::Block(self.blocks.len() as u32 - 1)
    }

    fn segment(&mut self, entries: &Entries, lists: &mut [Vec<Value>]) -> Value {
        let mut blocks = match value(entries, Key::Blocks) {
            Some(Value::List(list)) => std::mem::take(&mut lists[list as usize]),
            _ => Vec::new(),
        };
        blocks.retain(|item| matches!(item, Value::Block(_)));
        let (Some(address), Some(bytes)) = (number(entries, Key::Address), number(entries, Key::TotalSize))
        else {
            self.damaged += 1;
            return Value::Opaque;
        };
        let row = self.segments.len() as u32;
        let mut next = address;
        for item in blocks {
            let Value::Block(block) = item else { continue };
            let block = block as usize;
            let place = &mut self.blocks.address[block];
            if *place == i64::MIN {
                *place = next;
            }
            next = place.wrapping_add(self.blocks.bytes[block]);
            self.block_segment[block] = row;
        }
        let stream = self.stream(entries);
        self.segments.push(AllocatorSegment {
            address,
            bytes,
            kind: text(entries, Key::SegmentType).unwrap_or_default(),
            expandable: number(entries, Key::Expandable) == Some(1),
            stream,
            ..AllocatorSegment::default()
        });
        self.segment_device.push(number(entries, Key::Device).unwrap_or(0));
        Value::Segment(row)
    }

    fn annotation(&mut self, entries: &Entries, strings: &Strings) -> Value {
        let stage = text(entries, Key::Stage).map(|stage| strings.get(stage));
        if let (Some(stage @ ("START" | "END")), Some(name), Some(at)) =
            (stage, text(entries, Key::Name), number(entries, Key::Time))
        {
            let device = number(entries, Key::Device).unwrap_or(0);
            let is_start = stage == "START";
            self.annotations.push(Annotation { is_start, name, device, at: at.saturating_mul(1000) });
        }
        Value::Opaque
    }
}
