//! Points and lines between two axes, with reference lines.

use super::super::canvas::{Canvas, Lettering};
use super::super::scale::Scaled;
use super::super::{Anchor, Chart, Ink, Join, Point, Reference, Xy, XySeries};
use super::labels::{Free, Taken};
use super::{Area, Plot, SMALL, axes};

const HEIGHT: f64 = 340.0;
const NAME_ROOM: f64 = 20.0;
/// A joined series with more points than this has no circles.
const CIRCLES: usize = 60;

/// Draws the plot and returns where it ends.
pub fn draw(canvas: &mut Canvas, chart: &Chart, xy: &Xy, area: Area) -> f64 {
    // Labels of reference lines may be above the highest line.
    let above = if xy.references.is_empty() { 6.0 } else { NAME_ROOM };
    let (top, bottom) = (area.top + above, area.top + above + HEIGHT);
    let points = || xy.series.iter().flat_map(|series| &series.points);
    // The ends of roofs do not extend the x axis; their visible part extends the y axis.
    let reach = Scaled::new(&chart.x, points().map(|point| point.x), 0.0, 1.0);
    let seen = xy.references.iter().flat_map(|line| line.points.windows(2));
    let seen = seen.filter_map(|pair| cut((pair[0], pair[1]), &reach)).map(|(from, to)| from.1.max(to.1));
    let ys = points().map(|point| point.y).chain(seen);
    let from_zero = xy.series.iter().any(|series| series.join == Join::Area);
    let up = Scaled::new(&chart.y, ys.chain(from_zero.then_some(0.0)), bottom, top);
    let left = area.left + axes::width_of(&chart.y, &up.ticks(axes::ROOM_UP));
    let plot = Plot { left, right: area.right - 4.0, top, bottom };
    let along = Scaled::new(&chart.x, points().map(|point| point.x), plot.left, plot.right);
    axes::vertical(canvas, &chart.y, &up, plot);
    let end = axes::horizontal(canvas, &chart.x, &along, plot, true);
    let at = |x: f64, y: f64| (along.place(x), up.place(y));
    let inside = |point: &&Point| along.holds(point.x) && up.holds(point.y);
    let mut free = Free::new(Taken { left: plot.left, right: plot.right, top: area.top, bottom });
    canvas.clipped((plot.left, top - 1.0), (plot.right - plot.left, HEIGHT + 2.0), |canvas| {
        for line in &xy.references {
            reference(canvas, line, &along, &up);
        }
        for series in &xy.series {
            joined(canvas, series, &at, up.place(up.low));
        }
    });
    for line in &xy.references {
        name(canvas, line, &along, &up, &mut free);
    }
    for (series, point) in by_weight(xy) {
        if !inside(&point) || (series.join != Join::Points && series.points.len() > CIRCLES) {
            continue;
        }
        let (place, radius) = (at(point.x, point.y), radius(series, point));
        canvas.circle(place, radius, series.series.ink, &point.tip);
        let (x, y) = place;
        free.take(Taken { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
    }
    for series in &xy.series {
        for point in series.points.iter().filter(inside).filter(|point| !point.label.is_empty()) {
            let words = super::text::shorten(&point.label, SMALL, 180.0);
            if let Some(place) = free.beside(at(point.x, point.y), radius(series, point), &words, SMALL) {
                canvas.text(place, &words, Lettering::new(SMALL, Anchor::Start, Ink::Text).haloed());
            }
        }
    }
    end
}

/// All points, heavy ones first, so that they do not hide light ones.
fn by_weight(xy: &Xy) -> Vec<(&XySeries, &Point)> {
    let mut points: Vec<(&XySeries, &Point)> =
        xy.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point))).collect();
    points.sort_by(|a, b| b.1.weight.unwrap_or(0.0).total_cmp(&a.1.weight.unwrap_or(0.0)));
    points
}

/// Areas, not radii, are proportional to weights.
fn radius(series: &XySeries, point: &Point) -> f64 {
    match (series.join, point.weight) {
        (_, Some(weight)) => 3.0 + 11.0 * weight.clamp(0.0, 1.0).sqrt(),
        (Join::Points, None) => 4.0,
        _ => 2.5,
    }
}

