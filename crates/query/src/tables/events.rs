//! Events, their arguments and counter values.

use formats::rocpd::table;
use trace::{ProcessId, RowRef, StrId, Table};

use super::definition::{Cell, TableDef, number, tables};
use super::model::{self, Model};
use crate::totals::quote;

/// An event's facts, gathered from the row it belongs to.
pub(super) struct Event {
    pub process: ProcessId,
    category: Result<StrId, &'static str>,
    stack: i64,
    parent: Option<i64>,
    external: Option<i64>,
}

impl Event {
    pub fn of(m: &Model, owner: RowRef) -> Option<Event> {
        let (table, i) = owner.get()?;
        let t = &m.trace;
        let device = |process: ProcessId, category, stack: i64, external| Event {
            process,
            category: Err(category),
            stack,
            parent: Some(stack),
            external,
        };
        Some(match table {
            Table::Kernels => {
                let k = &t.kernels;
                device(k.process[i], model::KERNEL, k.correlation[i], k.external[i].get())
            }
            Table::MemoryCopies => {
                let c = &t.memory_copies;
                device(c.process[i], model::COPY, c.correlation[i], c.external[i].get())
            }
            Table::MemoryAllocations => {
                let a = &t.memory_allocations;
                device(a.process[i], m.allocation_category(i), a.correlation[i], None)
            }
            Table::Syncs => device(t.syncs.process[i], model::SYNC, t.syncs.correlation[i], None),
            Table::Regions => {
                let r = &t.regions;
                Event {
                    process: r.process[i],
                    category: Ok(r.category[i]),
                    stack: r.correlation[i],
                    parent: m.parent(i),
                    external: r.external[i].get(),
                }
            }
            Table::Samples => {
                let s = &t.samples;
                let stack = s.correlation[i];
                Event { process: s.process[i], category: Ok(s.kind[i]), stack, parent: None, external: None }
            }
        })
    }

    pub fn category<'m>(&self, m: &'m Model) -> Option<&'m str> {
        match self.category {
            Ok(id) => Some(m.text(id)),
            Err(text) => Some(text),
        }
    }

    fn category_id(&self, m: &Model) -> Option<i64> {
        let id = match self.category {
            Ok(id) => Some(id),
            Err(text) => m.trace.strings.find(text),
        };
        id.map(|id| m.string_id(id))
    }

    /// Correlation id; a row without a call has none, so a join does not match unrelated rows.
    pub fn stack(&self) -> Option<i64> {
        Some(self.stack).filter(|stack| *stack != 0)
    }

    pub fn parent(&self) -> Option<i64> {
        self.parent.filter(|parent| *parent != 0)
    }

    pub fn external(&self) -> Option<i64> {
        self.external
    }
}

/// The JSON of markers and samples: the user's text.
pub(super) fn extdata<'m>(m: &'m Model, owner: RowRef) -> Cell<'m> {
    let message = match owner.get() {
        Some((Table::Regions, i)) => {
            let category = m.text(m.trace.regions.category[i]);
            let marker = category.starts_with("MARKER_") || category == "rocm_marker_api";
            marker.then(|| m.text(m.trace.regions.name[i]))
        }
        Some((Table::Samples, i)) => m.known(m.trace.samples.location[i]),
        _ => None,
    };
    match message {
        Some(message) => {
            let mut json = String::from("{\"message\":");
            quote(message, &mut json);
            json.push('}');
            Cell::Made(json)
        }
        None => Cell::Text("{}"),
    }
}

fn event(m: &Model, row: usize) -> Option<Event> {
    Event::of(m, m.owner(row))
}

fn event_id(m: &Model, owner: RowRef) -> Option<i64> {
    owner.get().map(|(table, row)| m.event(table, row))
}

/// A counter value: of a dispatch, or of a sample.
enum CounterSource {
    Counter(usize),
    Sample(usize, usize),
}

