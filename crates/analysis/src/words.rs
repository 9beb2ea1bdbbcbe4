//! Numbers as text for sentences.

/// `12.3 µs`, `4.5 ms`, `1.2 s`
pub(crate) fn duration(ns: i64) -> String {
    let (scale, unit) = match ns.abs() {
        0..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{:.1} {unit}", ns as f64 / scale)
}

/// `once`, `12 times`
pub(crate) fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}
