//! Metrics of a monitoring system (omnistat, or any exporter) as samples: a text dump of Prometheus, the
//! result of a range query, or an export of VictoriaMetrics.
//!
//! Times are times of day. `align` puts the samples on the run's GPUs, and keeps only those within the run.

mod align;
mod json;
mod text;

use trace::{Needs, Sample, Source, Status, Trace};

pub(crate) use align::align;
pub(crate) use json::is_metrics as is_json_metrics;
pub(crate) use text::is_metrics as is_text_metrics;

use crate::bytes::read_whole;
use crate::{Error, Input, Progress};

/// What samples of such files are called.
const KIND: &str = "prometheus";

/// The role of a source that only monitored.
const ROLE: &str = "monitor";

/// Suffixes of metric names, and their units.
const UNITS: &[(&str, &str)] = &[
    ("_mhz", "MHz"),
    ("_watts", "W"),
    ("_joules", "J"),
    ("_percentage", "%"),
    ("_percent", "%"),
    ("_celsius", "°C"),
    ("_kilobytes", "kB"),
    ("_bytes", "bytes"),
    ("_bytes_total", "bytes"),
    ("_seconds", "s"),
    ("_ns", "ns"),
    ("_packets", "packets"),
];

/// Reads one file.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let bytes = read_whole(&input.path, progress)?;
    progress.advance(bytes.mapped_len() as u64);
    let mut reader = Reader::default();
    match bytes.trim_ascii_start().first() {
        Some(b'{' | b'[') => json::read(&bytes, &mut reader),
        _ => text::read(&bytes, &mut reader),
    }
    let Reader { mut trace, lost, timeless } = reader;
    if trace.samples.is_empty() {
        let why = match timeless {
            0 => "it has no values",
            _ => "its values have no timestamps: export them with timestamps, or use a range query",
        };
        return Err(Error::Damaged {
            path: input.path.clone(),
            format: "metrics of Prometheus",
            why: why.into(),
        });
    }
    let path = input.path.to_string_lossy();
    let role = Some(ROLE.to_string());
    trace.add_source(Source { bytes: input.bytes, role, ..Source::named(&path, input.format.name()) });
    if lost + timeless > 0 {
        let message = format!(
            "left out {lost} values of `{path}` that are not numbers and {timeless} without a timestamp"
        );
        trace.health.report("lost_rows", Status::Warn, Some((lost + timeless) as f64), message);
    }
    if let Some(damage) = &bytes.damage {
        trace.health.report("truncated", Status::Warn, None, format!("`{path}` stops early: {damage}"));
    }
    if !needs.samples {
        trace.samples = Default::default();
    }
    Ok(trace)
}

/// Values while they are read.
#[derive(Default)]
struct Reader {
    trace: Trace,
    /// Values that are not numbers, and invalid lines.
    lost: u64,
    /// Values without a time.
    timeless: u64,
}

impl Reader {
    /// Takes a value of a series; `labels` are its labels as `key=value`, separated by commas.
    fn take(&mut self, name: &str, labels: &str, time_ns: Option<i64>, value: Option<f64>) {
        let (Some(start), Some(value)) = (time_ns, value) else {
            if time_ns.is_none() {
                self.timeless += 1
            } else {
                self.lost += 1
            }
            return;
        };
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or("", |(_, unit)| unit);
        let strings = &mut self.trace.strings;
        let sample = Sample {
            start,
            end: start,
            kind: strings.intern(KIND),
            name: strings.intern(name),
            value,
            unit: strings.intern(unit),
            location: strings.intern(labels),
            ..Sample::default()
        };
        self.trace.samples.push(sample);
    }
}

/// Whole nanoseconds of a time; `None` if it is not a time of day of this century.
fn nanoseconds(time: f64, per_second: f64) -> Option<i64> {
    let seconds = time / per_second;
    (9e8..1e10).contains(&seconds).then(|| (time * (1e9 / per_second)).round() as i64)
}
