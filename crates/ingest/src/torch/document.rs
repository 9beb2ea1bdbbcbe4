//! The document around the events: where events start and end, and how to continue after damage.
//!
//! The walk over the whole text from its first byte defines what a file holds. Other walks may start in the
//! middle, at a plausible event; their part counts only if the walk before arrives at exactly that byte.

use memchr::memmem::Finder;

use super::worker::Worker;
use crate::json::{Cursor, Damage};

/// An event longer than this is damage: a lost quote would otherwise swallow the file.
pub(super) const MAX_EVENT: usize = 4 << 20;

/// An event longer than this that seems to contain the start of another is damage too. This limits the cost
/// of a lost quote.
const LONG_EVENT: usize = 16 << 10;

/// A top-level value longer than this is not kept as metadata.
const MAX_METADATA: usize = 256 << 10;

/// Position of a walk in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentPosition {
    /// Before the first byte.
    Start,
    /// In the outermost object, before a key.
    Top,
    /// In the outermost object, after a value.
    AfterValue,
    /// Among the events.
    Events,
    /// After damage, looking for the next event.
    Lost,
    /// In an event that the end of the document cuts off.
    Cut,
    /// After the end of the document.
    Done,
}

/// Where a walk stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// The first byte that was not consumed.
    pub at: usize,
    pub place: DocumentPosition,
}

/// Some bytes of a document and their place in it.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    pub text: &'a [u8],
    /// Stop before the first event at or after this byte.
    pub until: usize,
    /// Whether the document ends with the text.
    pub last: bool,
    /// Whether the document is just a list of events.
    pub bare: bool,
}

impl Worker<'_> {
    /// Reads from a position until the border, the end of the document or the end of the text.
    pub fn walk(&mut self, span: Span<'_>, from: Stop) -> Stop {
        let Stop { mut at, mut place } = from;
        loop {
            let step = match place {
                DocumentPosition::Start => self.start(span, at),
                DocumentPosition::Top => self.top(span, at),
                DocumentPosition::AfterValue => after_value(span, at),
                DocumentPosition::Events => self.events(span, at),
                DocumentPosition::Lost => lost(span, at),
                DocumentPosition::Done => done(span, at),
                DocumentPosition::Cut => return Stop { at, place },
            };
            match step {
                Step::Go(next) => Stop { at, place } = next,
                Step::Halt(stop) => return stop,
            }
        }
    }

    fn start(&mut self, span: Span<'_>, at: usize) -> Step {
        let at = if span.text[at..].starts_with(b"\xef\xbb\xbf") { at + 3 } else { at };
        let mut json = Cursor::at(span.text, at);
        match json.peek() {
            Some(b'{') => Step::go(json.pos() + 1, DocumentPosition::Top),
            Some(b'[') => Step::go(json.pos() + 1, DocumentPosition::Events),
            Some(_) => Step::go(at, DocumentPosition::Lost),
            None => Step::halt(json.pos(), DocumentPosition::Start),
        }
    }

    fn top(&mut self, span: Span<'_>, at: usize) -> Step {
        let mut json = Cursor::at(span.text, at);
        json.skip_whitespace();
        let here = json.pos();
        match json.peek() {
            None => return Step::halt(here, DocumentPosition::Top),
            Some(b'}') => return Step::go(json.pos() + 1, DocumentPosition::Done),
            Some(_) => {}
        }
        match self.top_key(&mut json) {
            Ok(place) => Step::go(json.pos(), place),
            Err(Damage::End) if !span.last => Step::halt(here, DocumentPosition::Top),
            Err(_) => Step::go(here, DocumentPosition::Lost),
        }
    }

    fn top_key(&mut self, json: &mut Cursor<'_>) -> Result<DocumentPosition, Damage> {
        let key = json.string()?;
        json.expect(b':')?;
        let next = json.peek().ok_or(Damage::End)?;
        if key.raw == b"traceEvents" && next == b'[' {
            json.seek(json.pos() + 1);
            return Ok(DocumentPosition::Events);
        }
        let value = json.raw_value()?;
        let value = if value.len() > MAX_METADATA {
            format!("\"{} bytes, not kept\"", value.len()).into_bytes()
        } else {
            value.to_vec()
        };
        self.metadata.push((key.raw.to_vec(), value));
        Ok(DocumentPosition::AfterValue)
    }

    fn events(&mut self, span: Span<'_>, mut at: usize) -> Step {
        let here = DocumentPosition::Events;
        loop {
            while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',') = span.text.get(at) {
                at += 1;
            }
            match span.text.get(at) {
                Some(b'{') if at >= span.until => return Step::halt(at, here),
                Some(b'{') => {}
                Some(b']') => {
                    return Step::go(
                        at + 1,
                        if span.bare { DocumentPosition::Done } else { DocumentPosition::AfterValue },
                    );
                }
                Some(_) => return Step::go(at, DocumentPosition::Lost),
                None => return Step::halt(at, here),
            }
            match self.bounded_event(span, at) {
                Read::To(end) => at = end,
                Read::Cut if span.last => return Step::halt(at, DocumentPosition::Cut),
                Read::Cut => return Step::halt(at, here),
                Read::Damaged => {
                    self.tally.lost += 1;
                    return Step::go(at + 1, DocumentPosition::Lost);
                }
            }
        }
    }

    fn bounded_event(&mut self, span: Span<'_>, at: usize) -> Read {
        for limit in [at + LONG_EVENT, at + MAX_EVENT] {
            let text = &span.text[..limit.min(span.text.len())];
            let mut json = Cursor::at(text, at);
            match self.event(&mut json) {
                Ok(()) => return Read::To(json.pos()),
                Err(Damage::Unexpected) => return Read::Damaged,
                Err(Damage::End) if text.len() < limit && !span.last => return Read::Cut,
                Err(Damage::End) if next_event(text, at + 1).is_some() => return Read::Damaged,
                Err(Damage::End) if text.len() < limit => return Read::Cut,
                Err(Damage::End) => {}
            }
        }
        Read::Damaged
    }
}

