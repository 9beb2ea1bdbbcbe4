//! Charts in the JSON contract: their data, from which `read` restores the same chart.

use serde_json::{Map, Value as Json, json as object};

use super::{Anchor, Axis, Bar, Chart, Join, Mark, Scale, Series, Shape, Span};
use crate::Unit;

/// The chart as data.
pub(crate) fn json(chart: &Chart) -> Json {
    let mut map = Map::new();
    map.insert("name".into(), chart.name.clone().into());
    map.insert("title".into(), chart.title.clone().into());
    map.insert("description".into(), chart.description.clone().into());
    let (kind, data) = mark(&chart.mark);
    map.insert("mark".into(), kind.into());
    map.insert("x".into(), axis(&chart.x));
    map.insert("y".into(), axis(&chart.y));
    map.insert("data".into(), data);
    Json::Object(map)
}

/// The unit's name.
fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::None | Unit::Exact => "",
        Unit::Ns => "ns",
        Unit::Pct => "pct",
        Unit::Bytes => "bytes",
        Unit::Gbps => "gbps",
    }
}

fn axis(axis: &Axis) -> Json {
    let scale = if axis.scale == Scale::Log { "log" } else { "linear" };
    let mut json = object!({ "label": axis.label, "unit": unit(axis.unit), "scale": scale });
    for (key, end) in [("min", axis.min), ("max", axis.max)] {
        if let Some(end) = end {
            json[key] = end.into();
        }
    }
    json
}

fn names<'a>(series: impl Iterator<Item = &'a Series>) -> Json {
    series.map(|series| Json::from(series.name.clone())).collect::<Vec<_>>().into()
}

fn inks(series: &[Series]) -> Json {
    series.iter().map(|series| Json::from(series.ink.name())).collect::<Vec<_>>().into()
}

/// Adds texts that are not empty.
fn with_words(mut json: Json, words: [(&str, &str); 2]) -> Json {
    for (key, text) in words {
        if !text.is_empty() {
            json[key] = text.into();
        }
    }
    json
}

fn bar(bar: &Bar) -> Json {
    let json = object!({ "label": bar.label, "values": bar.values });
    let mut json = with_words(json, [("end", &bar.end), ("tip", &bar.tip)]);
    if let Some(ink) = bar.ink {
        json["ink"] = ink.name().into();
    }
    json
}

fn span(span: &Span) -> Json {
    let mut json =
        object!({ "start": span.start, "end": span.end, "series": span.series, "height": span.height });
    if span.base != 0.0 {
        json["base"] = span.base.into();
    }
    with_words(json, [("label", &span.label), ("tip", &span.tip)])
}

fn shape(shape: &Shape) -> Json {
    match shape {
        Shape::Box { x, y, width, height, radius, fill, border, tip } => with_words(
            object!({
                "shape": "box", "x": x, "y": y, "width": width, "height": height, "radius": radius,
                "fill": fill.name(), "border": border.map(|ink| ink.name()),
            }),
            [("tip", tip), ("", "")],
        ),
        Shape::Line { points, ink, thickness, dashed, arrow } => object!({
            "shape": "line", "points": points, "ink": ink.name(), "thickness": thickness, "dashed": dashed,
            "arrow": arrow,
        }),
        Shape::Words { x, y, text, size, anchor, bold, ink, room } => object!({
            "shape": "words", "x": x, "y": y, "text": text, "size": size, "bold": bold, "ink": ink.name(),
            "room": room,
            "anchor": match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            },
        }),
    }
}

fn mark(mark: &Mark) -> (&'static str, Json) {
    match mark {
        Mark::Bars(bars) => {
            let rows: Vec<Json> = bars.bars.iter().map(bar).collect();
            let (series, inks) = (names(bars.series.iter()), inks(&bars.series));
            let (upwards, grouped) = (bars.upwards, bars.grouped);
            (
                "bars",
                object!({ "series": series, "inks": inks, "upwards": upwards, "grouped": grouped, "bars": rows }),
            )
        }
        Mark::Lanes(lanes) => {
            let rows = lanes.lanes.iter().map(|lane| {
                let spans: Vec<Json> = lane.spans.iter().map(span).collect();
                object!({ "label": lane.label, "spans": spans })
            });
            let (series, inks) = (names(lanes.series.iter()), inks(&lanes.series));
            ("lanes", object!({ "series": series, "inks": inks, "lanes": rows.collect::<Vec<_>>() }))
        }
        Mark::Histogram(histogram) => {
            let bins = histogram.bins.iter().map(|bin| {
                let json = object!({ "low": bin.low, "high": bin.high, "values": bin.values });
                with_words(json, [("tip", &bin.tip), ("", "")])
            });
            let (series, inks) = (names(histogram.series.iter()), inks(&histogram.series));
            ("histogram", object!({ "series": series, "inks": inks, "bins": bins.collect::<Vec<_>>() }))
        }
        Mark::Xy(xy) => {
            let series = xy.series.iter().map(|series| {
                let points = series.points.iter().map(|p| {
                    let mut json = object!({ "x": p.x, "y": p.y, "label": p.label });
                    if let Some(weight) = p.weight {
                        json["weight"] = weight.into();
                    }
                    with_words(json, [("tip", &p.tip), ("", "")])
                });
                let join = match series.join {
                    Join::Points => "points",
                    Join::Line => "line",
                    Join::Steps => "steps",
                    Join::Area => "area",
                };
                object!({
                    "name": series.series.name, "ink": series.series.ink.name(), "join": join,
                    "points": points.collect::<Vec<_>>(),
                })
            });
            let lines = xy.references.iter().map(|line| {
                object!({
                    "label": line.label, "points": line.points, "ink": line.ink.name(), "dashed": line.dashed,
                })
            });
            ("xy", object!({ "series": series.collect::<Vec<_>>(), "references": lines.collect::<Vec<_>>() }))
        }
        Mark::Waterfall(steps) => {
            let steps = steps.iter().map(|step| {
                let json = object!({ "label": step.label, "value": step.value, "total": step.total });
                with_words(json, [("tip", &step.tip), ("", "")])
            });
            ("waterfall", object!({ "steps": steps.collect::<Vec<_>>() }))
        }
        Mark::Heat(heat) => {
            let (rows, columns) = (&heat.rows, &heat.columns);
            let (low, high) = (heat.low, heat.high);
            (
                "heat",
                object!({
                    "rows": rows, "columns": columns, "values": heat.values, "unit": unit(heat.unit), "low": low,
                    "high": high,
                }),
            )
        }
        Mark::Drawing(drawing) => {
            let words = drawing.shapes.iter().filter_map(|shape| match shape {
                Shape::Words { text, .. } => Some(Json::from(text.clone())),
                _ => None,
            });
            let shapes: Vec<Json> = drawing.shapes.iter().map(shape).collect();
            (
                "drawing",
                object!({
                    "words": words.collect::<Vec<_>>(), "width": drawing.width, "height": drawing.height,
                    "shapes": shapes,
                }),
            )
        }
    }
}
