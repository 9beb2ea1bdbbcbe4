//! The `args` of an event: those that its row is made from, and those that were asked for.

use super::worker::Worker;
use crate::json::{Cursor, Damage};
use formats::torch::key::bytes as key;

/// Which arguments are looked for; reading stops when all were found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Want(u32);

impl std::ops::BitOr for Want {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

const CORRELATION: u32 = 1;
const EXTERNAL: u32 = 1 << 1;
const DEVICE: u32 = 1 << 2;
const STREAM: u32 = 1 << 3;
const KIND: u32 = 1 << 4;
const GRAPH_NODE: u32 = 1 << 5;
const GRID: u32 = 1 << 6;
const BLOCK: u32 = 1 << 7;
const SHARED_MEMORY: u32 = 1 << 8;
const REGISTERS: u32 = 1 << 9;
const BYTES: u32 = 1 << 10;
const PYTHON_ID: u32 = 1 << 11;
const PYTHON_PARENT: u32 = 1 << 12;
const COLLECTIVE: u32 = 1 << 13;
const ELEMENTS: u32 = 1 << 14;
const GROUP_SIZE: u32 = 1 << 15;
const DTYPE: u32 = 1 << 16;
const GROUP: u32 = 1 << 17;
const SEQUENCE: u32 = 1 << 18;
const ADDRESS: u32 = 1 << 19;
const DEVICE_TYPE: u32 = 1 << 20;
const SYNC_KIND: u32 = 1 << 21;
const WAITS_FOR: u32 = 1 << 22;
const AWAITED: u32 = 1 << 23;
const EVENT: u32 = 1 << 24;
const LABEL: u32 = 1 << 25;
const PEER: u32 = 1 << 26;
/// All of them are values of a counter.
const SERIES: u32 = 1 << 30;
/// Some or all are to be kept as they are.
const KEEP: u32 = 1 << 31;

impl Want {
    pub const NONE: Self = Self(0);
    pub const EXTERNAL: Self = Self(EXTERNAL);
    pub const CALL: Self = Self(CORRELATION | EXTERNAL);
    pub const EVENT: Self = Self(EVENT);
    pub const FRAME: Self = Self(PYTHON_ID | PYTHON_PARENT);
    pub const GPU: Self = Self(CORRELATION | EXTERNAL | DEVICE | STREAM | KIND | GRAPH_NODE);
    pub const SHAPE: Self = Self(GRID | BLOCK | SHARED_MEMORY | REGISTERS);
    pub const COLLECTIVE: Self = Self(COLLECTIVE | ELEMENTS | GROUP_SIZE | DTYPE | GROUP | SEQUENCE | PEER);
    pub const BYTES: Self = Self(BYTES);
    pub const SYNC: Self = Self(SYNC_KIND | WAITS_FOR | AWAITED | EVENT);
    pub const MEMORY: Self = Self(BYTES | ADDRESS | DEVICE | DEVICE_TYPE);
    pub const LABEL: Self = Self(LABEL);
    pub const SERIES: Self = Self(SERIES);
    pub const KEEP: Self = Self(KEEP);
}

/// The arguments of one event, as they stand in the file; empty when absent.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub correlation: &'a [u8],
    pub external: &'a [u8],
    pub device: &'a [u8],
    pub stream: &'a [u8],
    pub kind: &'a [u8],
    pub graph_node: &'a [u8],
    pub grid: &'a [u8],
    pub block: &'a [u8],
    pub shared_memory: &'a [u8],
    pub registers: &'a [u8],
    pub bytes: &'a [u8],
    pub python_id: &'a [u8],
    pub python_parent: &'a [u8],
    pub collective: &'a [u8],
    pub elements: &'a [u8],
    pub group_size: &'a [u8],
    pub dtype: &'a [u8],
    pub group: &'a [u8],
    pub sequence: &'a [u8],
    /// The other rank of a send or receive.
    pub peer: &'a [u8],
    pub address: &'a [u8],
    pub device_type: &'a [u8],
    pub sync_kind: &'a [u8],
    pub waits_for: &'a [u8],
    pub awaited: &'a [u8],
    pub event: &'a [u8],
    pub label: &'a [u8],
    /// Values of a counter event.
    pub series: Vec<(&'a [u8], &'a [u8])>,
    /// (position, name, value) of those that were asked for.
    pub kept: Vec<(u32, u32, u32)>,
}

