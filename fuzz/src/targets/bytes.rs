//! Parsers of bytes in memory.

use std::io::{ErrorKind, Read};
use std::sync::Arc;

use ingest::json::{Cursor, decimal, float, integer, micros};

/// A code object, a bundle, an archive or a program.
pub fn code_object(bytes: &[u8]) {
    let _ = hw::code_object::contents(bytes);
}

fn drain(mut reader: impl Read, at_once: usize) -> (Vec<u8>, Option<ErrorKind>) {
    let mut bytes = Vec::new();
    let mut block = vec![0; at_once];
    while bytes.len() < 4 << 20 {
        match reader.read(&mut block) {
            Ok(0) => return (bytes, None),
            Ok(count) => bytes.extend_from_slice(&block[..count]),
            Err(error) => return (bytes, Some(error.kind())),
        }
    }
    bytes.truncate(4 << 20);
    (bytes, None)
}

/// Several threads give the same output as one thread, and both the same as flate2.
pub fn inflate(bytes: &[u8]) {
    // With a header, most inputs get as far as a block.
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    packed.extend_from_slice(bytes);
    for packed in [bytes, &packed] {
        let sequential = drain(::inflate::Sequential::new(packed), 1000);
        let parallel = ::inflate::Parallel::with_ranges(Arc::new(packed.to_vec()), 2, 100..=100);
        assert_eq!(drain(parallel, 700), sequential);
        let (reference, error) = drain(flate2::bufread::MultiGzDecoder::new(packed), 1);
        assert_eq!(error, sequential.1);
        // flate2 loses the byte that it decoded in the call that found the damage.
        assert!(sequential.0.starts_with(&reference) && sequential.0.len() <= reference.len() + 1);
    }
}

/// The cursor skips exactly what it reads.
pub fn json(bytes: &[u8]) {
    let mut json = Cursor::new(bytes);
    let mut skipper = json;
    let raw = json.raw_value();
    assert_eq!(raw.is_ok(), skipper.skip_value().is_ok());
    if raw.is_ok() {
        assert_eq!(json.pos(), skipper.pos());
    }
    let mut json = Cursor::new(bytes);
    if let Ok(mut keys) = json.object() {
        while let Ok(Some(key)) = keys.next(&mut json) {
            let _ = key.text();
            if json.skip_value().is_err() {
                break;
            }
        }
    }
    let _ = (micros(bytes), integer(bytes), float(bytes), decimal(bytes, -5));
}
