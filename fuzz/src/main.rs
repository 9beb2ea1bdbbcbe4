//! All fuzz targets in one program: the variable `FUZZ_TARGET` selects one, the arguments are libFuzzer's.
//!
//! A target takes bytes, gives them to one reader or parser and checks what must hold for any input. A
//! violation panics, and libFuzzer keeps the input. A [`mutate::Shape`] says how the inputs of a target are
//! built, so that changes keep them close to what the reader accepts.
#![no_main]

mod mutate;
mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use targets::Target;

/// The target of this process.
fn target() -> &'static Target {
    static CHOSEN: OnceLock<&'static Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        targets::ALL.iter().find(|target| target.name == name).unwrap_or_else(|| {
            // `scripts/fuzz` reads this list.
            targets::ALL.iter().for_each(|target| println!("{}", target.name));
            std::process::exit(if name.is_empty() { 0 } else { 2 })
        })
    })
}

fuzz_target!(|bytes: &[u8]| (target().run)(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::mutate(target().shape, data, size, max_size, seed)
});
