//! Instant markers: they mark a moment and have a count but no time.

use report::{Column, Table, Unit, Value};
use trace::{StrId, Trace};

use super::Ranks;
use super::group::Groups;
use super::present::{with_rank, with_rank_column};

/// Prefixes of sample kinds that come from the program; others come from a monitor or the profiler.
const KINDS: [&str; 4] = ["MARKER_", "rocm_marker_", "instant", "user"];

/// All instant markers with one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerCount {
    /// The rank, if rows are by rank.
    pub rank: Option<String>,
    /// The kind of marker.
    pub category: StrId,
    /// The name.
    pub name: StrId,
    /// Number of markers.
    pub calls: usize,
}

/// All instant markers, sorted by rank, then most frequent first.
pub(super) fn markers(trace: &Trace, ranks: &Ranks) -> Vec<MarkerCount> {
    let samples = &trace.samples;
    let is_mark = |i: usize| {
        let kind = trace.strings.get(samples.kind[i]);
        samples.value[i].is_nan() && KINDS.iter().any(|begins| kind.starts_with(begins))
    };
    let marks: Vec<usize> = (0..samples.len()).filter(|&i| is_mark(i)).collect();
    let name = |i: usize| if samples.location[i].is_empty() { samples.name[i] } else { samples.location[i] };
    let groups = Groups::by(marks.len(), |i| {
        (ranks.of(samples.process[marks[i]]), samples.kind[marks[i]], name(marks[i]))
    });
    let mut counts = vec![0usize; groups.keys.len()];
    for &group in &groups.of_row {
        counts[group as usize] += 1;
    }
    let text = |id: StrId| trace.strings.get(id);
    let mut rows: Vec<_> = groups.keys.iter().zip(counts).collect();
    rows.sort_by(|(a, x), (b, y)| (a.0, y, text(a.1), text(a.2)).cmp(&(b.0, x, text(b.1), text(b.2))));
    let marker = |(&(rank, category, name), calls): (&(u32, StrId, StrId), usize)| MarkerCount {
        rank: ranks.label(rank),
        category,
        name,
        calls,
    };
    rows.into_iter().map(marker).collect()
}

/// The table `markers`.
pub(super) fn table(trace: &Trace, markers: &[MarkerCount], by_rank: bool) -> Table {
    let columns =
        vec![Column::text("category"), Column::text("name"), Column::int("calls", Unit::None).key()];
    let mut table = Table::new("markers", "Instant markers", with_rank_column(by_rank, columns));
    let text = |id: StrId| Value::from(trace.strings.get(id));
    for one in markers {
        table.push(with_rank(&one.rank, vec![text(one.category), text(one.name), Value::from(one.calls)]));
    }
    table
}

#[cfg(test)]
mod tests {
    use trace::{Sample, Trace};

    use crate::{SummaryOptions, summary};

    #[test]
    fn instant_markers_were_missing() {
        let mut trace = Trace::default();
        let [marker, smi, mark, step, power] = ["MARKER_CORE_API", "amd_smi", "roctxMark", "step", "power"]
            .map(|text| trace.strings.intern(text));
        for at in 0..3 {
            let sample = Sample { start: at, end: at, ..Sample::default() };
            trace.samples.push(Sample {
                kind: marker,
                name: mark,
                location: step,
                value: f64::NAN,
                ..sample
            });
            trace.samples.push(Sample { kind: smi, name: power, value: 7.0, ..sample });
        }
        let report = summary(&trace, &SummaryOptions::default());
        let table = report.table("markers").expect("markers");
        assert_eq!(table.rows, [vec!["MARKER_CORE_API".into(), "step".into(), 3usize.into()]]);
    }
}
