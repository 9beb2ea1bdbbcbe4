//! The `args` of an event: those that its row is made from, and those that were requested.

use super::category::Category;
use super::layout::{self, Code, Spelling};
use super::worker::Worker;
use crate::json::{Cursor, Damage};
use formats::torch::key::bytes as key;

/// An argument that rows are made from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Argument {
    Correlation,
    External,
    Device,
    Stream,
    Kind,
    GraphNode,
    Grid,
    Block,
    SharedMemory,
    Registers,
    Bytes,
    PythonId,
    PythonParent,
    Collective,
    Elements,
    GroupSize,
    Dtype,
    Group,
    Sequence,
    Address,
    DeviceType,
    SyncKind,
    WaitsFor,
    Awaited,
    Event,
    Label,
    /// The other rank of a send or receive.
    Peer,
}

use Argument::*;

const COUNT: usize = Peer as usize + 1;

/// Which arguments to look for; reading stops when all are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Want(u32);

impl std::ops::BitOr for Want {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// All of them are values of a counter.
const SERIES: u32 = 1 << 30;
/// Some or all are kept unchanged.
const KEEP: u32 = 1 << 31;

impl Want {
    pub const NONE: Self = Self(0);
    pub const EXTERNAL: Self = Self::of(&[External]);
    pub const CALL: Self = Self::of(&[Correlation, External]);
    pub const EVENT: Self = Self::of(&[Event]);
    pub const FRAME: Self = Self::of(&[PythonId, PythonParent]);
    pub const GPU: Self = Self::of(&[Correlation, External, Device, Stream, Kind, GraphNode]);
    pub const SHAPE: Self = Self::of(&[Grid, Block, SharedMemory, Registers]);
    pub const COLLECTIVE: Self = Self::of(&[Collective, Elements, GroupSize, Dtype, Group, Sequence, Peer]);
    pub const BYTES: Self = Self::of(&[Bytes]);
    pub const SYNC: Self = Self::of(&[SyncKind, WaitsFor, Awaited, Event]);
    pub const MEMORY: Self = Self::of(&[Bytes, Address, Device, DeviceType]);
    pub const LABEL: Self = Self::of(&[Label]);
    pub const SERIES: Self = Self(SERIES);
    pub const KEEP: Self = Self(KEEP);

    const fn of(arguments: &[Argument]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < arguments.len() {
            bits |= 1 << arguments[i] as u32;
            i += 1;
        }
        Self(bits)
    }
}

/// Keys that no row is made from.
const OTHER: Code = COUNT as Code;

const SPELLING: Spelling = Spelling {
    code: |name| match name {
        key::EXTERNAL_ID | b"external id" => External as Code,
        key::CORRELATION => Correlation as Code,
        key::DEVICE | key::DEVICE_ID => Device as Code,
        key::STREAM => Stream as Code,
        key::KIND => Kind as Code,
        key::GRAPH_NODE_ID => GraphNode as Code,
        key::GRID => Grid as Code,
        key::BLOCK => Block as Code,
        key::SHARED_MEMORY => SharedMemory as Code,
        key::REGISTERS_PER_THREAD => Registers as Code,
        key::BYTES | key::MEMORY_BYTES | b"size" => Bytes as Code,
        key::PYTHON_ID => PythonId as Code,
        key::PYTHON_PARENT_ID => PythonParent as Code,
        key::COLLECTIVE_NAME => Collective as Code,
        key::IN_MSG_NELEMS => Elements as Code,
        key::GROUP_SIZE => GroupSize as Code,
        key::DTYPE => Dtype as Code,
        key::PROCESS_GROUP_NAME => Group as Code,
        key::SEQ | b"seq" => Sequence as Code,
        key::SRC_RANK | key::DST_RANK => Peer as Code,
        key::ADDR => Address as Code,
        key::DEVICE_TYPE => DeviceType as Code,
        key::CUDA_SYNC_KIND => SyncKind as Code,
        key::WAIT_ON_STREAM => WaitsFor as Code,
        key::WAIT_ON_CUDA_EVENT_RECORD_CORR_ID => Awaited as Code,
        key::WAIT_ON_CUDA_EVENT_ID | b"event" => Event as Code,
        b"name" | b"labels" => Label as Code,
        _ => OTHER,
    },
    has_few_values: |_| false,
};

/// The arguments of one event, as written in the file; empty if absent.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    /// The text from where the event begins: it may have `args` twice.
    text: &'a [u8],
    /// Start in the text and length of each.
    parts: [(u32, u32); COUNT],
    /// Values of a counter event.
    pub series: Vec<(&'a [u8], &'a [u8])>,
    /// (position, name, value) of those that were requested.
    pub kept: Vec<(u32, u32, u32)>,
}

impl<'a> Arguments<'a> {
    /// Arguments of an event at the start of the text, before any is read.
    pub fn of(text: &'a [u8]) -> Self {
        Self { text, ..Self::default() }
    }

    /// The value of an argument.
    #[inline]
    pub fn get(&self, argument: Argument) -> &'a [u8] {
        let (start, len) = self.parts[argument as usize];
        &self.text[start as usize..][..len as usize]
    }

    /// Reads the object the cursor is at, as far as needed; `category` is that of the event.
    pub fn read(
        &mut self,
        json: &mut Cursor<'a>,
        want: Want,
        category: Category,
        worker: &mut Worker,
    ) -> Result<(), Damage> {
        let mut left = want.0;
        json.object()?;
        if left == 0 {
            return json.skip_rest();
        }
        let mut at = layout::arguments_of(category);
        let mut position = 0;
        loop {
            let met = worker.layout.next(json, &mut at, &SPELLING)?;
            if met.code == layout::END {
                return Ok(());
            }
            if met.code != OTHER && left >> met.code & 1 != 0 {
                left &= !(1 << met.code);
                let value = json.raw_value()?;
                let said = unquoted(value);
                if !said.is_empty() {
                    let start = said.as_ptr() as usize - self.text.as_ptr() as usize;
                    self.parts[usize::from(met.code)] = (start as u32, said.len() as u32);
                }
                self.consider(left, position, met.key, value, worker);
            } else if left & (KEEP | SERIES) != 0 {
                let value = json.raw_value()?;
                if left & SERIES != 0 {
                    self.series.push((met.key, unquoted(value)));
                }
                self.consider(left, position, met.key, value, worker);
            } else {
                json.skip_value()?;
            }
            if left == 0 {
                return json.skip_rest();
            }
            position += 1;
        }
    }

    /// Keeps an argument if it was requested.
    #[inline]
    fn consider(&mut self, left: u32, position: u32, key: &[u8], value: &[u8], worker: &mut Worker) {
        if left & KEEP != 0 && worker.keeps(key) {
            self.kept.push((position, worker.names.intern(key), worker.values.intern(value)));
        }
    }
}

/// A string without its quotes, anything else unchanged; `null` counts as absent.
#[inline]
fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        b"null" => b"",
        _ => value,
    }
}
