//! Planes, lines, events and stats as they stand in the file.

use std::borrow::Cow;

use trace::Map;

use crate::protobuf::{Fields, Value};

/// One plane: its lines, and the tables that its events' numbers stand for.
pub(super) struct Plane<'a> {
    pub name: &'a str,
    lines: Vec<&'a [u8]>,
    /// Name of an event by number.
    pub events: Map<u64, &'a str>,
    /// Name of a stat, or text that stats refer to, by number.
    pub texts: Map<u64, &'a str>,
    stats: Vec<&'a [u8]>,
    /// Entries of the table of events of the plane that has compiled programs there.
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
#[derive(Clone, Copy, Default)]
pub(super) struct Event<'a> {
    pub name: u64,
    pub offset_ps: i64,
    pub duration_ps: i64,
    /// An event with a count instead of a time is a sum.
    pub is_sum: bool,
    bytes: &'a [u8],
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

    /// As words, where it is words.
    pub fn words(self) -> Option<&'a str> {
        match self {
            Stat::Text(text) => Some(text),
            _ => None,
        }
    }

    /// As text, whatever it is.
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
            events: Map::default(),
            texts: Map::default(),
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
                    plane.events.extend([entry(value.bytes())]);
                    if plane.name == "/host:metadata" {
                        plane.programs.push(value.bytes());
                    }
                }
                5 => plane.texts.extend([entry(value.bytes())]),
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

    /// Whether any line of it has events.
    pub fn has_events(&self) -> bool {
        self.lines().any(|line| line.events().next().is_some())
    }

    /// Facts about the plane itself.
    pub fn facts(&self) -> impl Iterator<Item = (&'a str, Stat<'a>)> {
        self.stats.iter().filter_map(|bytes| self.stat(bytes))
    }

    /// Its lines.
    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        self.lines.iter().map(|bytes| Line::of(bytes))
    }

    /// Name and value of a stat.
    fn stat(&self, bytes: &'a [u8]) -> Option<(&'a str, Stat<'a>)> {
        let (mut name, mut stat) = (0, None);
        for (field, value) in Fields::of(bytes) {
            match (field, value) {
                (1, value) => name = value.whole(),
                (2, Value::Fixed64(bits)) => stat = Some(Stat::Float(f64::from_bits(bits))),
                (3 | 4, value) => stat = Some(Stat::Number(value.whole() as i64)),
                (5, value) => stat = Some(Stat::Text(text(value.bytes()))),
                (7, value) => stat = self.texts.get(&value.whole()).map(|text| Stat::Text(text)),
                _ => {}
            }
        }
        Some((self.texts.get(&name)?, stat?))
    }

    /// Names and values of an event.
    pub fn stats(&self, event: Event<'a>) -> impl Iterator<Item = (&'a str, Stat<'a>)> {
        let stats = Fields::of(event.bytes).filter(|(field, _)| *field == 4);
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
        // Events stand last in most files, and are many: what names the line comes before them.
        for (field, value) in Fields::of(bytes) {
            match field {
                1 => line.id = value.whole() as i64,
                2 => line.name = text(value.bytes()),
                3 => line.start_ns = value.whole() as i64,
                11 => shown = text(value.bytes()),
                _ => {}
            }
        }
        if line.name.is_empty() {
            line.name = shown;
        }
        line
    }

    /// Its events in the order of the file.
    pub fn events(&self) -> impl Iterator<Item = Event<'a>> {
        Fields::of(self.bytes).filter(|(field, _)| *field == 4).map(|(_, value)| Event::of(value.bytes()))
    }

    /// When an event starts and ends.
    pub fn times(&self, event: &Event) -> (i64, i64) {
        let at = |ps: i64| self.start_ns.saturating_add(ps.div_euclid(1000));
        (at(event.offset_ps), at(event.offset_ps.saturating_add(event.duration_ps.max(0))))
    }
}

impl<'a> Event<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut event = Self { bytes, ..Self::default() };
        for (field, value) in Fields::of(bytes) {
            match field {
                1 => event.name = value.whole(),
                2 => event.offset_ps = value.whole() as i64,
                3 => event.duration_ps = value.whole() as i64,
                // Stats come last.
                4 => break,
                5 => event.is_sum = true,
                _ => {}
            }
        }
        event
    }
}
