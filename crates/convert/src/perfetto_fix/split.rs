//! Splits a trace file into its events and everything between them, as a stream and without a tree.
//!
//! Pieces have no gaps: written one after the other they are the file, byte for byte.

use std::io::{self, Read};

use super::scan;

/// Bytes read at once; a larger event makes the buffer grow.
const BLOCK: usize = 1 << 20;

/// A part of the file.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// Everything except events: the other members of the file, brackets, commas, white space.
    Between(&'a [u8]),
    /// An object in the list of events.
    Event(&'a [u8]),
}

/// How much of a file is intact.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ending {
    /// Bytes of the file to keep.
    pub kept: u64,
    /// Bytes after those, of something incomplete.
    pub lost: u64,
    /// The brackets that close what is kept.
    pub closing: &'static str,
    /// Whether there was a list of events.
    pub has_events: bool,
    /// Why the bytes ended early, if the container reports it.
    pub damage: Option<String>,
}

impl Ending {
    /// Whether the file ends too early.
    pub fn is_cut(&self) -> bool {
        !self.closing.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Before the first bracket.
    Start,
    /// In the file's object, outside of the events.
    Members,
    /// In the list of events; whether it is a member of an object.
    Elements { in_object: bool },
    /// After the last bracket.
    After,
}

/// State inside the members of the file's object.
#[derive(Default)]
struct Members {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The last string at depth 1, cut to the length needed to recognise it.
    key: Vec<u8>,
    /// Whether a colon came after it.
    colon: bool,
}

/// The pieces of a file.
pub(super) struct Pieces<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were already returned.
    used: usize,
    /// Bytes of the file before the buffer.
    passed: u64,
    at_end: bool,
    state: State,
    members: Members,
    ending: Ending,
}

