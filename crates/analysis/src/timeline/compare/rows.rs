//! The rows of a comparison: figures of both sides, the change, its certainty, and the verdict.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::drift::{Drift, drift};
use super::matching::{Candidate, Pair, join_by_place, matched};
use super::measure::{GpuTime, Run};
use super::series::Series;
use super::verdict::{Verdict, holm};
use super::{CompareOptions, Metric};
use stats::bootstrap::{Estimate, Point, estimate};
use stats::random::seed_of;

/// One compared item.
#[derive(Clone, Debug)]
pub struct ComparedRow {
    /// Its name in the base, or in the candidate if it is new.
    pub name: String,
    /// Its group: the category of a kernel or region.
    pub group: String,
    /// The candidate's name, if different.
    pub matched_name: Option<String>,
    /// Similarity of the two names, 0 to 1; absent if it is on one side only.
    pub similarity: Option<f64>,
    /// The base; absent if the row is new.
    pub base: Option<SideFigures>,
    /// The candidate; absent if the row is gone.
    pub candidate: Option<SideFigures>,
    /// The change as a ratio with its interval; absent if either side is.
    pub estimate: Option<Estimate>,
    /// The change beyond what all kernels share.
    pub beyond: Option<Estimate>,
    /// p-value, corrected for all rows of the table.
    pub p: f64,
    /// Its verdict.
    pub verdict: Verdict,
}

/// One side of a row, as means over its runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideFigures {
    /// Time of all calls in a run.
    pub total: i64,
    /// Calls in a run.
    pub calls: f64,
}

impl SideFigures {
    fn of(series: &[Option<&Series>]) -> Option<Self> {
        let runs = series.len() as f64;
        let seen: Vec<&Series> = series.iter().copied().flatten().collect();
        if seen.is_empty() {
            return None;
        }
        let total: f64 = seen.iter().map(|series| series.total as f64).sum();
        let calls: f64 = seen.iter().map(|series| series.calls as f64).sum();
        Some(Self { total: (total / runs).round() as i64, calls: calls / runs })
    }

    /// Mean time of a call.
    pub fn mean(&self) -> i64 {
        (self.total as f64 / self.calls).round() as i64
    }
}

impl ComparedRow {
    /// The change in percent, as printed: of the totals or of the means per call.
    pub fn delta_pct(&self) -> Option<f64> {
        self.estimate.map(|estimate| percent(estimate.ratio))
    }
}

impl ComparedRow {
    /// The calls of both sides, if they differ by more than runs of one program do.
    pub fn calls_changed(&self) -> Option<(f64, f64)> {
        let (base, candidate) = (self.base?.calls, self.candidate?.calls);
        let ratio = candidate / base;
        let same = (1.0 / CALLS_RATIO..=CALLS_RATIO).contains(&ratio);
        (ratio.is_finite() && !same).then_some((base, candidate))
    }
}

/// A larger ratio of calls counts as a different number of calls.
pub(crate) const CALLS_RATIO: f64 = 1.02;

/// A ratio as a change in percent.
pub(crate) fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// Every row of a comparison.
#[derive(Clone, Debug, Default)]
pub struct ComparedRows {
    /// Figures of whole runs.
    pub end_to_end: Vec<ComparedRow>,
    /// Kernels.
    pub kernels: Vec<ComparedRow>,
    /// Categories of GPU work.
    pub categories: Vec<ComparedRow>,
    /// Host regions.
    pub regions: Vec<ComparedRow>,
    /// The change that all kernels share; absent if there are too few.
    pub drift: Option<Drift>,
}

/// Each table's share of the chance of any false row: kernels get most because people act on them.
const KERNELS_PART: f64 = 0.5;
const OTHER_PART: f64 = 0.5 / 3.0;

