//! Any trace as a rocpd database: each row gets its event, each event its correlation id.

use formats::rocpd::table;
use formats::rocpd::versions::COMPRESSION;
use std::path::Path;

use trace::{
    AgentId, Graph, LinkKind, Map, OptI64, Process, ProcessId, RowRef, StrId, Table, ThreadId, Trace,
};

use super::identity::{self, Destination, Ids};
use super::pages::Value;
use super::{
    ArgRow, BulkWriter, Error, EventRow, HipEventRow, Options, PmcRow, RegionRow, SampleRow, SchemaVersion,
    Written,
};

/// Tags that the writer sets itself.
const OWN_TAGS: [&str; 5] = ["schema_version", "uuid", "guid", "upid", COMPRESSION];

/// Writes a finished trace.
pub(super) fn write(trace: &Trace, target: &Path, options: &Options) -> Result<Written, Error> {
    let processes = processes(trace);
    let (guids, group_of) = identity::groups(trace, &processes);
    let version = options.version.unwrap_or_else(|| oldest_that_holds(trace));
    let options = Options { version: Some(version), ..options.clone() };
    let mut db = BulkWriter::create(target, &options, &guids)?;
    let ids = Ids::write(trace, &processes, &group_of, options.flavour, &mut db);
    write_metadata(trace, &processes, &group_of, &mut db);
    let mut writer = Writer {
        trace,
        strings: vec![vec![0; trace.strings.len()]; guids.len()],
        next_stack: free_stack_ids(trace, &ids, guids.len()),
        db,
        ids,
        options: &options,
        kernel_events: Vec::new(),
        pmcs: Map::default(),
        next_pmc: vec![1; guids.len()],
        tracks: Map::default(),
        next_track: vec![1; guids.len()],
    };
    writer.regions()?;
    writer.kernels()?;
    writer.counters()?;
    writer.copies()?;
    writer.allocations()?;
    writer.syncs()?;
    writer.samples()?;
    let left_out = left_out(trace, version);
    Ok(Written { left_out, ..writer.db.finish()? })
}

/// The trace's processes, and one more if rows have none.
fn processes(trace: &Trace) -> Vec<Process> {
    let mut processes = trace.processes.clone();
    let columns: [&[ProcessId]; 6] = [
        &trace.kernels.process,
        &trace.memory_copies.process,
        &trace.memory_allocations.process,
        &trace.regions.process,
        &trace.samples.process,
        &trace.syncs.process,
    ];
    if processes.is_empty() || columns.iter().any(|c| c.iter().any(|p| !p.is_some())) {
        processes.push(Process::default());
    }
    processes
}

/// The oldest revision that loses nothing of the trace: most tools read the oldest best.
fn oldest_that_holds(trace: &Trace) -> SchemaVersion {
    let counters = &trace.counters;
    let known = |column: &[OptI64]| column.iter().any(|v| v.get().is_some());
    let replayed = |column: &[Graph]| column.contains(&Graph::Replayed);
    let needs = [
        (SchemaVersion::V3_0_5, known(&counters.pass)),
        (SchemaVersion::V3_0_4, !trace.syncs.is_empty()),
        (
            SchemaVersion::V3_0_3,
            known(&counters.xcc) || known(&counters.shader_engine) || known(&counters.instance),
        ),
        (
            SchemaVersion::V3_0_2,
            !trace.graph_nodes.is_empty()
                || replayed(&trace.kernels.graph)
                || replayed(&trace.memory_copies.graph),
        ),
        (SchemaVersion::V3_0_1, trace.agents.iter().any(|a| a.kind == trace::AgentKind::Nic)),
    ];
    needs.into_iter().find(|(_, needed)| *needed).map_or(SchemaVersion::V3_0_0, |(version, _)| version)
}

fn left_out(trace: &Trace, version: SchemaVersion) -> Vec<String> {
    let links = trace.links.kind.iter().filter(|k| **k == LinkKind::ForwardBackward).count();
    let syncs = if version < SchemaVersion::V3_0_4 { trace.syncs.len() } else { 0 };
    let counted = [
        (trace.collectives.len(), "rows of `collectives`"),
        (trace.allocator_events.len(), "events of the memory allocator"),
        (trace.allocator_blocks.len(), "blocks of the memory allocator"),
        (links, "links from forward to backward"),
        (syncs, "rows of `syncs` (schema 3.0.4 holds them)"),
    ];
    counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
}

fn write_metadata(trace: &Trace, processes: &[Process], group_of: &[usize], db: &mut BulkWriter) {
    for fact in &trace.metadata {
        let (tag, value) = (trace.strings.get(fact.key), trace.strings.get(fact.value));
        let group = processes.iter().position(|p| p.source == fact.source).map(|p| group_of[p]);
        if let Some(group) = group.filter(|_| !OWN_TAGS.contains(&tag)) {
            db.insert(group, table::METADATA, &[("tag", tag.into()), ("value", value.into())]);
        }
    }
}

