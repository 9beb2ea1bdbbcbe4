//! A folder of a decoded thread trace, in the layout that its viewer reads.

use std::path::Path;

use serde_json::Value;
use trace::{CodeLine, Issued, SlotChange, Status, ThreadTrace, TracedWave};

use super::{add_line, damaged, name_of, unreadable, within_reason};
use crate::Error;

pub(super) fn read(folder: &Path) -> Result<ThreadTrace, Error> {
    let mut trace = ThreadTrace::default();
    code(&mut trace, &folder.join("code.json"))?;
    if let Some(facts) = optional(&mut trace, &folder.join("filenames.json")) {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        trace.gfx = facts.get("gfxip").map_or_else(|| text("gfxv"), |gfx| gfx.to_string().replace('"', ""));
    }
    waves(&mut trace, folder)?;
    if let Some(file) = optional(&mut trace, &folder.join("occupancy.json")) {
        occupancy(&mut trace, &file);
    }
    Ok(trace)
}

/// Reads what every wave issued, one file per wave.
fn waves(trace: &mut ThreadTrace, folder: &Path) -> Result<(), Error> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_wave(&name_of(path))).collect();
    files.sort();
    let (mut lost_waves, mut lost_rows) = (0usize, 0usize);
    for path in files {
        let read = json(&path).ok();
        match read.as_ref().and_then(|file| wave(file.get("wave")?, &mut lost_rows)) {
            Some(wave) => trace.waves.push(wave),
            None => lost_waves += 1,
        }
    }
    if lost_waves > 0 {
        let message = format!("{lost_waves} wave files of `{}` cannot be read", folder.display());
        trace.health.report("lost_waves", Status::Warn, Some(lost_waves as f64), message);
    }
    if lost_rows > 0 {
        let message = format!("{lost_rows} instructions or waits of waves cannot be read");
        trace.health.report("lost_wave_rows", Status::Warn, Some(lost_rows as f64), message);
    }
    if trace.waves.is_empty() && lost_waves == 0 {
        let kernel = trace.kernels.first().map_or("this dispatch", String::as_str);
        let message = format!(
            "no wave of {kernel} was traced: its grid may be too small for the traced compute unit; \
             trace another one or more shader engines"
        );
        trace.health.report("waves", Status::Warn, Some(0.0), message);
    }
    Ok(())
}

fn json(path: &Path) -> Result<Value, Error> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(path, error.to_string()))
}

/// Reads a file that may be missing; one that exists but cannot be read is reported.
fn optional(trace: &mut ThreadTrace, path: &Path) -> Option<Value> {
    if !path.exists() {
        return None;
    }
    match json(path) {
        Ok(file) => Some(file),
        Err(error) => {
            trace.health.report("lost_files", Status::Warn, Some(1.0), error.to_string());
            None
        }
    }
}

/// `se0_sm1_sl2_wv3.json`
fn is_wave(name: &str) -> bool {
    name.starts_with("se") && name.contains("_sm") && name.contains("_wv") && name.ends_with(".json")
}

/// A whole number in the range that a trace can have.
fn whole(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    within_reason(value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))?)
}

/// The first numbers of a row.
fn numbers<const N: usize>(row: &Value) -> Option<[i64; N]> {
    let row = row.as_array().filter(|row| row.len() >= N)?;
    let mut numbers = [0; N];
    for (number, value) in numbers.iter_mut().zip(row) {
        *number = whole(Some(value))?;
    }
    Some(numbers)
}

fn code(trace: &mut ThreadTrace, path: &Path) -> Result<(), Error> {
    let file = json(path)?;
    let rows =
        file.get("code").and_then(Value::as_array).ok_or_else(|| damaged(path, "it has no list `code`"))?;
    let mut lost = 0usize;
    for row in rows {
        match code_line(row) {
            Some(line) => add_line(trace, line),
            None => lost += 1,
        }
    }
    if lost > 0 {
        let message = format!("{lost} rows of `{}` are not instructions", path.display());
        trace.health.report("lost_rows", Status::Warn, Some(lost as f64), message);
    }
    Ok(())
}

/// `[isa, 0, line, source, code object, address, hits, latency, stall, idle]`
fn code_line(row: &Value) -> Option<CodeLine> {
    let row = row.as_array().filter(|row| row.len() >= 10)?;
    let number = |place: usize| whole(row.get(place));
    Some(CodeLine {
        number: number(2)?,
        isa: row[0].as_str()?.to_string(),
        source: row[3].as_str().unwrap_or_default().to_string(),
        code_object: number(4)?,
        // The address is only displayed.
        address: row[5].as_i64().unwrap_or_default(),
        hits: number(6)?,
        latency: number(7)?,
        stall: number(8)?,
        idle: number(9)?,
    })
}

fn wave(wave: &Value, lost: &mut usize) -> Option<TracedWave> {
    let number = |key: &str| whole(wave.get(key)).unwrap_or_default();
    let issued = |row: &Value| {
        let [time, category, stall, duration, line] = numbers(row)?;
        Some(Issued { time, category: u8::try_from(category).ok()?, stall, duration, line })
    };
    let state = |row: &Value| {
        let [state, cycles] = numbers(row)?;
        Some((u8::try_from(state).ok()?, cycles))
    };
    let wait = |row: &Value| {
        let row = row.as_array().filter(|row| row.len() >= 2)?;
        let awaited = row[1].as_array()?.iter().map(|line| match line {
            Value::Array(pair) => whole(pair.first()),
            line => whole(Some(line)),
        });
        Some((whole(row.first())?, awaited.collect::<Option<Vec<i64>>>()?))
    };
    let instructions = wave.get("instructions")?.as_array()?;
    let list = |key: &str| wave.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Some(TracedWave {
        cu: number("cu"),
        simd: number("simd"),
        slot: number("slot"),
        begin: number("begin"),
        end: number("end"),
        instructions: kept(instructions, issued, lost),
        timeline: kept(list("timeline"), state, lost),
        waits: kept(list("waitcnt"), wait, lost),
    })
}

/// The rows that can be read; the others are counted.
fn kept<T>(rows: &[Value], read: impl Fn(&Value) -> Option<T>, lost: &mut usize) -> Vec<T> {
    let kept: Vec<T> = rows.iter().filter_map(read).collect();
    *lost += rows.len() - kept.len();
    kept
}

/// Lists by shader engine: `[time, cu, simd, slot, begins, kernel]`.
fn occupancy(trace: &mut ThreadTrace, file: &Value) {
    let mut lost = 0;
    for (key, rows) in file.as_object().into_iter().flatten() {
        let (Ok(engine), Some(rows)) = (key.parse::<i64>(), rows.as_array()) else { continue };
        let change = |row: &Value| {
            let [time, cu, simd, _, begins] = numbers(row)?;
            Some(SlotChange { time, engine, cu, simd, begins: begins != 0 })
        };
        trace.occupancy.extend(kept(rows, change, &mut lost));
    }
    trace.occupancy.sort_by_key(|change| (change.engine, change.time, change.begins));
    if lost > 0 {
        let message = format!("{lost} wave starts or ends cannot be read");
        trace.health.report("lost_occupancy", Status::Warn, Some(lost as f64), message);
    }
}
