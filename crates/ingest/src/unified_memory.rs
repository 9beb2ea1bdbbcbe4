//! `unified_memory.json` of rocprof-sys: page faults and migrations of a process, as sums. It has no times.
//!
//! Every number becomes a fact of the source (`unified_memory.…`); a health check reports what faults moved.

use serde_json::Value;
use trace::{Needs, Source, SourceId, Status, Trace};

use crate::bytes::read_whole;
use crate::{Error, Input, Progress};

/// Prefix of the keys of facts.
pub const UNIFIED_MEMORY: &str = "unified_memory.";

const DIRECTIONS: [&str; 3] = ["host_to_device", "device_to_host", "device_to_device"];

/// Whether the first keys of a document are those of such a file.
pub(crate) fn is_unified_memory(keys: &[String]) -> bool {
    ["devices", "summary"].iter().all(|wanted| keys.iter().any(|key| key == wanted))
}

/// Reads one file.
pub fn read(input: &Input, _: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let bytes = read_whole(&input.path, progress)?;
    progress.advance(bytes.mapped_len() as u64);
    let damaged = |why: String| Error::Damaged {
        path: input.path.clone(),
        format: "unified memory of rocprof-sys",
        why,
    };
    let document: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let summary = document.get("summary").and_then(Value::as_object);
    let summary = summary.filter(|summary| summary.contains_key("total_page_faults"));
    let Some(summary) = summary else { return Err(damaged("it does not count page faults".into())) };
    let mut trace = Trace::default();
    let path = input.path.to_string_lossy();
    let role = Some("monitor".to_string());
    let source =
        trace.add_source(Source { bytes: input.bytes, role, ..Source::named(&path, input.format.name()) });
    for (key, value) in summary {
        add(&mut trace, source, key, value);
    }
    let (mut moves, mut bytes_moved, mut time_ns) = (0u64, 0u64, 0u64);
    for device in document.get("devices").and_then(Value::as_array).into_iter().flatten() {
        let id = device.get("device_id").map_or_else(|| "?".into(), Value::to_string);
        if let Some(name) = device.get("device_name") {
            add(&mut trace, source, &format!("device_{id}.name"), name);
        }
        for direction in DIRECTIONS {
            let Some(stats) = device.pointer(&format!("/migrations/{direction}")) else { continue };
            add(&mut trace, source, &format!("device_{id}.{direction}"), stats);
            let number = |key: &str| stats.get(key).and_then(Value::as_u64).unwrap_or(0);
            // A damaged file may contain any number.
            moves = moves.saturating_add(number("count"));
            bytes_moved = bytes_moved.saturating_add(number("total_size_bytes"));
            time_ns = time_ns.saturating_add(number("total_time_ns"));
        }
    }
    let faults = summary.get("total_page_faults").and_then(Value::as_u64).unwrap_or(0);
    let message = format!(
        "{faults} page faults; {moves} migrations moved {:.1} MB between host and GPUs in {:.3} ms",
        bytes_moved as f64 / 1e6,
        time_ns as f64 / 1e6
    );
    let status = if faults > 0 || moves > 0 { Status::Warn } else { Status::Pass };
    trace.health.report("page_faults", status, Some(faults as f64), message);
    Ok(trace)
}

/// Adds a value, or every value of an object, as facts.
fn add(trace: &mut Trace, source: SourceId, key: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                add(trace, source, &format!("{key}.{name}"), value);
            }
        }
        Value::String(text) => trace.add_metadata(source, &format!("{UNIFIED_MEMORY}{key}"), text),
        other => trace.add_metadata(source, &format!("{UNIFIED_MEMORY}{key}"), &other.to_string()),
    }
}