/// How reading an event ended.
enum Read {
    To(usize),
    /// The text ends inside it.
    Cut,
    Damaged,
}

enum Step {
    Go(Stop),
    Halt(Stop),
}

impl Step {
    fn go(at: usize, place: DocumentPosition) -> Self {
        Step::Go(Stop { at, place })
    }

    fn halt(at: usize, place: DocumentPosition) -> Self {
        Step::Halt(Stop { at, place })
    }
}

fn after_value(span: Span<'_>, at: usize) -> Step {
    let mut json = Cursor::at(span.text, at);
    match json.peek() {
        Some(b',') => Step::go(json.pos() + 1, DocumentPosition::Top),
        Some(b'}') => Step::go(json.pos() + 1, DocumentPosition::Done),
        Some(_) => Step::go(json.pos(), DocumentPosition::Lost),
        None => Step::halt(json.pos(), DocumentPosition::AfterValue),
    }
}

/// Text after the end means that it was not the end: damage had closed the document.
fn done(span: Span<'_>, at: usize) -> Step {
    let mut json = Cursor::at(span.text, at);
    match json.peek() {
        Some(_) => Step::go(json.pos(), DocumentPosition::Lost),
        None => Step::halt(json.pos(), DocumentPosition::Done),
    }
}

fn lost(span: Span<'_>, at: usize) -> Step {
    match next_event(span.text, at) {
        Some(next) => Step::go(next, DocumentPosition::Events),
        None if span.last => Step::halt(span.text.len(), DocumentPosition::Lost),
        // The start of an event may be cut in two.
        None => {
            let tail = span.text.len().saturating_sub(64).max(at);
            let cut = memchr::memrchr(b'{', &span.text[tail..]);
            Step::halt(cut.map_or(span.text.len(), |open| tail + open), DocumentPosition::Lost)
        }
    }
}

/// Whether a document is just a list of events.
pub(super) fn is_bare(text: &[u8]) -> bool {
    Cursor::at(text, if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }).peek() == Some(b'[')
}

/// Keys an event may begin with.
const FIRST_KEYS: [&[u8]; 8] = [b"ph", b"name", b"cat", b"args", b"pid", b"tid", b"ts", b"dur"];

/// The next byte that looks like the start of an event: an object that is not the value of a key and begins
/// with a key of events.
pub(super) fn next_event(text: &[u8], from: usize) -> Option<usize> {
    let opens = Finder::new(b"{");
    let mut at = from.min(text.len());
    loop {
        at += opens.find(&text[at..])?;
        if begins_event(text, at) {
            return Some(at);
        }
        at += 1;
    }
}

