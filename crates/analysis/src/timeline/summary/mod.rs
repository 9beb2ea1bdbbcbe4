//! `summary`: where the time went, by kernel, copy, allocation, host region and domain.

mod domains;
pub(crate) mod group;
mod kernels;
mod markers;
mod memory;
mod present;
mod regions;
mod totals;

use report::Report;
use trace::{ProcessId, StrId, Trace};

pub use domains::DomainTime;
pub use kernels::KernelTime;
pub use markers::MarkerCount;
pub use memory::{AllocationTime, CopyTime, Moved};
pub use present::present;
pub use regions::RegionTime;
pub use totals::{MovedTotal, NamedTotal, RegionTotal, Totals, of_totals};

/// Options of `summary`.
#[derive(Clone, Debug, Default)]
pub struct SummaryOptions {
    /// One row per rank and name instead of one per name.
    pub by_rank: bool,
    /// Only host regions in these categories, given by prefix (`HIP`, `MARKER`); `NONE` means no regions.
    pub region_categories: Option<Vec<String>>,
}

/// Where the time of a run went.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Whether rows are by rank.
    pub by_rank: bool,
    /// Kernels, by time.
    pub kernels: Vec<KernelTime>,
    /// Copies and fills, by time.
    pub copies: Vec<CopyTime>,
    /// Allocations, by time.
    pub allocations: Vec<AllocationTime>,
    /// Host regions, by time.
    pub regions: Vec<RegionTime>,
    /// Instant markers, the most frequent first.
    pub markers: Vec<MarkerCount>,
    /// Kinds of GPU work and host calls, by time.
    pub domains: Vec<DomainTime>,
    /// Python frames in the input that were not read.
    pub frames_skipped: u64,
}

/// Where the time went. One pass over each table; kernels also need a selection for their medians.
pub fn compute(trace: &Trace, options: &SummaryOptions) -> Summary {
    let ranks = Ranks::new(trace, options.by_rank);
    let categories = options.region_categories.as_deref();
    let (kernels, (regions, (markers, domains))) = rayon::join(
        || kernels::kernels(trace, &ranks),
        || {
            rayon::join(
                || regions::regions(trace, &ranks, categories),
                || rayon::join(|| markers::markers(trace, &ranks), || domains::domains(trace, &ranks)),
            )
        },
    );
    Summary {
        by_rank: options.by_rank,
        kernels,
        copies: memory::copies(trace, &ranks),
        allocations: memory::allocations(trace, &ranks),
        regions,
        markers,
        domains,
        frames_skipped: trace.sources.iter().map(|source| source.frames_skipped).sum(),
    }
}

/// Where the time went, as a report.
pub fn summary(trace: &Trace, options: &SummaryOptions) -> Report {
    present(trace, &compute(trace, options))
}

/// The rank of each process; a single rank for all unless rows are by rank.
struct Ranks {
    of_process: Vec<u32>,
    labels: Vec<String>,
    by_rank: bool,
}

impl Ranks {
    fn new(trace: &Trace, by_rank: bool) -> Self {
        let mut ranks = Self { of_process: Vec::new(), labels: Vec::new(), by_rank };
        if !by_rank {
            ranks.of_process = vec![0; trace.processes.len()];
            ranks.labels.push("all ranks together".into());
            return ranks;
        }
        // The recording that a label without a rank stands for: containers reuse hosts and process ids.
        let mut recordings: Vec<Option<StrId>> = Vec::new();
        for (i, process) in trace.processes.iter().enumerate() {
            let rank = trace.rank_of(ProcessId::at(i));
            let label = match rank {
                Some(rank) => rank.to_string(),
                // Without a rank, the process distinguishes the rows.
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
            let candidates = std::iter::once(label.clone()).chain(numbered);
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
            ranks.labels.push("?".into());
        }
        ranks
    }

    fn of(&self, process: ProcessId) -> u32 {
        process.get().map_or(0, |p| self.of_process[p])
    }

    /// The name of the rank, if rows are by rank.
    fn label(&self, rank: u32) -> Option<String> {
        self.by_rank.then(|| self.labels[rank as usize].clone())
    }
}
