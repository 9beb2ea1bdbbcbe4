//! Idle accounts: for every GPU, span = busy + Σ idle by cause, exactly, in nanoseconds.
//!
//! ```text
//! GPU work ─► gap ─► the work that ends it ─► its launch ─► its thread during the gap ─► pieces by cause
//! ```
//!
//! A gap is cut where the launching thread changes what it does: a blocking call, an allocation, a call that
//! loads code, the launch itself. Host time between calls is `launching` if it is no longer than usual for
//! this thread; a longer stretch is `host code`, charged to its function (`owner`).
//!
//! Cost: a sort of each GPU's rows, one pass over the regions for calls, one more if there is host code.

mod gap;
mod host;
mod owner;
mod present;
#[cfg(test)]
mod tests;

use model::Run;
use model::calls::Calls;
use model::classify::Classes;
use model::lanes::{self, GpuRow, Lane};
use model::recordings::Recordings;
use trace::{Map, Ns, RowRef, StrId, Table, Trace};

use self::host::HostThreads;
pub use present::{IDLE_CAUSES, table};

/// Why a GPU was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The host was busy launching the work that ends the gap.
    Launching,
    /// The host waited in a call for the GPU, then had to restart.
    BlockingCall,
    /// The host was allocating or freeing memory.
    Allocating,
    /// The host did something else.
    HostCode,
    /// The work was launched before the gap began.
    StartingQueuedWork,
    /// The work was launched, but its stream had to wait for an event.
    WaitingForEvent,
    /// The host loaded or compiled code, or launched a kernel for the first time.
    FirstCall,
    /// The host or the work waited for another GPU or rank.
    WaitingElsewhere,
    /// Other GPUs had started already, or were not done yet.
    BeforeAndAfter,
    /// The trace does not show why.
    NotRecorded,
}

impl Cause {
    /// All causes, in table order.
    pub const ALL: [Cause; 10] = [
        Cause::Launching,
        Cause::BlockingCall,
        Cause::Allocating,
        Cause::HostCode,
        Cause::StartingQueuedWork,
        Cause::WaitingForEvent,
        Cause::FirstCall,
        Cause::WaitingElsewhere,
        Cause::BeforeAndAfter,
        Cause::NotRecorded,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Launching => "launching",
            Cause::BlockingCall => "blocking call",
            Cause::Allocating => "allocating",
            Cause::HostCode => "host code",
            Cause::StartingQueuedWork => "starting queued work",
            Cause::WaitingForEvent => "waiting for an event",
            Cause::FirstCall => "first call",
            Cause::WaitingElsewhere => "waiting for another GPU or rank",
            Cause::BeforeAndAfter => "before and after the run",
            Cause::NotRecorded => "not recorded",
        }
    }
}

/// A stretch of idle time with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First nanosecond.
    pub start: Ns,
    /// Nanosecond after the last.
    pub end: Ns,
    /// Why the GPU was idle.
    pub cause: Cause,
    /// The call, function, op or annotation; empty if the cause says it all.
    pub place: StrId,
    /// The work that ends the gap; none before and after the run.
    pub next: RowRef,
}

impl Piece {
    /// How long it is.
    pub fn length(&self) -> Ns {
        self.end - self.start
    }
}

/// One GPU: its work, and all of its idle time.
pub struct GpuAccount {
    /// Which GPU.
    pub lane: Lane,
    /// Its work, sorted by (start, end).
    pub rows: Vec<GpuRow>,
    /// First to last GPU work over all GPUs that share this clock.
    pub span: (Ns, Ns),
    /// Time with any work.
    pub busy: Ns,
    /// Idle time, in order; the lengths and `busy` add up to the span.
    pub idle: Vec<Piece>,
}

impl GpuAccount {
    /// Length of the span.
    pub fn total(&self) -> Ns {
        self.span.1 - self.span.0
    }

    /// Idle time with this cause.
    pub fn idle_of(&self, cause: Cause) -> Ns {
        self.idle.iter().filter(|piece| piece.cause == cause).map(Piece::length).sum()
    }

    /// All idle time.
    pub fn idle_total(&self) -> Ns {
        self.idle.iter().map(Piece::length).sum()
    }

    /// Whether any of its work is linked to a launch.
    pub fn is_linked(&self) -> bool {
        self.rows.iter().any(GpuRow::is_linked)
    }
}

/// The accounts of all GPUs of a run.
pub struct IdleAccounts {
    /// Sorted by rank and agent.
    pub gpus: Vec<GpuAccount>,
}

/// Accounts for all time of all GPUs of a run.
pub fn compute(run: &Run) -> IdleAccounts {
    accounts(run.trace, lanes::of_work(&run.work), &run.calls, Places::Named)
}

/// Accounts of a trace that is not a run yet.
pub fn of_trace(trace: &Trace, classes: &Classes) -> IdleAccounts {
    accounts(trace, lanes::lanes(trace, classes), &Calls::of(trace), Places::Named)
}

/// [`of_trace`] when only causes matter: owners of host code are not checked for how much they launch.
pub fn causes(trace: &Trace, classes: &Classes) -> IdleAccounts {
    accounts(trace, lanes::lanes(trace, classes), &Calls::of(trace), Places::Any)
}

/// Whether the owner of host code must launch little itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Places {
    Named,
    Any,
}

