//! zstd files with many frames.

mod common;

use std::io::Read;
use std::sync::Arc;

use common::*;
use rocm_perf_inflate::{Frames, has_many_frames};

/// A file of frames with their size in the header.
fn frames(text: &[u8], each: usize) -> Vec<u8> {
    text.chunks(each).flat_map(|piece| zstd::bulk::compress(piece, 1).unwrap()).collect()
}

fn with_threads(packed: &[u8], threads: usize) -> Read2 {
    drain(Frames::new(Arc::new(packed.to_vec()), threads), 50_000)
}

#[test]
fn any_number_of_threads_gives_the_bytes_of_all_frames() {
    let text = trace_text(900_000, &mut Dice(1));
    let one = zstd::bulk::compress(&text, 1).unwrap();
    assert!(!has_many_frames(&one));
    // The last frame has no size in its header.
    let unknown = [frames(&text[..500_000], 70_000), zstd::encode_all(&text[500_000..], 1).unwrap()].concat();
    for packed in [frames(&text, 30_000), unknown] {
        assert!(has_many_frames(&packed));
        for threads in [1, 2, 3, 7] {
            assert_same(&with_threads(&packed, threads), &(text.clone(), None), "frames");
        }
    }
}

#[test]
fn damaged_frames_give_the_same_bytes_and_the_same_words() {
    let mut dice = Dice(2);
    let text = trace_text(200_000, &mut dice);
    let whole = frames(&text, 20_000);
    for round in 0..300 {
        let mut packed = whole.clone();
        let at = dice.below(packed.len());
        match dice.below(3) {
            0 => packed.truncate(at.max(30)),
            1 => packed.extend_from_slice(b"garbage"),
            _ => packed[at] ^= 1 << dice.below(8),
        }
        let one = words(&packed, 1);
        assert!(one == words(&packed, 3), "damage {round}");
        // zstd's own error text depends on the size of the reads.
        let plain = zstd::stream::read::Decoder::new(&packed[..]).unwrap().read_to_end(&mut Vec::new());
        assert_eq!(one.1.is_some(), plain.is_err(), "damage {round}");
    }
}

/// The bytes from a reader, and its error message.
fn words(packed: &[u8], threads: usize) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let end = Frames::new(Arc::new(packed.to_vec()), threads).read_to_end(&mut bytes);
    (bytes, end.err().map(|error| error.to_string()))
}
