//! The torch reader on any bytes: it never panics, and how the bytes are split never shows.
#![no_main]

use ingest::torch::{Parts, read_text};
use ingest::{Error, Format, Input, Progress};
use libfuzzer_sys::fuzz_target;
use trace::{Needs, Trace};

fn read(bytes: &[u8], stretch: usize) -> Result<Trace, Error> {
    let input = Input { format: Format::Torch, path: "-".into(), files: Vec::new(), bytes: 1 };
    let parts = Parts { stretch, block: stretch };
    read_text(bytes, &input, &Needs::everything(), &Progress::default(), parts)
}

fuzz_target!(|bytes: &[u8]| {
    let (whole, split) = (read(bytes, 1 << 30), read(bytes, 64));
    assert_eq!(whole.is_ok(), split.is_ok());
    if let (Ok(mut whole), Ok(split)) = (whole, split) {
        assert_eq!(format!("{:?}", whole.kernels), format!("{:?}", split.kernels));
        assert_eq!(format!("{:?}", whole.regions), format!("{:?}", split.regions));
        assert_eq!(whole.health, split.health);
        whole.finish();
    }
});
