//! Counters and points in time: `rocpd_info_pmc`, `rocpd_pmc_event`, `rocpd_sample`.

use formats::rocpd::table;
use serde_json::Value as Json;
use trace::{
    AgentId, Counter, CounterId, CounterKind, Map, ProcessId, RowRef, Sample, Samples, StrId, Table,
};

use super::Reader;
use super::groups::unpacked;
use super::identity::EntityKind;
use super::places::{Time, times};
use crate::sqlite::{Col, Row};

/// A row of `rocpd_info_pmc`.
#[derive(Clone)]
struct Pmc {
    kind: CounterKind,
    /// Number among the trace's counters, once a dispatch uses it.
    counter: CounterId,
}

/// A row of `rocpd_pmc_event`.
struct Measured {
    event: Option<i64>,
    pmc: i64,
    value: f64,
    sample: Option<i64>,
    place: [Option<i64>; 3],
}

impl Reader<'_> {
    /// Reads samples, then the values that belong to them or to dispatches.
    pub(super) fn samples_and_counters(&mut self) {
        let first_sample = self.trace.samples.len();
        let (ids, events) = if self.needs.samples { self.samples() } else { Default::default() };
        let pmcs = self.pmcs();
        let by_sample: Map<i64, usize> = ids.into_iter().zip(first_sample..).collect();
        let mut by_event: Map<i64, Vec<usize>> = Map::default();
        for (row, event) in (first_sample..).zip(&events) {
            if let Some(event) = event {
                by_event.entry(*event).or_default().push(row);
            }
        }
        if self.events.keeps_owners() {
            self.own(Table::Samples, first_sample, &events);
        }
        self.measurements(pmcs, &by_sample, &by_event);
    }

    /// Ids and events of the samples read.
    fn samples(&mut self) -> (Vec<i64>, Vec<Option<i64>>) {
        let Reader { group, trace, identity, events, tally, stamps, .. } = self;
        let (mut ids, mut event_ids) = (Vec::new(), Vec::new());
        let Some(table) = group.table(table::SAMPLE) else { return (ids, event_ids) };
        let [id, track, name, event, extdata] =
            ["id", "track_id", "name_id", "event_id", "extdata"].map(|name| table.column(name));
        let id = if id.is_present() { id } else { Col::ROWID };
        let time = Time::of(group, stamps, table::SAMPLE, "timestamp");
        let wanted = [id, track, name, time.column(), event, extdata];
        let (lookup, all_events) = (&*identity, &*events);
        let each = |chunk: &mut (Samples, Vec<(i64, Option<i64>)>, u64), row: &Row<'_>| {
            let (rows, keys, lost) = chunk;
            let (Some(id), Some((time, _))) = (row.int(id), times(&time, &time, row)) else {
                *lost += 1;
                return;
            };
            let track = row.int(track).and_then(|id| lookup.track(id)).unwrap_or_default();
            let event_id = row.int(event);
            let event = all_events.get(event_id);
            let facts = unpacked(row, extdata).unwrap_or_default();
            let dispatch = (facts.len() > 2)
                .then(|| serde_json::from_str::<Json>(&facts).ok()?.get("dispatch_id")?.as_i64())
                .flatten();
            keys.push((id, event_id));
            rows.push(Sample {
                start: time,
                end: time,
                kind: event.category,
                // Since schema 4 samples have their own names.
                name: row.int(name).and_then(|id| lookup.string(id)).unwrap_or(track.name),
                value: f64::NAN,
                unit: StrId::EMPTY,
                location: all_events.message(event_id).unwrap_or_default(),
                process: if track.process.is_some() { track.process } else { lookup.only_process() },
                thread: track.thread,
                agent: AgentId::NONE,
                correlation: event.stack,
                dispatch: dispatch.into(),
            });
        };
        group.scan(table::SAMPLE, &wanted, Default::default, each, |(rows, keys, lost)| {
            trace.samples.concat(rows);
            ids.extend(keys.iter().map(|k| k.0));
            event_ids.extend(keys.iter().map(|k| k.1));
            tally.lost_rows += lost;
        });
        (ids, event_ids)
    }

    fn pmcs(&mut self) -> Map<i64, Pmc> {
        let Reader { group, trace, identity, .. } = self;
        let mut pmcs = Map::default();
        group.each(table::INFO_PMC, |row| {
            let Some(id) = row.int("id") else { return };
            let mut text = |name| trace.strings.intern(row.text(name));
            let find = |kind, name| row.int(name).and_then(|id| identity.find(kind, id));
            let kind = CounterKind {
                name: text("name"),
                description: text("description"),
                block: text("block"),
                expression: text("expression"),
                unit: text("units"),
                process: find(EntityKind::Process, "pid").map_or(identity.only_process(), ProcessId),
                agent: find(EntityKind::Agent, "agent_id").map_or(AgentId::NONE, AgentId),
            };
            pmcs.insert(id, Pmc { kind, counter: CounterId::NONE });
        });
        pmcs
    }

    fn measurements(
        &mut self,
        mut pmcs: Map<i64, Pmc>,
        by_sample: &Map<i64, usize>,
        by_event: &Map<i64, Vec<usize>>,
    ) {
        let Reader { group, needs, trace, events, tally, passes, .. } = self;
        let Some(table) = group.table(table::PMC_EVENT) else { return };
        let wanted = ["event_id", "pmc_id", "value", "sample_id", "xcc", "shader_engine", "instance"]
            .map(|name| table.column(name));
        let [event, pmc, value, sample, xcc, engine, instance] = wanted;
        let each = |rows: &mut Vec<Measured>, row: &Row<'_>| {
            rows.push(Measured {
                event: row.int(event),
                pmc: row.int(pmc).unwrap_or(i64::MIN),
                value: row.real(value).unwrap_or(f64::NAN),
                sample: row.int(sample),
                place: [xcc, engine, instance].map(|c| row.int(c)),
            });
        };
        group.scan(table::PMC_EVENT, &wanted, Vec::new, each, |rows| {
            for row in rows {
                let samples = match row.sample {
                    Some(id) => by_sample.get(&id).map(std::slice::from_ref),
                    None => row.event.and_then(|id| by_event.get(&id)).map(Vec::as_slice),
                };
                let kernel =
                    if row.sample.is_some() { None } else { row.event.and_then(|id| events.owner(id)) };
                if let Some(samples) = samples {
                    let pmc = pmcs.get(&row.pmc).map(|p| p.kind.clone()).unwrap_or_default();
                    let location = trace.strings.intern(&place_text(row.place));
                    fill(&mut trace.samples, samples, &pmc, row.value, location);
                } else if let Some(kernel) = kernel.filter(|r| r.row_of(Table::Kernels).is_some()) {
                    if !needs.counters {
                        continue;
                    }
                    let counter = match pmcs.get_mut(&row.pmc) {
                        Some(pmc) if pmc.counter.is_some() => pmc.counter,
                        Some(pmc) => {
                            pmc.counter = trace.add_counter_kind(pmc.kind.clone());
                            pmc.counter
                        }
                        None => {
                            let name = trace.strings.intern(&format!("counter {}", row.pmc));
                            let kind = CounterKind { name, ..CounterKind::default() };
                            let counter = trace.add_counter_kind(kind.clone());
                            pmcs.insert(row.pmc, Pmc { kind, counter });
                            counter
                        }
                    };
                    let [xcc, shader_engine, instance] = row.place.map(Into::into);
                    let pass = passes.get(&kernel).copied().into();
                    let value = row.value;
                    trace.counters.push(Counter {
                        kernel,
                        counter,
                        value,
                        pass,
                        xcc,
                        shader_engine,
                        instance,
                    });
                } else if needs.samples && needs.counters {
                    tally.ownerless += 1;
                }
            }
        });
    }
}