impl<'a> Arguments<'a> {
    /// Reads the object the cursor is at, as far as needed.
    pub fn read(&mut self, json: &mut Cursor<'a>, want: Want, worker: &mut Worker) -> Result<(), Damage> {
        let mut left = want.0;
        let mut keys = json.object()?;
        if left == 0 {
            return json.skip_rest();
        }
        let mut position = 0;
        while let Some(key) = keys.next(json)? {
            let (bit, slot) = self.slot(key.raw);
            if bit & left != 0 {
                left &= !bit;
                let value = json.raw_value()?;
                *slot = unquoted(value);
                self.consider(left, position, key.raw, value, worker);
            } else if left & (KEEP | SERIES) != 0 {
                let value = json.raw_value()?;
                if left & SERIES != 0 {
                    self.series.push((key.raw, unquoted(value)));
                }
                self.consider(left, position, key.raw, value, worker);
            } else {
                json.skip_value()?;
            }
            if left == 0 {
                return json.skip_rest();
            }
            position += 1;
        }
        Ok(())
    }

    /// Keeps an argument if it was asked for.
    #[inline]
    fn consider(&mut self, left: u32, position: u32, key: &[u8], value: &[u8], worker: &mut Worker) {
        if left & KEEP != 0 && worker.keeps(key) {
            self.kept.push((position, worker.names.intern(key), worker.values.intern(value)));
        }
    }

    /// The field an argument belongs in, and its bit.
    #[inline]
    fn slot(&mut self, key: &[u8]) -> (u32, &mut &'a [u8]) {
        match key {
            key::EXTERNAL_ID | b"external id" => (EXTERNAL, &mut self.external),
            key::CORRELATION => (CORRELATION, &mut self.correlation),
            key::DEVICE | key::DEVICE_ID => (DEVICE, &mut self.device),
            key::STREAM => (STREAM, &mut self.stream),
            key::KIND => (KIND, &mut self.kind),
            key::GRAPH_NODE_ID => (GRAPH_NODE, &mut self.graph_node),
            key::GRID => (GRID, &mut self.grid),
            key::BLOCK => (BLOCK, &mut self.block),
            key::SHARED_MEMORY => (SHARED_MEMORY, &mut self.shared_memory),
            key::REGISTERS_PER_THREAD => (REGISTERS, &mut self.registers),
            key::BYTES | key::MEMORY_BYTES | b"size" => (BYTES, &mut self.bytes),
            key::PYTHON_ID => (PYTHON_ID, &mut self.python_id),
            key::PYTHON_PARENT_ID => (PYTHON_PARENT, &mut self.python_parent),
            key::COLLECTIVE_NAME => (COLLECTIVE, &mut self.collective),
            key::IN_MSG_NELEMS => (ELEMENTS, &mut self.elements),
            key::GROUP_SIZE => (GROUP_SIZE, &mut self.group_size),
            key::DTYPE => (DTYPE, &mut self.dtype),
            key::PROCESS_GROUP_NAME => (GROUP, &mut self.group),
            key::SEQ | b"seq" => (SEQUENCE, &mut self.sequence),
            key::SRC_RANK | key::DST_RANK => (PEER, &mut self.peer),
            key::ADDR => (ADDRESS, &mut self.address),
            key::DEVICE_TYPE => (DEVICE_TYPE, &mut self.device_type),
            key::CUDA_SYNC_KIND => (SYNC_KIND, &mut self.sync_kind),
            key::WAIT_ON_STREAM => (WAITS_FOR, &mut self.waits_for),
            key::WAIT_ON_CUDA_EVENT_RECORD_CORR_ID => (AWAITED, &mut self.awaited),
            key::WAIT_ON_CUDA_EVENT_ID | b"event" => (EVENT, &mut self.event),
            b"name" | b"labels" => (LABEL, &mut self.label),
            _ => (0, &mut self.label),
        }
    }
}

/// A string without its quotes, anything else as it is; `null` counts as absent.
#[inline]
fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        b"null" => b"",
        _ => value,
    }
}
