//! Time by domain: GPU work and the kinds of host calls.

use report::{Column, Table, Unit, Value};
use trace::{StrId, Trace};

use super::Ranks;
use super::group::Groups;
use super::kernels::NO_DURATION;
use super::present::{with_rank, with_rank_column};
use stats::percent;

/// The domain of kernels.
pub(super) const DISPATCHES: &str = "KERNEL_DISPATCH";

/// (prefix of a region's category, domain), for the spellings of rocprofv3 and rocprof-sys.
const DOMAINS: &[(&str, &str)] = &[
    ("HIP_", "HIP_API"),
    ("rocm_hip_", "HIP_API"),
    ("HSA_", "HSA_API"),
    ("rocm_hsa_", "HSA_API"),
    ("MARKER_", "MARKER_API"),
    ("rocm_marker_", "MARKER_API"),
    ("RCCL_", "RCCL_API"),
    ("rocm_rccl_", "RCCL_API"),
    ("rccl", "RCCL_API"),
    ("ROCDECODE_", "ROCDECODE_API"),
    ("rocm_rocdecode_", "ROCDECODE_API"),
    ("ROCJPEG_", "ROCJPEG_API"),
    ("rocm_rocjpeg_", "ROCJPEG_API"),
    ("KFD_", "KFD"),
];

pub(super) fn domain(category: &str) -> &str {
    let known = DOMAINS.iter().find(|(prefix, _)| category.starts_with(prefix));
    match known {
        Some((_, domain)) => domain,
        None if category.is_empty() => "(none)",
        None => category,
    }
}

/// All work or calls in one domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainTime {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// Its name.
    pub domain: String,
    /// Number of calls.
    pub calls: usize,
    /// Their total time; absent for dispatches if none has a duration.
    pub total_ns: Option<i64>,
    /// Share of the time of all domains of the rank; absent if the time is.
    pub share_pct: Option<f64>,
}

/// All domains, sorted by rank, then by time.
pub(super) fn domains(trace: &Trace, ranks: &Ranks) -> Vec<DomainTime> {
    let mut rows: Vec<(u32, String, usize, i64)> = Vec::new();
    let mut add = |rank: u32, domain: &str, calls: usize, total: i64| {
        match rows.iter_mut().find(|row| row.0 == rank && row.1 == domain) {
            Some(row) => (row.2, row.3) = (row.2 + calls, row.3 + total),
            None => rows.push((rank, domain.to_string(), calls, total)),
        };
    };
    let (k, c, a, r) = (&trace.kernels, &trace.memory_copies, &trace.memory_allocations, &trace.regions);
    let scratch = trace.strings.find("SCRATCH");
    for (key, calls, total) in sums(k.len(), |i| (ranks.of(k.process[i]), ()), |i| k.end[i] - k.start[i]) {
        add(key.0, DISPATCHES, calls, total);
    }
    for (key, calls, total) in sums(c.len(), |i| (ranks.of(c.process[i]), ()), |i| c.end[i] - c.start[i]) {
        add(key.0, "MEMORY_COPY", calls, total);
    }
    let is_scratch = |level: StrId| Some(level) == scratch;
    let keys = |i: usize| (ranks.of(a.process[i]), is_scratch(a.level[i]));
    for (key, calls, total) in sums(a.len(), keys, |i| a.end[i] - a.start[i]) {
        add(key.0, if key.1 { "SCRATCH_MEMORY" } else { "MEMORY_ALLOCATION" }, calls, total);
    }
    let keys = |i: usize| (ranks.of(r.process[i]), r.category[i]);
    for (key, calls, total) in sums(r.len(), keys, |i| r.end[i] - r.start[i]) {
        add(key.0, domain(trace.strings.get(key.1)), calls, total);
    }
    rows.sort_by(|a, b| (a.0, -a.3, &a.1).cmp(&(b.0, -b.3, &b.1)));
    let mut wholes = vec![0i64; ranks.labels.len()];
    rows.iter().for_each(|row| wholes[row.0 as usize] += row.3);
    let domain_time = |(rank, domain, calls, total): (u32, String, usize, i64)| {
        let total_ns = Some(total).filter(|_| total != 0 || domain != DISPATCHES);
        let share_pct = total_ns.map(|total| percent(total, wholes[rank as usize]));
        DomainTime { rank: ranks.label(rank), domain, calls, total_ns, share_pct }
    };
    rows.into_iter().map(domain_time).collect()
}

/// The table `domains`.
pub(super) fn table(domains: &[DomainTime], by_rank: bool) -> Table {
    let columns = vec![
        Column::text("domain"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("domains", "Domains", with_rank_column(by_rank, columns));
    for one in domains {
        let share = one.share_pct.map_or_else(|| Value::absent(NO_DURATION), Value::Float);
        let total = Value::int_or(one.total_ns, NO_DURATION);
        let cells = vec![Value::from(one.domain.as_str()), Value::from(one.calls), total, share];
        table.push(with_rank(&one.rank, cells));
    }
    table
}

/// Calls and total of each key.
fn sums<K: Copy + Eq + std::hash::Hash>(
    rows: usize,
    key: impl Fn(usize) -> K,
    duration: impl Fn(usize) -> i64,
) -> Vec<(K, usize, i64)> {
    let groups = Groups::by(rows, key);
    let mut sums = vec![(0usize, 0i64); groups.keys.len()];
    for (i, &group) in groups.of_row.iter().enumerate() {
        sums[group as usize].0 += 1;
        sums[group as usize].1 += duration(i);
    }
    groups.keys.iter().zip(sums).map(|(&key, (calls, total))| (key, calls, total)).collect()
}
