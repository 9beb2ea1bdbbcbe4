//! The header before the events: the known properties of the trace.

use trace::{Agent, AgentKind, Trace};

use super::bytes;

/// Keys that the writer sets itself.
const OWN: [&str; 4] = ["traceEvents", "displayTimeUnit", "baseTimeNanoseconds", "deviceProperties"];

/// Writes the opening brace and every property; the events come next.
pub(super) fn properties(out: &mut Vec<u8>, trace: &Trace) {
    out.extend_from_slice(b"{\n");
    let known = |key: &str| trace.metadata.iter().any(|m| trace.strings.get(m.key) == key);
    if !known("schemaVersion") {
        property(out, "schemaVersion", "1");
    }
    match trace.metadata.iter().find(|m| trace.strings.get(m.key) == "deviceProperties") {
        Some(devices) => property(out, "deviceProperties", trace.strings.get(devices.value)),
        None => device_properties(out, trace),
    }
    // Times are written as in the trace, so they count from zero.
    property(out, "baseTimeNanoseconds", "0");
    let mut written: Vec<&str> = Vec::new();
    for fact in &trace.metadata {
        let key = trace.strings.get(fact.key);
        if OWN.contains(&key) || written.contains(&key) {
            continue;
        }
        written.push(key);
        property(out, key, trace.strings.get(fact.value));
    }
}

fn property(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(b"  ");
    bytes::string(out, key);
    out.extend_from_slice(b": ");
    match serde_json::from_str::<serde::de::IgnoredAny>(value) {
        Ok(_) => out.extend_from_slice(value.as_bytes()),
        Err(_) => bytes::string(out, value),
    }
    out.extend_from_slice(b",\n");
}

fn device_properties(out: &mut Vec<u8>, trace: &Trace) {
    let gpus: Vec<&Agent> = trace.agents.iter().filter(|a| a.kind == AgentKind::Gpu).collect();
    if gpus.is_empty() {
        return;
    }
    out.extend_from_slice(b"  \"deviceProperties\": [");
    for (i, gpu) in gpus.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"\n    {\"id\": " } else { b",\n    {\"id\": " });
        bytes::int(out, gpu.absolute_index.get().unwrap_or(i as i64));
        out.extend_from_slice(b", \"name\": ");
        bytes::string(out, trace.strings.get(gpu.product));
        if let Some(memory) = gpu.memory_bytes.get() {
            out.extend_from_slice(b", \"totalGlobalMem\": ");
            bytes::int(out, memory);
        }
        if let Some((major, minor)) = compute_capability(trace.strings.get(gpu.name)) {
            out.extend_from_slice(b", \"computeMajor\": ");
            bytes::int(out, major);
            out.extend_from_slice(b", \"computeMinor\": ");
            bytes::int(out, minor);
        }
        if let Some(units) = gpu.compute_units.get() {
            out.extend_from_slice(b", \"warpSize\": 64, \"numSms\": ");
            bytes::int(out, units);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"\n  ],\n");
}

/// HIP's (major, minor) for `gfx942`: all digits except the last two, and the second to last.
fn compute_capability(gfx: &str) -> Option<(i64, i64)> {
    let version = gfx.strip_prefix("gfx")?;
    let split = version.len().checked_sub(2)?;
    let minor = version.get(split..split + 1)?;
    Some((version.get(..split)?.parse().ok()?, i64::from_str_radix(minor, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capability_comes_from_the_architecture() {
        assert_eq!(compute_capability("gfx942"), Some((9, 4)));
        assert_eq!(compute_capability("gfx90a"), Some((9, 0)));
        assert_eq!(compute_capability("gfx1100"), Some((11, 0)));
        assert_eq!(compute_capability("EPYC"), None);
        assert_eq!(compute_capability("gfx"), None);
    }
}