impl ComparedRows {
    /// Compares everything.
    pub(super) fn of(
        base: &[Run],
        candidate: &[Run],
        options: &CompareOptions,
        same_places: &[(String, String, i64)],
    ) -> Self {
        let judge = Judge::new(options, base.len() == 1 && candidate.len() == 1);
        let mut rows = Self::default();
        judge.kernels(base, candidate, same_places, &mut rows);
        rows.categories = judge.categories(base, candidate);
        rows.regions = judge.regions(base, candidate);
        rows.end_to_end = judge.end_to_end(base, candidate);
        judge.decide(&mut rows.kernels, rows.drift.as_ref(), KERNELS_PART);
        for table in [&mut rows.categories, &mut rows.regions, &mut rows.end_to_end] {
            judge.decide(table, None, OTHER_PART);
        }
        rows
    }
}

pub(super) struct Judge<'a> {
    options: &'a CompareOptions,
    /// One run on each side.
    single: bool,
}

type Runs<'a> = Vec<Option<&'a Series>>;

impl<'a> Judge<'a> {
    pub(super) fn new(options: &'a CompareOptions, single: bool) -> Self {
        Self { options, single }
    }
}

impl Judge<'_> {
    fn floor(&self) -> f64 {
        self.options.single_run_floor_pct / 100.0
    }

    /// A row without its verdict.
    pub(super) fn row(
        &self,
        table: &str,
        name: &str,
        group: &str,
        base: &Runs,
        candidate: &Runs,
    ) -> ComparedRow {
        let (figures, others) = (SideFigures::of(base), SideFigures::of(candidate));
        let both = figures.is_some() && others.is_some();
        let seed = seed_of(&[table, group, name]) ^ self.options.seed;
        let estimate = both.then(|| {
            let (base, candidate) = (self.points(base), self.points(candidate));
            estimate(&base, &candidate, self.options.confidence, self.floor(), seed)
        });
        ComparedRow {
            name: name.to_string(),
            group: group.to_string(),
            matched_name: None,
            similarity: None,
            base: figures,
            candidate: others,
            estimate: estimate.flatten(),
            beyond: None,
            p: 1.0,
            verdict: Verdict::Inconclusive,
        }
    }

    fn kernels(
        &self,
        base: &[Run],
        candidate: &[Run],
        same_places: &[(String, String, i64)],
        rows: &mut ComparedRows,
    ) {
        let (base_names, candidate_names) = (names(base), names(candidate));
        let mut pairs: Vec<Pair> = matched(&base_names, &candidate_names);
        join_by_place(&mut pairs, &base_names, &candidate_names, same_places);
        let mut sides = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            let before = pair.base.map(|b| base_names[b].name);
            let after = pair.candidate.map(|c| candidate_names[c].name);
            sides.push((before, after, kernel_series(base, before), kernel_series(candidate, after)));
        }
        let both = sides.iter().filter(|(before, after, ..)| before.is_some() && after.is_some());
        let points: Vec<_> = both.map(|(_, _, b, c)| (self.points(b), self.points(c))).collect();
        rows.drift = drift(&points, 1.0 - self.options.confidence, self.floor());
        let drift = rows.drift.as_ref();
        let judged = sides.par_iter().zip(&pairs).map(|((before, after, b, c), pair)| {
            let name = before.or(*after).unwrap_or_default();
            let kernel = base.iter().chain(candidate).find_map(|run| run.kernels.get(name));
            let group = kernel.map_or("other", |kernel| kernel.category.name());
            let mut row = self.row("kernels", name, group, b, c);
            row.similarity = pair.similarity;
            row.matched_name = after.filter(|after| *after != name).map(String::from);
            row.beyond = drift.and_then(|drift| self.beyond(drift, &row, b, c));
            row
        });
        rows.kernels = judged.collect();
    }

    fn points<'a>(&self, runs: &[Option<&'a Series>]) -> Vec<Point<'a>> {
        let per_call = self.options.metric == Metric::Mean;
        runs.iter()
            .map(|series| series.map_or_else(Point::default, |series| series.point(per_call)))
            .collect()
    }

    fn beyond(&self, drift: &Drift, row: &ComparedRow, base: &Runs, candidate: &Runs) -> Option<Estimate> {
        row.estimate?;
        let seed = seed_of(&["beyond", &row.name]) ^ self.options.seed;
        drift.beyond(&self.points(base), &self.points(candidate), self.options.confidence, seed)
    }

    fn categories(&self, base: &[Run], candidate: &[Run]) -> Vec<ComparedRow> {
        let both = base.iter().chain(candidate);
        let keys: BTreeSet<&str> = both.flat_map(|run| run.categories.keys().copied()).collect();
        let row = |name: &str| {
            let b: Runs = base.iter().map(|run| run.categories.get(name)).collect();
            let c: Runs = candidate.iter().map(|run| run.categories.get(name)).collect();
            self.row("categories", name, "", &b, &c)
        };
        keys.into_iter().map(row).collect()
    }

    fn regions(&self, base: &[Run], candidate: &[Run]) -> Vec<ComparedRow> {
        let both = base.iter().chain(candidate);
        let keys: BTreeSet<&(String, String)> = both.flat_map(|run| run.regions.keys()).collect();
        let row = |key: &(String, String)| {
            let b: Runs = base.iter().map(|run| run.regions.get(key)).collect();
            let c: Runs = candidate.iter().map(|run| run.regions.get(key)).collect();
            self.row("regions", &key.1, &key.0, &b, &c)
        };
        keys.into_par_iter().map(row).collect()
    }

    /// Figures of whole runs; GPU figures are means over the run's GPUs.
    fn end_to_end(&self, base: &[Run], candidate: &[Run]) -> Vec<ComparedRow> {
        let row = |(name, figure): &(&str, Figure)| {
            let (b, c): (Vec<_>, Vec<_>) =
                (base.iter().map(figure).collect(), candidate.iter().map(figure).collect());
            let (b, c): (Runs, Runs) =
                (b.iter().map(Option::as_ref).collect(), c.iter().map(Option::as_ref).collect());
            self.row("end_to_end", name, "", &b, &c)
        };
        let rows = END_TO_END.iter().map(row);
        rows.filter(|row| [row.base, row.candidate].iter().flatten().any(|figures| figures.total != 0))
            .collect()
    }

    /// Gives every row its verdict; `part` is this table's share of the chance of any false verdict.
    pub(super) fn decide(&self, rows: &mut [ComparedRow], drift: Option<&Drift>, part: f64) {
        let alpha = (1.0 - self.options.confidence) * part;
        // Each kernel is tested for both kinds of change, hence the factor of two.
        let chances: Vec<f64> = rows
            .iter()
            .map(|row| match row.beyond {
                Some(beyond) => (2.0 * self.plain_chance(row).min(self.beyond_chance(row, &beyond))).min(1.0),
                None => self.plain_chance(row),
            })
            .collect();
        let tested: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].estimate.is_some()).collect();
        let corrected = holm(&tested.iter().map(|&i| chances[i]).collect::<Vec<_>>());
        for (&i, p) in tested.iter().zip(corrected) {
            rows[i].p = p;
        }
        for row in rows {
            row.verdict = match (row.base, row.candidate, row.estimate) {
                (None, _, _) => Verdict::New,
                (_, None, _) => Verdict::Gone,
                (Some(base), Some(candidate), None) if base.total == candidate.total => Verdict::Same,
                (_, _, None) => Verdict::Inconclusive,
                (_, _, Some(estimate)) if row.p <= alpha => {
                    if estimate.ratio > 1.0 {
                        Verdict::Slower
                    } else {
                        Verdict::Faster
                    }
                }
                (_, _, Some(estimate)) if self.is_same(&estimate, row.beyond.as_ref(), drift) => {
                    Verdict::Same
                }
                _ => Verdict::Inconclusive,
            };
            if row.verdict == Verdict::Inconclusive
                && self.options.metric == Metric::Total
                && row.calls_changed().is_some()
            {
                row.verdict = Verdict::CallsChanged;
            }
        }
    }

    /// The p-value of the change; 1 if it is too small to matter or within the noise of single runs.
    fn plain_chance(&self, row: &ComparedRow) -> f64 {
        let Some(estimate) = row.estimate else { return 1.0 };
        let excludes_none = estimate.bounds.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
        let matters = percent(estimate.ratio).abs() >= self.options.min_effect_pct;
        if matters && (excludes_none || !self.single) { estimate.p } else { 1.0 }
    }

    /// The p-value of the change beyond the shared one; 1 unless it points the same way as the change itself.
    fn beyond_chance(&self, row: &ComparedRow, beyond: &Estimate) -> f64 {
        let Some(estimate) = row.estimate else { return 1.0 };
        // The shared change is already removed, and with it most of the noise between single runs.
        let least = if self.single { self.options.single_run_floor_pct / 2.0 } else { 0.0 };
        let least = least.max(self.options.min_effect_pct);
        let matters = percent(beyond.ratio).abs() >= least;
        let too = percent(estimate.ratio).abs() >= self.options.min_effect_pct;
        let agree = (beyond.ratio > 1.0) == (estimate.ratio > 1.0);
        if matters && too && agree { beyond.p } else { 1.0 }
    }

    /// Whether any change is too small to matter.
    fn is_same(&self, estimate: &Estimate, beyond: Option<&Estimate>, drift: Option<&Drift>) -> bool {
        if estimate.ratio == 1.0 && estimate.error == 0.0 {
            return true;
        }
        let floor = if self.single { self.options.single_run_floor_pct } else { 0.0 };
        let limit = self.options.min_effect_pct.max(floor * SAME_SLACK);
        let inside = |estimate: &Estimate| {
            estimate.bounds.is_some_and(|(low, high)| percent(low) > -limit && percent(high) < limit)
        };
        let small = percent(estimate.ratio).abs() < self.options.min_effect_pct;
        let steady = drift.is_some_and(|drift| !drift.real) && beyond.is_some_and(inside);
        small && (inside(estimate) || steady)
    }
}

