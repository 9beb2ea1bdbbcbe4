//! Host side: `rocpd_region`, `rocpd_graph_launch`, `rocpd_hip_event`, `rocpd_arg`.

use formats::rocpd::table;
use serde_json::Value as Json;
use trace::{Arg, Needs, QueueId, Region, Regions, RowRef, StreamId, Strings, Sync, Syncs, Table, Trace};

use super::Reader;
use super::groups::{Group, unpacked};
use super::identity::EntityKind;
use super::places::{Late, OWN_SLOTS, Places, Time, times};
use super::refs::{Missing, Refs, make_up};
use crate::sqlite::{Col, ROWS_OF_CHUNK, Row};

#[derive(Default)]
struct RegionChunk {
    rows: Regions,
    refs: Refs,
    events: Vec<Option<i64>>,
    lost: u64,
    nameless: u64,
    frames: u64,
}

impl RegionChunk {
    fn with_room() -> Self {
        let mut chunk = Self::default();
        chunk.rows.reserve(ROWS_OF_CHUNK);
        chunk
    }
}

impl Reader<'_> {
    /// Reads regions. A marker is named by the text that the user gave.
    pub(super) fn regions(&mut self) {
        let Reader { group, needs, trace, identity, events, tally, stamps, .. } = self;
        let Some(table) = group.table(table::REGION) else { return };
        let (name, event) = (table.column("name_id"), table.column("event_id"));
        let places = Places::of(group, table::REGION);
        let [start, end] = ["start", "end"].map(|name| Time::of(group, stamps, table::REGION, name));
        let mut wanted = vec![name, event, start.column(), end.column()];
        wanted.extend(places.columns());
        // Databases converted from torch traces may hold Python frames, usually more than anything else.
        let frames = if needs.python_frames { None } else { trace.strings.find("python_function") };
        let (lookup, all_events, first) = (&*identity, &*events, trace.regions.len());
        let owners = all_events.keeps_owners();
        let each = |chunk: &mut RegionChunk, row: &Row<'_>| {
            let Some((start, end)) = times(&start, &end, row) else {
                chunk.lost += 1;
                return;
            };
            let event_id = row.int(event);
            let event = all_events.get(event_id);
            if frames == Some(event.category) {
                chunk.frames += 1;
                return;
            }
            let at = chunk.rows.len();
            let name =
                all_events.message(event_id).or_else(|| row.int(name).and_then(|id| lookup.string(id)));
            chunk.nameless += u64::from(name.is_none());
            let (process, thread) = places.caller(row, at, &mut chunk.refs, lookup);
            chunk.rows.push(Region {
                name: name.unwrap_or_default(),
                category: event.category,
                start,
                end,
                process,
                thread,
                correlation: event.stack,
                parent: event.parent,
                external: event.external,
            });
            if owners {
                chunk.events.push(event_id);
            }
        };
        let (mut missing, mut event_ids): (Vec<Missing>, Vec<Option<i64>>) = Default::default();
        group.scan_expecting(table::REGION, &wanted, RegionChunk::with_room, each, |mut chunk, rows| {
            if trace.regions.len() == first {
                trace.regions.reserve(rows);
            }
            chunk.refs.drain_into(&mut missing, trace.regions.len());
            trace.regions.concat(chunk.rows);
            event_ids.append(&mut chunk.events);
            tally.lost_rows += chunk.lost;
            tally.nameless += chunk.nameless;
            tally.frames += chunk.frames;
        });
        self.region_refs(&missing);
        self.own(Table::Regions, first, &event_ids);
    }

    fn region_refs(&mut self, missing: &[Missing]) {
        let process_of = |t: &trace::Trace, row: usize| t.regions.process[row];
        make_up(missing, &mut self.identity, self.trace, process_of, |t, row, late| match late {
            Late::Process(id) => t.regions.process[row] = id,
            Late::Thread(id) => t.regions.thread[row] = id,
            _ => {}
        });
    }

    /// Reads graph launches as regions: they belong to the call that launched them, but are not the call.
    pub(super) fn graph_launches(&mut self) {
        let Reader { group, trace, identity, events, tally, stamps, .. } = self;
        let Some(table) = group.table(table::GRAPH_LAUNCH) else { return };
        let (graph, event) = (table.column("graph_exec_id"), table.column("event_id"));
        let places = Places::of(group, table::GRAPH_LAUNCH);
        let [start, end] = ["start", "end"].map(|name| Time::of(group, stamps, table::GRAPH_LAUNCH, name));
        let mut wanted = vec![graph, event, start.column(), end.column()];
        wanted.extend(places.columns());
        let category = trace.strings.intern("GRAPH_LAUNCH");
        let (lookup, all_events) = (&*identity, &*events);
        let each = |chunk: &mut (Regions, Refs, Vec<i64>, u64), row: &Row<'_>| {
            let (rows, refs, graphs, lost) = chunk;
            let Some((start, end)) = times(&start, &end, row) else {
                *lost += 1;
                return;
            };
            let at = rows.len();
            let event = all_events.get(row.int(event));
            graphs.push(row.int(graph).unwrap_or(0));
            let place = places.get(row, at, refs, lookup);
            rows.push(Region {
                name: Default::default(),
                category: if event.category.is_empty() { category } else { event.category },
                start,
                end,
                process: place.process,
                thread: place.thread,
                correlation: 0,
                parent: event.stack,
                external: event.external,
            });
        };
        let mut missing = Vec::new();
        group.scan(table::GRAPH_LAUNCH, &wanted, Default::default, each, |(mut rows, refs, graphs, lost)| {
            for (name, graph) in rows.name.iter_mut().zip(graphs) {
                *name = trace.strings.intern(&format!("graph {graph}"));
            }
            refs.drain_into(&mut missing, trace.regions.len());
            trace.regions.concat(rows);
            tally.lost_rows += lost;
        });
        self.region_refs(&missing);
    }

    /// Reads event records and waits. Times are those on the GPU, where a record or a wait is a barrier of
    /// its queue.
    pub(super) fn syncs(&mut self) {
        let Reader { group, trace, identity, events, tally, stamps, .. } = self;
        let Some(table) = group.table(table::HIP_EVENT) else { return };
        let [name, handle, event, source_queue, extdata] =
            ["name_id", "hip_event_handle", "event_id", "source_queue_id", "extdata"]
                .map(|name| table.column(name));
        let places = Places::of(group, table::HIP_EVENT);
        let [start, end] = ["start", "end"].map(|name| Time::of(group, stamps, table::HIP_EVENT, name));
        let mut wanted = vec![name, handle, event, source_queue, extdata, start.column(), end.column()];
        wanted.extend(places.columns());
        let (lookup, all_events) = (&*identity, &*events);
        let each = |chunk: &mut (Syncs, Refs, u64), row: &Row<'_>| {
            let (rows, refs, lost) = chunk;
            let Some((start, end)) = times(&start, &end, row) else {
                *lost += 1;
                return;
            };
            let at = rows.len();
            let facts = unpacked(row, extdata).unwrap_or_default();
            let facts: Json =
                if facts.len() > 2 { serde_json::from_str(&facts).unwrap_or_default() } else { Json::Null };
            let fact = |name| facts.get(name).and_then(Json::as_i64);
            let place = places.get(row, at, refs, lookup);
            rows.push(Sync {
                kind: row.int(name).and_then(|id| lookup.string(id)).unwrap_or_default(),
                start,
                end,
                process: place.process,
                thread: place.thread,
                stream: place.stream,
                event: row.int(handle).into(),
                waits_for: refs.get(lookup, (OWN_SLOTS, EntityKind::Stream), at, fact("source_stream_id")),
                correlation: all_events.get(row.int(event)).stack,
                awaited: fact("awaited").into(),
                agent: place.agent,
                queue: place.queue,
                waits_for_queue: refs.get(
                    lookup,
                    (OWN_SLOTS + 1, EntityKind::Queue),
                    at,
                    row.int(source_queue),
                ),
            });
        };
        let mut missing = Vec::new();
        group.scan(table::HIP_EVENT, &wanted, Default::default, each, |(rows, refs, lost)| {
            refs.drain_into(&mut missing, trace.syncs.len());
            trace.syncs.concat(rows);
            tally.lost_rows += lost;
        });
        let process_of = |t: &trace::Trace, row: usize| t.syncs.process[row];
        make_up(&missing, identity, trace, process_of, |t, row, late| match late {
            Late::Process(id) => t.syncs.process[row] = id,
            Late::Thread(id) => t.syncs.thread[row] = id,
            Late::Stream(id) => t.syncs.stream[row] = id,
            Late::Agent(id) => t.syncs.agent[row] = id,
            Late::Queue(id) => t.syncs.queue[row] = id,
            Late::Own(0, number) => t.syncs.waits_for[row] = StreamId(number),
            Late::Own(_, number) => t.syncs.waits_for_queue[row] = QueueId(number),
        });
    }

    /// Attaches arguments to the rows of their events.
    pub(super) fn args(&mut self, found: Vec<FoundArg>) {
        for FoundArg { event, arg } in found {
            match event.and_then(|id| self.events.owner(id)) {
                Some(owner) => self.trace.args.push(Arg { owner, ..arg }),
                None => self.tally.ownerless += 1,
            }
        }
    }
}

