//! Numbers for people.

use serde_json::Value as Json;

use crate::{Unit, Value};

/// A cell as text for a terminal or a page.
pub fn show(value: &Value, unit: Unit) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Absent(_) => "–".to_string(),
        Value::Json(Json::Array(list)) => grouped(list.len() as i64),
        Value::Json(Json::Object(object)) => grouped(object.len() as i64),
        Value::Json(plain) => plain.to_string(),
        Value::Int(n) => match unit {
            Unit::Ns => duration(*n as f64),
            Unit::Bytes => bytes(*n as f64),
            Unit::None => grouped(*n),
            Unit::Exact => n.to_string(),
            Unit::Pct => percent(*n as f64),
            Unit::Gbps => significant(*n as f64),
        },
        Value::Float(f) => match unit {
            Unit::Ns => duration(*f),
            Unit::Bytes => bytes(*f),
            Unit::Pct => percent(*f),
            Unit::None | Unit::Gbps => significant(*f),
            Unit::Exact => f.to_string(),
        },
    }
}

/// Four significant digits and a suitable unit.
fn duration(ns: f64) -> String {
    scaled(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

fn bytes(n: f64) -> String {
    scaled(n, 1000.0, &["B", "kB", "MB", "GB", "TB"])
}

fn scaled(number: f64, step: f64, units: &[&str]) -> String {
    let (mut scaled, mut unit) = (number, 0);
    // 999.95 would print as "1000.0": from there on the next unit is better.
    while scaled.abs() >= 999.95 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    if unit == 0 && scaled.fract() == 0.0 {
        return format!("{scaled} {}", units[0]);
    }
    format!("{} {}", significant(scaled), units[unit])
}

fn percent(p: f64) -> String {
    if p != 0.0 && p.abs() < 0.05 {
        return format!("{p:.2} %");
    }
    format!("{p:.1} %")
}

/// Four significant digits.
fn significant(f: f64) -> String {
    let size = f.abs();
    if size >= 1000.0 {
        format!("{f:.0}")
    } else if size >= 100.0 {
        format!("{f:.1}")
    } else if size >= 10.0 {
        format!("{f:.2}")
    } else {
        format!("{f:.3}")
    }
}

/// Groups of thousands: 1 234 567.
fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if n < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [
            (Value::Int(0), Unit::Ns, "0 ns"),
            (Value::Int(999), Unit::Ns, "999 ns"),
            (Value::Int(1_234), Unit::Ns, "1.234 µs"),
            (Value::Int(999_999), Unit::Ns, "1.000 ms"),
            (Value::Int(12_345_678), Unit::Ns, "12.35 ms"),
            (Value::Int(90_000_000_000), Unit::Ns, "90.00 s"),
            (Value::Int(-1_500), Unit::Ns, "-1.500 µs"),
            (Value::Int(1_234_567), Unit::None, "1,234,567"),
            (Value::Int(-1_000), Unit::None, "-1,000"),
            (Value::Int(4096), Unit::Bytes, "4.096 kB"),
            (Value::Float(12.34), Unit::Pct, "12.3 %"),
            (Value::Float(0.012), Unit::Pct, "0.01 %"),
            (Value::absent("no bytes"), Unit::Bytes, "–"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(show(&value, unit), text);
        }
    }
}
