//! The messages of a Perfetto trace that hold what we read: packets, events and their annotations.

use super::wire::{Fields, Value};

/// `TracePacket`
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'a> {
    pub timestamp: Option<u64>,
    pub clock: Option<u32>,
    pub sequence: u32,
    /// Names and clocks of the sequence begin anew.
    pub cleared: bool,
    /// Packets before this one were lost.
    pub dropped: bool,
    pub event: Option<&'a [u8]>,
    pub interned: Option<&'a [u8]>,
    pub descriptor: Option<&'a [u8]>,
    pub defaults: Option<&'a [u8]>,
    pub clocks: Option<&'a [u8]>,
    pub statistics: Option<&'a [u8]>,
    /// Packets in zlib.
    pub compressed: Option<&'a [u8]>,
    /// Whether it ended where it should.
    pub whole: bool,
}

impl<'a> Packet<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut packet = Self::default();
        let mut fields = Fields::of(bytes);
        for (field, value) in &mut fields {
            match field {
                6 => packet.clocks = Some(value.bytes()),
                8 => packet.timestamp = Some(value.whole()),
                10 => packet.sequence = value.whole() as u32,
                11 => packet.event = Some(value.bytes()),
                12 => packet.interned = Some(value.bytes()),
                13 => packet.cleared |= value.whole() & 1 != 0,
                35 => packet.statistics = Some(value.bytes()),
                41 => packet.cleared |= value.whole() != 0,
                42 => packet.dropped = value.whole() != 0,
                50 => packet.compressed = Some(value.bytes()),
                58 => packet.clock = Some(value.whole() as u32),
                59 => packet.defaults = Some(value.bytes()),
                60 => packet.descriptor = Some(value.bytes()),
                _ => {}
            }
        }
        packet.whole = fields.whole;
        packet
    }
}

/// What an event does on its track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Begin,
    End,
    Instant,
    Counter,
    /// Nothing that we know.
    #[default]
    Other,
}

/// A name in the event, or its number in the sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Name<'a> {
    #[default]
    None,
    Text(&'a [u8]),
    Number(u64),
}

/// `TrackEvent`
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<'a> {
    pub kind: Kind,
    pub track: Option<u64>,
    pub name: Name<'a>,
    pub category: Name<'a>,
    /// Value of a counter.
    pub value: Option<f64>,
    bytes: &'a [u8],
}

impl<'a> Event<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut event = Self { bytes, ..Self::default() };
        for (field, value) in Fields::of(bytes) {
            match field {
                3 if event.category == Name::None => event.category = first_number(value),
                9 => {
                    event.kind = match value.whole() {
                        1 => Kind::Begin,
                        2 => Kind::End,
                        3 => Kind::Instant,
                        4 => Kind::Counter,
                        _ => Kind::Other,
                    }
                }
                10 => event.name = Name::Number(value.whole()),
                11 => event.track = Some(value.whole()),
                22 if event.category == Name::None => event.category = Name::Text(value.bytes()),
                23 => event.name = Name::Text(value.bytes()),
                30 => event.value = Some(value.whole() as i64 as f64),
                44 => event.value = Some(f64::from_bits(value.whole())),
                _ => {}
            }
        }
        event
    }

    /// Flows that go on from here, and those that end here.
    pub fn flows(&self) -> impl Iterator<Item = (u64, bool)> {
        Fields::of(self.bytes).filter_map(|(field, value)| match field {
            47 => Some((value.whole(), false)),
            48 => Some((value.whole(), true)),
            _ => None,
        })
    }

    /// `DebugAnnotation`s
    pub fn annotations(&self) -> impl Iterator<Item = (Name<'a>, Said<'a>)> {
        Fields::of(self.bytes).filter(|(field, _)| *field == 4).map(|(_, value)| annotation(value.bytes()))
    }
}

/// The first of several numbers, which may be packed.
fn first_number(value: Value<'_>) -> Name<'_> {
    match value {
        Value::Bytes(packed) => {
            let mut number = 0;
            for (place, byte) in packed.iter().take(10).enumerate() {
                number |= u64::from(byte & 0x7f) << (7 * place);
                if *byte < 0x80 {
                    return Name::Number(number);
                }
            }
            Name::None
        }
        number => Name::Number(number.whole()),
    }
}

/// The value of an annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Said<'a> {
    /// A list or a dictionary, which no event that we read has.
    #[default]
    Nothing,
    Whole(i64),
    Number(f64),
    Text(&'a [u8]),
    /// Text by its number in the sequence.
    TextNumber(u64),
}

fn annotation(bytes: &[u8]) -> (Name<'_>, Said<'_>) {
    let (mut name, mut said) = (Name::None, Said::Nothing);
    for (field, value) in Fields::of(bytes) {
        match field {
            1 => name = Name::Number(value.whole()),
            10 => name = Name::Text(value.bytes()),
            2..=4 | 7 => said = Said::Whole(value.whole() as i64),
            5 => said = Said::Number(f64::from_bits(value.whole())),
            6 => said = Said::Text(value.bytes()),
            17 => said = Said::TextNumber(value.whole()),
            _ => {}
        }
    }
    (name, said)
}
