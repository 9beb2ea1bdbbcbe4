//! Finds records of a member that are missing on all ranks, from gaps in the numbers of what it recorded.

use trace::Map;

use super::build::Row;
use crate::digest::Collective;

/// Stretches of a member's time with missing records.
pub(super) struct Gaps {
    /// By start.
    starts: Vec<i64>,
    /// The latest end of all stretches up to each.
    latest_ends: Vec<i64>,
}

/// What has its own numbers: collectives of a group, or its messages.
type NumberedSeries = (u16, bool);

impl Gaps {
    /// The gaps between the recorded collectives of a member; `rows` also has those that it lost and its peers did not.
    pub fn of(recorded: &[Collective], rows: &[Row]) -> Self {
        let mut numbered: Vec<(NumberedSeries, i64, i64)> = recorded
            .iter()
            .filter(|row| row.start != i64::MIN)
            .filter_map(|row| Some((counted(row), row.number()?, row.start)))
            .collect();
        numbered.sort_unstable();
        let mut known: Map<NumberedSeries, Vec<i64>> = Map::default();
        for row in rows.iter().filter(|row| row.is_lost) {
            known.entry(counted(&row.collective)).or_default().push(row.collective.start);
        }
        known.values_mut().for_each(|starts| starts.sort_unstable());
        let known_between = |counted: NumberedSeries, from: i64, to: i64| {
            let starts = known.get(&counted).map_or(&[][..], Vec::as_slice);
            let after = starts.partition_point(|&start| start <= from);
            starts[after..].partition_point(|&start| start < to) as i64
        };
        let mut gaps = Vec::new();
        for pair in numbered.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let (counted, missing) = (pair[0].0, pair[1].1 - pair[0].1 - 1);
            let (from, to) = (pair[0].2.min(pair[1].2), pair[0].2.max(pair[1].2));
            if missing > 0 && known_between(counted, from, to) < missing {
                // A lost message may lie anywhere between; collectives of a group are far apart, and the lost one is near the next.
                gaps.push(if counted.1 { (from, to) } else { (pair[1].2 - 1, pair[1].2) });
            }
        }
        Self::between(gaps)
    }

    fn between(mut gaps: Vec<(i64, i64)>) -> Self {
        gaps.sort_unstable();
        let latest = |latest: &mut i64, gap: &(i64, i64)| {
            *latest = gap.1.max(*latest);
            Some(*latest)
        };
        let latest_ends = gaps.iter().scan(i64::MIN, latest).collect();
        Self { starts: gaps.into_iter().map(|gap| gap.0).collect(), latest_ends }
    }

    /// Whether a gap overlaps a stretch of time.
    pub fn meet(&self, from: i64, to: i64) -> bool {
        let begun = self.starts.partition_point(|&start| start < to);
        begun > 0 && from < self.latest_ends[begun - 1]
    }
}

fn counted(row: &Collective) -> NumberedSeries {
    (row.group, row.operation.is_message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_meet_what_a_scan_of_all_of_them_meets() {
        let all = [(40, 50), (0, 100), (120, 130), (125, 126), (200, 210)];
        let gaps = Gaps::between(all.to_vec());
        for from in (-10..230).step_by(5) {
            for to in (from..230).step_by(5) {
                let scanned = all.iter().any(|&(start, end)| start < to && from < end);
                assert_eq!(gaps.meet(from, to), scanned, "{from} to {to}");
            }
        }
        assert!(!Gaps::between(Vec::new()).meet(0, 10));
    }

    #[test]
    fn a_number_that_is_missing_is_a_gap_unless_a_peer_tells_when_it_was() {
        let row = |start, sequence| Collective { start, sequence, time_ns: 5, ..Collective::default() };
        let recorded = [row(100, 1), row(200, 2), row(300, 4)];
        let rows = |lost: Option<i64>| -> Vec<Row> {
            let own = recorded.iter().map(|&collective| Row { meeting: 0, collective, is_lost: false });
            own.chain(lost.map(|start| Row { meeting: 0, collective: row(start, i64::MIN), is_lost: true }))
                .collect()
        };
        assert!(Gaps::of(&recorded, &rows(None)).meet(250, 300));
        assert!(!Gaps::of(&recorded, &rows(None)).meet(100, 200));
        assert!(!Gaps::of(&recorded, &rows(Some(250))).meet(250, 300));
        assert!(Gaps::of(&recorded, &rows(Some(150))).meet(250, 300), "the one that is known was before");
    }
}
