//! The few fields of an event that decide its lane, and their position in its bytes.

use std::ops::Range;

use super::scan::{Members, unquoted};
use super::time::nanoseconds;

/// An event, as positions in its bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Event<'a> {
    bytes: &'a [u8],
    /// First letter of `ph`.
    pub phase: u8,
    /// `cat`.
    pub category: &'a [u8],
    /// `name`, with escapes.
    pub name: &'a [u8],
    /// `pid` with its quotes, if any.
    pub pid: Option<&'a [u8]>,
    /// `tid` with its quotes, if any.
    pub tid: Option<&'a [u8]>,
    /// Position of `tid`.
    pub tid_at: Option<Range<usize>>,
    /// Position of `dur`.
    pub dur_at: Option<Range<usize>>,
    /// Position of `args`, if it is an object.
    pub args_at: Option<Range<usize>>,
    id: &'a [u8],
    ts: &'a [u8],
}

impl<'a> Event<'a> {
    /// Finds the fields of the object that spans all of `bytes`.
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut event = Event { bytes, ..Event::default() };
        for (key, value) in Members::of(bytes) {
            let text = &bytes[value.clone()];
            match &bytes[key] {
                b"ph" => event.phase = unquoted(text).first().copied().unwrap_or(0),
                b"cat" => event.category = unquoted(text),
                b"name" => event.name = unquoted(text),
                b"pid" => event.pid = Some(text),
                b"tid" => (event.tid, event.tid_at) = (Some(text), Some(value)),
                b"ts" => event.ts = unquoted(text),
                b"dur" => event.dur_at = Some(value),
                b"id" => event.id = unquoted(text),
                b"args" if text.starts_with(b"{") => event.args_at = Some(value),
                _ => {}
            }
        }
        event
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its start time.
    pub fn start(&self) -> Option<i64> {
        nanoseconds(self.ts)
    }

    /// Its duration.
    pub fn duration(&self) -> Option<i64> {
        nanoseconds(unquoted(&self.bytes[self.dur_at.clone()?])).filter(|ns| *ns >= 0)
    }

    /// The id of a flow.
    pub fn flow_id(&self) -> Option<i64> {
        integer(self.id)
    }

    /// The correlation id of a launch, its GPU work and their flow.
    pub fn correlation(&self) -> Option<i64> {
        integer(unquoted(self.arg(b"correlation")?))
    }

    /// An argument as its JSON text.
    pub fn arg(&self, key: &[u8]) -> Option<&'a [u8]> {
        let args = &self.bytes[self.args_at.clone()?];
        memchr::memmem::find(args, key)?;
        Members::of(args).find(|(k, _)| &args[k.clone()] == key).map(|(_, value)| &args[value])
    }

    /// A key for its lane: equal for `7` and `"7"`, which viewers treat as the same thread.
    pub fn lane_key(&self, key: &mut Vec<u8>) {
        key.clear();
        for part in [self.pid, self.tid] {
            let part = part.unwrap_or(b"0");
            let bare = unquoted(part);
            key.extend_from_slice(if integer(bare).is_some() { bare } else { part });
            key.push(0);
        }
    }
}

/// A whole number.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_any_order() {
        let bytes = br#"{"args": {"x": {"correlation": 1}, "correlation": 42}, "tid": "7", "ph":"X", "dur": 1.5, "ts": 2, "pid": 7, "cat": "kernel"}"#;
        let event = Event::of(bytes);
        assert_eq!((event.phase, event.category, event.correlation()), (b'X', &b"kernel"[..], Some(42)));
        assert_eq!((event.start(), event.duration()), (Some(2000), Some(1500)));
        let mut key = Vec::new();
        event.lane_key(&mut key);
        assert_eq!(key, b"7\x007\x00");
        Event::of(br#"{"pid": "[TP00] 7", "tid": 7}"#).lane_key(&mut key);
        assert_eq!(key, b"\"[TP00] 7\"\x007\x00");
    }
}
