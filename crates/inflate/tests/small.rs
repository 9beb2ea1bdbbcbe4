//! A file small enough for Miri, which checks the unchecked code:
//! `MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows" cargo +nightly miri test -p rocm-perf-inflate --test small`.
//! The file is already compressed, since Miri rejects how the compressor frees its memory.

mod common;

use common::parallel;

/// Three members: best compression, stored, default compression. The first two hold the halves of the third.
const PACKED: &[u8] = include_bytes!("small/three_members.gz");
const TEXT: &[u8] = include_bytes!("small/text");

#[test]
fn members_of_all_kinds_are_inflated() {
    for (threads, range) in [(1, 200), (2, 100)] {
        assert_eq!(parallel(PACKED, threads, range), (TEXT.to_vec(), None), "{threads} threads");
    }
}

#[test]
fn a_cut_or_damaged_file_gives_what_comes_before() {
    for cut in [11, 200, PACKED.len() / 2, PACKED.len() - 5] {
        let (text, error) = parallel(&PACKED[..cut], 2, 100);
        assert!(error.is_some() && TEXT.starts_with(&text), "cut at {cut}");
    }
    for at in [30, 150, 300] {
        let mut damaged = PACKED.to_vec();
        damaged[at] ^= 0x55;
        assert!(parallel(&damaged, 2, 100).1.is_some(), "damaged at {at}");
    }
}
