//! References of rows to processes, threads, agents, queues and streams, resolved on the workers.

use trace::{ProcessId, Trace};

use super::identity::{EntityKind, FromNumber, Identity, Track};
use super::places::Late;

/// Columns with references that one table can have.
const SLOTS: usize = 8;
const UNKNOWN: u32 = u32::MAX;

/// A reference that no table explains: row, column, what and which.
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
    /// The trace's id for a row id in column `slot`; none for NULL, and for now for what is not described.
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

    /// The process of a row, the only one where it does not say.
    #[inline]
    pub fn process(&mut self, identity: &Identity, row: usize, id: Option<i64>) -> ProcessId {
        match id {
            Some(_) => self.get(identity, (0, EntityKind::Process), row, id),
            None => identity.only_process(),
        }
    }

    /// The place that a row's track says; nothing but the only process where no such track is there.
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

    /// Hands over what could not be resolved, with rows counted from the table's beginning.
    pub fn drain_into(self, all: &mut Vec<Missing>, first_row: usize) {
        all.extend(self.missing.into_iter().map(|m| Missing { row: m.row + first_row, ..m }));
    }
}

/// Makes up what rows refer to and no table describes; `patch` sets one column of a row.
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
