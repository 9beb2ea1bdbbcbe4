//! Where and when a row ran, however the schema version stores it: in the row's own columns, or as ids of a
//! track and of times.

use formats::rocpd::table;
use formats::rocpd::versions::ColumnSource as Found;
use trace::{AgentId, ProcessId, QueueId, StreamId, ThreadId};

use super::groups::Group;
use super::identity::{EntityKind, Identity, Track};
use super::refs::Refs;
use crate::by_id::ById;
use crate::sqlite::{Col, Row};
use crate::times::usable;

/// Slots of [`Refs`] that places use; tables number their own references from [`OWN_SLOTS`].
const PROCESS: usize = 0;
const THREAD: usize = 1;
const AGENT: usize = 2;
const QUEUE: usize = 3;
const STREAM: usize = 4;
/// First slot for a table's own references.
pub(super) const OWN_SLOTS: usize = 5;

/// Columns that say where a row ran.
pub(super) struct Places {
    /// Id of the track, if the table uses tracks.
    track: Col,
    process: Col,
    thread: Col,
    agent: Col,
    queue: Col,
    stream: Col,
}

impl Places {
    /// The columns of a table.
    pub fn of(group: &Group<'_>, base: &str) -> Self {
        let mut track = Col::ABSENT;
        let mut column = |name: &str| match group.place(base, name) {
            Found::Own => group.column(base, name),
            Found::Elsewhere(other) => {
                track = group.column(base, other.key);
                Col::ABSENT
            }
            Found::Nowhere => Col::ABSENT,
        };
        let [process, thread, agent, queue, stream] =
            ["pid", "tid", "agent_id", "queue_id", "stream_id"].map(&mut column);
        Self { track, process, thread, agent, queue, stream }
    }

    /// The columns to read.
    pub fn columns(&self) -> [Col; 6] {
        [self.track, self.process, self.thread, self.agent, self.queue, self.stream]
    }

    /// The place of row `at` of a chunk.
    #[inline]
    pub fn get(&self, row: &Row<'_>, at: usize, refs: &mut Refs, identity: &Identity) -> Track {
        if self.track.is_present() {
            return self.by_track(row, at, refs, identity);
        }
        Track {
            name: Default::default(),
            process: refs.process(identity, at, row.int(self.process)),
            thread: refs.get(identity, (THREAD, EntityKind::Thread), at, row.int(self.thread)),
            agent: refs.get(identity, (AGENT, EntityKind::Agent), at, row.int(self.agent)),
            queue: refs.get(identity, (QUEUE, EntityKind::Queue), at, row.int(self.queue)),
            stream: refs.get(identity, (STREAM, EntityKind::Stream), at, row.int(self.stream)),
        }
    }

    /// The caller of row `at` of a chunk, for tables of the host.
    #[inline]
    pub fn caller(
        &self,
        row: &Row<'_>,
        at: usize,
        refs: &mut Refs,
        identity: &Identity,
    ) -> (ProcessId, ThreadId) {
        if self.track.is_present() {
            let place = self.by_track(row, at, refs, identity);
            return (place.process, place.thread);
        }
        let process = refs.process(identity, at, row.int(self.process));
        (process, refs.get(identity, (THREAD, EntityKind::Thread), at, row.int(self.thread)))
    }

    /// The track's place, overridden by columns that the row has itself.
    fn by_track(&self, row: &Row<'_>, at: usize, refs: &mut Refs, identity: &Identity) -> Track {
        let mut place = refs.track(identity, row.int(self.track));
        if self.process.is_present() {
            place.process = refs.process(identity, at, row.int(self.process));
        }
        if self.thread.is_present() {
            place.thread = refs.get(identity, (THREAD, EntityKind::Thread), at, row.int(self.thread));
        }
        if self.agent.is_present() {
            place.agent = refs.get(identity, (AGENT, EntityKind::Agent), at, row.int(self.agent));
        }
        if self.queue.is_present() {
            place.queue = refs.get(identity, (QUEUE, EntityKind::Queue), at, row.int(self.queue));
        }
        if self.stream.is_present() {
            place.stream = refs.get(identity, (STREAM, EntityKind::Stream), at, row.int(self.stream));
        }
        place
    }
}

/// One column of a place that is set after all rows are read.
pub(super) enum Late {
    Process(ProcessId),
    Thread(ThreadId),
    Agent(AgentId),
    Queue(QueueId),
    Stream(StreamId),
    /// One of the table's own references, counted from zero.
    Own(usize, u32),
}

