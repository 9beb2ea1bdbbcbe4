//! Two runs by their call trees: modules and ops matched by order, name and shapes, not by kernel names.
//!
//! ```text
//! CallTree of each run ─► places (modules, ops) with the times of their own work ─► runs of a side in one tree
//! base tree + candidate tree ─► matching from the root down ─► pairs, replaced groups, one-sided places ─► rows, waterfall
//! ```
//!
//! Cost: one pass over the GPU work of each run; the matching is linear in the number of places.

mod changes;
mod matching;
mod present;
mod side;

pub use changes::{Change, ChangeKind};
pub use side::StructuralRun;

pub(super) use matching::Match;
pub(super) use present::tables;
pub(super) use side::SideTree;

use matching::matched;
use stats::percent;
use trace::Map;

use super::rows::{ComparedRow, Judge};
use super::verdict::Verdict;
use super::waterfall::{self, Cause, SpanCause, Sum};
use super::{CompareOptions, measure};

/// How the places of a row were matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Same name, and same shapes if both record them.
    Same,
    /// Same name, different shapes.
    Shapes,
    /// An equivalent name: another vendor, another number, another version of a module.
    Renamed,
    /// Different places in the same position.
    Replaced,
    /// On one side only.
    Alone,
}

impl How {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            How::Same => "same",
            How::Shapes => "other shapes",
            How::Renamed => "renamed",
            How::Replaced => "replaced",
            How::Alone => "one side only",
        }
    }
}

/// One place of the program on both sides.
pub struct PlaceRow {
    /// Modules and ops above it, from the base if it is there, otherwise from the candidate.
    pub path: String,
    /// Figures and verdict; its name comes from the base.
    pub row: ComparedRow,
    /// How it was matched.
    pub how: How,
    /// Shapes of the arguments.
    pub shapes: String,
    /// Kernels that ran for it on each side, longest first.
    pub kernels: [Vec<String>; 2],
}

/// Two runs place by place.
pub struct Structure {
    /// Places that launch GPU work; the figures of a side add up to its GPU time.
    pub rows: Vec<PlaceRow>,
    /// What changed in the program, largest effect first.
    pub changes: Vec<Change>,
    /// What explains the change of the span, by place.
    pub span_causes: Vec<SpanCause>,
    /// Share of the launch-linked GPU time at matched places, by side.
    pub matched_pct: [f64; 2],
    /// Kernels of the base and the candidate that ran at the same places, with their shared time.
    pub(super) kernel_pairs: Vec<(String, String, i64)>,
}

impl Structure {
    /// The smaller of both shares.
    pub fn smaller_matched_pct(&self) -> f64 {
        self.matched_pct[0].min(self.matched_pct[1])
    }
}

/// Compares the trees of both sides.
pub(super) fn compute(
    base: &[StructuralRun],
    candidate: &[StructuralRun],
    runs: (&[measure::Run], &[measure::Run]),
    options: &CompareOptions,
) -> Structure {
    let (before, after) = (SideTree::of(base), SideTree::of(candidate));
    let matches = matched(&before, &after);
    let judge = Judge::new(options, base.len() == 1 && candidate.len() == 1);
    let mut rows: Vec<PlaceRow> = Vec::new();
    let mut owns: Vec<(i128, i128)> = Vec::new();
    for found in matches.iter().flat_map(each_alone) {
        let (b, c) = (before.sum(&found.base), after.sum(&found.candidate));
        if b.series.iter().chain(&c.series).all(Option::is_none) {
            continue;
        }
        let name = |tree: &SideTree, places: &[u32]| tree.names(places);
        let (base_name, candidate_name) = (name(&before, &found.base), name(&after, &found.candidate));
        let shown = if found.base.is_empty() { &candidate_name } else { &base_name };
        let (tree, first) = match found.base.first() {
            Some(&first) => (&before, first),
            None => (&after, found.candidate[0]),
        };
        let path = tree.path(first);
        let series = |side: &side::Sum| side.series.clone();
        let (b_series, c_series) = (series(&b), series(&c));
        let some = |series: &[Option<super::series::Series>], all: usize| {
            (0..all).map(|run| series.get(run).cloned().flatten()).collect::<Vec<_>>()
        };
        let (b_series, c_series) = (some(&b_series, base.len()), some(&c_series, candidate.len()));
        let place = &tree.nodes[first as usize];
        let key = format!("{path} {} {}", place.shapes, place.types);
        let mut row = judge.row(
            "places",
            shown,
            &key,
            &b_series.iter().map(Option::as_ref).collect(),
            &c_series.iter().map(Option::as_ref).collect(),
        );
        // Calls are the calls of the place, not of its kernels.
        for (side, calls) in [(&mut row.base, b.calls), (&mut row.candidate, c.calls)] {
            if let Some(side) = side.as_mut().filter(|_| calls > 0.0) {
                side.calls = calls;
            }
        }
        row.matched_name =
            (base_name != candidate_name && !found.base.is_empty() && !found.candidate.is_empty())
                .then(|| candidate_name.clone());
        let shapes = place.shapes.clone();
        owns.push((b.own, c.own));
        rows.push(PlaceRow { path, row, how: found.how, shapes, kernels: [b.kernels, c.kernels] });
    }
    let mut compared: Vec<ComparedRow> = rows.iter().map(|place| place.row.clone()).collect();
    judge.decide(&mut compared, None, 1.0);
    for (place, row) in rows.iter_mut().zip(compared) {
        place.row = row;
    }
    let span_causes = span_causes(&rows, &owns, runs);
    let matched_pct = [before.matched_pct(&matches, 0), after.matched_pct(&matches, 1)];
    let changes = changes::changes(&before, &after, &matches);
    let kernel_pairs = matching::kernel_pairs(&before, &after, &matches);
    Structure { rows, changes, span_causes, matched_pct, kernel_pairs }
}

