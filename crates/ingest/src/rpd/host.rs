//! Calls and markers: `rocpd_api` and, in old files, `rocpd_hsaApi`.

use formats::rpd::{IN_WORK_ITEMS, MARKER, table};
use rapidhash::v3::rapidhash_v3;
use trace::{Arg, Map, ProcessId, Region, RowRef, Sample, StrId, Strings, ThreadId};

use super::Reader;
use crate::by_id::ById;
use crate::times::usable;

/// Key for a call's arguments: the file stores them all as one text.
const ARGS: &str = "args";

/// The caller and kind of each call.
#[derive(Default)]
pub(super) struct Calls {
    by_id: ById,
    callers: Vec<(ProcessId, ThreadId, StrId)>,
    /// Fingerprint of all times.
    pub fingerprint: u64,
}

impl Calls {
    /// The process and thread of a call.
    pub fn caller(&self, id: i64) -> Option<(ProcessId, ThreadId)> {
        let (process, thread, _) = self.callers[self.by_id.get(id)? as usize];
        Some((process, thread))
    }

    /// Whether a call is given its grid in work-items.
    pub fn counts_work_items(&self, id: i64, strings: &Strings) -> bool {
        let name = self.by_id.get(id).map(|place| self.callers[place as usize].2);
        name.is_some_and(|name| IN_WORK_ITEMS.contains(&strings.get(name)))
    }
}

/// A row of `rocpd_api`.
struct Call {
    id: Option<i64>,
    pid: Option<i64>,
    tid: Option<i64>,
    time: Option<(i64, i64)>,
    name: Option<i64>,
    args: Option<i64>,
    domain: Option<i64>,
    category: Option<i64>,
}

/// What a text of arguments belongs to.
enum Owner {
    Region(usize),
    Marker(usize),
    Instant(usize),
}

impl Reader<'_> {
    /// Reads calls and markers.
    pub(super) fn calls(&mut self) {
        let any = self.needs.regions || self.needs.links;
        let mut owners: Vec<(i64, Owner)> = Vec::new();
        let mut pairs = Vec::new();
        for (table, runtime) in [(table::API, true), (table::HSA_API, false)] {
            let columns =
                ["id", "pid", "tid", "start", "end", "apiName_id", "args_id", "domain_id", "category_id"];
            self.each(
                table,
                columns,
                |row, [id, pid, tid, start, end, name, args, domain, category]| {
                    Some(Call {
                        id: row.int(id),
                        pid: row.int(pid),
                        tid: row.int(tid),
                        time: usable(row.int(start), row.int(end)),
                        name: row.int(name),
                        args: row.int(args),
                        domain: row.int(domain),
                        category: row.int(category),
                    })
                },
                |reader, call| {
                    let process = reader.lanes.process(&mut reader.trace, call.pid.unwrap_or(0));
                    let thread = match call.tid {
                        Some(tid) => reader.lanes.thread(&mut reader.trace, process, tid),
                        None => ThreadId::NONE,
                    };
                    let correlation = if runtime { call.id.unwrap_or(0) } else { 0 };
                    if let Some(id) = call.id.filter(|_| runtime) {
                        pairs.push((id, reader.calls.callers.len() as u32));
                        let name = reader.string(call.name);
                        reader.calls.callers.push((process, thread, name));
                    }
                    let Some((start, end)) = call.time else {
                        reader.lost += 1;
                        return;
                    };
                    reader.calls.fingerprint =
                        rapidhash_v3(&[reader.calls.fingerprint.to_le_bytes(), start.to_le_bytes()].concat());
                    reader.file(&call, (start, end), (process, thread), correlation, any, &mut owners);
                },
            );
        }
        self.calls.by_id = ById::new(&pairs);
        self.arguments(owners);
    }

    /// Stores a call as a region, and a marker without a duration as a sample.
    fn file(
        &mut self,
        call: &Call,
        (start, end): (i64, i64),
        (process, thread): (ProcessId, ThreadId),
        correlation: i64,
        any: bool,
        owners: &mut Vec<(i64, Owner)>,
    ) {
        let name = self.string(call.name);
        let marker = self.trace.strings.get(name) == MARKER;
        if marker && start == end {
            if self.needs.samples {
                owners.extend(call.args.map(|id| (id, Owner::Instant(self.trace.samples.len()))));
                let kind = self.trace.strings.intern("MARKER_CORE_API");
                let value = f64::NAN;
                self.trace.samples.push(Sample {
                    start,
                    end,
                    kind,
                    name,
                    value,
                    process,
                    thread,
                    ..Sample::default()
                });
            }
            return;
        }
        if !any {
            return;
        }
        let row = self.trace.regions.len();
        if marker {
            owners.extend(call.args.map(|id| (id, Owner::Marker(row))));
        } else if self.needs.args.wants(ARGS) {
            owners.extend(call.args.map(|id| (id, Owner::Region(row))));
        }
        let category = self.category(call, name);
        let correlation = if marker { 0 } else { correlation };
        self.trace.regions.push(Region {
            name,
            category,
            start,
            end,
            process,
            thread,
            correlation,
            parent: 0,
            ..Region::default()
        });
    }

    /// The category that rocprofv3 would give a call.
    fn category(&mut self, call: &Call, name: StrId) -> StrId {
        let text = self.trace.strings.get(name);
        let known = match text {
            MARKER => Some("MARKER_CORE_RANGE_API"),
            _ if text.starts_with("hip") => Some("HIP_RUNTIME_API_EXT"),
            _ if text.starts_with("hsa_amd") => Some("HSA_AMD_EXT_API"),
            _ if text.starts_with("hsa_") => Some("HSA_CORE_API"),
            _ => None,
        };
        match known {
            Some(category) => self.trace.strings.intern(category),
            None => {
                let domain = self.string(call.domain);
                if domain.is_empty() { self.string(call.category) } else { domain }
            }
        }
    }

    /// Reads the texts that are needed: names of markers, arguments of calls.
    fn arguments(&mut self, owners: Vec<(i64, Owner)>) {
        if owners.is_empty() {
            return;
        }
        let mut texts: Map<i64, StrId> = Map::default();
        let wanted: Map<i64, ()> = owners.iter().map(|(id, _)| (*id, ())).collect();
        // Until schema 2 all texts are in one table.
        let table = match self.database.table(table::USTRING) {
            Some(_) => table::USTRING,
            None => table::STRING,
        };
        self.each(
            table,
            ["id", "string"],
            |row, [id, string]| {
                let id = row.int(id).filter(|id| wanted.contains_key(id))?;
                Some((id, row.text(string)?.into_owned()))
            },
            |reader, (id, text)| {
                let text = reader.trace.strings.intern(&text);
                texts.insert(id, text);
            },
        );
        let args = self.trace.strings.intern(ARGS);
        for (id, owner) in owners {
            let Some(&text) = texts.get(&id).filter(|text| !text.is_empty()) else { continue };
            match owner {
                Owner::Marker(row) => self.trace.regions.name[row] = text,
                Owner::Instant(row) => self.trace.samples.location[row] = text,
                Owner::Region(row) => {
                    let owner = RowRef::region(row);
                    self.trace.args.push(Arg {
                        owner,
                        position: 0,
                        ty: StrId::EMPTY,
                        name: args,
                        value: text,
                    });
                }
            }
        }
    }
}
