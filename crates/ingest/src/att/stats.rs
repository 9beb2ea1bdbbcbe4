//! Statistics of a thread trace: one row per instruction of the kernel.

use std::path::Path;

use trace::{CodeLine, Status, ThreadTrace};

use super::{add_line, damaged, unreadable, within_reason};
use crate::Error;

const COLUMNS: [&str; 8] =
    ["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source"];

/// Whether a file is a statistics file, by its first line.
pub(super) fn is_stats(path: &Path) -> bool {
    if path.extension().is_none_or(|extension| extension != "csv") {
        return false;
    }
    let Ok(file) = std::fs::File::open(path) else { return false };
    let mut first = [0u8; 64];
    let Ok(read) = std::io::Read::read(&mut std::io::Read::take(file, 64), &mut first) else { return false };
    let first = String::from_utf8_lossy(&first[..read]).replace('"', "");
    first.trim_start_matches('\u{feff}').starts_with("CodeObj,Vaddr")
}

pub(super) fn read(path: &Path) -> Result<ThreadTrace, Error> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).from_path(path).map_err(|error| unreadable(path, &error))?;
    let headers = reader.headers().map_err(|error| damaged(path, error.to_string()))?.clone();
    let place =
        |name: &str| headers.iter().position(|header| header.trim_matches(['"', '\u{feff}', ' ']) == name);
    let columns = COLUMNS.map(place);
    if columns[..7].iter().any(Option::is_none) {
        let missing: Vec<&str> =
            COLUMNS[..7].iter().zip(columns).filter(|(_, c)| c.is_none()).map(|(n, _)| *n).collect();
        return Err(damaged(path, format!("no column {}", missing.join(", "))));
    }
    let mut trace = ThreadTrace::default();
    let mut lost = 0usize;
    for (number, record) in reader.byte_records().enumerate() {
        let Ok(record) = record else {
            lost += 1;
            continue;
        };
        let text = |column: usize| {
            let field = columns[column].and_then(|column| record.get(column)).unwrap_or_default();
            String::from_utf8_lossy(field).trim().to_string()
        };
        let whole = |column: usize| text(column).parse::<i64>().ok();
        let cycles = |column: usize| whole(column).and_then(within_reason);
        let (Some(hits), Some(latency), Some(stall), Some(idle)) =
            (cycles(3), cycles(4), cycles(5), cycles(6))
        else {
            lost += 1;
            continue;
        };
        let line = CodeLine {
            number: number as i64,
            isa: text(2),
            source: text(7),
            code_object: whole(0).unwrap_or(0),
            address: whole(1).unwrap_or(0),
            hits,
            latency,
            stall,
            idle,
        };
        add_line(&mut trace, line);
    }
    if lost > 0 {
        let message = format!("{lost} rows of `{}` are not instructions with numbers", path.display());
        trace.health.report("lost_rows", Status::Warn, Some(lost as f64), message);
    }
    Ok(trace)
}
