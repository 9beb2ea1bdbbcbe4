//! References of rows to processes, threads, agents, queues and streams, resolved on the workers.

use trace::{ProcessId, Trace};

use super::identity::{EntityKind, FromNumber, Identity, Track};
use super::places::Late;

/// How many reference columns a table can have.
const SLOTS: usize = 8;
const UNKNOWN: u32 = u32::MAX;

/// A reference that no table explains: row, column, kind and id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub row: usize,
    pub slot: usize,
    kind: EntityKind,
    id: i64,
}

/// Resolves references of one chunk of rows. Neighbours mostly name the same thing, so the last answer of each
/// column is kept.
pub(super) struct Refs {
    last: [(i64, u32); SLOTS],
    last_track: Option<(i64, Track)>,
    missing: Vec<Missing>,
}

impl Default for Refs {
    fn default() -> Self {
        Self { last: [(0, UNKNOWN); SLOTS], last_track: None, missing: Vec::new() }
    }
}

impl Refs {
    /// The trace's id for a row id in column `slot`; `NONE` for NULL, and for now for undescribed ones.
    #[inline]
    pub fn get<T: FromNumber + Default>(
        &mut self,
        identity: &Identity,
        (slot, kind): (usize, EntityKind),
        row: usize,
        id: Option<i64>,
    ) -> T {
        let Some(id) = id else { return T::default() };
        let (last, number) = self.last[slot];
        if last == id && number != UNKNOWN {
            return T::from_number(number);
        }
        match identity.find(kind, id) {
            Some(number) => {
                self.last[slot] = (id, number);
                T::from_number(number)
            }
            None => {
                self.missing.push(Missing { row, slot, kind, id });
                T::default()
            }
        }
    }

    /// The process of a row; if it does not say, the only one.
    #[inline]
    pub fn process(&mut self, identity: &Identity, row: usize, id: Option<i64>) -> ProcessId {
        match id {
            Some(_) => self.get(identity, (0, EntityKind::Process), row, id),
            None => identity.only_process(),
        }
    }

    /// The place of a row's track; without a track, just the recording's only process.
    #[inline]
    pub fn track(&mut self, identity: &Identity, id: Option<i64>) -> Track {
        let Some(id) = id else { return identity.no_track() };
        match self.last_track {
            Some((last, track)) if last == id => track,
            _ => {
                let Some(track) = identity.track(id) else { return identity.no_track() };
                self.last_track = Some((id, track));
                track
            }
        }
    }

    /// Hands over unresolved references, with rows counted from the start of the table.
    pub fn drain_into(self, all: &mut Vec<Missing>, first_row: usize) {
        all.extend(self.missing.into_iter().map(|m| Missing { row: m.row + first_row, ..m }));
    }
}

/// Creates what rows refer to but no table describes; `patch` sets one column of a row.
pub(super) fn make_up(
    missing: &[Missing],
    identity: &mut Identity,
    trace: &mut Trace,
    process_of: impl Fn(&Trace, usize) -> ProcessId,
    mut patch: impl FnMut(&mut Trace, usize, Late),
) {
    // Processes first: the others belong to them.
    let (processes, others): (Vec<&Missing>, Vec<&Missing>) =
        missing.iter().partition(|m| m.kind == EntityKind::Process);
    for m in processes.into_iter().chain(others) {
        let process = process_of(trace, m.row);
        let number = identity.make_up(m.kind, m.id, process, trace);
        patch(trace, m.row, Late::of(m.slot, number));
    }
}
