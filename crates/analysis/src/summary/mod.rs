//! `summary`: where the time went, by kernel, copy, allocation, host region and domain.

mod domains;
pub(crate) mod group;
mod kernels;
mod markers;
mod memory;
mod regions;

use report::{Column, Note, Remedy, Report, Unit, Value};
use trace::{ProcessId, StrId, Trace};

use crate::base;

/// What `summary` is asked for.
#[derive(Clone, Debug, Default)]
pub struct SummaryOptions {
    /// One row per rank and name instead of one per name.
    pub by_rank: bool,
    /// Host regions of these categories only, by how the category begins (`HIP`, `MARKER`); `NONE` means none.
    pub region_categories: Option<Vec<String>>,
}

/// Where the time went. One pass over each table; kernels also pay for a selection of their medians.
pub fn summary(trace: &Trace, options: &SummaryOptions) -> Report {
    let mut report = base::report("summary", trace);
    let lanes = Ranks::new(trace, options.by_rank);
    let tables = [
        kernels::table(trace, &lanes),
        memory::copies(trace, &lanes),
        memory::allocations(trace, &lanes),
        regions::table(trace, &lanes, options.region_categories.as_deref()),
        markers::table(trace, &lanes),
        domains::table(trace, &lanes),
    ];
    report.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    let frames: u64 = trace.sources.iter().map(|source| source.frames_skipped).sum();
    if frames > 0 {
        let text = format!("{frames} Python frames were not read");
        report.notes.push(Note::new(text, Remedy::PythonFrames));
    }
    report
}

/// The rank that each process counts for; one for all unless rows are wanted by rank.
pub(crate) struct Ranks {
    of_process: Vec<u32>,
    labels: Vec<Value>,
    by_rank: bool,
}

impl Ranks {
    fn new(trace: &Trace, by_rank: bool) -> Self {
        let mut ranks = Self { of_process: Vec::new(), labels: Vec::new(), by_rank };
        if !by_rank {
            ranks.of_process = vec![0; trace.processes.len()];
            ranks.labels.push(Value::absent("all ranks together"));
            return ranks;
        }
        // Which recording a label without a rank stands for: containers repeat hosts and process ids.
        let mut recordings: Vec<Option<StrId>> = Vec::new();
        for (i, process) in trace.processes.iter().enumerate() {
            let rank = trace.rank_of(ProcessId::at(i));
            let label = match rank {
                Some(rank) => rank.to_string(),
                // Without a rank the process itself is what tells the rows apart.
                None => {
                    let host = trace.strings.get(process.hostname);
                    if host.is_empty() {
                        format!("pid {}", process.pid)
                    } else {
                        format!("{host}:{}", process.pid)
                    }
                }
            };
            let recording = rank.is_none().then_some(process.guid);
            let numbered = (2..).map(|number| format!("{label} · recording {number}"));
            let candidates = std::iter::once(label.clone()).chain(numbered).map(Value::Text);
            for label in candidates {
                match ranks.labels.iter().position(|known| *known == label) {
                    Some(place) if recordings[place] != recording => continue,
                    Some(place) => ranks.of_process.push(place as u32),
                    None => {
                        ranks.of_process.push(ranks.labels.len() as u32);
                        ranks.labels.push(label);
                        recordings.push(recording);
                    }
                }
                break;
            }
        }
        if ranks.labels.is_empty() {
            ranks.labels.push(Value::from("?"));
        }
        ranks
    }

    fn of(&self, process: ProcessId) -> u32 {
        process.get().map_or(0, |p| self.of_process[p])
    }

    /// Columns of a table, led by the rank when rows are by rank.
    fn columns(&self, columns: Vec<Column>) -> Vec<Column> {
        if !self.by_rank {
            return columns;
        }
        let mut with_rank = vec![Column { text: true, ..Column::int("rank", Unit::None).key() }];
        with_rank.extend(columns);
        with_rank
    }

    /// A row of such a table.
    fn row(&self, rank: u32, cells: Vec<Value>) -> Vec<Value> {
        if !self.by_rank {
            return cells;
        }
        let mut with_rank = vec![self.labels[rank as usize].clone()];
        with_rank.extend(cells);
        with_rank
    }
}
