//! An event with another lane or duration; all its other bytes stay.

use std::io::{self, Write};

use trace::Ns;

use super::event::Event;
use super::time::microseconds;

/// What changes in an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// Its new `tid`.
    pub tid: Option<i64>,
    /// Its new `dur`; the old one goes to `args.orig_dur`.
    pub duration: Option<Ns>,
}

/// Writes the event with its changes.
pub(super) fn write(event: &Event<'_>, change: Change, out: &mut impl Write) -> io::Result<()> {
    let bytes = event.bytes();
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    if let Some(tid) = change.tid {
        edits.push(match &event.tid_at {
            Some(at) => (at.start, at.end, tid.to_string()),
            None => (1, 1, format!("\"tid\": {tid}, ")),
        });
    }
    if let (Some(duration), Some(at)) = (change.duration, &event.dur_at) {
        edits.push((at.start, at.end, microseconds(duration)));
        let old = String::from_utf8_lossy(&bytes[at.clone()]);
        match &event.args_at {
            // Already trimmed before: the first duration is the measured one.
            Some(_) if event.arg(b"orig_dur").is_some() => {}
            Some(args) => {
                let inside = &bytes[args.start + 1..args.end - 1];
                let comma = if inside.iter().all(u8::is_ascii_whitespace) { "" } else { ", " };
                edits.push((args.start + 1, args.start + 1, format!("\"orig_dur\": {old}{comma}")));
            }
            None => {
                let end = bytes.len() - 1;
                edits.push((end, end, format!(", \"args\": {{\"orig_dur\": {old}}}")));
            }
        }
    }
    edits.sort_by_key(|edit| edit.0);
    let mut done = 0;
    for (start, end, text) in edits {
        out.write_all(&bytes[done..start])?;
        out.write_all(text.as_bytes())?;
        done = end;
    }
    out.write_all(&bytes[done..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(bytes: &str, tid: Option<i64>, duration: Option<Ns>) -> String {
        let mut out = Vec::new();
        write(&Event::of(bytes.as_bytes()), Change { tid, duration }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_changes_is_touched() {
        let event = r#"{"ph": "X",  "dur":12.50, "args": { "stream": 7 }, "tid": "7"}"#;
        assert_eq!(
            rewritten(event, Some(11), None),
            r#"{"ph": "X",  "dur":12.50, "args": { "stream": 7 }, "tid": 11}"#
        );
        assert_eq!(
            rewritten(event, None, Some(12_001)),
            r#"{"ph": "X",  "dur":12.001, "args": {"orig_dur": 12.50,  "stream": 7 }, "tid": "7"}"#
        );
        assert_eq!(
            rewritten(r#"{"dur":3}"#, Some(4), Some(2_000)),
            r#"{"tid": 4, "dur":2, "args": {"orig_dur": 3}}"#
        );
        assert_eq!(
            rewritten(r#"{"dur":3,"args":{"orig_dur":4}}"#, None, Some(2_000)),
            r#"{"dur":2,"args":{"orig_dur":4}}"#
        );
        assert_eq!(
            rewritten(r#"{"dur":3,"args":{}}"#, None, Some(1)),
            r#"{"dur":0.001,"args":{"orig_dur": 3}}"#
        );
    }
}
