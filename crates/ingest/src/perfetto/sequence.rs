//! What packets of one writer share: names by number, clocks and defaults.

use formats::perfetto::{defaults, event_defaults, interned};
use trace::{Map, Ns, StrId, Strings};

use super::packet::{AnnotationValue, Name, Packet};
use crate::protobuf::Fields;

/// A clock that only packets of one sequence use.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// Whether times are stored as increments.
    incremental: bool,
    /// Nanoseconds per tick.
    tick: u64,
    /// Ticks so far.
    last: u64,
    /// Offset to the trace's own clock.
    offset: i64,
}

/// Numbers of clocks that belong to a sequence.
const OWN_CLOCKS: std::ops::Range<u32> = 64..128;

/// The state of a sequence.
#[derive(Default)]
pub(super) struct Sequence {
    names: Map<u64, StrId>,
    categories: Map<u64, StrId>,
    keys: Map<u64, StrId>,
    texts: Map<u64, StrId>,
    clocks: Map<u32, Clock>,
    clock: Option<u32>,
    /// The track of events that do not name one.
    pub track: Option<u64>,
}

impl Sequence {
    /// Takes what a packet defines for those after it.
    pub fn take(&mut self, packet: &Packet<'_>, strings: &mut Strings) {
        if packet.cleared {
            *self = Self::default();
        }
        if let Some(clocks) = packet.clocks {
            self.take_clocks(clocks);
        }
        for (field, value) in packet.defaults.into_iter().flat_map(Fields::of) {
            match field {
                defaults::CLOCK => self.clock = Some(value.whole() as u32),
                defaults::TRACK_EVENT => {
                    let track = Fields::of(value.bytes()).find(|(field, _)| *field == event_defaults::TRACK);
                    self.track = track.map(|(_, value)| value.whole()).or(self.track);
                }
                _ => {}
            }
        }
        for (field, value) in packet.interned.into_iter().flat_map(Fields::of) {
            let known = match field {
                interned::CATEGORIES => &mut self.categories,
                interned::NAMES => &mut self.names,
                interned::ANNOTATIONS => &mut self.keys,
                interned::TEXTS => &mut self.texts,
                _ => continue,
            };
            let (mut number, mut text) = (0, &b""[..]);
            for (field, value) in Fields::of(value.bytes()) {
                match field {
                    interned::ID => number = value.whole(),
                    interned::TEXT => text = value.bytes(),
                    _ => {}
                }
            }
            known.insert(number, strings.intern_bytes(text).0);
        }
    }

    fn take_clocks(&mut self, snapshot: &[u8]) {
        let mut base = None;
        let mut own = Vec::new();
        for (_, value) in Fields::of(snapshot).filter(|(field, _)| *field == 1) {
            let (mut id, mut ticks, mut clock) = (0, 0, Clock { tick: 1, ..Clock::default() });
            for (field, value) in Fields::of(value.bytes()) {
                match field {
                    1 => id = value.whole() as u32,
                    2 => ticks = value.whole(),
                    3 => clock.incremental = value.whole() != 0,
                    4 => clock.tick = value.whole().max(1),
                    _ => {}
                }
            }
            clock.last = ticks;
            if OWN_CLOCKS.contains(&id) {
                own.push((id, clock));
            } else {
                base.get_or_insert(ticks);
            }
        }
        for (id, mut clock) in own {
            let at = clock.last.wrapping_mul(clock.tick) as i64;
            clock.offset = base.map_or(0, |base| (base as i64).wrapping_sub(at));
            self.clocks.insert(id, clock);
        }
    }

    /// When a packet was written, in nanoseconds of the trace's clock.
    pub fn time(&mut self, packet: &Packet<'_>) -> Option<Ns> {
        let told = packet.timestamp?;
        let clock = packet.clock.or(self.clock).and_then(|id| self.clocks.get_mut(&id));
        let Some(clock) = clock else { return i64::try_from(told).ok() };
        let ticks = if clock.incremental { clock.last.wrapping_add(told) } else { told };
        clock.last = ticks;
        let ns = i64::try_from(ticks.checked_mul(clock.tick)?).ok()?;
        ns.checked_add(clock.offset)
    }

    /// The name of an event; empty if the packet that defined it is lost.
    pub fn name(&self, name: Name<'_>, strings: &mut Strings) -> StrId {
        find(&self.names, name, strings)
    }

    /// The category of an event.
    pub fn category(&self, name: Name<'_>, strings: &mut Strings) -> StrId {
        find(&self.categories, name, strings)
    }

    /// The name of an annotation.
    pub fn key(&self, name: Name<'_>, strings: &mut Strings) -> StrId {
        find(&self.keys, name, strings)
    }

    /// The text of an annotation.
    pub fn text(&self, said: AnnotationValue<'_>, strings: &mut Strings) -> Option<StrId> {
        match said {
            AnnotationValue::Text(text) => Some(strings.intern_bytes(text).0),
            AnnotationValue::TextNumber(number) => self.texts.get(&number).copied(),
            _ => None,
        }
    }
}

fn find(known: &Map<u64, StrId>, name: Name<'_>, strings: &mut Strings) -> StrId {
    match name {
        Name::None => StrId::EMPTY,
        Name::Text(text) => strings.intern_bytes(text).0,
        Name::Number(number) => known.get(&number).copied().unwrap_or(StrId::EMPTY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incremental_clocks_add_up() {
        // Clock 6 at 1,000,000 ns is clock 64 at 500 ticks of 1,000 ns, stored as increments.
        let snapshot = b"\x0a\x06\x08\x06\x10\xc0\x84\x3d\x0a\x0a\x08\x40\x10\xf4\x03\x18\x01\x20\xe8\x07";
        let defaults = b"\xd0\x03\x40";
        let mut sequence = Sequence::default();
        let first = Packet { clocks: Some(snapshot), defaults: Some(defaults), ..Packet::default() };
        sequence.take(&first, &mut Strings::default());
        let time = |sequence: &mut Sequence, told, clock| {
            sequence.time(&Packet { timestamp: Some(told), clock, ..Packet::default() })
        };
        assert_eq!(time(&mut sequence, 0, None), Some(1_000_000));
        assert_eq!(time(&mut sequence, 7, None), Some(1_007_000));
        assert_eq!(time(&mut sequence, 3, None), Some(1_010_000));
        assert_eq!(time(&mut sequence, 123, Some(6)), Some(123), "a clock of the machine");
    }
}
