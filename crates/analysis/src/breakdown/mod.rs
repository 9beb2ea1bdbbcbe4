//! `breakdown`: how the GPUs spent their time, by kind of work, by category and backend, and what ran together.
//!
//! Cost: one sort of the edges of each GPU's intervals and one pass over its rows.

pub(crate) mod sweep;
mod tables;

use report::Report;
use trace::{RowRef, Trace};

use crate::base;
use model::classify::Classes;
use model::lanes::{self, Lane};

use sweep::Timeline;

/// A gap of more than this share of a GPU's time is remarked on.
const REMARKABLE_GAP_PCT: f64 = 50.0;

/// What `breakdown` is asked for.
#[derive(Clone, Copy, Default)]
pub struct BreakdownOptions<'a> {
    /// Count only GPU work whose launch is known, as TraceLens does.
    pub linked: bool,
    /// Categories per rank instead of all ranks together.
    pub by_rank: bool,
    /// The stage of a row of GPU work; one stage for all when absent.
    pub stage_of: Option<&'a dyn Fn(RowRef) -> &'static str>,
}

/// How the GPUs spent their time.
pub fn breakdown(trace: &Trace, classes: &Classes, options: &BreakdownOptions) -> Report {
    let mut report = base::report("breakdown", trace);
    let mut lanes = lanes::lanes(trace, classes);
    let coverage = tables::coverage(trace, &lanes);
    let no_launches = lanes.iter().all(|lane| lane.rows.iter().all(|row| !row.linked));
    if options.linked && no_launches {
        report.notes.push("no launch is recorded, so GPU work without one is not left out".into());
    } else if options.linked {
        lanes.iter_mut().for_each(|lane| lane.rows.retain(|row| row.linked));
        lanes.retain(|lane| !lane.rows.is_empty());
    }
    let categories = tables::categories(trace, classes, &lanes, options);
    let swept: Vec<(Lane, Timeline)> = lanes
        .into_iter()
        .map(|lane| {
            let timeline = Timeline::of(&lane.work());
            (lane, timeline)
        })
        .collect();
    report.notes.extend(swept.iter().filter_map(|(lane, timeline)| Some(gap_note(lane, timeline)?.into())));
    report.tables = vec![tables::timeline(trace, &swept), categories, tables::combinations(trace, &swept)];
    if !no_launches {
        report.tables.push(coverage);
    }
    report.tables.retain(|table| !table.rows.is_empty());
    report
}

/// A trace that was cut shows idle time that was none: one gap that is most of the time is worth a word.
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