/// One-sided places get a row each if they launch work; replaced places stay together.
fn each_alone(found: &Match) -> Vec<Match> {
    if found.how != How::Alone {
        return vec![found.clone()];
    }
    let one = |base: Vec<u32>, candidate: Vec<u32>| Match { base, candidate, ..found.clone() };
    let base = found.base.iter().map(|&place| one(vec![place], Vec::new()));
    let candidate = found.candidate.iter().map(|&place| one(Vec::new(), vec![place]));
    base.chain(candidate).collect()
}

/// Causes of the change of the span by place; they add up to it exactly.
fn span_causes(
    rows: &[PlaceRow],
    owns: &[(i128, i128)],
    (before, after): (&[measure::Run], &[measure::Run]),
) -> Vec<SpanCause> {
    let (before, after) = (Sum::of(before), Sum::of(after));
    let names = distinct_names(rows);
    let mut causes: Vec<Cause> = Vec::new();
    let (mut base_left, mut candidate_left) = (before.all_own(), after.all_own());
    for ((place, name), &(base, candidate)) in rows.iter().zip(&names).zip(owns) {
        base_left -= base;
        candidate_left -= candidate;
        if base != 0 || candidate != 0 {
            let kind = match (place.how, place.row.verdict) {
                (_, Verdict::New) => "new",
                (_, Verdict::Gone) => "gone",
                (How::Replaced, _) => "replaced",
                _ => "place",
            };
            causes.push(Cause { kind, name, verdict: place.row.verdict, base, candidate });
        }
    }
    // A remainder means that the two ways of counting select different rows.
    if base_left != 0 || candidate_left != 0 {
        let verdict = Verdict::Inconclusive;
        causes.push(Cause {
            kind: "place",
            name: "(elsewhere)",
            verdict,
            base: base_left,
            candidate: candidate_left,
        });
    }
    causes.extend(waterfall::other_causes(&before, &after, |_| None));
    waterfall::divided(&causes, before.parts, after.parts)
}

/// Places with their path, and with their shapes if that is not unique.
fn distinct_names(rows: &[PlaceRow]) -> Vec<String> {
    let full = |place: &PlaceRow| match place.path.is_empty() {
        true => place.row.name.clone(),
        false => format!("{} > {}", place.path, place.row.name),
    };
    let mut seen: Map<String, usize> = Map::default();
    rows.iter().for_each(|place| *seen.entry(full(place)).or_default() += 1);
    let name = |place: &PlaceRow| {
        let full = full(place);
        if seen[&full] > 1 && !place.shapes.is_empty() { format!("{full} {}", place.shapes) } else { full }
    };
    rows.iter().map(name).collect()
}

/// A share of time in percent; zero if there is no time.
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { percent(part, whole) }
}
