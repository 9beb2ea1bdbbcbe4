//! A folder of a decoded thread trace, as its viewer reads it.

use std::path::Path;

use serde_json::Value;
use trace::{CodeLine, Issued, SlotChange, Status, ThreadTrace, TracedWave};

use super::{add_line, damaged, name_of, unreadable};
use crate::Error;

pub(super) fn read(folder: &Path) -> Result<ThreadTrace, Error> {
    let mut trace = ThreadTrace::default();
    code(&mut trace, &folder.join("code.json"))?;
    let mut lost = 0usize;
    if let Ok(facts) = json(&folder.join("filenames.json")) {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        trace.gfx = facts.get("gfxip").map_or_else(|| text("gfxv"), |gfx| gfx.to_string().replace('"', ""));
    }
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut waves: Vec<_> =
        entries.flatten().map(|e| e.path()).filter(|path| is_wave(&name_of(path))).collect();
    waves.sort();
    for path in waves {
        match json(&path).ok().as_ref().and_then(|file| wave(file.get("wave")?)) {
            Some(wave) => trace.waves.push(wave),
            None => lost += 1,
        }
    }
    if lost > 0 {
        let message = format!("{lost} wave files of `{}` cannot be read", folder.display());
        trace.health.report("lost_waves", Status::Warn, Some(lost as f64), message);
    }
    if let Ok(file) = json(&folder.join("occupancy.json")) {
        trace.occupancy = occupancy(&file);
    }
    if trace.waves.is_empty() && lost == 0 {
        let message = "no wave was traced: the grid may be too small for the traced compute unit; \
                       trace another one or more shader engines";
        trace.health.report("waves", Status::Warn, Some(0.0), message);
    }
    Ok(trace)
}

fn json(path: &Path) -> Result<Value, Error> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(path, error.to_string()))
}

/// `se0_sm1_sl2_wv3.json`
fn is_wave(name: &str) -> bool {
    name.starts_with("se") && name.contains("_sm") && name.contains("_wv") && name.ends_with(".json")
}

fn whole(value: Option<&Value>) -> i64 {
    value.and_then(|value| value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))).unwrap_or(0)
}

fn code(trace: &mut ThreadTrace, path: &Path) -> Result<(), Error> {
    let file = json(path)?;
    let rows =
        file.get("code").and_then(Value::as_array).ok_or_else(|| damaged(path, "it has no list `code`"))?;
    let mut lost = 0usize;
    for row in rows {
        let Some(row) = row.as_array().filter(|row| row.len() >= 10) else {
            lost += 1;
            continue;
        };
        let text = |place: usize| row[place].as_str().unwrap_or_default().to_string();
        let number = |place: usize| whole(row.get(place));
        let line = CodeLine {
            number: number(2),
            isa: text(0),
            source: text(3),
            code_object: number(4),
            address: number(5),
            hits: number(6),
            latency: number(7),
            stall: number(8),
            idle: number(9),
        };
        add_line(trace, line);
    }
    if lost > 0 {
        let message = format!("{lost} rows of `{}` are no instructions", path.display());
        trace.health.report("lost_rows", Status::Warn, Some(lost as f64), message);
    }
    Ok(())
}

fn wave(wave: &Value) -> Option<TracedWave> {
    let number = |key: &str| whole(wave.get(key));
    let list = |key: &str| wave.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let issued = |row: &Value| {
        let row = row.as_array().filter(|row| row.len() >= 5)?;
        Some(Issued {
            time: whole(row.first()),
            category: whole(row.get(1)) as u8,
            stall: whole(row.get(2)),
            duration: whole(row.get(3)),
            line: whole(row.get(4)),
        })
    };
    let state = |row: &Value| {
        let row = row.as_array().filter(|row| row.len() >= 2)?;
        Some((whole(row.first()) as u8, whole(row.get(1))))
    };
    let wait = |row: &Value| {
        let row = row.as_array().filter(|row| row.len() >= 2)?;
        let lines = row[1].as_array()?.iter().filter_map(|line| match line {
            Value::Array(pair) => Some(whole(pair.first())),
            line => line.as_i64(),
        });
        Some((whole(row.first()), lines.collect()))
    };
    Some(TracedWave {
        cu: number("cu"),
        simd: number("simd"),
        slot: number("slot"),
        begin: number("begin"),
        end: number("end"),
        instructions: wave.get("instructions")?.as_array()?.iter().filter_map(issued).collect(),
        timeline: list("timeline").iter().filter_map(state).collect(),
        waits: list("waitcnt").iter().filter_map(wait).collect(),
    })
}

/// Lists by shader engine: `[time, cu, simd, slot, begins, kernel]`.
fn occupancy(file: &Value) -> Vec<SlotChange> {
    let mut changes = Vec::new();
    for (key, rows) in file.as_object().into_iter().flatten() {
        let (Ok(engine), Some(rows)) = (key.parse::<i64>(), rows.as_array()) else { continue };
        for row in rows.iter().filter_map(Value::as_array).filter(|row| row.len() >= 5) {
            let (time, cu, simd) = (whole(row.first()), whole(row.get(1)), whole(row.get(2)));
            changes.push(SlotChange { time, engine, cu, simd, begins: whole(row.get(4)) != 0 });
        }
    }
    changes.sort_by_key(|change| (change.engine, change.time, change.begins));
    changes
}
