//! `rocpd_event`: category and correlation ids of every row, found by event id.

use formats::rocpd::table;
use serde_json::Value as Json;
use trace::{Map, OptI64, RowRef, StrId, Trace};

use super::groups::{Group, unpacked};
use super::identity::Identity;
use crate::by_id::ById;
use crate::sqlite::{Col, ROWS_OF_CHUNK, Row, Value};

/// The fields of an event.
#[derive(Clone, Copy, Default)]
pub(super) struct Event {
    pub category: StrId,
    pub stack: i64,
    pub parent: i64,
    pub external: OptI64,
}

/// All events of a recording, by id.
#[derive(Default)]
pub(super) struct Events {
    /// Id of the first event; the following ids are consecutive unless `index` is set.
    first: i64,
    index: Option<ById>,
    ids: Vec<i64>,
    category: Vec<StrId>,
    stack: Vec<i64>,
    parent: Vec<i64>,
    /// External correlation ids; there are almost never any.
    external: Map<u32, i64>,
    messages: Map<u32, StrId>,
    /// The row of each event, kept if counters or arguments need it.
    owners: Vec<RowRef>,
    other_owners: Map<i64, RowRef>,
    keeps_owners: bool,
}

#[derive(Default)]
struct Chunk {
    ids: Vec<i64>,
    category: Vec<StrId>,
    stack: Vec<i64>,
    parent: Vec<i64>,
    external: Vec<(u32, i64)>,
    messages: Vec<(u32, String)>,
}

impl Chunk {
    fn with_room() -> Self {
        Self {
            ids: Vec::with_capacity(ROWS_OF_CHUNK),
            category: Vec::with_capacity(ROWS_OF_CHUNK),
            stack: Vec::with_capacity(ROWS_OF_CHUNK),
            parent: Vec::with_capacity(ROWS_OF_CHUNK),
            ..Self::default()
        }
    }
}

/// What to read for events besides their ids.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Messages of all events, not only of markers.
    pub all_messages: bool,
    /// The row of each event.
    pub owners: bool,
}

