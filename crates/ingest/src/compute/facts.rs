//! What a workload records about its machine: `sysinfo.csv`, and the measured peaks of `roofline.csv`.

use std::path::Path;

use trace::{SourceId, Status, Trace};

/// Prefix of machine facts in the trace's metadata.
pub const SYSINFO: &str = "sysinfo.";
/// Prefix of measured peaks, followed by the device's number and a dot.
pub const ROOFLINE: &str = "roofline.";

/// One fact and its value.
pub(super) type Fact = (String, String);

/// The machine description; if it is missing, empty and reported.
pub(super) fn sysinfo(folder: &Path, trace: &mut Trace, source: SourceId) -> Vec<Fact> {
    let path = folder.join("sysinfo.csv");
    let mut rows = table(&path);
    let Some((header, row)) = rows.as_mut().and_then(|rows| Some((rows.0.clone(), rows.1.first()?.clone())))
    else {
        let message = format!("`{}` is missing or empty, so the GPU is unknown", path.display());
        trace.health.report("sysinfo", Status::Fail, None, message);
        return Vec::new();
    };
    let facts: Vec<Fact> = header.into_iter().zip(row).collect();
    for (key, value) in &facts {
        trace.add_metadata(source, &format!("{SYSINFO}{key}"), value);
    }
    facts
}

/// Measured peaks, one row per device.
pub(super) fn roofline(folder: &Path, trace: &mut Trace, source: SourceId) {
    let Some((header, rows)) = table(&folder.join("roofline.csv")) else { return };
    for row in rows {
        let device = row.first().cloned().unwrap_or_default();
        for (key, value) in header.iter().zip(&row).skip(1) {
            trace.add_metadata(source, &format!("{ROOFLINE}{device}.{key}"), value);
        }
    }
}

fn table(path: &Path) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path).ok()?;
    let header: Vec<String> = reader.headers().ok()?.iter().map(str::to_string).collect();
    let rows = reader.records().filter_map(|row| Some(row.ok()?.iter().map(str::to_string).collect()));
    Some((header, rows.collect()))
}
