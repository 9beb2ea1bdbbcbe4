//! Charts from the JSON contract. Fields that an older version did not write get their defaults.

use serde_json::Value as Json;

use super::{
    Anchor, Axis, Bar, Bars, Bin, Chart, Drawing, Heat, Histogram, Ink, Join, Lane, Lanes, Mark, Point,
    Reference, Scale, Series, Shape, Span, Step, Xy, XySeries,
};
use crate::Unit;

/// The chart, if the data describes one that can be drawn.
pub(super) fn chart(json: &Json) -> Option<Chart> {
    Some(Chart {
        name: text(&json["name"]),
        title: text(&json["title"]),
        description: text(&json["description"]),
        x: axis(&json["x"]),
        y: axis(&json["y"]),
        mark: mark(json["mark"].as_str()?, &json["data"])?,
    })
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_string()
}

fn number(json: &Json) -> f64 {
    json.as_f64().unwrap_or_default()
}

fn list(json: &Json) -> impl Iterator<Item = &Json> {
    json.as_array().into_iter().flatten()
}

fn texts(json: &Json) -> Vec<String> {
    list(json).map(text).collect()
}

fn points(json: &Json) -> Vec<(f64, f64)> {
    list(json).map(|point| (number(&point[0]), number(&point[1]))).collect()
}

fn ink(json: &Json) -> Option<Ink> {
    json.as_str().and_then(Ink::of_name)
}

fn unit(json: &Json) -> Unit {
    match json.as_str() {
        Some("ns") => Unit::Ns,
        Some("pct") => Unit::Pct,
        Some("bytes") => Unit::Bytes,
        Some("gbps") => Unit::Gbps,
        _ => Unit::None,
    }
}

fn axis(json: &Json) -> Axis {
    let scale = if json["scale"] == "log" { Scale::Log } else { Scale::Linear };
    let (min, max) = (json["min"].as_f64(), json["max"].as_f64());
    Axis { label: text(&json["label"]), unit: unit(&json["unit"]), scale, min, max }
}

/// Names with their colours; default colours if none were written.
fn series(data: &Json) -> Vec<Series> {
    let named = list(&data["series"]).enumerate();
    named
        .map(|(at, name)| Series { name: text(name), ink: ink(&data["inks"][at]).unwrap_or(Ink::Series(at)) })
        .collect()
}

fn mark(kind: &str, data: &Json) -> Option<Mark> {
    Some(match kind {
        "bars" => {
            let series = series(data);
            Mark::Bars(Bars {
                bars: list(&data["bars"]).map(|json| bar(json, series.len())).collect(),
                series,
                upwards: data["upwards"] == true,
                grouped: data["grouped"] == true,
            })
        }
        "lanes" => {
            let series = series(data);
            let lane = |lane: &Json| Lane {
                label: text(&lane["label"]),
                spans: list(&lane["spans"]).filter_map(|json| span(json, series.len())).collect(),
            };
            Mark::Lanes(Lanes { lanes: list(&data["lanes"]).map(lane).collect(), series })
        }
        "histogram" => {
            let series = series(data);
            let bin = |bin: &Json| Bin {
                low: number(&bin["low"]),
                high: number(&bin["high"]),
                values: (0..series.len()).map(|at| number(&bin["values"][at])).collect(),
                tip: text(&bin["tip"]),
            };
            Mark::Histogram(Histogram { bins: list(&data["bins"]).map(bin).collect(), series })
        }
        "xy" => Mark::Xy(Xy {
            series: list(&data["series"]).enumerate().map(xy_series).collect(),
            references: list(&data["references"]).map(reference).collect(),
        }),
        "waterfall" => {
            let step = |step: &Json| Step {
                label: text(&step["label"]),
                value: number(&step["value"]),
                total: step["total"] == true,
                tip: text(&step["tip"]),
            };
            Mark::Waterfall(list(&data["steps"]).map(step).collect())
        }
        "heat" => Mark::Heat(heat(data)),
        // An older version wrote only the text of a drawing.
        "drawing" if data["shapes"].is_array() => Mark::Drawing(Drawing {
            width: number(&data["width"]),
            height: number(&data["height"]),
            shapes: list(&data["shapes"]).filter_map(shape).collect(),
        }),
        _ => return None,
    })
}

/// A bar with exactly one value per series.
fn bar(json: &Json, kinds: usize) -> Bar {
    Bar {
        label: text(&json["label"]),
        values: (0..kinds).map(|at| json["values"][at].as_f64()).collect(),
        end: text(&json["end"]),
        tip: text(&json["tip"]),
        ink: ink(&json["ink"]),
    }
}

fn span(json: &Json, kinds: usize) -> Option<Span> {
    let series = json["series"].as_u64()? as usize;
    (series < kinds).then(|| Span {
        start: number(&json["start"]),
        end: number(&json["end"]),
        series,
        base: number(&json["base"]),
        height: json["height"].as_f64().unwrap_or(1.0),
        label: text(&json["label"]),
        tip: text(&json["tip"]),
    })
}

fn xy_series((at, json): (usize, &Json)) -> XySeries {
    let point = |point: &Json| Point {
        x: number(&point["x"]),
        y: number(&point["y"]),
        weight: point["weight"].as_f64(),
        label: text(&point["label"]),
        tip: text(&point["tip"]),
    };
    XySeries {
        series: Series { name: text(&json["name"]), ink: ink(&json["ink"]).unwrap_or(Ink::Series(at)) },
        join: match json["join"].as_str() {
            Some("line") => Join::Line,
            Some("steps") => Join::Steps,
            Some("area") => Join::Area,
            _ => Join::Points,
        },
        points: list(&json["points"]).map(point).collect(),
    }
}

