//! Charts in the JSON contract: their data, not their picture.

use serde_json::{Map, Value as Json, json as object};

use super::{Axis, Chart, Mark, Scale, Series};
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

fn axis(axis: &Axis) -> Json {
    let unit = match axis.unit {
        Unit::None | Unit::Exact => "",
        Unit::Ns => "ns",
        Unit::Pct => "pct",
        Unit::Bytes => "bytes",
        Unit::Gbps => "gbps",
    };
    let scale = if axis.scale == Scale::Log { "log" } else { "linear" };
    object!({ "label": axis.label, "unit": unit, "scale": scale })
}

fn names<'a>(series: impl Iterator<Item = &'a Series>) -> Json {
    series.map(|series| Json::from(series.name.clone())).collect::<Vec<_>>().into()
}

fn mark(mark: &Mark) -> (&'static str, Json) {
    match mark {
        Mark::Bars(bars) => {
            let rows = bars.bars.iter().map(|bar| object!({ "label": bar.label, "values": bar.values }));
            ("bars", object!({ "series": names(bars.series.iter()), "bars": rows.collect::<Vec<_>>() }))
        }
        Mark::Lanes(lanes) => {
            let rows = lanes.lanes.iter().map(|lane| {
                let spans = lane.spans.iter().map(|span| {
                    object!({ "start": span.start, "end": span.end, "series": span.series, "height": span.height })
                });
                object!({ "label": lane.label, "spans": spans.collect::<Vec<_>>() })
            });
            ("lanes", object!({ "series": names(lanes.series.iter()), "lanes": rows.collect::<Vec<_>>() }))
        }
        Mark::Histogram(histogram) => {
            let bins = histogram
                .bins
                .iter()
                .map(|bin| object!({ "low": bin.low, "high": bin.high, "values": bin.values }));
            (
                "histogram",
                object!({ "series": names(histogram.series.iter()), "bins": bins.collect::<Vec<_>>() }),
            )
        }
        Mark::Xy(xy) => {
            let series = xy.series.iter().map(|series| {
                let points = series.points.iter().map(|p| object!({ "x": p.x, "y": p.y, "label": p.label }));
                object!({ "name": series.series.name, "points": points.collect::<Vec<_>>() })
            });
            let lines =
                xy.references.iter().map(|line| object!({ "label": line.label, "points": line.points }));
            ("xy", object!({ "series": series.collect::<Vec<_>>(), "references": lines.collect::<Vec<_>>() }))
        }
        Mark::Waterfall(steps) => {
            let steps = steps
                .iter()
                .map(|step| object!({ "label": step.label, "value": step.value, "total": step.total }));
            ("waterfall", object!({ "steps": steps.collect::<Vec<_>>() }))
        }
        Mark::Heat(heat) => {
            let (rows, columns) = (&heat.rows, &heat.columns);
            ("heat", object!({ "rows": rows, "columns": columns, "values": heat.values }))
        }
        Mark::Drawing(drawing) => {
            let words = drawing.shapes.iter().filter_map(|shape| match shape {
                super::Shape::Words { text, .. } => Some(Json::from(text.clone())),
                _ => None,
            });
            ("drawing", object!({ "words": words.collect::<Vec<_>>() }))
        }
    }
}
