//! Planes, lines, events and stats, as encoded in the file.

use std::borrow::Cow;

use trace::Map;

use crate::protobuf::{Fields, Value};

/// One plane: its lines, and the tables that its events refer to by number.
pub(super) struct Plane<'a> {
    pub name: &'a str,
    lines: Vec<&'a [u8]>,
    /// Name of an event by number.
    pub events: ByNumber<Option<&'a str>>,
    /// Name of a stat, or text that stats refer to, by number.
    pub texts: ByNumber<Option<&'a str>>,
    stats: Vec<&'a [u8]>,
    /// Entries of the event table, which in one plane holds compiled programs.
    pub programs: Vec<&'a [u8]>,
    /// Whether it ended where it should.
    pub whole: bool,
}

/// A line: a stream of a GPU, or a thread of the host.
pub(super) struct Line<'a> {
    pub id: i64,
    pub name: &'a str,
    pub start_ns: i64,
    bytes: &'a [u8],
}

/// One event.
#[derive(Clone, Copy)]
pub(super) struct Event<'a> {
    pub name: u64,
    /// Its fields, without the name if that comes first.
    fields: &'a [u8],
}

/// When an event ran, and its stats.
pub(super) struct Timed<'a> {
    pub start: i64,
    pub end: i64,
    pub is_instant: bool,
    /// Fields from the first stat on.
    stats: &'a [u8],
}

/// Values by number. The profiler numbers from 1, so most are found by index.
#[derive(Default)]
pub(super) struct ByNumber<T> {
    near: Vec<T>,
    far: Map<u64, T>,
}

/// Numbers below this are indexes.
const NEAR: u64 = 1 << 20;

impl<T: Copy + Default> ByNumber<T> {
    #[inline]
    pub fn get(&self, number: u64) -> T {
        match self.near.get(number as usize) {
            Some(value) if number < NEAR => *value,
            _ => self.far.get(&number).copied().unwrap_or_default(),
        }
    }

    pub fn set(&mut self, number: u64, value: T) {
        if number >= NEAR {
            self.far.insert(number, value);
            return;
        }
        let place = number as usize;
        if self.near.len() <= place {
            self.near.resize(place + 1, T::default());
        }
        self.near[place] = value;
    }

    /// A copy with `of` applied to all values.
    pub fn map<U: Copy + Default>(&self, of: impl Fn(T) -> U) -> ByNumber<U> {
        ByNumber {
            near: self.near.iter().map(|value| of(*value)).collect(),
            far: self.far.iter().map(|(number, value)| (*number, of(*value))).collect(),
        }
    }
}

/// The value of a stat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stat<'a> {
    Number(i64),
    Float(f64),
    Text(&'a str),
}

impl<'a> Stat<'a> {
    /// As a whole number.
    pub fn number(self) -> Option<i64> {
        match self {
            Stat::Number(number) => Some(number),
            _ => None,
        }
    }

    /// As words, if it is text.
    pub fn words(self) -> Option<&'a str> {
        match self {
            Stat::Text(text) => Some(text),
            _ => None,
        }
    }

    /// As text, whatever its type.
    pub fn text(self) -> Option<Cow<'a, str>> {
        Some(match self {
            Stat::Number(number) => number.to_string().into(),
            Stat::Float(number) => number.to_string().into(),
            Stat::Text(text) => text.into(),
        })
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

impl<'a> Plane<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut plane = Self {
            name: "",
            lines: Vec::new(),
            events: ByNumber::default(),
            texts: ByNumber::default(),
            stats: Vec::new(),
            programs: Vec::new(),
            whole: true,
        };
        let mut fields = Fields::of(bytes);
        for (field, value) in &mut fields {
            match field {
                2 => plane.name = text(value.bytes()),
                3 => plane.lines.push(value.bytes()),
                4 => {
                    let (number, name) = entry(value.bytes());
                    plane.events.set(number, Some(name));
                    if plane.name == "/host:metadata" {
                        plane.programs.push(value.bytes());
                    }
                }
                5 => {
                    let (number, name) = entry(value.bytes());
                    plane.texts.set(number, Some(name));
                }
                6 => plane.stats.push(value.bytes()),
                _ => {}
            }
        }
        plane.whole = fields.whole;
        plane
    }

    /// Whether its lines are streams of a GPU.
    pub fn is_gpu(&self) -> bool {
        self.name.starts_with("/device:GPU:")
    }

    /// The number of the GPU.
    pub fn gpu(&self) -> Option<i64> {
        self.name.strip_prefix("/device:GPU:")?.split(' ').next()?.parse().ok()
    }

    /// Whether its lines are threads of the host.
    pub fn is_host(&self) -> bool {
        self.name.starts_with("/host:CPU") || self.name.starts_with("/host:python-tracer")
    }

    /// Whether any of its lines has events.
    pub fn has_events(&self) -> bool {
        self.lines().any(|line| line.events().next().is_some())
    }

    /// Facts about the plane itself.
    pub fn facts(&self) -> impl Iterator<Item = (&'a str, Stat<'a>)> {
        self.stats.iter().filter_map(|bytes| {
            let (number, value) = self.stat(bytes)?;
            Some((self.texts.get(number)?, value))
        })
    }

    /// Its lines.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        self.lines.iter().map(|bytes| Line::of(bytes))
    }

    /// Number of the name, and value, of a stat.
    #[inline]
    fn stat(&self, bytes: &'a [u8]) -> Option<(u64, Stat<'a>)> {
        let (mut name, mut stat) = (0, None);
        for (field, value) in Fields::of(bytes) {
            match (field, value) {
                (1, value) => name = value.whole(),
                (2, Value::Fixed64(bits)) => stat = Some(Stat::Float(f64::from_bits(bits))),
                (3 | 4, value) => stat = Some(Stat::Number(value.whole() as i64)),
                (5, value) => stat = Some(Stat::Text(text(value.bytes()))),
                (7, value) => stat = self.texts.get(value.whole()).map(Stat::Text),
                _ => {}
            }
        }
        Some((name, stat?))
    }

    /// Numbers of the names, and values, of an event's stats.
    #[inline]
    pub fn stats(&self, event: &Timed<'a>) -> impl Iterator<Item = (u64, Stat<'a>)> {
        let stats = Fields::of(event.stats).filter(|(field, _)| *field == 4);
        stats.filter_map(|(_, value)| self.stat(value.bytes()))
    }
}