/// The interval of single runs is at least as wide as the floor; this factor is still within it.
const SAME_SLACK: f64 = 1.1;

/// A figure of a whole run, if the run has it.
type Figure = fn(&Run) -> Option<Series>;

/// (name, figure of a run) in table order.
const END_TO_END: &[(&str, Figure)] = &[
    ("span", |run| per_gpu(run, |gpus| gpus.span, true)),
    ("busy", |run| per_gpu(run, |gpus| gpus.span - gpus.idle, true)),
    ("idle", |run| per_gpu(run, |gpus| gpus.idle, false)),
    ("exposed_communication", |run| per_gpu(run, |gpus| gpus.communication, false)),
    ("exposed_copies", |run| per_gpu(run, |gpus| gpus.copies, false)),
    ("kernels", |run| (!run.kernels.is_empty()).then(|| run.kernel_total())),
];

/// A figure of the GPUs; if it is mostly work, it has the same relative noise as the kernels.
fn per_gpu(run: &Run, figure: fn(&GpuTime) -> i64, is_work: bool) -> Option<Series> {
    if run.gpus.gpus == 0 {
        return None;
    }
    let total = (figure(&run.gpus) as f64 / run.gpus.gpus as f64).round() as i64;
    let kernels = run.kernel_total();
    if !is_work || kernels.total <= 0 {
        return Some(Series::figure(total));
    }
    let scale = total as f64 / kernels.total as f64;
    Some(Series {
        variance: kernels.variance * scale * scale,
        freedom: kernels.freedom,
        ..Series::figure(total)
    })
}

fn kernel_series<'a>(runs: &'a [Run], name: Option<&str>) -> Runs<'a> {
    let of = |run: &'a Run| name.and_then(|name| run.kernels.get(name)).map(|kernel| &kernel.series);
    runs.iter().map(of).collect()
}

/// The kernels of a side's runs by name.
fn names(runs: &[Run]) -> Vec<Candidate<'_>> {
    let all: BTreeSet<&str> = runs.iter().flat_map(|run| run.kernels.keys().map(String::as_str)).collect();
    let of = |name: &'_ str| {
        let series = runs.iter().filter_map(|run| run.kernels.get(name)).map(|kernel| &kernel.series);
        series.fold((0, 0), |(calls, total), series| (calls + series.calls, total + series.total))
    };
    all.into_iter()
        .map(|name| {
            let (calls, total) = of(name);
            Candidate { name, calls: calls / runs.len().max(1), total }
        })
        .collect()
}
