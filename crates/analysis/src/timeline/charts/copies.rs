//! Copy bandwidth by size.

use report::chart::{Axis, Chart, Join, Mark, Point, Series, Xy, XySeries};
use report::{Unit, Value, show};
use trace::{CopyKind, Map, StrId};

use super::{Gpu, duration};

/// Most directions with their own colour.
const SHOWN: usize = 8;

#[derive(Clone, Copy, Default)]
struct Sum {
    calls: i64,
    bytes: i64,
    time: i64,
}

pub fn chart(gpu: &Gpu) -> Option<Chart> {
    let copies = &gpu.trace.memory_copies;
    // Copies with one name and similar size (within a factor of two) are one point.
    let mut sums: Map<(StrId, u32), Sum> = Map::default();
    for i in (0..copies.len()).filter(|&i| copies.kind[i] == CopyKind::Copy) {
        let Some(bytes) = copies.bytes[i].get().filter(|bytes| *bytes > 0) else { continue };
        let sum = sums.entry((copies.name[i], bytes.ilog2())).or_default();
        sum.calls += 1;
        sum.bytes += bytes;
        sum.time += copies.end[i] - copies.start[i];
    }
    sums.retain(|_, sum| sum.time > 0);
    let mut names: Map<StrId, i64> = Map::default();
    for ((name, _), sum) in &sums {
        *names.entry(*name).or_default() += sum.bytes;
    }
    let text = |id: StrId| gpu.trace.strings.get(id);
    let mut names: Vec<(StrId, i64)> = names.into_iter().collect();
    names.sort_by(|a, b| (-a.1, text(a.0)).cmp(&(-b.1, text(b.0))));
    let most = sums.values().map(|sum| sum.time).max()? as f64;
    let left_out = names.len().saturating_sub(SHOWN);
    let series = names.iter().take(SHOWN).enumerate().map(|(number, &(name, _))| {
        let mut sizes: Vec<(u32, Sum)> =
            sums.iter().filter(|((n, _), _)| *n == name).map(|((_, size), sum)| (*size, *sum)).collect();
        sizes.sort_by_key(|(size, _)| *size);
        let points = sizes.into_iter().map(|(_, sum)| point(text(name), sum, most));
        XySeries { series: Series::new(text(name), number), join: Join::Points, points: points.collect() }
    });
    let mut description =
        "Mean size and bandwidth of copies of about one size; the area of a circle is the time they took."
            .to_string();
    if left_out > 0 {
        description.push_str(&format!(" {left_out} kinds with fewer bytes are left out."));
    }
    let mark = Mark::Xy(Xy { series: series.collect(), references: Vec::new() });
    let chart = Chart::new("copy_bandwidth", "Bandwidth of copies", mark).with_description(description);
    let (x, y) = (Axis::log(Unit::Bytes).labelled("bytes of a copy"), Axis::log(Unit::Gbps).labelled("GB/s"));
    Some(chart.with_x(x).with_y(y))
}

fn point(name: &str, sum: Sum, most: f64) -> Point {
    let rate = sum.bytes as f64 / sum.time as f64;
    let tip = format!(
        "{name}\n{} copies of {} in {}\n{} GB/s",
        show(&Value::Int(sum.calls), Unit::None),
        show(&Value::Int(sum.bytes / sum.calls), Unit::Bytes),
        duration(sum.time),
        show(&Value::Float(rate), Unit::Gbps)
    );
    let x = sum.bytes as f64 / sum.calls as f64;
    Point { x, y: rate, weight: Some(sum.time as f64 / most), label: String::new(), tip }
}