/// First correlation id of each group that no row uses.
fn free_stack_ids(trace: &Trace, ids: &Ids, groups: usize) -> Vec<i64> {
    let mut highest = vec![0; groups];
    let tables = [
        (&trace.regions.correlation, &trace.regions.process),
        (&trace.kernels.correlation, &trace.kernels.process),
        (&trace.memory_copies.correlation, &trace.memory_copies.process),
        (&trace.memory_allocations.correlation, &trace.memory_allocations.process),
    ];
    for (correlations, processes) in tables {
        for (&correlation, &process) in correlations.iter().zip(processes) {
            let group = ids.place(process).group;
            highest[group] = highest[group].max(correlation);
        }
    }
    highest.into_iter().map(|h| h.saturating_add(1)).collect()
}

/// Writes one trace; the rows of GPU work are in `device`.
pub(super) struct Writer<'a> {
    pub(super) trace: &'a Trace,
    pub(super) db: BulkWriter,
    pub(super) ids: Ids,
    pub(super) options: &'a Options,
    /// String id by (group, trace string); 0: not written yet.
    strings: Vec<Vec<u32>>,
    pub(super) next_stack: Vec<i64>,
    /// Event of each kernel, kept only when counters need it.
    pub(super) kernel_events: Vec<Option<i64>>,
    pmcs: Map<(usize, u32, StrId, StrId), i64>,
    next_pmc: Vec<i64>,
    tracks: Map<(usize, i64, StrId, u32), i64>,
    next_track: Vec<i64>,
}

