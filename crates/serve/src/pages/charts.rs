//! Charts of pages, drawn by the same module as those of `report`.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use report::chart::{
    Axis, Bar, Bars, Chart, Ink, Join, Mark, Point, Reference, SvgOptions, Theme, Xy, XySeries,
};
use report::{Unit, show};
use store::Series;

use super::parts::{self, figure, metric_name, plain};
use crate::documents::Rows;

/// Width that charts are drawn for; pages scale them.
const WIDTH: f64 = 1080.0;
/// Width of charts with little in them: bars, and those that are shown side by side. Pages do not scale them
/// up until their text is huge.
const HALF: f64 = 640.0;
/// Most trials in a chart: the latest.
const MOST_POINTS: usize = 500;

/// A chart; those that can be zoomed get their buttons from the script.
pub fn chart(chart: &Chart, zoom: bool) -> Markup {
    let is_small = matches!(chart.mark, Mark::Bars(_)) && !zoom;
    drawn(chart, if is_small { HALF } else { WIDTH }, zoom)
}

fn drawn(chart: &Chart, width: f64, zoom: bool) -> Markup {
    let svg = chart.svg(&SvgOptions { theme: Theme::Page, width, heading: false });
    html! {
        figure.chart.zoom[zoom].half[width == HALF] {
            figcaption {
                h3 { (plain(&chart.title)) }
                @if !chart.description.is_empty() { p { (plain(&chart.description)) } }
            }
            // The drawing module escapes every text that it writes.
            div.frame { (PreEscaped(svg)) }
        }
    }
}

/// A metric over trials: values with their intervals, the best so far, and where the level changed.
pub fn trajectory(series: &Series) -> Markup {
    let skipped = series.points.len().saturating_sub(MOST_POINTS);
    let points = &series.points[skipped..];
    let Some(first) = points.first() else { return html! {} };
    let metric = &first.metric;
    let unit = match metric.unit.as_str() {
        "ns" => Unit::Ns,
        "%" => Unit::Pct,
        "bytes" | "B" => Unit::Bytes,
        _ => Unit::None,
    };
    let value = |at: usize, point: &store::Point| Point {
        x: (at + 1) as f64,
        y: point.metric.value,
        tip: format!("{}: {}{}", plain(&point.trial), figure(&point.metric), interval(&point.metric)),
        ..Point::default()
    };
    let mut best = f64::NAN;
    let mut best_so_far = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let is_better = match metric.higher_is_better {
            true => point.metric.value > best,
            false => point.metric.value < best,
        };
        best = if best.is_nan() || is_better { point.metric.value } else { best };
        best_so_far.push(Point { x: (at + 1) as f64, y: best, ..Point::default() });
    }
    let line = |name: &str, ink: Ink, join: Join, points: Vec<Point>| XySeries {
        series: report::chart::Series { name: name.into(), ink },
        join,
        points,
    };
    let values: Vec<Point> = points.iter().enumerate().map(|(at, point)| value(at, point)).collect();
    let mut drawn_series = vec![line("best so far", Ink::Rest, Join::Steps, best_so_far)];
    drawn_series.push(line("trials", Ink::Series(0), Join::Points, values));
    let ends = points.iter().flat_map(|point| {
        let metric = &point.metric;
        [metric.value, metric.low.unwrap_or(metric.value), metric.high.unwrap_or(metric.value)]
    });
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let room = if high > low { (high - low) * 0.08 } else { high.abs().max(1.0) * 0.1 };
    let mut references: Vec<Reference> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        if let (Some(low), Some(high)) = (point.metric.low, point.metric.high) {
            let x = (at + 1) as f64;
            let points = vec![(x, low), (x, high)];
            references.push(Reference { label: String::new(), points, ink: Ink::Series(0), dashed: false });
        }
    }
    for change in &series.changes {
        let Some(at) = change.first.checked_sub(skipped) else { continue };
        let x = at as f64 + 0.5;
        let ink = if change.is_worse { Ink::Bad } else { Ink::Good };
        let label = parts::change(change.change_pct);
        references.push(Reference { label, points: vec![(x, low), (x, high)], ink, dashed: true });
    }
    let place = [&series.key.branch, &series.key.testbed].into_iter().filter(|name| !name.is_empty());
    let place = place.map(|name| plain(name)).collect::<Vec<_>>().join(" on ");
    let better = if metric.higher_is_better { "higher is better" } else { "lower is better" };
    let named = match (unit, metric.unit.as_str()) {
        (Unit::None, unit) if !unit.is_empty() => format!("{} ({})", metric_name(&metric.name), plain(unit)),
        _ => metric_name(&metric.name),
    };
    let words: Vec<String> =
        [place, better.to_string()].into_iter().filter(|words| !words.is_empty()).collect();
    let mut x = Axis::of(Unit::Exact).labelled("trial");
    if points.len() == 1 {
        x = x.between(0.0, 2.0);
    }
    let chart = Chart::new(&series.key.metric, &named, Mark::Xy(Xy { series: drawn_series, references }))
        .with_description(words.join(" · "))
        .with_x(x)
        .with_y(Axis::of(unit).between(low - room, high + room));
    drawn(&chart, HALF, false)
}

fn interval(metric: &store::Metric) -> String {
    match (metric.low, metric.high) {
        (Some(low), Some(high)) => {
            format!(
                ", 95 % interval {} to {}",
                parts::number(low, &metric.unit),
                parts::number(high, &metric.unit)
            )
        }
        _ => ", no interval".into(),
    }
}

/// A column of a stored table as bars.
pub fn bars(rows: &Rows, title: &str, label: &str, value: &str, most: usize) -> Option<Markup> {
    let (label, value) = (rows.column(label)?, rows.column(value)?);
    let unit = rows.columns[value].unit;
    // Rows that differ only in other columns, such as the stage, share a bar.
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for row in 0..rows.len() {
        if let Some(number) = rows.number(row, value) {
            *sums.entry(plain(&show(&rows.value(row, label), Unit::None))).or_default() += number;
        }
    }
    let mut found: Vec<(String, f64)> = sums.into_iter().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(most);
    if found.iter().all(|(_, number)| *number <= 0.0) {
        return None;
    }
    let bars = Bars {
        series: vec![report::chart::Series::new("", 0)],
        bars: found.iter().map(|(label, number)| Bar::new(label, vec![*number])).collect(),
        ..Bars::across()
    };
    let chart = Chart::new("bars", title, Mark::Bars(bars)).with_x(Axis::of(unit));
    Some(drawn(&chart, HALF, false))
}
