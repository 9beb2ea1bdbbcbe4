//! The JSON cursor on any bytes: it never panics, and what it skips is what it reads.
#![no_main]

use ingest::json::{Cursor, decimal, float, integer, micros};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
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
});
