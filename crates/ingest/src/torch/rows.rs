//! The tables that one worker fills: the trace's own, without what is known only at the end of the file.

use trace::{CopyKind, Graph, OptI64, ShapeId};

/// Declares a row and its columns.
macro_rules! rows {
    ($($table:ident of $row:ident { $($col:ident: $ty:ty,)* })*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $row { $(pub $col: $ty,)* }

        #[derive(Default)]
        pub(super) struct $table { $(pub $col: Vec<$ty>,)* }

        impl $table {
            #[inline]
            pub fn push(&mut self, row: $row) {
                $(self.$col.push(row.$col);)*
            }

            #[inline]
            pub fn len(&self) -> usize {
                [$(self.$col.len(),)*][0]
            }
        }
    )*};
}

// `name`, `category` and so on are numbers in the worker's names, `lane` in its lanes.
rows! {
    KernelRows of KernelRow {
        name: u32, start: i64, end: i64, lane: u32, correlation: i64, external: OptI64, shape: ShapeId,
        graph: Graph,
    }
    CopyRows of CopyRow {
        name: u32, kind: CopyKind, start: i64, end: i64, bytes: OptI64, lane: u32, direction: Direction,
        correlation: i64, external: OptI64, graph: Graph,
    }
    AllocationRows of AllocationRow {
        free: bool, at: i64, address: OptI64, bytes: OptI64, lane: u32, device: Device,
    }
    RegionRows of RegionRow {
        name: u32, category: u32, start: i64, end: i64, lane: u32, correlation: i64, parent: i64,
        external: OptI64,
    }
    SampleRows of SampleRow { at: i64, kind: u32, name: u32, value: f64, lane: u32, }
    SyncRows of SyncRow {
        kind: u32, start: i64, end: i64, lane: u32, event: OptI64, waits_for: OptI64, correlation: i64,
        awaited: OptI64,
    }
    CollectiveRows of CollectiveRow {
        kernel: u32, group: u32, group_size: OptI64, sequence: OptI64, operation: u32, elements: OptI64,
        dtype: u32, peer: OptI64, lane: u32,
    }
    ArgRows of ArgRow { owner: Owner, row: u32, position: u32, name: u32, value: u32, }
    OpenRows of OpenRow { phase: u8, category: u32, name: u32, id: u32, lane: u32, at: i64, }
    FlowRows of FlowRow { start: bool, id: u32, lane: u32, at: i64, }
    LabelRows of LabelRow { what: u32, pid: u32, tid: u32, text: u32, }
}

/// The table of an argument's row, by its index in [`Lens`]; an open event is half a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Owner {
    Kernel,
    Copy,
    Allocation,
    Region,
    Sample,
    Sync,
    Open,
}

/// Direction of a copy, if recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Direction {
    #[default]
    Unknown,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    HostToHost,
    /// A fill of device memory.
    ToDevice,
}

/// The device an allocation was made on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Device {
    Unknown,
    Host,
    Gpu(i64),
}

/// All tables of one worker.
#[derive(Default)]
pub(super) struct Rows {
    pub kernels: KernelRows,
    pub copies: CopyRows,
    pub allocations: AllocationRows,
    pub regions: RegionRows,
    pub samples: SampleRows,
    pub syncs: SyncRows,
    pub opens: OpenRows,
    pub collectives: CollectiveRows,
    pub args: ArgRows,
    pub flows: FlowRows,
    pub labels: LabelRows,
}

/// Number of tables.
pub(super) const TABLES: usize = 11;

/// Rows in each table, in the order of [`Rows`].
pub(super) type Lens = [u32; TABLES];

// Indexes of the tables that have no arguments.
pub(super) const COLLECTIVES: usize = 7;
pub(super) const ARGS: usize = 8;
pub(super) const FLOWS: usize = 9;
pub(super) const LABELS: usize = 10;

impl Rows {
    pub fn lens(&self) -> Lens {
        [
            self.kernels.len(),
            self.copies.len(),
            self.allocations.len(),
            self.regions.len(),
            self.samples.len(),
            self.syncs.len(),
            self.opens.len(),
            self.collectives.len(),
            self.args.len(),
            self.flows.len(),
            self.labels.len(),
        ]
        .map(|len| len as u32)
    }
}