/// An argument whose event's row is not known yet.
pub(super) struct FoundArg {
    event: Option<i64>,
    arg: Arg,
}

/// Reads the requested arguments.
pub(super) fn find_args(group: &Group<'_>, needs: &Needs, trace: &mut Trace) -> Vec<FoundArg> {
    let mut found = Vec::new();
    let Some(table) = group.table(table::ARG) else { return found };
    let wanted: [Col; 5] = ["event_id", "position", "type", "name", "value"].map(|name| table.column(name));
    let [event, position, ty, name, value] = wanted;
    let each = |(rows, strings): &mut (Vec<FoundArg>, Strings), row: &Row<'_>| {
        let name = row.text(name).unwrap_or_default();
        if !needs.args.wants(&name) {
            return;
        }
        let arg = Arg {
            owner: RowRef::NONE,
            position: row.int(position).and_then(|p| u32::try_from(p).ok()).unwrap_or(0),
            ty: strings.intern(&row.text(ty).unwrap_or_default()),
            name: strings.intern(&name),
            value: strings.intern(&row.text(value).unwrap_or_default()),
        };
        rows.push(FoundArg { event: row.int(event), arg });
    };
    group.scan(table::ARG, &wanted, Default::default, each, |(rows, strings)| {
        let known = trace.strings.absorb(&strings);
        let to = |id: trace::StrId| known[id.0 as usize];
        found.extend(rows.into_iter().map(|FoundArg { event, arg }| FoundArg {
            event,
            arg: Arg { ty: to(arg.ty), name: to(arg.name), value: to(arg.value), ..arg },
        }));
    });
    found
}
