//! The chart of a search: every trial in order, and the best so far.

use report::Unit;
use report::chart::{Axis, Chart, Ink, Join, Mark, Point, Series, Xy, XySeries};

use super::View;
use crate::search::Phase;
use crate::tuner::Status;

impl View<'_> {
    /// Every trial in order, and the best so far.
    pub(super) fn chart(&self) -> Chart {
        let outcome = &self.tuned.outcome;
        let mut series: Vec<XySeries> = [(Phase::Seed, 0), (Phase::Confirm, 1), (Phase::Explore, 2)]
            .iter()
            .map(|(phase, color)| XySeries {
                series: Series::new(phase.name(), *color),
                join: Join::Points,
                points: Vec::new(),
            })
            .collect();
        let mut best =
            XySeries { series: Series::rest("best so far"), join: Join::Steps, points: Vec::new() };
        let mut lead: Option<f64> = None;
        for (i, trial) in outcome.trials.iter().enumerate().filter(|(_, trial)| trial.status == Status::Ok) {
            let (x, y) = (i as f64 + 1.0, self.value(trial));
            let tip = self.describe(trial);
            let of = [Phase::Seed, Phase::Confirm, Phase::Explore].iter().position(|p| *p == trial.phase);
            series[of.unwrap_or(0)].points.push(Point { x, y, tip, ..Point::default() });
            let better = |lead: f64| if self.options.maximise { y > lead } else { y < lead };
            if lead.is_none_or(better) {
                lead = Some(y);
                best.points.push(Point { x, y, ..Point::default() });
            }
        }
        if let Some(y) = lead {
            best.points.push(Point { x: outcome.trials.len() as f64, y, ..Point::default() });
        }
        series.push(self.failed_points());
        series.retain(|series| !series.points.is_empty());
        series.push(best);
        let unit = if self.metric.is_time { Unit::Ns } else { Unit::None };
        let y = if outcome.scale.logarithmic { Axis::log(unit) } else { Axis::of(unit) };
        Chart::new("search", "The search", Mark::Xy(Xy { series, references: Vec::new() }))
            .with_description(
                "each point is a configuration, in trial order, with failures along the top; the line is the best so far",
            )
            .with_x(Axis::of(Unit::None).labelled("trial").between(0.0, outcome.trials.len() as f64 + 1.0))
            .with_y(y.labelled(&self.metric.name))
    }

    /// Trials without a value, drawn a little above the worst value.
    fn failed_points(&self) -> XySeries {
        let outcome = &self.tuned.outcome;
        let values = || outcome.ranking.iter().map(|&place| self.value(&outcome.trials[place]));
        let (least, most) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)));
        let y = match outcome.scale.logarithmic {
            true => most * (most / least).powf(0.08).max(1.02),
            false => most + 0.08 * (most - least),
        };
        let failed = outcome.trials.iter().enumerate().filter(|(_, trial)| trial.status != Status::Ok);
        let points = failed.filter(|_| y.is_finite()).map(|(i, trial)| Point {
            x: i as f64 + 1.0,
            y,
            tip: format!("{}: {}", self.describe(trial), trial.status.name()),
            ..Point::default()
        });
        let series = Series { name: "failed".into(), ink: Ink::Bad };
        XySeries { series, join: Join::Points, points: points.collect() }
    }
}
