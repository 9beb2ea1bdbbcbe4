//! Host regions by category and name, with exclusive time.

use report::{Column, Table, Unit, Value};
use trace::{Map, StrId, Trace};

use super::Ranks;
use super::group::Groups;
use super::present::{with_rank, with_rank_column};
use model::nesting::self_times;
use stats::durations::median;
use stats::{percent, rounded_mean};

/// All calls of one host region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionTime {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// The category.
    pub category: StrId,
    /// The name.
    pub name: StrId,
    /// Calls.
    pub calls: usize,
    /// Their total time.
    pub total_ns: i64,
    /// Total time without nested regions.
    pub self_ns: i64,
    /// The median.
    pub median_ns: i64,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
    /// Share of the time of their category and rank.
    pub share_pct: f64,
}

#[derive(Clone)]
struct Calls {
    count: usize,
    total: i64,
    own: i64,
    min: i64,
    max: i64,
}

/// Whether a category starts with one of these prefixes: `HIP`, `hsa`, `MARKERS`.
pub(super) fn is_wanted(category: &str, wanted: Option<&[String]>) -> bool {
    let Some(wanted) = wanted else { return true };
    let category = category.to_ascii_lowercase();
    let category = category.strip_prefix("rocm_").unwrap_or(&category);
    wanted.iter().any(|name| {
        let name = name.to_ascii_lowercase();
        let name = if name == "markers" { "marker" } else { &name };
        category == name || category.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'))
    })
}

/// The host regions in the wanted categories, sorted by rank, then by time.
pub(super) fn regions(trace: &Trace, ranks: &Ranks, wanted: Option<&[String]>) -> Vec<RegionTime> {
    let regions = &trace.regions;
    let own = self_times(regions);
    let groups =
        Groups::by(regions.len(), |i| (ranks.of(regions.process[i]), regions.category[i], regions.name[i]));
    let mut calls =
        vec![Calls { count: 0, total: 0, own: 0, min: i64::MAX, max: i64::MIN }; groups.keys.len()];
    for (i, &group) in groups.of_row.iter().enumerate() {
        let duration = regions.end[i] - regions.start[i];
        let calls = &mut calls[group as usize];
        calls.count += 1;
        calls.total += duration;
        calls.own += own[i];
        calls.min = calls.min.min(duration);
        calls.max = calls.max.max(duration);
    }
    // Regions of one category add up; those of different categories are nested in each other.
    let mut category_total: Map<(u32, StrId), i64> = Map::default();
    for (&(rank, category, _), calls) in groups.keys.iter().zip(&calls) {
        *category_total.entry((rank, category)).or_default() += calls.total;
    }
    let (mut durations, bounds) = groups.gather(|i| regions.end[i] - regions.start[i]);
    let medians: Vec<i64> =
        (0..groups.keys.len()).map(|g| median(&mut durations[bounds[g]..bounds[g + 1]])).collect();
    let mut rows: Vec<_> = groups
        .keys
        .iter()
        .zip(calls.iter().zip(&medians))
        .filter(|(key, _)| is_wanted(trace.strings.get(key.1), wanted))
        .collect();
    let text = |id: StrId| trace.strings.get(id);
    rows.sort_by(|(a, (x, _)), (b, (y, _))| {
        (a.0, -x.total, text(a.1), text(a.2)).cmp(&(b.0, -y.total, text(b.1), text(b.2)))
    });
    let region_time =
        |(&(rank, category, name), (calls, &median_ns)): (&(u32, StrId, StrId), (&Calls, &i64))| RegionTime {
            rank: ranks.label(rank),
            category,
            name,
            calls: calls.count,
            total_ns: calls.total,
            self_ns: calls.own,
            median_ns,
            min_ns: calls.min,
            max_ns: calls.max,
            share_pct: percent(calls.total, category_total[&(rank, category)]),
        };
    rows.into_iter().map(region_time).collect()
}

/// The table `regions`.
pub(super) fn table(trace: &Trace, regions: &[RegionTime], by_rank: bool) -> Table {
    let columns = vec![
        Column::text("category"),
        Column::text("name"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("self_ns", Unit::Ns).key(),
        Column::int("mean_ns", Unit::Ns),
        Column::int("median_ns", Unit::Ns).detail(),
        Column::int("min_ns", Unit::Ns).detail(),
        Column::int("max_ns", Unit::Ns).detail(),
        Column::int("share_pct", Unit::Pct),
    ];
    let mut table = Table::new("regions", "Host regions", with_rank_column(by_rank, columns));
    for region in regions {
        let cells = vec![
            Value::from(trace.strings.get(region.category)),
            Value::from(trace.strings.get(region.name)),
            Value::from(region.calls),
            Value::Int(region.total_ns),
            Value::Int(region.self_ns),
            Value::Int(rounded_mean(region.total_ns, region.calls)),
            Value::Int(region.median_ns),
            Value::Int(region.min_ns),
            Value::Int(region.max_ns),
            Value::Float(region.share_pct),
        ];
        table.push(with_rank(&region.rank, cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use trace::{Region, Trace};

    use super::is_wanted;
    use crate::{SummaryOptions, summary};

    #[test]
    fn regions_had_no_median() {
        let mut trace = Trace::default();
        let name = trace.strings.intern("hipLaunchKernel");
        for (start, end) in [(0, 2), (10, 15), (20, 29)] {
            trace.regions.push(Region { name, start, end, ..Region::default() });
        }
        let report = summary(&trace, &SummaryOptions::default());
        let table = report.table("regions").expect("regions");
        assert_eq!(table.rows[0][table.column("median_ns").expect("the column")].number(), Some(5.0));
    }

    #[test]
    fn categories_are_named_as_rocpd_names_them() {
        let wanted = |category: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            is_wanted(category, Some(&names))
        };
        assert!(wanted("HIP_RUNTIME_API_EXT", &["HIP"]) && wanted("rocm_hip_api", &["HIP"]));
        assert!(wanted("MARKER_CORE_RANGE_API", &["RCCL", "MARKERS"]));
        assert!(!wanted("HIP_RUNTIME_API_EXT", &["NONE"]) && !wanted("HSA_CORE_API", &["HIP"]));
        assert!(is_wanted("anything", None));
    }
}
