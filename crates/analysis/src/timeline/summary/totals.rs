//! A summary of totals computed elsewhere, such as by an engine over a lake.

use stats::{Durations, percent};
use trace::{Map, StrId, Trace};

use super::domains::{DISPATCHES, domain};
use super::memory::Moved;
use super::regions::is_wanted;
use super::{
    AllocationTime, CopyTime, DomainTime, KernelTime, MarkerCount, RegionTime, Summary, SummaryOptions,
};

/// Totals by name, and by rank if rows are by rank.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Kernels.
    pub kernels: Vec<NamedTotal>,
    /// Copies and fills.
    pub copies: Vec<MovedTotal>,
    /// Allocations; the name is the kind.
    pub allocations: Vec<MovedTotal>,
    /// Host regions.
    pub regions: Vec<RegionTotal>,
    /// Instant markers: rank, category, name and count.
    pub markers: Vec<(Option<String>, String, String, usize)>,
    /// Python frames that were not counted.
    pub frames_skipped: u64,
}

/// All calls with one name.
#[derive(Clone, Debug)]
pub struct NamedTotal {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// The name.
    pub name: String,
    /// Times of the calls.
    pub times: Durations,
}

/// All memory operations with one name.
#[derive(Clone, Debug)]
pub struct MovedTotal {
    /// Calls.
    pub calls: NamedTotal,
    /// The memory level, for allocations.
    pub level: String,
    /// The calls of known size: calls, bytes, smallest, largest, time.
    pub sized: (usize, i64, i64, i64, i64),
}

/// All calls of one region.
#[derive(Clone, Debug)]
pub struct RegionTotal {
    /// The category.
    pub category: String,
    /// Calls.
    pub calls: NamedTotal,
    /// Their time without nested regions.
    pub self_ns: i64,
}

/// The summary, and a trace that holds its names.
pub fn of_totals(totals: &Totals, options: &SummaryOptions) -> (Trace, Summary) {
    let mut names = Names::default();
    let mut summary = Summary {
        by_rank: options.by_rank,
        kernels: kernels(totals, &mut names),
        copies: copies(totals, &mut names),
        allocations: allocations(totals, &mut names),
        regions: regions(totals, options.region_categories.as_deref(), &mut names),
        markers: Vec::new(),
        domains: domains(totals),
        frames_skipped: totals.frames_skipped,
    };
    let mut markers = totals.markers.clone();
    markers.sort_by(|a, b| (&a.0, b.3, &a.1, &a.2).cmp(&(&b.0, a.3, &b.1, &b.2)));
    for (rank, category, name, calls) in markers {
        let (category, name) = (names.id(&category), names.id(&name));
        summary.markers.push(MarkerCount { rank, category, name, calls });
    }
    (names.trace, summary)
}

#[derive(Default)]
struct Names {
    trace: Trace,
}

impl Names {
    fn id(&mut self, text: &str) -> StrId {
        self.trace.strings.intern(text)
    }
}

fn kernels(totals: &Totals, names: &mut Names) -> Vec<KernelTime> {
    let mut rows: Vec<&NamedTotal> = totals.kernels.iter().collect();
    rows.sort_by(|a, b| order(a, b));
    let mut whole: Map<&Option<String>, i64> = Map::default();
    rows.iter().for_each(|row| *whole.entry(&row.rank).or_default() += row.times.total);
    let kernel_time = |row: &&NamedTotal| {
        // No kernel takes zero time, so the times are lost.
        let times = Some(row.times.clone()).filter(|times| times.total != 0);
        let share_pct = times.as_ref().map(|times| percent(times.total, whole[&row.rank]));
        KernelTime {
            rank: row.rank.clone(),
            name: names.id(&row.name),
            calls: row.times.calls,
            times,
            share_pct,
        }
    };
    rows.iter().map(kernel_time).collect()
}

fn order(a: &NamedTotal, b: &NamedTotal) -> std::cmp::Ordering {
    (&a.rank, -a.times.total, &a.name).cmp(&(&b.rank, -b.times.total, &b.name))
}

fn moved(total: &MovedTotal) -> Moved {
    Moved::of_totals(total.calls.times.calls, total.calls.times.total, total.sized)
}

