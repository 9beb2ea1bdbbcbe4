//! Charts of a run: which kernels, when, how long, of which category, and how fast copies were.
//!
//! A category has the same colour in all of them. Cost: one pass over the GPU rows per chart.

mod categories;
mod copies;
mod durations;
mod kernels;
mod palette;
mod timeline;

use report::Chart;
use trace::{Map, RowRef, Trace};

use model::classify::Classes;
use model::lanes::{self, Lane};
use model::recordings::{Recordings, SideBySide};

use palette::Palette;

/// The data for the charts, computed once.
struct Gpu<'a> {
    trace: &'a Trace,
    classes: &'a Classes,
    lanes: Vec<Lane>,
    palette: Palette,
    /// How recordings on several clocks are aligned.
    clocks: Option<SideBySide>,
    recordings: Recordings,
    stage_of: Option<&'a dyn Fn(RowRef) -> &'static str>,
}

/// The charts of a run that have data; split by stage if stages are known.
pub fn charts(
    trace: &Trace,
    classes: &Classes,
    stage_of: Option<&dyn Fn(RowRef) -> &'static str>,
) -> Vec<Chart> {
    let recordings = Recordings::of(trace);
    let lanes = lanes::lanes(trace, classes);
    let clocks = recordings.side_by_side(trace);
    let palette = Palette::of(trace, classes, &lanes);
    let gpu = Gpu { trace, classes, lanes, palette, clocks, recordings, stage_of };
    let charts = [
        timeline::chart(&gpu),
        kernels::chart(&gpu),
        categories::chart(&gpu),
        categories::by_stage(&gpu),
        durations::chart(&gpu),
        copies::chart(&gpu),
    ];
    charts.into_iter().flatten().filter(|chart| !chart.is_empty()).collect()
}

impl Gpu<'_> {
    /// The palette index of a row's category.
    fn kind(&self, row: RowRef) -> usize {
        self.classes
            .of_row(self.trace, row)
            .map_or(self.palette.rest(), |class| self.palette.kind(class.category))
    }

    /// By lane: the start of its clock, i.e. of the first GPU work on that clock.
    fn clock_starts(&self) -> Option<Vec<i64>> {
        // Without several clocks, all lanes share one.
        let domain = |lane: &Lane| {
            let recording = self.clocks.as_ref().and(lane.recording);
            recording.map(|recording| self.recordings.domain_of(recording))
        };
        let mut starts: Map<Option<usize>, i64> = Map::default();
        for lane in &self.lanes {
            if let Some(first) = lane.rows.iter().map(|row| row.work.start).min() {
                let start = starts.entry(domain(lane)).or_insert(first);
                *start = first.min(*start);
            }
        }
        self.lanes.iter().map(|lane| starts.get(&domain(lane)).copied()).collect()
    }

    /// Time of all GPU work.
    fn total(&self) -> i64 {
        self.lanes.iter().flat_map(|lane| &lane.rows).map(|row| row.work.end - row.work.start).sum()
    }
}

/// A duration as shown in reports.
fn duration(ns: i64) -> String {
    report::show(&report::Value::Int(ns), report::Unit::Ns)
}
