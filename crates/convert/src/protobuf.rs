//! Protobuf's wire format, for the formats based on it.

/// Appends an integer, seven bits per byte, lowest first.
#[inline]
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
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

/// An integer field.
#[inline]
pub(crate) fn uint(out: &mut Vec<u8>, field: u32, value: u64) {
    tag(out, field, VARINT);
    varint(out, value);
}

/// An integer field that may be negative (`int64`: two's complement, not zigzag).
#[inline]
pub(crate) fn int(out: &mut Vec<u8>, field: u32, value: i64) {
    uint(out, field, value as u64);
}

/// A field of eight bytes.
#[inline]
pub(crate) fn fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    tag(out, field, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A field with a floating-point number.
#[inline]
pub(crate) fn double(out: &mut Vec<u8>, field: u32, value: f64) {
    fixed64(out, field, value.to_bits());
}

/// A field with text, or with an encoded message.
#[inline]
pub(crate) fn bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    tag(out, field, BYTES);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A field with a message that `fill` writes. Its length is inserted afterwards.
#[inline]
pub(crate) fn message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    tag(out, field, BYTES);
    let at = out.len();
    out.push(0);
    fill(out);
    let length = out.len() - at - 1;
    if length < 0x80 {
        out[at] = length as u8;
        return;
    }
    // The length needs more than the one byte reserved for it: the message moves.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_are_as_the_format_says() {
        // The examples in protobuf's documentation of its encoding.
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