fn joined(canvas: &mut Canvas, series: &XySeries, at: &dyn Fn(f64, f64) -> (f64, f64), foot: f64) {
    let places: Vec<(f64, f64)> = series.points.iter().map(|point| at(point.x, point.y)).collect();
    let ink = series.series.ink;
    match series.join {
        Join::Points => {}
        Join::Line => canvas.line(&places, ink, 1.8, false),
        Join::Steps | Join::Area => {
            let mut steps: Vec<(f64, f64)> = Vec::with_capacity(2 * places.len());
            for (i, &(x, y)) in places.iter().enumerate() {
                if let Some(before) = i.checked_sub(1).map(|before| places[before]) {
                    steps.push((x, before.1));
                }
                steps.push((x, y));
            }
            if let (Join::Area, Some(first), Some(last)) = (series.join, steps.first(), steps.last()) {
                let corners = [(last.0, foot), (first.0, foot)];
                let area: Vec<(f64, f64)> = steps.iter().copied().chain(corners).collect();
                canvas.area(&area, ink, 0.25);
            }
            canvas.line(&steps, ink, 1.6, false);
        }
    }
}

/// The part of a line between the ends of both axes, as positions.
fn visible(line: &Reference, along: &Scaled, up: &Scaled) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    for pair in line.points.windows(2) {
        let Some((from, to)) = cut((pair[0], pair[1]), along) else { continue };
        let inside = |y: f64| y >= up.low.min(up.high) && y <= up.high;
        if inside(from.1) || inside(to.1) {
            places.push((along.place(from.0), up.place(from.1)));
            places.push((along.place(to.0), up.place(to.1)));
        }
    }
    places.dedup();
    places
}

/// A segment cut to the ends of the x axis, interpolated on the axis' own scale.
fn cut(((x0, y0), (x1, y1)): ((f64, f64), (f64, f64)), along: &Scaled) -> Option<((f64, f64), (f64, f64))> {
    if x1 < x0 {
        return cut(((x1, y1), (x0, y0)), along);
    }
    let (low, high) = (along.low.max(x0), along.high.min(x1));
    if low > high {
        return None;
    }
    let power_law = x0 > 0.0 && x1 > x0 && y0 > 0.0 && y1 > 0.0 && along.is_log();
    let y = |x: f64| match power_law {
        _ if x1 == x0 => y0,
        true => y0 * (y1 / y0).powf((x / x0).ln() / (x1 / x0).ln()),
        false => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
    };
    let ends = if x0 == x1 { (y0, y1) } else { (y(low), y(high)) };
    Some(((low, ends.0), (high, ends.1)))
}

fn reference(canvas: &mut Canvas, line: &Reference, along: &Scaled, up: &Scaled) {
    let places = visible(line, along, up);
    if places.len() > 1 {
        canvas.line(&places, line.ink, 1.4, line.dashed);
    }
}

/// Draws the label of a line above its right end, or further down if that is occupied.
fn name(canvas: &mut Canvas, line: &Reference, along: &Scaled, up: &Scaled, free: &mut Free) {
    let places = visible(line, along, up);
    let (Some(&(x0, y0)), Some(&(x1, y1))) = (places.get(places.len().wrapping_sub(2)), places.last()) else {
        return;
    };
    if line.label.is_empty() {
        return;
    }
    let width = super::text::width(&line.label, SMALL);
    for part in [1.0, 0.75, 0.5, 0.25] {
        let x = (x0 + (x1 - x0) * part).max(width + x0.min(x1) + 4.0) - 4.0;
        let y = if x1 == x0 { y0.min(y1) + 12.0 } else { y0 + (y1 - y0) * (x - width - x0) / (x1 - x0) };
        let base = y.min(y0 + (y1 - y0) * ((x - x0) / (x1 - x0).max(1.0)).min(1.0)) - 5.0;
        let wanted = Taken { left: x - width, right: x, top: base - 9.0, bottom: base + 3.0 };
        if free.claim(wanted) {
            canvas.text((x, base), &line.label, Lettering::new(SMALL, Anchor::End, line.ink).haloed());
            return;
        }
    }
}
