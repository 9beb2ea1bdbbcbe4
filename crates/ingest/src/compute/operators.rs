//! Operators of torch and Triton around the launches of a pass: `ml_api_trace_*`.
//!
//! A marker is called `aten::addmm:net.py:36|torch|seqNr=3|tid=1|…`. A launch has the correlation id of the innermost marker
//! around it; ids are unique in one recording (GUID).

use std::io::Cursor;

use trace::{Map, ProcessId, Region, Status, StrId, Thread, Trace};

use super::files::OperatorFiles;
use super::join::matches;
use super::long;
use super::table::Table;
use crate::bytes::read_whole;
use crate::{Error, Progress};

/// Numbers that are unique over all recordings of a pass.
#[derive(Default)]
struct Ids(Map<(StrId, i64), i64>);

impl Ids {
    fn of(&mut self, recording: StrId, correlation: i64) -> i64 {
        let next = self.0.len() as i64 + 1;
        *self.0.entry((recording, correlation)).or_insert(next)
    }
}

/// Adds the operators as regions, and gives each dispatch the id of the one that launched it.
pub(super) fn read(
    files: &OperatorFiles,
    main: &mut Table,
    process: ProcessId,
    progress: &Progress,
    trace: &mut Trace,
) -> Result<(), Error> {
    let mut ids = Ids::default();
    for dispatch in &mut main.dispatches {
        dispatch.correlation = 0;
    }
    let bytes = read_whole(files.launches, progress)?;
    if let Some(launches) = long::read(files.launches, &bytes, &mut trace.strings) {
        let rows = matches(&main.dispatches, &launches.dispatches);
        for (dispatch, row) in main.dispatches.iter_mut().zip(rows) {
            let Some(launch) = row.map(|row| launches.dispatches[row]) else { continue };
            if launch.correlation != 0 {
                dispatch.correlation = ids.of(launch.recording, launch.correlation);
            }
        }
    }
    let bytes = read_whole(files.markers, progress)?;
    let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(Cursor::new(&*bytes));
    let header = rows.byte_headers().cloned().unwrap_or_default();
    let column = |name: &str| header.iter().position(|known| known.eq_ignore_ascii_case(name.as_bytes()));
    let [name, thread, start, end, correlation, recording] =
        ["function", "thread_id", "start_timestamp", "end_timestamp", "correlation_id", "guid"].map(column);
    let mut threads: Map<i64, trace::ThreadId> = Map::default();
    let (mut lost, mut row) = (0u64, csv::ByteRecord::new());
    loop {
        match rows.read_byte_record(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => {
                lost += 1;
                continue;
            }
        }
        let field = |place: Option<usize>| std::str::from_utf8(row.get(place?)?).ok();
        let number = |place| field(place)?.parse::<i64>().ok();
        let (Some(text), Some(start), Some(end)) = (field(name), number(start), number(end)) else {
            lost += 1;
            continue;
        };
        let marker = Marker::of(text);
        let thread = number(thread).map_or_else(Default::default, |tid| {
            *threads
                .entry(tid)
                .or_insert_with(|| trace.add_thread(Thread { process, tid, name: StrId::EMPTY }))
        });
        let recording = field(recording).map_or(StrId::EMPTY, |guid| trace.strings.intern(guid));
        let correlation = number(correlation).map_or(0, |id| ids.of(recording, id));
        let name = trace.strings.intern(&marker.name);
        let category = trace.strings.intern(marker.category);
        trace.regions.push(Region {
            name,
            category,
            start,
            end: end.max(start),
            process,
            thread,
            correlation,
            ..Region::default()
        });
    }
    if lost > 0 {
        let message = format!("{lost} lines of `{}` could not be read", files.markers.display());
        trace.health.report("damaged_rows", Status::Warn, Some(lost as f64), message);
    }
    let without = main.dispatches.iter().filter(|dispatch| dispatch.correlation == 0).count();
    if without > 0 {
        let message = format!(
            "{without} of {} dispatches are not in `{}`, so their operators are unknown",
            main.dispatches.len(),
            files.launches.display()
        );
        trace.health.report("operators", Status::Warn, Some(without as f64), message);
    }
    Ok(())
}

/// A marker's text, parsed.
#[derive(Debug, PartialEq)]
struct Marker {
    name: String,
    category: &'static str,
}

impl Marker {
    fn of(text: &str) -> Self {
        let mut words = text.split('|');
        let place = words.next().unwrap_or_default();
        // `name:file:line`, where the name may contain colons and slashes.
        let bare = place.strip_suffix(":n/a").or_else(|| {
            let mut parts = place.rsplitn(3, ':');
            let (line, file, name) = (parts.next()?, parts.next()?, parts.next()?);
            let is_line = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
            (is_line && !file.is_empty()).then_some(name)
        });
        let is_operator = words.any(|word| matches!(word, "torch" | "triton"));
        Marker {
            name: bare.unwrap_or(place).replace("%2F", "/").replace("%25", "%"),
            category: if is_operator { "cpu_op" } else { "user_annotation" },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_name_their_operator() {
        let marker = |text| {
            let Marker { name, category } = Marker::of(text);
            (name, category)
        };
        assert_eq!(marker("aten::addmm:net.py:36|torch|seqNr=3|tid=1"), ("aten::addmm".into(), "cpu_op"));
        assert_eq!(marker("AddmmBackward0:n/a|torch|ftid=1"), ("AddmmBackward0".into(), "cpu_op"));
        assert_eq!(marker("step 50%25 a%2Fb:run.py:7"), ("step 50% a/b".into(), "user_annotation"));
        assert_eq!(marker("aten::relu"), ("aten::relu".into(), "user_annotation"));
    }
}
