//! Counter values: definitions by handle, values by dispatch.

use trace::{AgentKind, Counter, CounterId, CounterKind, Map, RowRef};

use super::Reader;
use super::record::{each, number, records};
use crate::json::{Cursor, Damage};

impl<'a> Reader<'a, '_> {
    /// Reads `counter_collection`. Without kernel tracing, this is a run's only list of dispatches.
    pub(super) fn counter_collection(&mut self, list: &'a [u8]) {
        if !self.needs.kernels && !self.needs.counters {
            return;
        }
        let first = self.trace.kernels.process.partition_point(|process| process.0 < self.process.0);
        let kernels = &self.trace.kernels;
        self.dispatches = (first..kernels.len())
            .filter_map(|row| Some((kernels.dispatch[row].get()?, row as u32)))
            .collect();
        let mut kinds = self.counter_kinds();
        let damaged = records(list, |record| {
            let known = record.dispatch.and_then(|dispatch| self.dispatches.get(&dispatch).copied());
            let row = match known {
                Some(row) => row,
                None => {
                    let Some(kernel) = self.kernel_row(record) else { return };
                    let row = self.trace.kernels.len() as u32;
                    self.trace.kernels.push(kernel);
                    if let Some(dispatch) = record.dispatch {
                        self.dispatches.insert(dispatch, row);
                    }
                    row
                }
            };
            if self.needs.counters {
                self.values(record.counters, row, &mut kinds);
            }
        });
        self.lost.records += damaged;
    }

    /// One row per value: instances of a counter are kept apart, never added up.
    fn values(&mut self, list: &'a [u8], row: u32, kinds: &mut Map<i64, CounterId>) {
        let mut values: Vec<(Option<i64>, f64)> = Vec::new();
        self.lost.records += each(list, |json| {
            values.push(value(json)?);
            Ok(())
        });
        for (place, &(handle, value)) in values.iter().enumerate() {
            let same = |other: &&(Option<i64>, f64)| other.0 == handle;
            let several = values.iter().filter(same).nth(1).is_some();
            let instance = several.then(|| values[..place].iter().filter(same).count() as i64);
            let counter = match handle {
                Some(handle) => *kinds.entry(handle).or_insert_with(|| {
                    let name = self.trace.strings.intern(&format!("counter {}", handle as u64));
                    self.entities.counter(self.trace, self.process, name)
                }),
                None => CounterId::NONE,
            };
            let kernel = RowRef::kernel(row as usize);
            let row = Counter { kernel, counter, value, instance: instance.into(), ..Counter::default() };
            self.trace.counters.push(row);
        }
    }

    fn counter_kinds(&mut self) -> Map<i64, CounterId> {
        let mut kinds = Map::default();
        let section = self.sections.get("counters");
        self.lost.records += each(section, |json| {
            let (mut handle, mut agent) = (None, None);
            let mut kind = CounterKind { process: self.process, ..CounterKind::default() };
            let mut keys = json.object()?;
            while let Some(key) = keys.next(json)? {
                let text = match key.raw {
                    b"id" => {
                        handle = number(json)?;
                        continue;
                    }
                    b"agent_id" => {
                        agent = number(json)?;
                        continue;
                    }
                    b"name" => &mut kind.name,
                    b"description" => &mut kind.description,
                    b"block" => &mut kind.block,
                    b"expression" => &mut kind.expression,
                    b"unit" | b"units" => &mut kind.unit,
                    _ => {
                        json.skip_value()?;
                        continue;
                    }
                };
                *text = self.trace.strings.intern(&json.string()?.text());
            }
            kind.agent = self.devices.get(self.trace, self.process, agent, AgentKind::Gpu);
            if let Some(handle) = handle {
                kinds.insert(handle, self.trace.add_counter_kind(kind));
            }
            Ok(())
        });
        kinds
    }
}

fn value(json: &mut Cursor<'_>) -> Result<(Option<i64>, f64), Damage> {
    let (mut handle, mut value) = (None, f64::NAN);
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"counter_id" => handle = number(json)?,
            b"value" => value = crate::json::float(json.scalar()?).unwrap_or(f64::NAN),
            _ => json.skip_value()?,
        }
    }
    Ok((handle, value))
}
