//! What happened: the simulator's own compact log, one list per rank, in true time.

use crate::ranks::Met;

/// The subject of a runtime call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Detail {
    None,
    Launch { kernel: u32 },
    Copy { copy: u32 },
    Stream { stream: u32 },
    Event { event: u32, stream: u32, recording: u32 },
    EventSync { event: u32, recording: u32 },
    Alloc { bytes: u64 },
    Graph { graph: u32 },
}

/// One record. Times are true nanoseconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Record {
    /// A frame begins; `external` numbers ops and annotations.
    Enter {
        thread: u32,
        frame: u32,
        at: i64,
        external: i64,
        step: u64,
    },
    Leave {
        thread: u32,
        at: i64,
    },
    /// Python leaf frames share an interval.
    Chatter {
        thread: u32,
        start: i64,
        end: i64,
        frames: u32,
    },
    /// A Python frame that works on the host.
    Host {
        thread: u32,
        frame: u32,
        start: i64,
        end: i64,
    },
    Call {
        thread: u32,
        api: u32,
        start: i64,
        end: i64,
        correlation: i64,
        external: i64,
        detail: Detail,
    },
    Kernel {
        thread: u32,
        /// The step that launched it.
        step: u64,
        kernel: u32,
        stream: u32,
        start: i64,
        end: i64,
        correlation: i64,
        external: i64,
        instance: u64,
        replayed: bool,
        /// The collective that it takes part in.
        collective: Option<Met>,
    },
    Copy {
        thread: u32,
        copy: u32,
        stream: u32,
        start: i64,
        end: i64,
        correlation: i64,
        external: i64,
        replayed: bool,
    },
    Memory {
        thread: u32,
        gpu: u32,
        at: i64,
        end: i64,
        address: i64,
        bytes: i64,
        correlation: i64,
        in_use: i64,
    },
}