fn reference(json: &Json) -> Reference {
    Reference {
        label: text(&json["label"]),
        points: points(&json["points"]),
        ink: ink(&json["ink"]).unwrap_or(Ink::Muted),
        dashed: json["dashed"] == true,
    }
}

fn heat(data: &Json) -> Heat {
    let (rows, columns) = (texts(&data["rows"]), texts(&data["columns"]));
    let row = |at: usize| (0..columns.len()).map(|column| data["values"][at][column].as_f64()).collect();
    let values: Vec<Vec<Option<f64>>> = (0..rows.len()).map(row).collect();
    let all = || values.iter().flatten().flatten().copied();
    Heat {
        rows,
        columns,
        unit: unit(&data["unit"]),
        low: data["low"].as_f64().unwrap_or_else(|| all().fold(f64::INFINITY, f64::min)),
        high: data["high"].as_f64().unwrap_or_else(|| all().fold(f64::NEG_INFINITY, f64::max)),
        values,
    }
}

fn shape(json: &Json) -> Option<Shape> {
    Some(match json["shape"].as_str()? {
        "box" => Shape::Box {
            x: number(&json["x"]),
            y: number(&json["y"]),
            width: number(&json["width"]),
            height: number(&json["height"]),
            radius: number(&json["radius"]),
            fill: ink(&json["fill"])?,
            border: ink(&json["border"]),
            tip: text(&json["tip"]),
        },
        "line" => Shape::Line {
            points: points(&json["points"]),
            ink: ink(&json["ink"])?,
            thickness: number(&json["thickness"]),
            dashed: json["dashed"] == true,
            arrow: json["arrow"] == true,
        },
        "words" => Shape::Words {
            x: number(&json["x"]),
            y: number(&json["y"]),
            text: text(&json["text"]),
            size: number(&json["size"]),
            anchor: match json["anchor"].as_str() {
                Some("middle") => Anchor::Middle,
                Some("end") => Anchor::End,
                _ => Anchor::Start,
            },
            bold: json["bold"] == true,
            ink: ink(&json["ink"])?,
            room: number(&json["room"]),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    fn read_back(mark: Mark) {
        let chart = Chart::new("c", "C", mark)
            .with_description("what is seen")
            .with_x(Axis::log(Unit::Ns).labelled("time").between(1.0, 9.0))
            .with_y(Axis::of(Unit::Pct));
        assert_eq!(Chart::of_json(&json::json(&chart)), Some(chart));
    }

    #[test]
    fn every_mark_is_read_as_it_was_written() {
        let kinds = vec![Series::new("a", 3), Series::rest("b")];
        let bar = Bar::new("x", vec![1.0, 2.0]).with_end("end").with_tip("<tip>").with_ink(Ink::Good);
        let absent = Bar { values: vec![None, Some(1.0)], ..Bar::new("y", Vec::new()) };
        read_back(Mark::Bars(Bars {
            series: kinds.clone(),
            bars: vec![bar, absent],
            grouped: true,
            upwards: true,
        }));
        let span = Span { base: 0.25, label: "l".into(), ..Span::new(1.0, 2.0, 1) };
        let lanes = vec![Lane { label: "GPU 0".into(), spans: vec![span] }];
        read_back(Mark::Lanes(Lanes { series: kinds.clone(), lanes }));
        let bins = vec![Bin { low: 0.0, high: 1.0, values: vec![1.0, 0.0], tip: "t".into() }];
        read_back(Mark::Histogram(Histogram { series: kinds.clone(), bins }));
        let point = Point { x: 1.0, y: 2.0, weight: Some(0.5), label: "p".into(), tip: "t".into() };
        let line = Reference { label: "roof".into(), points: vec![(0.0, 1.0)], ink: Ink::Bad, dashed: true };
        let series = vec![XySeries { series: Series::new("s", 1), join: Join::Steps, points: vec![point] }];
        read_back(Mark::Xy(Xy { series, references: vec![line] }));
        read_back(Mark::Waterfall(vec![Step {
            label: "s".into(),
            value: -1.5,
            total: true,
            tip: String::new(),
        }]));
        let values = vec![vec![Some(1.0), None]];
        let (rows, columns) = (vec!["r".into()], vec!["c".into(), "d".into()]);
        read_back(Mark::Heat(Heat { rows, columns, values, unit: Unit::Ns, low: 0.0, high: 4.0 }));
        let shapes = vec![
            Shape::Box {
                x: 1.0,
                y: 2.0,
                width: 3.0,
                height: 4.0,
                radius: 1.0,
                fill: Ink::Heat(2),
                border: Some(Ink::Axis),
                tip: "t".into(),
            },
            Shape::Line {
                points: vec![(0.0, 1.0), (2.0, 3.0)],
                ink: Ink::Muted,
                thickness: 1.5,
                dashed: true,
                arrow: false,
            },
            Shape::Words {
                x: 1.0,
                y: 1.0,
                text: "w".into(),
                size: 12.0,
                anchor: Anchor::Middle,
                bold: true,
                ink: Ink::Text,
                room: 40.0,
            },
        ];
        read_back(Mark::Drawing(Drawing { width: 100.0, height: 50.0, shapes }));
    }

    #[test]
    fn what_is_no_chart_is_none() {
        for json in ["{}", "[]", "{\"mark\": \"pie\"}", "{\"mark\": \"drawing\", \"data\": {\"words\": []}}"]
        {
            assert_eq!(Chart::of_json(&serde_json::from_str(json).expect("JSON")), None, "{json}");
        }
        // A span with an unknown series is not drawn.
        let lanes = serde_json::json!({
            "mark": "lanes", "data": { "series": ["a"], "lanes": [{ "label": "l", "spans": [{ "series": 7 }] }] },
        });
        assert!(Chart::of_json(&lanes).is_some_and(|chart| chart.is_empty()));
    }
}