impl Writer<'_> {
    pub(super) fn string(&mut self, group: usize, id: StrId) -> i64 {
        let known = self.strings[group][id.0 as usize];
        if known != 0 {
            return i64::from(known);
        }
        let fresh = self.db.string(group, self.trace.strings.get(id));
        self.strings[group][id.0 as usize] = fresh as u32;
        fresh
    }

    fn category(&mut self, group: usize, category: StrId) -> i64 {
        let known = self.strings[group][category.0 as usize];
        let text = self.trace.strings.get(category);
        let spelt = self.options.flavour.category(text);
        if spelt == text {
            return if known != 0 { i64::from(known) } else { self.string(group, category) };
        }
        self.db.string(group, spelt)
    }

    /// Unlinked regions get unique correlation ids, so that a join never matches another row.
    fn stack(&mut self, group: usize, correlation: i64) -> i64 {
        if correlation != 0 {
            return correlation;
        }
        self.next_stack[group] += 1;
        self.next_stack[group] - 1
    }

    pub(super) fn args(&mut self, group: usize, owner: RowRef, event_id: i64) -> Result<(), Error> {
        if self.trace.args.is_empty() {
            return Ok(());
        }
        let strings = &self.trace.strings;
        for arg in self.trace.args.of(owner) {
            let row = ArgRow {
                event_id,
                position: i64::from(arg.position),
                ty: strings.get(arg.ty),
                name: strings.get(arg.name),
                value: Some(strings.get(arg.value)),
            };
            self.db.arg(group, &row)?;
        }
        Ok(())
    }

    fn regions(&mut self) -> Result<(), Error> {
        let trace = self.trace;
        let frames = trace.strings.find("python_function");
        let mut frame_stacks: Map<(ProcessId, OptI64), i64> = Map::default();
        for (i, region) in trace.regions.rows().enumerate() {
            let Destination { group, nid, pid } = self.ids.place(region.process);
            let stack = self.stack(group, region.correlation);
            let mut parent = region.parent;
            if Some(region.category) == frames {
                // Frames refer to parents by frame number, rocpd by correlation id.
                frame_stacks.insert((region.process, region.external), stack);
                let key = (region.process, OptI64::some(region.parent));
                parent = frame_stacks.get(&key).copied().unwrap_or(0);
            }
            let message = is_marker(trace.strings.get(region.category))
                .then(|| format!("{{\"message\":{}}}", json_text(trace.strings.get(region.name))));
            let event = EventRow {
                category: Some(self.category(group, region.category)),
                stack: Some(stack),
                parent: Some(parent),
                correlation: Some(region.external.get().unwrap_or(0)),
                extdata: message.as_deref(),
            };
            let event_id = self.db.event(group, &event)?;
            let row = RegionRow {
                nid,
                pid,
                tid: self.ids.some_thread(region.thread, region.process, &mut self.db),
                start: region.start,
                end: region.end,
                name: self.string(group, region.name),
                event_id: Some(event_id),
                extdata: None,
            };
            self.db.region(group, &row)?;
            self.args(group, RowRef::region(i), event_id)?;
        }
        Ok(())
    }

    pub(super) fn device_event(
        &mut self,
        group: usize,
        category: &'static str,
        stack: i64,
        external: OptI64,
    ) -> Result<i64, Error> {
        let category = self.options.flavour.category(category);
        let event = EventRow {
            category: Some(self.db.string(group, category)),
            stack: Some(stack),
            parent: Some(stack),
            correlation: Some(external.get().unwrap_or(0)),
            extdata: None,
        };
        self.db.event(group, &event)
    }

    pub(super) fn add_pmc(
        &mut self,
        place: Destination,
        name: StrId,
        unit: StrId,
        agent: AgentId,
        extra: &[(&'static str, Value<'_>)],
    ) -> i64 {
        let id = self.next_pmc[place.group];
        self.next_pmc[place.group] += 1;
        let strings = &self.trace.strings;
        let kind = agent.get().map(|a| self.trace.agents[a].kind).unwrap_or_default();
        let mut columns = vec![
            ("id", id.into()),
            ("nid", place.nid.into()),
            ("pid", place.pid.into()),
            ("agent_id", self.ids.agent(agent).into()),
            ("target_arch", identity::kind_value(kind, self.db.version())),
            ("name", strings.get(name).into()),
            ("symbol", strings.get(name).into()),
            ("component", "rocm".into()),
            ("units", strings.get(unit).into()),
            ("value_type", "ABS".into()),
        ];
        columns.extend_from_slice(extra);
        self.db.insert(place.group, table::INFO_PMC, &columns);
        id
    }

    fn syncs(&mut self) -> Result<(), Error> {
        if self.db.version() < SchemaVersion::V3_0_4 {
            return Ok(());
        }
        for sync in self.trace.syncs.rows() {
            let Destination { group, nid, pid } = self.ids.place(sync.process);
            let event_id = self.device_event(group, "HIP_EVENT", sync.correlation, OptI64::NONE)?;
            let mut facts = Vec::new();
            if let Some(stream) = self.ids.stream(sync.waits_for) {
                facts.push(format!("\"source_stream_id\":{stream}"));
            }
            if let Some(awaited) = sync.awaited.get() {
                facts.push(format!("\"awaited\":{awaited}"));
            }
            let extdata = format!("{{{}}}", facts.join(","));
            let row = HipEventRow {
                nid,
                pid,
                tid: self.ids.thread(sync.thread),
                agent_id: self.ids.agent(sync.agent),
                name: self.string(group, sync.kind),
                queue_id: self.ids.queue(sync.queue),
                source_queue_id: self.ids.queue(sync.waits_for_queue),
                stream_id: self.ids.stream(sync.stream),
                handle: sync.event.get(),
                start: sync.start,
                end: sync.end,
                event_id: Some(event_id),
                extdata: Some(&extdata),
            };
            self.db.hip_event(group, &row)?;
        }
        Ok(())
    }

    fn samples(&mut self) -> Result<(), Error> {
        let trace = self.trace;
        for (i, sample) in trace.samples.rows().enumerate() {
            let place = self.ids.place(sample.process);
            let group = place.group;
            let message = (!sample.location.is_empty())
                .then(|| format!("{{\"message\":{}}}", json_text(trace.strings.get(sample.location))));
            let event = EventRow {
                category: Some(self.category(group, sample.kind)),
                stack: Some(sample.correlation),
                parent: Some(0),
                correlation: Some(0),
                extdata: message.as_deref(),
            };
            let event_id = self.db.event(group, &event)?;
            if !sample.value.is_nan() {
                let key = (group, sample.agent.0, sample.name, sample.unit);
                let pmc_id = match self.pmcs.get(&key) {
                    Some(id) => *id,
                    None => {
                        let id = self.add_pmc(place, sample.name, sample.unit, sample.agent, &[]);
                        self.pmcs.insert(key, id);
                        id
                    }
                };
                let row =
                    PmcRow { event_id: Some(event_id), pmc_id, value: sample.value, ..PmcRow::default() };
                self.db.pmc(group, &row)?;
            }
            let track_id = self.track(place, sample.name, sample.thread);
            let dispatch = sample.dispatch.get().map(|d| format!("{{\"dispatch_id\":{d}}}"));
            let extdata = dispatch.as_deref();
            let row = SampleRow { track_id, timestamp: sample.start, event_id: Some(event_id), extdata };
            self.db.sample(group, &row)?;
            self.args(group, RowRef::new(Table::Samples, i), event_id)?;
        }
        Ok(())
    }

    fn track(&mut self, place: Destination, name: StrId, thread: ThreadId) -> i64 {
        let key = (place.group, place.pid, name, thread.0);
        if let Some(id) = self.tracks.get(&key) {
            return *id;
        }
        let id = self.next_track[place.group];
        self.next_track[place.group] += 1;
        let columns = [
            ("id", id.into()),
            ("nid", place.nid.into()),
            ("pid", place.pid.into()),
            ("tid", self.ids.thread(thread).into()),
            ("name_id", self.string(place.group, name).into()),
        ];
        self.db.insert(place.group, table::TRACK, &columns);
        self.tracks.insert(key, id);
        id
    }
}

/// Whether a category holds user's markers, whose text rocprofv3 keeps in the event.
fn is_marker(category: &str) -> bool {
    category.starts_with("MARKER_") || category == "rocm_marker_api"
}

/// A string as JSON.
fn json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