impl<R: Read> Pieces<R> {
    /// Starts at the first byte.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            used: 0,
            passed: 0,
            at_end: false,
            state: State::Start,
            members: Members::default(),
            ending: Ending::default(),
        }
    }

    /// The next piece; `None` at the end, and where the file becomes invalid.
    pub fn next(&mut self) -> Option<Piece<'_>> {
        loop {
            let start = self.used;
            if start == self.buffer.len() {
                if !self.fill() {
                    return None;
                }
                continue;
            }
            let (len, is_event) = match self.state {
                State::Start => (self.start()?, false),
                State::Members => (self.members(), false),
                State::Elements { in_object } => match self.elements(in_object) {
                    Some(found) => found,
                    None if self.fill() => continue,
                    None => return None,
                },
                State::After => {
                    let len = self.buffer.len() - start;
                    self.mark_whole(len, "");
                    (len, false)
                }
            };
            // `fill` may have moved the buffer's content, but never while a piece is being cut.
            self.used = start + len;
            let piece = &self.buffer[start..start + len];
            return Some(if is_event { Piece::Event(piece) } else { Piece::Between(piece) });
        }
    }

    /// How the file ended; call it after the last piece.
    pub fn ending(mut self) -> Ending {
        let mut total = self.passed + self.buffer.len() as u64;
        while self.fill() {
            total = self.passed + self.buffer.len() as u64;
            self.used = self.buffer.len();
        }
        self.ending.lost = total - self.ending.kept;
        self.ending
    }

    /// Reads more, and drops what was already returned; `false` if there is no more.
    fn fill(&mut self) -> bool {
        if self.at_end {
            return false;
        }
        self.buffer.drain(..self.used);
        self.passed += self.used as u64;
        self.used = 0;
        let have = self.buffer.len();
        // Doubling keeps the total work linear for an event of any size.
        self.buffer.resize(have + have.max(BLOCK), 0);
        let mut filled = have;
        while filled < self.buffer.len() {
            match self.reader.read(&mut self.buffer[filled..]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(count) => filled += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.ending.damage = Some(e.to_string().to_lowercase());
                    self.at_end = true;
                    break;
                }
            }
        }
        self.buffer.truncate(filled);
        filled > have
    }

    /// Marks the file as intact up to `len` bytes after the last piece, if `closing` is added.
    fn mark_whole(&mut self, len: usize, closing: &'static str) {
        self.ending.kept = self.passed + (self.used + len) as u64;
        self.ending.closing = closing;
    }

    fn start(&mut self) -> Option<usize> {
        let rest = &self.buffer[self.used..];
        let blank = |b: &u8| b.is_ascii_whitespace() || [0xef, 0xbb, 0xbf].contains(b);
        let Some(at) = rest.iter().position(|b| !blank(b)) else { return Some(rest.len()) };
        match rest[at] {
            b'{' => {
                self.state = State::Members;
                self.members.depth = 1;
                self.mark_whole(at + 1, "}");
            }
            b'[' => {
                self.state = State::Elements { in_object: false };
                self.ending.has_events = true;
                self.mark_whole(at + 1, "]");
            }
            _ => return None,
        }
        Some(at + 1)
    }

    /// Skips members up to the list of events, the end of the object or the end of the buffer.
    fn members(&mut self) -> usize {
        let mut at = self.used;
        while at < self.buffer.len() {
            if self.members.in_string {
                at = self.in_string(at);
                continue;
            }
            let byte = self.buffer[at];
            at += 1;
            let members = &mut self.members;
            match byte {
                b'"' => {
                    members.in_string = true;
                    if members.depth == 1 {
                        members.key.clear();
                        members.colon = false;
                    }
                }
                b':' if members.depth == 1 => members.colon = true,
                b',' if members.depth == 1 => self.mark_whole(at - 1 - self.used, "}"),
                b'[' if members.depth == 1 && members.colon && members.key == b"traceEvents" => {
                    self.state = State::Elements { in_object: true };
                    self.ending.has_events = true;
                    self.mark_whole(at - self.used, "]}");
                    break;
                }
                b'{' | b'[' => members.depth += 1,
                b'}' | b']' => {
                    members.depth = members.depth.saturating_sub(1);
                    if members.depth == 0 {
                        self.state = State::After;
                        self.mark_whole(at - self.used, "");
                        break;
                    }
                    if members.depth == 1 {
                        self.mark_whole(at - self.used, "}");
                    }
                }
                _ => {}
            }
        }
        at - self.used
    }

    /// Skips the rest of a string that may continue in the next block.
    fn in_string(&mut self, mut at: usize) -> usize {
        let members = &mut self.members;
        if members.escaped {
            members.escaped = false;
            at += 1;
        }
        let rest = &self.buffer[at.min(self.buffer.len())..];
        let end = memchr::memchr2(b'"', b'\\', rest);
        let text = &rest[..end.unwrap_or(rest.len())];
        if members.depth == 1 {
            let room = 16usize.saturating_sub(members.key.len());
            members.key.extend_from_slice(&text[..text.len().min(room)]);
        }
        match end {
            Some(end) if rest[end] == b'"' => {
                members.in_string = false;
                at + end + 1
            }
            Some(end) => {
                members.escaped = true;
                at + end + 1
            }
            None => self.buffer.len(),
        }
    }

    /// The next part of the list and whether it is an event; `None` if it continues beyond the buffer.
    fn elements(&mut self, in_object: bool) -> Option<(usize, bool)> {
        let closing = if in_object { "]}" } else { "]" };
        let rest = &self.buffer[self.used..];
        match rest[0] {
            b'{' => {
                let len = scan::value_end(rest, 0)?;
                self.mark_whole(len, closing);
                Some((len, true))
            }
            b']' => {
                self.state = if in_object { State::Members } else { State::After };
                self.mark_whole(1, if in_object { "}" } else { "" });
                Some((1, false))
            }
            b'[' | b'"' => {
                let len = scan::value_end(rest, 0)?;
                self.mark_whole(len, closing);
                Some((len, false))
            }
            _ => {
                let len = rest.iter().position(|b| b"{}[]\"".contains(b)).unwrap_or(rest.len());
                // A closing brace is invalid here; passed on unchanged, the file stays as it was.
                Some((len.max(1), false))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `step` bytes at a time, so that every boundary between reads is tested.
    struct Slow<'a> {
        bytes: &'a [u8],
        step: usize,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.step.min(self.bytes.len()).min(into.len());
            into[..count].copy_from_slice(&self.bytes[..count]);
            self.bytes = &self.bytes[count..];
            Ok(count)
        }
    }

    fn split(bytes: &[u8]) -> (Vec<u8>, Vec<String>, Ending) {
        let mut pieces = Pieces::new(Slow { bytes, step: 7 });
        let (mut all, mut events) = (Vec::new(), Vec::new());
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Between(bytes) => all.extend_from_slice(bytes),
                Piece::Event(bytes) => {
                    all.extend_from_slice(bytes);
                    events.push(String::from_utf8_lossy(bytes).into_owned());
                }
            }
        }
        (all, events, pieces.ending())
    }

    #[test]
    fn pieces_are_the_file() {
        let text = br#" {"a": {"traceEvents": [{"no": 1}]}, "b": "traceEvents\"[{", "traceEvents" : [ {"x": "}\\"}, 3, [{}], {"y": {"z": [1]}} ], "c": [1]} "#;
        let (all, events, ending) = split(text);
        assert_eq!(all, text);
        assert_eq!(events, [r#"{"x": "}\\"}"#, r#"{"y": {"z": [1]}}"#]);
        assert!(!ending.is_cut() && ending.has_events && ending.lost == 0);
        let (all, events, ending) = split(br#"[{"a":1},{"b":2}]"#);
        assert_eq!((all.len(), events.len()), (17, 2));
        assert!(!ending.is_cut());
    }

    #[test]
    fn a_cut_file_can_be_closed_wherever_it_is_cut() {
        let text =
            br#"{"a": [1, 2], "n": 12, "traceEvents": [{"x": "}"}, {"y": [1]}], "name": "q", "z": {"k": 1}}"#;
        for cut in 1..text.len() {
            let (_, events, ending) = split(&text[..cut]);
            let mut closed = text[..ending.kept as usize].to_vec();
            closed.extend_from_slice(ending.closing.as_bytes());
            let value: serde_json::Value = serde_json::from_slice(&closed)
                .unwrap_or_else(|e| panic!("cut at {cut}: {e}: {}", String::from_utf8_lossy(&closed)));
            let list = value.get("traceEvents").map_or(0, |list| list.as_array().map_or(0, Vec::len));
            assert_eq!(list, events.len(), "cut at {cut}");
            assert_eq!(ending.kept + ending.lost, cut as u64);
        }
    }

    #[test]
    fn events_larger_than_a_block_are_found() {
        let long = format!(r#"[{{"name":"{}"}},{{"b":1}}]"#, "x".repeat(5 * BLOCK));
        let mut pieces = Pieces::new(long.as_bytes());
        let mut events = 0;
        while let Some(piece) = pieces.next() {
            events += usize::from(matches!(piece, Piece::Event(_)));
        }
        assert_eq!(events, 2);
    }
}