impl Events {
    /// Reads the events of a recording.
    pub fn read(group: &Group<'_>, identity: &Identity, wanted: Wanted, trace: &mut Trace) -> Self {
        let mut events = Events { keeps_owners: wanted.owners, ..Events::default() };
        let Some(table) = group.table(table::EVENT) else { return events };
        let column = |name| table.column(name);
        let id = Some(column("id")).filter(|c| c.is_present()).unwrap_or(Col::ROWID);
        let (category, stack, parent) =
            (column("category_id"), column("stack_id"), column("parent_stack_id"));
        let (external, extdata) = (column("correlation_id"), column("extdata"));
        // The text of markers is in their JSON; without markers nobody needs it.
        let markers: Vec<bool> = trace.strings.iter().map(is_marker).collect();
        let messages = wanted.all_messages || markers.contains(&true);
        let mut columns = vec![id, category, stack, parent, external];
        columns.extend(messages.then_some(extdata));
        let each = |chunk: &mut Chunk, row: &Row<'_>| {
            let Some(id) = row.int(id) else { return };
            let place = chunk.ids.len() as u32;
            let category = row.int(category).and_then(|id| identity.category(id)).unwrap_or_default();
            chunk.ids.push(id);
            chunk.category.push(category);
            chunk.stack.push(row.int(stack).unwrap_or(0));
            chunk.parent.push(row.int(parent).unwrap_or(0));
            if let Some(external) = row.int(external).filter(|e| *e != 0) {
                chunk.external.push((place, external));
            }
            if messages
                && (wanted.all_messages || markers[category.0 as usize])
                && let Value::Text(bytes) | Value::Blob(bytes) = row.value(extdata)
                && bytes.len() > 2
                && let Some(message) = unpacked(row, extdata).and_then(|json| message_of(&json))
            {
                chunk.messages.push((place, message));
            }
        };
        group.scan_expecting(table::EVENT, &columns, Chunk::with_room, each, |chunk, rows| {
            if events.category.is_empty() {
                events.reserve(rows);
            }
            events.add(chunk, trace);
        });
        if !events.ids.is_empty() {
            let pairs: Vec<_> = std::mem::take(&mut events.ids).into_iter().zip(0..).collect();
            events.index = Some(ById::new(&pairs));
        }
        if wanted.owners {
            events.owners = trace::filled(events.category.len(), || RowRef::NONE);
        }
        events
    }

    fn reserve(&mut self, rows: usize) {
        self.category.reserve(rows);
        self.stack.reserve(rows);
        self.parent.reserve(rows);
    }

    fn add(&mut self, mut chunk: Chunk, trace: &mut Trace) {
        let before = self.category.len();
        if before == 0 {
            self.first = chunk.ids.first().copied().unwrap_or(0);
        }
        let next = self.first.wrapping_add(before as i64);
        let counts_up = chunk.ids.iter().enumerate().all(|(i, id)| *id == next.wrapping_add(i as i64));
        if !self.ids.is_empty() || !counts_up {
            if self.ids.is_empty() {
                self.ids = (0..before).map(|i| self.first.wrapping_add(i as i64)).collect();
            }
            self.ids.append(&mut chunk.ids);
        }
        self.category.append(&mut chunk.category);
        self.stack.append(&mut chunk.stack);
        self.parent.append(&mut chunk.parent);
        let at = |place: u32| before as u32 + place;
        self.external.extend(chunk.external.iter().map(|(place, id)| (at(*place), *id)));
        let messages = chunk.messages.iter().map(|(place, text)| (at(*place), trace.strings.intern(text)));
        self.messages.extend(messages);
    }

    #[inline]
    fn place(&self, id: i64) -> Option<usize> {
        let place = match &self.index {
            Some(index) => index.get(id)? as usize,
            None => usize::try_from(id.wrapping_sub(self.first)).ok()?,
        };
        (place < self.category.len()).then_some(place)
    }

    /// An event; all fields are empty for rows without one.
    #[inline]
    pub fn get(&self, id: Option<i64>) -> Event {
        let Some(place) = id.and_then(|id| self.place(id)) else { return Event::default() };
        let external = match self.external.is_empty() {
            true => OptI64::NONE,
            false => self.external.get(&(place as u32)).copied().into(),
        };
        Event {
            category: self.category[place],
            stack: self.stack[place],
            parent: self.parent[place],
            external,
        }
    }

    /// The text that the user gave, if it was requested.
    #[inline]
    pub fn message(&self, id: Option<i64>) -> Option<StrId> {
        if self.messages.is_empty() {
            return None;
        }
        self.messages.get(&(self.place(id?)? as u32)).copied()
    }

    /// Whether owners are kept, so that readers gather event ids.
    pub fn keeps_owners(&self) -> bool {
        self.keeps_owners
    }

    /// Records the row of an event. If several rows have it, the first counts.
    pub fn set_owner(&mut self, id: i64, row: RowRef) {
        match self.place(id) {
            Some(place) if self.owners[place] == RowRef::NONE => self.owners[place] = row,
            Some(_) => {}
            None => {
                self.other_owners.entry(id).or_insert(row);
            }
        }
    }

    /// The row of an event.
    pub fn owner(&self, id: i64) -> Option<RowRef> {
        match self.place(id) {
            Some(place) => self.owners.get(place).copied().filter(|row| *row != RowRef::NONE),
            None => self.other_owners.get(&id).copied(),
        }
    }
}

/// Whether a category is one of the user's markers.
fn is_marker(category: &str) -> bool {
    category.starts_with("MARKER_") || category == "rocm_marker_api"
}

/// `$.message` of an event's JSON.
fn message_of(json: &str) -> Option<String> {
    if !json.contains("\"message\"") {
        return None;
    }
    match serde_json::from_str::<Json>(json).ok()?.get_mut("message")?.take() {
        Json::String(text) if !text.is_empty() => Some(text),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