fn accounts(trace: &Trace, lanes: Vec<Lane>, calls: &Calls, places: Places) -> IdleAccounts {
    let mut gpus: Vec<GpuAccount> = lanes.into_iter().map(account).collect();
    gpus.retain(|gpu| !gpu.rows.is_empty());
    common_spans(trace, &mut gpus);
    let host = HostThreads::of(trace, &gpus, calls);
    IdleAccounts { gpus: beside(trace, &host, gpus, places) }
}

/// Fills the idle time of each GPU from what the host did.
fn beside(trace: &Trace, host: &HostThreads, mut gpus: Vec<GpuAccount>, places: Places) -> Vec<GpuAccount> {
    let busy: Vec<Vec<(Ns, Ns)>> = gpus.iter().map(|gpu| merged(gpu.rows.iter())).collect();
    let mut of_span: Map<(Ns, Ns), Vec<usize>> = Map::default();
    gpus.iter().enumerate().for_each(|(number, gpu)| of_span.entry(gpu.span).or_default().push(number));
    let (mut stretches, mut names) = (Vec::new(), gap::Names::of(trace));
    for number in 0..gpus.len() {
        let elsewhere = gap::Elsewhere::new(&of_span[&gpus[number].span], &busy, number);
        let pieces = gap::pieces(trace, host, &gpus[number], &elsewhere, &mut names, &mut |piece, thread| {
            stretches.push(owner::Stretch::new(number, piece, thread));
        });
        gpus[number].idle = pieces;
    }
    owner::charge(trace, &mut gpus, stretches, places);
    for gpu in &mut gpus {
        gpu.busy = gpu.total() - gpu.idle_total();
        gpu.idle = joined(std::mem::take(&mut gpu.idle));
    }
    gpus
}

/// How long GPUs were idle but not why, for traces read without the host side.
pub fn without_causes(lanes: Vec<Lane>) -> IdleAccounts {
    let mut gpus: Vec<GpuAccount> = lanes.into_iter().map(account).collect();
    gpus.retain(|gpu| !gpu.rows.is_empty());
    for gpu in &mut gpus {
        gpu.idle = gaps(gpu);
        gpu.busy = gpu.total() - gpu.idle_total();
    }
    IdleAccounts { gpus }
}

/// The time between the first and the last work of a GPU in which it has none.
fn gaps(gpu: &GpuAccount) -> Vec<Piece> {
    let mut gaps = Vec::new();
    let mut until = gpu.span.0;
    for row in &gpu.rows {
        if row.work.start > until {
            gaps.push(Piece {
                start: until,
                end: row.work.start,
                cause: Cause::NotRecorded,
                place: StrId::EMPTY,
                next: RowRef::NONE,
            });
        }
        until = until.max(row.work.end);
    }
    gaps
}

fn account(mut lane: Lane) -> GpuAccount {
    let mut rows = std::mem::take(&mut lane.rows);
    rows.retain(|row| row.work.end >= row.work.start);
    rows.sort_by_key(|row| (row.work.start, row.work.end));
    let first = rows.first().map_or(0, |row| row.work.start);
    let last = rows.iter().map(|row| row.work.end).max().unwrap_or(0);
    GpuAccount { lane, rows, span: (first, last), busy: 0, idle: Vec::new() }
}

/// Gives all GPUs on one clock the same span.
fn common_spans(trace: &Trace, gpus: &mut [GpuAccount]) {
    let recordings = Recordings::of(trace);
    let clock = |gpu: &GpuAccount| {
        let process = match gpu.rows.first()?.row.get()? {
            (Table::Kernels, row) => trace.kernels.process[row],
            (Table::MemoryCopies, row) => trace.memory_copies.process[row],
            _ => return None,
        };
        recordings.of_process(process).map(|recording| recordings.domain_of(recording))
    };
    let clocks: Vec<Option<usize>> = gpus.iter().map(clock).collect();
    let own: Vec<(Ns, Ns)> = gpus.iter().map(|gpu| gpu.span).collect();
    let mut common: Map<Option<usize>, (Ns, Ns)> = Map::default();
    for (clock, own) in clocks.iter().zip(&own) {
        let all = common.entry(*clock).or_insert(*own);
        *all = (all.0.min(own.0), all.1.max(own.1));
    }
    for (gpu, clock) in gpus.iter_mut().zip(&clocks) {
        gpu.span = common[clock];
    }
}

/// The union of the times of rows, which are sorted.
pub(crate) fn merged<'r>(rows: impl Iterator<Item = &'r GpuRow>) -> Vec<(Ns, Ns)> {
    let mut merged: Vec<(Ns, Ns)> = Vec::new();
    for row in rows {
        match merged.last_mut() {
            Some(last) if row.work.start <= last.1 => last.1 = last.1.max(row.work.end),
            _ => merged.push((row.work.start, row.work.end)),
        }
    }
    merged
}

/// Merges neighbouring pieces with the same cause and place.
fn joined(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.retain(|piece| piece.end > piece.start);
    pieces.dedup_by(|piece, last| {
        let is_more = last.end == piece.start
            && (last.cause, last.place, last.next) == (piece.cause, piece.place, piece.next);
        if is_more {
            last.end = piece.end;
        }
        is_more
    });
    pieces.shrink_to_fit();
    pieces
}
