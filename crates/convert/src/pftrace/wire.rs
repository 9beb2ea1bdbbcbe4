//! Protobuf's wire format, and the numbers of the fields of Perfetto's messages that are written.

/// Appends a whole number, seven bits a byte, the lowest first.
#[inline]
pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

#[inline]
fn tag(out: &mut Vec<u8>, field: u32, wire: u64) {
    varint(out, u64::from(field) << 3 | wire);
}

/// A field with a whole number.
#[inline]
pub(super) fn uint(out: &mut Vec<u8>, field: u32, value: u64) {
    tag(out, field, VARINT);
    varint(out, value);
}

/// A field with a whole number that may be negative (`int64`: two's complement, not zigzag).
#[inline]
pub(super) fn int(out: &mut Vec<u8>, field: u32, value: i64) {
    uint(out, field, value as u64);
}

/// A field of eight bytes.
#[inline]
pub(super) fn fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    tag(out, field, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A field with a floating-point number.
#[inline]
pub(super) fn double(out: &mut Vec<u8>, field: u32, value: f64) {
    fixed64(out, field, value.to_bits());
}

/// A field with text, or with a message that is encoded already.
#[inline]
pub(super) fn bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    tag(out, field, BYTES);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A field with a message that `fill` writes. Its length is put in afterwards.
#[inline]
pub(super) fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    tag(out, field, BYTES);
    let at = out.len();
    out.push(0);
    fill(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = length as u8;
        return;
    }
    // The length takes more than the one byte kept for it: the message moves up.
    let mut prefix = [0; 10];
    let mut used = 0;
    let mut rest = length;
    while rest >= 0x80 {
        prefix[used] = rest as u8 | 0x80;
        rest >>= 7;
        used += 1;
    }
    prefix[used] = rest as u8;
    out.splice(at..=at, prefix[..=used].iter().copied());
}

/// `Trace`
pub(super) mod trace_file {
    pub const PACKET: u32 = 1;
}

/// `TracePacket`
pub(super) mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const FIRST_ON_SEQUENCE: u32 = 87;
    /// Names begin anew here.
    pub const STATE_CLEARED: u64 = 1;
    /// The packet uses names of earlier packets.
    pub const NEEDS_STATE: u64 = 2;
}

/// `TrackDescriptor`
pub(super) mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PROCESS: u32 = 3;
    pub const THREAD: u32 = 4;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const DESCRIPTION: u32 = 14;
}

/// `ProcessDescriptor`
pub(super) mod process {
    pub const PID: u32 = 1;
    pub const COMMAND_LINE: u32 = 2;
    pub const NAME: u32 = 6;
    pub const START: u32 = 7;
}

/// `ThreadDescriptor`
pub(super) mod thread {
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
    pub const NAME: u32 = 5;
}

/// `CounterDescriptor`
pub(super) mod counter {
    pub const UNIT: u32 = 3;
    pub const UNIT_NAME: u32 = 6;
    pub const SIZE_BYTES: u64 = 3;
}

/// `TrackEvent`
pub(super) mod event {
    pub const CATEGORY: u32 = 3;
    pub const ANNOTATION: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const INT_VALUE: u32 = 30;
    pub const DOUBLE_VALUE: u32 = 44;
    pub const FLOW: u32 = 47;
    pub const LAST_OF_FLOW: u32 = 48;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// `DebugAnnotation`
pub(super) mod annotation {
    pub const NAME: u32 = 1;
    pub const INT: u32 = 4;
    pub const DOUBLE: u32 = 5;
    pub const TEXT: u32 = 6;
}

/// `InternedData`, whose entries all have the fields `iid` and `name`.
pub(super) mod interned {
    pub const CATEGORIES: u32 = 1;
    pub const NAMES: u32 = 2;
    pub const ANNOTATIONS: u32 = 3;
    pub const ID: u32 = 1;
    pub const TEXT: u32 = 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_are_as_the_format_says() {
        // The examples of protobuf's own documentation of its encoding.
        let mut out = Vec::new();
        uint(&mut out, 1, 150);
        bytes(&mut out, 2, b"testing");
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing");
        let mut out = Vec::new();
        int(&mut out, 1, -2);
        assert_eq!(out, b"\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    }

    #[test]
    fn long_messages_have_long_lengths() {
        for size in [0usize, 127, 128, 300, 16_384, 70_000] {
            let text = vec![b'x'; size];
            let (mut whole, mut parts) = (Vec::new(), vec![9]);
            bytes(&mut whole, 3, &text);
            message(&mut parts, 3, |out| out.extend_from_slice(&text));
            assert_eq!(parts[1..], whole);
        }
    }
}