fn begins_event(text: &[u8], open: usize) -> bool {
    let mut json = Cursor::at(text, open + 1);
    json.skip_whitespace();
    let rest = &text[json.pos()..];
    let known = rest.strip_prefix(b"\"").is_some_and(|key| {
        FIRST_KEYS.iter().any(|first| key.strip_prefix(*first).is_some_and(|after| after.starts_with(b"\"")))
    });
    let before = text[..open].iter().rev().find(|b| !b.is_ascii_whitespace());
    known && before != Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Needs;

    fn walk(text: &str) -> (Worker<'static>, Stop) {
        let needs: &'static Needs = Box::leak(Box::new(Needs::everything()));
        let mut worker = Worker::new(needs);
        worker.begin();
        let bare = is_bare(text.as_bytes());
        let span = Span { text: text.as_bytes(), until: usize::MAX, last: true, bare };
        let stop = worker.walk(span, Stop { at: 0, place: DocumentPosition::Start });
        (worker, stop)
    }

    const EVENT: &str =
        r#"{"ph":"X","cat":"cpu_op","name":"a{b","pid":1,"tid":1,"ts":1.5,"dur":2,"args":{"External id":3}}"#;

    #[test]
    fn keys_come_in_any_order() {
        for text in [
            format!(r#"{{"a":1,"traceEvents":[{EVENT},{EVENT}],"b":"x"}}"#),
            format!("{{\"traceEvents\": [\n{EVENT} , {EVENT}\n], \"b\": \"x\", \"a\": 1}}\n"),
        ] {
            let (worker, stop) = walk(&text);
            assert_eq!(stop.place, DocumentPosition::Done);
            assert_eq!(worker.tally.events, 2);
            assert_eq!(worker.metadata.len(), 2);
        }
    }

    #[test]
    fn a_bare_list_needs_no_closing_bracket() {
        let (worker, stop) = walk(&format!("[{EVENT},\n{EVENT},"));
        assert_eq!((worker.tally.events, stop.place), (2, DocumentPosition::Events));
        let (worker, stop) = walk(&format!("[{EVENT}]"));
        assert_eq!((worker.tally.events, stop.place), (1, DocumentPosition::Done));
    }

    #[test]
    fn damage_costs_the_damaged_event_only() {
        let text = format!(r#"{{"traceEvents":[{EVENT},{EVENT},{EVENT}],"a":1}}"#);
        let second = text.find(EVENT).unwrap() + EVENT.len() + 1;
        for place in second..second + EVENT.len() {
            for byte in [b'"', b'}', b'{', b',', b']', b'Z', 0] {
                let mut dirty = text.clone().into_bytes();
                dirty[place] = byte;
                let needs = Needs::everything();
                let mut worker = Worker::new(&needs);
                worker.begin();
                let span = Span { text: &dirty, until: usize::MAX, last: true, bare: false };
                let stop = worker.walk(span, Stop { at: 0, place: DocumentPosition::Start });
                assert!(worker.tally.events >= 2, "byte {byte} at {place}");
                assert_eq!(stop.place, DocumentPosition::Done, "byte {byte} at {place}");
                assert_eq!(worker.metadata.len(), 1);
            }
        }
    }

    #[test]
    fn arguments_that_come_twice_ended_the_program() {
        let long = format!(r#""args":{{"x":"{}","External id":7}}"#, "y".repeat(300));
        let short = r#""args":{}"#;
        let known = r#""ph":"X","cat":"cpu_op""#;
        let rest = r#""name":"a","pid":1,"tid":1,"ts":1,"dur":2"#;
        for order in
            [[known, &long, short], [known, short, &long], [&long, known, short], [short, known, &long]]
        {
            let (worker, _) = walk(&format!("[{{{rest},{}}}]", order.join(",")));
            assert_eq!(worker.tally.events, 1, "{order:?}");
            assert_eq!(worker.rows.regions.external[0].get(), Some(7), "{order:?}");
        }
    }

    #[test]
    fn damage_in_a_flow_that_is_passed_costs_that_flow_only() {
        let flow = r#"{"ph": "s", "id": 5, "pid": 1, "tid": 1, "ts": 1.5, "cat": "ac2g", "name": "ac2g"}"#;
        let text = format!(r#"{{"traceEvents":[{EVENT},{flow},{EVENT},{EVENT}],"a":1}}"#);
        let start = text.find(flow).unwrap();
        for place in start..start + flow.len() {
            for byte in [b'"', b'}', b'{', b',', b']', b'\\', b'Z', 0] {
                let mut dirty = text.clone().into_bytes();
                dirty[place] = byte;
                let counts = [Needs::summary(), Needs::everything()].map(|needs| {
                    let mut worker = Worker::new(&needs);
                    worker.begin();
                    let span = Span { text: &dirty, until: usize::MAX, last: true, bare: false };
                    let stop = worker.walk(span, Stop { at: 0, place: DocumentPosition::Start });
                    assert_eq!(stop.place, DocumentPosition::Done, "byte {byte} at {place}");
                    worker.tally.events
                });
                // Damage in skipped values goes unnoticed: the events around them are all there either way.
                assert!(counts.iter().all(|events| *events >= 3), "byte {byte} at {place}: {counts:?}");
            }
        }
    }

    #[test]
    fn an_event_start_is_told_from_other_objects() {
        let text = br#"[{"ph":"M","args":{"name":"x"}}, {"lambda":1}, { "name": "y"}]"#;
        assert_eq!(next_event(text, 0), Some(1));
        let second = text.len() - br#"{ "name": "y"}]"#.len();
        assert_eq!(next_event(text, 2), Some(second));
        assert_eq!(next_event(text, second + 1), None);
    }
}
