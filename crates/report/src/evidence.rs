//! Evidence of a finding for people: keys imply units, and timestamps on the trace's clock are shown relative
//! to its start.

use crate::{Unit, Value, number};

/// Suffixes of keys whose value is a timestamp on the trace's clock, not a duration.
const STAMPS: [&str; 2] = ["start_ns", "end_ns"];

/// Suffixes of keys and their units.
const UNITS: [(&str, Unit); 4] =
    [("_ns", Unit::Ns), ("_pct", Unit::Pct), ("_bytes", Unit::Bytes), ("_gbps", Unit::Gbps)];

/// Label and text of a piece of evidence; lists are shown whole. Timestamps are relative to `trace_start_ns`
/// if it is known.
pub fn shown(key: &str, value: &Value, trace_start_ns: Option<i64>) -> (String, String) {
    let words = |key: &str| key.replace('_', " ");
    let (label, unit) = match UNITS.iter().find(|(ending, _)| key.ends_with(ending)) {
        Some((ending, unit)) => (words(key.trim_end_matches(ending)), *unit),
        None => (words(key), Unit::None),
    };
    let stamp = STAMPS.iter().any(|ending| key == *ending || key.ends_with(&format!("_{ending}")));
    let text = match value {
        Value::Json(json) => json.to_string(),
        Value::Absent(why) => format!("– ({why})"),
        Value::Int(ns) if stamp => match trace_start_ns {
            Some(start) => {
                let after = number::show(&Value::Int(ns.saturating_sub(start)), Unit::Ns);
                format!("{after} after the trace's start")
            }
            None => format!("{ns} ns on the trace's clock"),
        },
        other => number::show(other, unit),
    };
    (label, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_the_clock_were_shown_as_durations() {
        let stamp = Value::Int(63_855_950_000_000);
        let text = |key: &str, start| shown(key, &stamp, start).1;
        assert_eq!(
            shown("worst_start_ns", &stamp, Some(63_855_948_500_000)),
            ("worst start".into(), "1.500 ms after the trace's start".into())
        );
        assert_eq!(text("example_end_ns", None), "63855950000000 ns on the trace's clock");
        assert_eq!(shown("idle_ns", &Value::Int(1_500), Some(1)), ("idle".into(), "1.500 µs".into()));
    }
}
