//! Host tables: regions, samples, HIP events, graph launches.

use formats::rocpd::table;
use trace::Table;

use super::definition::{Cell, TableDef, number, tables};

const EMPTY: Cell<'static> = Cell::Text("{}");

pub(super) static TABLES: &[TableDef] = tables! {
    table::REGION, numbered true, sorted by "start" |m| &m.trace.regions.start, rows |m| m.trace.regions.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.regions.process[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.regions.process[i]).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.regions.process[i]).into();
        "tid" INTEGER = |m, i| m.thread_ref(m.trace.regions.thread[i]).into();
        "start" BIGINT = |m, i| m.trace.regions.start[i].into();
        "end" BIGINT = |m, i| m.trace.regions.end[i].into();
        "name_id" INTEGER = |m, i| m.string_id(m.trace.regions.name[i]).into();
        "event_id" INTEGER = |m, i| m.event(Table::Regions, i).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::SAMPLE, numbered true, sorted by "timestamp" |m| &m.trace.samples.start, rows |m| m.trace.samples.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.samples.process[i]).into();
        "track_id" INTEGER = |m, i| number(m.track_of[i] as usize);
        "timestamp" BIGINT = |m, i| m.trace.samples.start[i].into();
        "event_id" INTEGER = |m, i| m.event(Table::Samples, i).into();
        "extdata" JSONB = |m, i| match m.trace.samples.dispatch[i].get() {
            Some(dispatch) => Cell::Made(format!("{{\"dispatch_id\":{dispatch}}}")),
            None => EMPTY,
        };
    }
    table::HIP_EVENT, numbered true, sorted by "start" |m| &m.trace.syncs.start, rows |m| m.trace.syncs.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| m.guid(m.trace.syncs.process[i]).into();
        "nid" INTEGER = |m, i| m.nid(m.trace.syncs.process[i]).into();
        "pid" INTEGER = |m, i| m.process_ref(m.trace.syncs.process[i]).into();
        "tid" INTEGER = |m, i| m.thread_ref(m.trace.syncs.thread[i]).into();
        "agent_id" INTEGER = |m, i| m.agent_ref(m.trace.syncs.agent[i]).into();
        "name_id" INTEGER = |m, i| m.string_id(m.trace.syncs.kind[i]).into();
        "queue_id" INTEGER = |m, i| m.queue_ref(m.trace.syncs.queue[i]).into();
        "source_queue_id" INTEGER = |m, i| m.queue_ref(m.trace.syncs.waits_for_queue[i]).into();
        "stream_id" INTEGER = |m, i| m.stream_ref(m.trace.syncs.stream[i]).into();
        "hip_event_handle" INTEGER = |m, i| m.trace.syncs.event[i].into();
        "start" BIGINT = |m, i| m.trace.syncs.start[i].into();
        "end" BIGINT = |m, i| m.trace.syncs.end[i].into();
        "event_id" INTEGER = |m, i| m.event(Table::Syncs, i).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    // No reader stores graph launches as separate rows.
    table::GRAPH_LAUNCH, numbered true, rows |_| 0, {
        "id" INTEGER = |_, _| Cell::Null;
        "guid" TEXT = |_, _| Cell::Null;
        "nid" INTEGER = |_, _| Cell::Null;
        "pid" INTEGER = |_, _| Cell::Null;
        "tid" INTEGER = |_, _| Cell::Null;
        "agent_id" INTEGER = |_, _| Cell::Null;
        "queue_id" INTEGER = |_, _| Cell::Null;
        "start" BIGINT = |_, _| Cell::Null;
        "end" BIGINT = |_, _| Cell::Null;
        "graph_exec_id" INTEGER = |_, _| Cell::Null;
        "kernel_dispatch_count" INTEGER = |_, _| Cell::Null;
        "event_id" INTEGER = |_, _| Cell::Null;
        "extdata" JSONB = |_, _| Cell::Null;
    }
};