fn counted(m: &Model, row: usize) -> CounterSource {
    match row.checked_sub(m.trace.counters.len()) {
        None => CounterSource::Counter(row),
        Some(i) => CounterSource::Sample(m.valued[i].0 as usize, m.valued[i].1 as usize),
    }
}

fn counted_event(m: &Model, row: usize) -> Option<i64> {
    match counted(m, row) {
        CounterSource::Counter(i) => event_id(m, m.trace.counters.kernel[i]),
        CounterSource::Sample(i, _) => Some(m.event(Table::Samples, i)),
    }
}

fn counted_guid(m: &Model, row: usize) -> &str {
    let process = match counted(m, row) {
        CounterSource::Counter(i) => {
            let kernel = m.trace.counters.kernel[i].row_of(Table::Kernels);
            kernel.map_or(ProcessId::NONE, |k| m.trace.kernels.process[k])
        }
        CounterSource::Sample(i, _) => m.trace.samples.process[i],
    };
    m.guid(process)
}

fn counter(m: &Model, row: usize) -> Option<usize> {
    Some(row).filter(|row| *row < m.trace.counters.len())
}

const EMPTY: Cell<'static> = Cell::Text("{}");

pub(super) static TABLES: &[TableDef] = tables! {
    table::EVENT, numbered true, rows Model::events, {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| event(m, i).map(|e| m.guid(e.process)).into();
        "category_id" INTEGER = |m, i| event(m, i).and_then(|e| e.category_id(m)).into();
        "stack_id" INTEGER = |m, i| event(m, i).and_then(|e| e.stack()).into();
        "parent_stack_id" INTEGER = |m, i| event(m, i).and_then(|e| e.parent()).into();
        "correlation_id" INTEGER = |m, i| event(m, i).and_then(|e| e.external()).into();
        "call_stack" JSONB = |_, _| EMPTY;
        "line_info" JSONB = |_, _| EMPTY;
        "extdata" JSONB = |m, i| extdata(m, m.owner(i));
    }
    table::ARG, numbered true, rows |m| m.trace.args.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| Event::of(m, m.trace.args.owner[i]).map(|e| m.guid(e.process)).into();
        "event_id" INTEGER = |m, i| event_id(m, m.trace.args.owner[i]).into();
        "position" INTEGER = |m, i| i64::from(m.trace.args.position[i]).into();
        "type" TEXT = |m, i| m.text(m.trace.args.ty[i]).into();
        "name" TEXT = |m, i| m.text(m.trace.args.name[i]).into();
        "value" TEXT = |m, i| m.text(m.trace.args.value[i]).into();
        "extdata" JSONB = |_, _| EMPTY;
    }
    table::PMC_EVENT, numbered true, rows |m| m.trace.counters.len() + m.valued.len(), {
        "id" INTEGER = |_, i| number(i);
        "guid" TEXT = |m, i| counted_guid(m, i).into();
        "event_id" INTEGER = |m, i| counted_event(m, i).into();
        "pmc_id" INTEGER = |m, i| match counted(m, i) {
            CounterSource::Counter(i) => m.trace.counters.counter[i].get().map(|kind| kind as i64 + 1).into(),
            CounterSource::Sample(_, pmc) => number(pmc),
        };
        "value" REAL = |m, i| match counted(m, i) {
            CounterSource::Counter(i) => m.trace.counters.value[i].into(),
            CounterSource::Sample(i, _) => m.trace.samples.value[i].into(),
        };
        "sample_id" INTEGER = |_, _| Cell::Null;
        "xcc" INTEGER = |m, i| counter(m, i).and_then(|i| m.trace.counters.xcc[i].get()).into();
        "shader_engine" INTEGER = |m, i| counter(m, i).and_then(|i| m.trace.counters.shader_engine[i].get()).into();
        "instance" INTEGER = |m, i| counter(m, i).and_then(|i| m.trace.counters.instance[i].get()).into();
        "shader_array" INTEGER = |_, _| Cell::Null;
        "wgp" INTEGER = |_, _| Cell::Null;
        "extdata" JSONB = |_, _| EMPTY;
    }
};
