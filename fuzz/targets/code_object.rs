//! Any bytes as a code object, a bundle, an archive or a program.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = hw::code_object::contents(bytes);
});