fn copies(totals: &Totals, names: &mut Names) -> Vec<CopyTime> {
    let mut rows: Vec<&MovedTotal> = totals.copies.iter().collect();
    rows.sort_by(|a, b| order(&a.calls, &b.calls));
    let copy_time = |row: &&MovedTotal| CopyTime {
        rank: row.calls.rank.clone(),
        name: names.id(&row.calls.name),
        moved: moved(row),
        times: row.calls.times.clone(),
    };
    rows.iter().map(copy_time).collect()
}

fn allocations(totals: &Totals, names: &mut Names) -> Vec<AllocationTime> {
    let mut rows: Vec<&MovedTotal> = totals.allocations.iter().collect();
    rows.sort_by(|a, b| order(&a.calls, &b.calls).then_with(|| a.level.cmp(&b.level)));
    let allocation_time = |row: &&MovedTotal| AllocationTime {
        rank: row.calls.rank.clone(),
        kind: names.id(&row.calls.name),
        level: names.id(&row.level),
        moved: moved(row),
    };
    rows.iter().map(allocation_time).collect()
}

fn regions(totals: &Totals, wanted: Option<&[String]>, names: &mut Names) -> Vec<RegionTime> {
    let mut of_category: Map<(&Option<String>, &str), i64> = Map::default();
    for row in &totals.regions {
        *of_category.entry((&row.calls.rank, &row.category)).or_default() += row.calls.times.total;
    }
    let mut rows: Vec<&RegionTotal> =
        totals.regions.iter().filter(|row| is_wanted(&row.category, wanted)).collect();
    let key = |row: &RegionTotal| (row.calls.rank.clone(), -row.calls.times.total);
    rows.sort_by(|a, b| (key(a), &a.category, &a.calls.name).cmp(&(key(b), &b.category, &b.calls.name)));
    let region_time = |row: &&RegionTotal| {
        let times = &row.calls.times;
        RegionTime {
            rank: row.calls.rank.clone(),
            category: names.id(&row.category),
            name: names.id(&row.calls.name),
            calls: times.calls,
            total_ns: times.total,
            self_ns: row.self_ns,
            median_ns: times.median,
            min_ns: times.min,
            max_ns: times.max,
            share_pct: percent(times.total, of_category[&(&row.calls.rank, row.category.as_str())]),
        }
    };
    rows.iter().map(region_time).collect()
}

fn domains(totals: &Totals) -> Vec<DomainTime> {
    let mut sums: Map<(Option<String>, String), (usize, i64)> = Map::default();
    let mut add = |domain: &str, row: &NamedTotal| {
        let sum = sums.entry((row.rank.clone(), domain.to_string())).or_default();
        *sum = (sum.0 + row.times.calls, sum.1 + row.times.total);
    };
    totals.kernels.iter().for_each(|row| add(DISPATCHES, row));
    totals.copies.iter().for_each(|row| add("MEMORY_COPY", &row.calls));
    for row in &totals.allocations {
        add(if row.level == "SCRATCH" { "SCRATCH_MEMORY" } else { "MEMORY_ALLOCATION" }, &row.calls);
    }
    totals.regions.iter().for_each(|row| add(domain(&row.category), &row.calls));
    let mut whole: Map<Option<String>, i64> = Map::default();
    sums.iter().for_each(|((rank, _), (_, total))| *whole.entry(rank.clone()).or_default() += total);
    let domain_time = |((rank, domain), (calls, total)): ((Option<String>, String), (usize, i64))| {
        let total_ns = Some(total).filter(|_| total != 0 || domain != DISPATCHES);
        let share_pct = total_ns.map(|total| percent(total, whole[&rank]));
        DomainTime { rank, domain, calls, total_ns, share_pct }
    };
    let mut rows: Vec<DomainTime> = sums.into_iter().map(domain_time).collect();
    let total = |row: &DomainTime| -row.total_ns.unwrap_or(0);
    rows.sort_by(|a, b| (&a.rank, total(a), &a.domain).cmp(&(&b.rank, total(b), &b.domain)));
    rows
}
