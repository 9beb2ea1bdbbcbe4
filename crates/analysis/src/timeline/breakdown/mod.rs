//! `breakdown`: how the GPUs spent their time, by kind of work, by category and backend, and what overlapped.
//!
//! Cost: one sort of the edges of each GPU's intervals and one pass over its rows.

mod present;
mod result;
pub(crate) mod sweep;

use report::{Note, Report};
use trace::{RowRef, Trace};

use model::classify::Classes;
use model::lanes::{self, GpuRow, Lane};

use sweep::Timeline;

pub use present::present;
pub use result::{Breakdown, CategoryTime, CombinationTime, GpuTime, LaunchCoverage};

/// A gap longer than this share of a GPU's time gets a note.
const REMARKABLE_GAP_PCT: f64 = 50.0;

/// Most GPUs to name in gap notes; the others are only counted.
const MOST_GAPS: usize = 64;

/// Options of `breakdown`.
#[derive(Clone, Copy, Default)]
pub struct BreakdownOptions<'a> {
    /// Count only GPU work whose launch is known, as TraceLens does.
    pub linked: bool,
    /// Categories per rank instead of all ranks together.
    pub by_rank: bool,
    /// The stage of a row of GPU work; if absent, all rows share one stage.
    pub stage_of: Option<&'a dyn Fn(RowRef) -> &'static str>,
}

/// How the GPUs spent their time.
pub fn compute(trace: &Trace, classes: &Classes, options: &BreakdownOptions) -> Breakdown {
    let mut lanes = lanes::lanes(trace, classes);
    let mut found = Breakdown { by_rank: options.by_rank, ..Breakdown::default() };
    let no_launches = lanes.iter().all(|lane| lane.rows.iter().all(|row| !row.is_linked()));
    if !no_launches {
        found.coverage = result::coverage(&lanes);
    }
    if options.linked && no_launches {
        found.notes.push("no launch is recorded, so GPU work without one is not left out".into());
    } else if options.linked {
        lanes.iter_mut().for_each(|lane| lane.rows.retain(GpuRow::is_linked));
        lanes.retain(|lane| !lane.rows.is_empty());
    }
    found.categories = result::categories(trace, classes, &lanes, options);
    let mut gaps = 0;
    for lane in &lanes {
        let timeline = Timeline::of(&lane.work());
        if let Some(note) = gap_note(lane, &timeline) {
            gaps += 1;
            found.notes.extend((gaps <= MOST_GAPS).then(|| Note::from(note)));
        }
        found.gpus.push(GpuTime::of(lane, &timeline));
    }
    if gaps > MOST_GAPS {
        found.notes.push(format!("{} more GPUs have such a gap", gaps - MOST_GAPS).into());
    }
    found
}

/// How the GPUs spent their time, as a report.
pub fn breakdown(trace: &Trace, classes: &Classes, options: &BreakdownOptions) -> Report {
    present(trace, &compute(trace, classes, options))
}

/// A trace with a hole shows idle time that was not real: a gap that is most of the time gets a note.
fn gap_note(lane: &Lane, timeline: &Timeline) -> Option<String> {
    let (length, began) = timeline.longest_gap?;
    let share = stats::percent(length, timeline.total());
    let first = lane.rows.iter().map(|row| row.work.start).min()?;
    (share > REMARKABLE_GAP_PCT).then(|| {
        format!(
            "{}: one gap without GPU work, {:.3} ms long and {:.3} ms after the first, is {share:.0} % of the time; \
             where a trace was cut into steps such idle time is not real",
            lane.label,
            length as f64 / 1e6,
            (began - first) as f64 / 1e6
        )
    })
}