/// Number and name of an entry of a table.
fn entry(bytes: &[u8]) -> (u64, &str) {
    let (mut key, mut name) = (0, "");
    for (field, value) in Fields::of(bytes) {
        match field {
            1 => key = value.whole(),
            2 => {
                let of_name = Fields::of(value.bytes()).find(|(field, _)| *field == 2);
                name = of_name.map_or("", |(_, name)| text(name.bytes()));
            }
            _ => {}
        }
    }
    (key, name)
}

impl<'a> Line<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut line = Self { id: 0, name: "", start_ns: 0, bytes };
        let mut shown = "";
        for (field, value) in Fields::of(bytes) {
            match field {
                1 => line.id = value.whole() as i64,
                2 => line.name = text(value.bytes()),
                3 => line.start_ns = value.whole() as i64,
                // Fields are in numerical order: nothing needed comes after the events, which are many.
                4 if !line.name.is_empty() && line.start_ns != 0 => break,
                11 => shown = text(value.bytes()),
                _ => {}
            }
        }
        if line.name.is_empty() {
            line.name = shown;
        }
        line
    }

    /// Its events in file order.
    #[inline]
    pub fn events(&self) -> Events<'a> {
        Events { rest: self.bytes }
    }

    /// When an event ran; `None` for an event with a count instead of a time, which is a sum.
    #[inline]
    pub fn timed(&self, event: Event<'a>) -> Option<Timed<'a>> {
        let (mut offset, mut duration, mut stats) = (None, 0, &[][..]);
        let mut fields = Fields::of(event.fields);
        loop {
            let here = fields.rest();
            match fields.next() {
                Some((2, value)) => offset = Some(value.whole() as i64),
                Some((3, value)) => duration = value.whole() as i64,
                Some((4, _)) => {
                    stats = here;
                    break;
                }
                Some((5, _)) => return None,
                Some(_) => {}
                None => break,
            }
        }
        if offset.is_none() && Fields::of(stats).any(|(field, _)| field == 5) {
            return None;
        }
        let at = |ps: i64| self.start_ns.saturating_add(ps.div_euclid(1000));
        let offset = offset.unwrap_or(0);
        let end = at(offset.saturating_add(duration.max(0)));
        Some(Timed { start: at(offset), end, is_instant: duration == 0, stats })
    }
}

/// The events of a line. A file has millions, nearly all short: those are recognised by their first bytes.
pub(super) struct Events<'a> {
    rest: &'a [u8],
}

/// First byte of an event in a line: field 4, with a length.
const EVENT: u8 = 0x22;
/// First byte of an event's name in an event: field 1, a whole number.
const NAME: u8 = 0x08;

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    #[inline]
    fn next(&mut self) -> Option<Event<'a>> {
        if let [EVENT, length @ ..0x80, rest @ ..] = self.rest
            && let Some((event, rest)) = rest.split_at_checked(usize::from(*length))
        {
            self.rest = rest;
            return Some(Event::of(event));
        }
        let mut fields = Fields::of(self.rest);
        let event = fields.find(|(field, _)| *field == 4);
        self.rest = fields.rest();
        event.map(|(_, value)| Event::of(value.bytes()))
    }
}

impl<'a> Event<'a> {
    #[inline]
    fn of(bytes: &'a [u8]) -> Self {
        match bytes {
            [NAME, name @ ..0x80, fields @ ..] => Self { name: u64::from(*name), fields },
            [NAME, low, high @ ..0x80, fields @ ..] => {
                Self { name: u64::from(low & 0x7f) | u64::from(*high) << 7, fields }
            }
            _ => Self::of_any(bytes),
        }
    }

    fn of_any(bytes: &'a [u8]) -> Self {
        let mut fields = Fields::of(bytes);
        if let Some((1, name)) = fields.next() {
            return Self { name: name.whole(), fields: fields.rest() };
        }
        let name = fields.find(|(field, _)| *field == 1);
        Self { name: name.map_or(0, |(_, name)| name.whole()), fields: bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &[u8]) -> Vec<u64> {
        Line::of(line).events().map(|event| event.name).collect()
    }

    #[test]
    fn events_have_their_names_whatever_their_length_and_order_of_fields() {
        let long = [&[0x22, 0x84, 0x01, 0x08, 0x05][..], &[0x22, 0x7f], &[0; 127], &[0x50, 0x01]].concat();
        let line = [
            &[0x12, 0x01, b'x', 0x22, 0x02, 0x08, 0x07][..],
            &[0x22, 0x03, 0x08, 0xac, 0x02],
            &[0x22, 0x04, 0x08, 0x80, 0x80, 0x01],
            // The name behind the offset, then a field of the line itself.
            &[0x22, 0x04, 0x10, 0x02, 0x08, 0x09, 0x50, 0x01],
            &long,
        ]
        .concat();
        assert_eq!(names(&line), [7, 300, 1 << 14, 9, 5]);
    }

    #[test]
    fn a_line_that_is_cut_gives_the_events_before_the_cut() {
        assert_eq!(names(&[0x22, 0x02, 0x08, 0x07, 0x22, 0x05, 0x08]), [7]);
    }
}
