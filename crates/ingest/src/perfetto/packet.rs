//! The messages of a Perfetto trace that hold what we read: packets, events and their annotations.

use formats::perfetto::{annotation, event, packet};

use crate::protobuf::{Fields, Value};

/// `TracePacket`
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'a> {
    pub timestamp: Option<u64>,
    pub clock: Option<u32>,
    pub sequence: u32,
    /// Names and clocks of the sequence start over.
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
        let mut found = Self::default();
        let mut fields = Fields::of(bytes);
        for (field, value) in &mut fields {
            match field {
                packet::CLOCK_SNAPSHOT => found.clocks = Some(value.bytes()),
                packet::TIMESTAMP => found.timestamp = Some(value.whole()),
                packet::SEQUENCE => found.sequence = value.whole() as u32,
                packet::TRACK_EVENT => found.event = Some(value.bytes()),
                packet::INTERNED_DATA => found.interned = Some(value.bytes()),
                packet::SEQUENCE_FLAGS => found.cleared |= value.whole() & packet::STATE_CLEARED != 0,
                packet::STATISTICS => found.statistics = Some(value.bytes()),
                packet::STATE_WAS_CLEARED => found.cleared |= value.whole() != 0,
                packet::DROPPED_BEFORE => found.dropped = value.whole() != 0,
                packet::COMPRESSED => found.compressed = Some(value.bytes()),
                packet::CLOCK => found.clock = Some(value.whole() as u32),
                packet::DEFAULTS => found.defaults = Some(value.bytes()),
                packet::TRACK_DESCRIPTOR => found.descriptor = Some(value.bytes()),
                _ => {}
            }
        }
        found.whole = fields.whole;
        found
    }
}

/// What an event does on its track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EventPhase {
    Begin,
    End,
    Instant,
    Counter,
    /// Unknown.
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
    pub kind: EventPhase,
    pub track: Option<u64>,
    pub name: Name<'a>,
    pub category: Name<'a>,
    /// Value of a counter.
    pub value: Option<f64>,
    bytes: &'a [u8],
}

impl<'a> Event<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        let mut found = Self { bytes, ..Self::default() };
        for (field, value) in Fields::of(bytes) {
            match field {
                event::CATEGORY if found.category == Name::None => found.category = first_number(value),
                event::TYPE => {
                    found.kind = match value.whole() {
                        event::BEGIN => EventPhase::Begin,
                        event::END => EventPhase::End,
                        event::INSTANT => EventPhase::Instant,
                        event::COUNTER => EventPhase::Counter,
                        _ => EventPhase::Other,
                    }
                }
                event::NAME => found.name = Name::Number(value.whole()),
                event::TRACK => found.track = Some(value.whole()),
                event::CATEGORY_TEXT if found.category == Name::None => {
                    found.category = Name::Text(value.bytes())
                }
                event::NAME_TEXT => found.name = Name::Text(value.bytes()),
                event::INT_VALUE => found.value = Some(value.whole() as i64 as f64),
                event::DOUBLE_VALUE => found.value = Some(f64::from_bits(value.whole())),
                _ => {}
            }
        }
        found
    }

    /// Flows that continue from here, and those that end here.
    pub fn flows(&self) -> impl Iterator<Item = (u64, bool)> {
        Fields::of(self.bytes).filter_map(|(field, value)| match field {
            event::FLOW => Some((value.whole(), false)),
            event::LAST_OF_FLOW => Some((value.whole(), true)),
            _ => None,
        })
    }

    /// `DebugAnnotation`s
    pub fn annotations(&self) -> impl Iterator<Item = (Name<'a>, AnnotationValue<'a>)> {
        Fields::of(self.bytes)
            .filter(|(field, _)| *field == event::ANNOTATION)
            .map(|(_, value)| said(value.bytes()))
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
pub(super) enum AnnotationValue<'a> {
    /// A list or a dictionary, which no supported event has.
    #[default]
    Nothing,
    Whole(i64),
    Number(f64),
    Text(&'a [u8]),
    /// Text by its number in the sequence.
    TextNumber(u64),
}

fn said(bytes: &[u8]) -> (Name<'_>, AnnotationValue<'_>) {
    let (mut name, mut value_said) = (Name::None, AnnotationValue::Nothing);
    for (field, value) in Fields::of(bytes) {
        match field {
            annotation::NAME => name = Name::Number(value.whole()),
            annotation::NAME_TEXT => name = Name::Text(value.bytes()),
            annotation::BOOL | annotation::UINT | annotation::INT | annotation::POINTER => {
                value_said = AnnotationValue::Whole(value.whole() as i64)
            }
            annotation::DOUBLE => value_said = AnnotationValue::Number(f64::from_bits(value.whole())),
            annotation::TEXT => value_said = AnnotationValue::Text(value.bytes()),
            annotation::TEXT_NUMBER => value_said = AnnotationValue::TextNumber(value.whole()),
            _ => {}
        }
    }
    (name, value_said)
}