impl Late {
    /// What a slot of [`Refs`] stands for.
    pub fn of(slot: usize, number: u32) -> Self {
        match slot {
            PROCESS => Late::Process(ProcessId(number)),
            THREAD => Late::Thread(ThreadId(number)),
            AGENT => Late::Agent(AgentId(number)),
            QUEUE => Late::Queue(QueueId(number)),
            STREAM => Late::Stream(StreamId(number)),
            own => Late::Own(own - OWN_SLOTS, number),
        }
    }
}

/// Every time of a recording by its id, if rows store ids instead of times (4.0).
#[derive(Default)]
pub(super) struct Stamps {
    /// Id of the first time; the following ids are consecutive unless `index` is set.
    first: i64,
    index: Option<ById>,
    values: Vec<i64>,
}

impl Stamps {
    /// Reads the times, if rows of some table refer to them.
    pub fn read(group: &Group<'_>) -> Self {
        let mut stamps = Stamps::default();
        let columns = [
            (table::REGION, "start"),
            (table::KERNEL_DISPATCH, "start"),
            (table::MEMORY_COPY, "start"),
            (table::MEMORY_ALLOCATE, "start"),
            (table::GRAPH_LAUNCH, "start"),
            (table::HIP_EVENT, "start"),
            (table::SAMPLE, "timestamp"),
        ];
        if !columns.iter().any(|(base, column)| matches!(group.place(base, column), Found::Elsewhere(_))) {
            return stamps;
        }
        let (id, value) = (group.column(table::TIMESTAMP, "id"), group.column(table::TIMESTAMP, "value"));
        let id = if id.is_present() { id } else { Col::ROWID };
        let mut ids: Vec<i64> = Vec::new();
        let each = |chunk: &mut (Vec<i64>, Vec<i64>), row: &Row<'_>| {
            if let (Some(id), Some(value)) = (row.int(id), row.int(value)) {
                chunk.0.push(id);
                chunk.1.push(value);
            }
        };
        group.scan(table::TIMESTAMP, &[id, value], Default::default, each, |(mut more, mut values)| {
            let before = stamps.values.len();
            if before == 0 {
                stamps.first = more.first().copied().unwrap_or(0);
            }
            let next = stamps.first.wrapping_add(before as i64);
            let counts_up = more.iter().enumerate().all(|(i, id)| *id == next.wrapping_add(i as i64));
            if !ids.is_empty() || !counts_up {
                if ids.is_empty() {
                    ids = (0..before).map(|i| stamps.first.wrapping_add(i as i64)).collect();
                }
                ids.append(&mut more);
            }
            stamps.values.append(&mut values);
        });
        if !ids.is_empty() {
            let pairs: Vec<_> = ids.into_iter().zip(0..).collect();
            stamps.index = Some(ById::new(&pairs));
        }
        stamps
    }

    #[inline]
    fn get(&self, id: i64) -> Option<i64> {
        let place = match &self.index {
            Some(index) => index.get(id)? as usize,
            None => usize::try_from(id.wrapping_sub(self.first)).ok()?,
        };
        self.values.get(place).copied()
    }
}

/// A column with a time, or with the id of one.
#[derive(Clone, Copy)]
pub(super) struct Time<'a> {
    column: Col,
    stamps: Option<&'a Stamps>,
}

impl<'a> Time<'a> {
    /// The column of a table for `name`.
    pub fn of(group: &Group<'_>, stamps: &'a Stamps, base: &str, name: &str) -> Self {
        match group.place(base, name) {
            Found::Elsewhere(other) => Self { column: group.column(base, other.key), stamps: Some(stamps) },
            _ => Self { column: group.column(base, name), stamps: None },
        }
    }

    /// The column to read.
    pub fn column(&self) -> Col {
        self.column
    }

    /// The time of a row; `None` if it has none.
    #[inline]
    pub fn get(&self, row: &Row<'_>) -> Option<i64> {
        let value = row.int(self.column)?;
        match self.stamps {
            None => Some(value),
            Some(stamps) => stamps.get(value),
        }
    }
}

/// Start and end of a row, if both exist and are plausible.
#[inline]
pub(super) fn times(start: &Time<'_>, end: &Time<'_>, row: &Row<'_>) -> Option<(i64, i64)> {
    usable(start.get(row), end.get(row))
}