/// Gives a value to the sample of its metric, else to one that has none yet. A metric of several GPUs has one
/// sample and several values: each extra value becomes a sample.
fn fill(samples: &mut Samples, candidates: &[usize], pmc: &CounterKind, value: f64, location: StrId) {
    let named: Vec<usize> = candidates.iter().copied().filter(|&row| samples.name[row] == pmc.name).collect();
    let choice = if named.is_empty() { candidates } else { &named };
    let Some(&like) = choice.first() else { return };
    let free = choice.iter().copied().find(|&row| samples.value[row].is_nan());
    let row = free.unwrap_or_else(|| {
        samples.push(samples.get(like));
        samples.len() - 1
    });
    samples.name[row] = pmc.name;
    samples.value[row] = value;
    samples.unit[row] = pmc.unit;
    samples.agent[row] = pmc.agent;
    if !location.is_empty() {
        samples.location[row] = location;
    }
}

/// Where on the chip a streaming counter was read.
fn place_text(place: [Option<i64>; 3]) -> String {
    let names = ["xcc", "shader_engine", "instance"];
    let told = names.iter().zip(place).filter_map(|(name, at)| Some(format!("{name}={}", at?)));
    told.collect::<Vec<_>>().join(" ")
}

/// The pass in which each replayed dispatch was measured.
pub(super) type Passes = Map<RowRef, i64>;
