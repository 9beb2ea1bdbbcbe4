//! How long kernels run: calls by duration.

use report::chart::{Axis, Bin, Chart, Histogram, Mark};
use report::{Unit, Value, show};
use trace::Table;

use super::{Gpu, duration};

/// Bins per factor of ten.
const PER_DECADE: f64 = 8.0;
/// Most bins, whatever the spread.
const MOST: i32 = 96;

pub fn chart(gpu: &Gpu) -> Option<Chart> {
    let rows = || gpu.lanes.iter().flat_map(|lane| &lane.rows);
    let kernels = || rows().filter(|row| matches!(row.row.get(), Some((Table::Kernels, _))));
    let bin_of = |ns: i64| ((ns.max(1) as f64).log10() * PER_DECADE).floor() as i32;
    let bins = || kernels().map(|row| bin_of(row.work.end - row.work.start));
    let (first, last) = (bins().min()?, bins().max()?);
    let last = last.min(first + MOST - 1);
    let kinds = gpu.palette.rest() + 1;
    let mut calls = vec![vec![0i64; kinds]; (last - first + 1) as usize];
    let mut times = vec![0i64; calls.len()];
    for row in kernels() {
        let length = row.work.end - row.work.start;
        let bin = (bin_of(length).min(last) - first) as usize;
        calls[bin][gpu.kind(row.row)] += 1;
        times[bin] += length;
    }
    let (series, numbers) = gpu.palette.used(|kind| calls.iter().any(|bin| bin[kind] > 0));
    let edge = |bin: i32| 10f64.powf(f64::from(bin) / PER_DECADE);
    let bin = |(i, (calls, time)): (usize, (&Vec<i64>, &i64))| {
        let (low, high) = (edge(first + i as i32), edge(first + i as i32 + 1));
        let used = calls.iter().zip(&numbers).filter(|(_, number)| number.is_some());
        let all: i64 = calls.iter().sum();
        let tip = format!(
            "{} to {}\n{} calls, {} together",
            duration(low.round() as i64),
            duration(high.round() as i64),
            show(&Value::Int(all), Unit::None),
            duration(*time)
        );
        Bin { low, high, values: used.map(|(calls, _)| *calls as f64).collect(), tip }
    };
    let bins = calls.iter().zip(&times).enumerate().map(bin).collect();
    let description = "How many calls of kernels take how long. Kernels of a few microseconds cost as much to launch as to run.";
    let chart = Chart::new("durations", "Kernel durations", Mark::Histogram(Histogram { series, bins }));
    let x = Axis::log(Unit::Ns).labelled("duration of a call").between(edge(first), edge(last + 1));
    Some(chart.with_description(description).with_x(x).with_y(Axis::default().labelled("calls")))
}
