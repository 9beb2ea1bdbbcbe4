//! Joins library calls with the kernels they launched: by time if the log lines have one, else by order.

use report::{Column, Report, Table, Unit, Value};
use trace::{RowRef, Trace};

use super::{Call, LIBRARIES, Library, LibraryCalls};

/// How a call found its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// They were launched between this line and the next.
    Time,
    /// There are as many calls as kernels of the library, so the n-th call belongs to the n-th kernel.
    Order,
}

impl How {
    /// `time`, `order`.
    pub fn name(self) -> &'static str {
        match self {
            How::Time => "time",
            How::Order => "order",
        }
    }
}

/// A call and its kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// Row of the call in [`LibraryCalls::calls`].
    pub call: usize,
    /// Rows of `kernels`.
    pub kernels: Vec<u32>,
    /// How they were joined.
    pub how: How,
}

impl LibraryCalls {
    /// Joins calls to the kernels of a finished trace. Calls whose kernels are unknown are left out.
    pub fn join(&self, trace: &Trace) -> Vec<Joined> {
        let mut joined = Vec::new();
        for library in LIBRARIES {
            let calls: Vec<usize> =
                (0..self.calls.len()).filter(|i| self.calls[*i].library == library).collect();
            let kernels = kernels_of(trace, library);
            let timed = calls.iter().all(|i| self.calls[*i].time_ns.is_some());
            if calls.is_empty() || kernels.is_empty() {
                continue;
            }
            if timed {
                joined.extend(self.by_time(&calls, &kernels));
            } else if calls.len() == kernels.len() {
                let pairs = calls.iter().zip(&kernels);
                joined.extend(pairs.map(|(call, (_, row))| Joined {
                    call: *call,
                    kernels: vec![*row],
                    how: How::Order,
                }));
            }
        }
        joined.sort_by_key(|join| join.call);
        joined
    }

    /// Kernels launched from a line until the next line of any library.
    fn by_time(&self, calls: &[usize], kernels: &[(i64, u32)]) -> Vec<Joined> {
        let mut times: Vec<i64> = self.calls.iter().filter_map(|call| call.time_ns).collect();
        times.sort_unstable();
        let next = |time: i64| times.get(times.partition_point(|t| *t <= time)).copied().unwrap_or(i64::MAX);
        let within = |call: &Call| {
            let from = call.time_ns.unwrap_or(i64::MAX);
            let to = next(from);
            let rows = kernels.iter().filter(|(launch, _)| (from..to).contains(launch));
            rows.map(|(_, row)| *row).collect::<Vec<u32>>()
        };
        let join = |i: &usize| Joined { call: *i, kernels: within(&self.calls[*i]), how: How::Time };
        calls.iter().map(join).filter(|join| !join.kernels.is_empty()).collect()
    }
}

/// Kernels that a library may have launched: when each was launched, and its row.
fn kernels_of(trace: &Trace, library: Library) -> Vec<(i64, u32)> {
    let fits = |name: &str| library.kernels().iter().any(|part| name.contains(part));
    let mut kernels: Vec<(i64, u32)> = (0..trace.kernels.len())
        .filter(|row| fits(trace.strings.get(trace.kernels.name[*row])))
        .map(|row| {
            let launch = trace.links.launch_of(RowRef::kernel(row));
            let time = launch.map_or(trace.kernels.start[row], |region| trace.regions.start[region]);
            (time, row as u32)
        })
        .collect();
    kernels.sort_unstable();
    kernels
}

/// A table of calls by library and configuration, with the time of their kernels if they were found.
pub fn report(calls: &LibraryCalls, trace: &Trace) -> Report {
    let joined = calls.join(trace);
    let columns = vec![
        Column::text("library"),
        Column::text("config"),
        Column::int("calls", Unit::None).key(),
        Column::int("kernels", Unit::None),
        Column::int("total_ns", Unit::Ns).key(),
        Column::text("joined_by").normal(),
    ];
    let mut table = Table::new("library_calls", "Library calls", columns);
    for (library, config, count) in calls.counted() {
        let of_config = |join: &&Joined| {
            let call = &calls.calls[join.call];
            call.library == library && call.config == config
        };
        let found: Vec<&Joined> = joined.iter().filter(of_config).collect();
        let rows = found.iter().flat_map(|join| &join.kernels);
        let time: i64 =
            rows.map(|row| trace.kernels.end[*row as usize] - trace.kernels.start[*row as usize]).sum();
        let kernels: usize = found.iter().map(|join| join.kernels.len()).sum();
        let absent = "no kernel could be matched to this call";
        let how = found.first().map(|join| join.how.name());
        table.push(vec![
            Value::from(library.name()),
            Value::Text(config),
            Value::Int(count as i64),
            if found.is_empty() { Value::absent(absent) } else { Value::from(kernels) },
            Value::int_or((!found.is_empty()).then_some(time), absent),
            how.map_or_else(|| Value::absent(absent), Value::from),
        ]);
    }
    table.sort_by("total_ns");
    Report {
        command: "library-calls".into(),
        tables: vec![table],
        notes: calls.notes.iter().map(|note| note.as_str().into()).collect(),
        ..Report::default()
    }
}
