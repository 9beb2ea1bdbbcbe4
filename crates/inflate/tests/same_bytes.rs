//! For any file and number of threads, the bytes and the damage are the same as with one thread.

mod common;

use common::*;

/// Ways to pack the same text.
fn packings(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let half = text.len() / 2;
    vec![
        ("fast", gzip(text, 1)),
        ("usual", gzip(text, 6)),
        ("stored", gzip(text, 0)),
        ("flushed", gzip_flushed(text, 3000)),
        ("two members", [gzip(&text[..half], 6), gzip(&text[half..], 1)].concat()),
        ("many members", text.chunks(9000).flat_map(|piece| gzip(piece, 6)).collect()),
        ("bgzf", bgzf(text, 20_000)),
        ("an empty member between", [gzip(&text[..half], 6), gzip(b"", 6), gzip(&text[half..], 6)].concat()),
    ]
}

#[test]
fn every_packing_gives_the_same_bytes_with_any_number_of_threads() {
    let mut dice = Dice(1);
    let text = trace_text(1_500_000, &mut dice);
    for (what, packed) in packings(&text) {
        assert_same(&sequential(&packed), &(text.clone(), None), what);
        for threads in [1, 2, 3, 7] {
            for range in [2_000, 20_000] {
                assert_same(&parallel(&packed, threads, range), &(text.clone(), None), what);
            }
        }
    }
}

#[test]
fn noise_and_runs_are_inflated_too() {
    let mut dice = Dice(2);
    let noise: Vec<u8> = (0..400_000).map(|_| dice.below(256) as u8).collect();
    let letters: Vec<u8> = (0..400_000).map(|_| b'a' + dice.below(20) as u8).collect();
    let zeros = vec![0; 3_000_000];
    for text in [noise, letters, zeros, vec![], b"x".to_vec()] {
        for level in [0, 1, 6, 9] {
            let packed = gzip(&text, level);
            assert_same(&sequential(&packed), &(text.clone(), None), "sequential");
            assert_same(&parallel(&packed, 3, 4_000), &(text.clone(), None), "parallel");
        }
    }
}

/// 2,000 damages: bits flipped, bytes overwritten, the end cut, garbage appended.
#[test]
fn damaged_files_give_the_same_bytes_and_the_same_error() {
    let mut dice = Dice(3);
    let text = trace_text(120_000, &mut dice);
    let packings = packings(&text);
    for round in 0..2_000 {
        let (what, packed) = &packings[round % packings.len()];
        let mut packed = packed.clone();
        for _ in 0..=dice.below(2) {
            let at = dice.below(packed.len());
            match dice.below(4) {
                0 => packed.truncate(at.max(1)),
                1 => packed[at] = dice.below(256) as u8,
                2 => (0..dice.below(30)).for_each(|_| packed.push(dice.below(256) as u8)),
                _ => packed[at] ^= 1 << dice.below(8),
            }
        }
        let truth = sequential(&packed);
        let threads = 1 + dice.below(3);
        let range = [1_500, 4_000, 30_000][dice.below(3)];
        assert_same(&parallel(&packed, threads, range), &truth, &format!("{what}, damage {round}"));
        if round % 20 == 0 {
            // flate2 loses the byte that it decoded in the call that hit the damage.
            let (bytes, error) = reference(&packed);
            assert!(
                truth.0.starts_with(&bytes) && truth.0.len() <= bytes.len() + 1,
                "{what}, damage {round}"
            );
            assert_eq!(truth.1, error, "{what}, damage {round}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_what_flate2_gives() {
    let text = trace_text(3_000, &mut Dice(4));
    for packed in [gzip(&text, 6), gzip(&text[..60], 6), gzip(&text[..500], 0), bgzf(&text, 1_000)] {
        for cut in 0..packed.len() {
            let truth = reference(&packed[..cut]);
            assert_same(&sequential(&packed[..cut]), &truth, &format!("cut at {cut}"));
            assert_same(&parallel(&packed[..cut], 1, 500), &truth, &format!("cut at {cut}, parallel"));
        }
    }
}

#[test]
fn a_wrong_checksum_or_length_is_damage_behind_all_bytes() {
    let text = trace_text(300_000, &mut Dice(5));
    for back in [8, 4] {
        let mut packed = gzip(&text, 6);
        let at = packed.len() - back;
        packed[at] ^= 1;
        let truth = (text.clone(), Some(std::io::ErrorKind::InvalidInput));
        assert_same(&sequential(&packed), &truth, "sequential");
        assert_same(&parallel(&packed, 3, 5_000), &truth, "parallel");
    }
}

/// 300 MB of zeros in 0.3 MB: nothing may be held completely.
#[test]
fn a_bomb_is_read_in_pieces() {
    use std::io::Read;
    let zeros = vec![0; 1 << 20];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(9));
    (0..100).for_each(|_| std::io::Write::write_all(&mut encoder, &zeros).unwrap());
    let packed = encoder.finish().unwrap();
    let mut reader = rocm_perf_inflate::Parallel::new(std::sync::Arc::new(packed), 2);
    let mut block = vec![1; 1 << 20];
    let mut total = 0;
    loop {
        let count = reader.read(&mut block).unwrap();
        if count == 0 {
            break;
        }
        assert!(block[..count].iter().all(|&byte| byte == 0));
        total += count;
    }
    assert_eq!(total, 100 << 20);
}

#[test]
fn a_reader_that_is_dropped_early_ends_its_threads() {
    use std::io::Read;
    let packed = gzip(&trace_text(2_000_000, &mut Dice(6)), 6);
    let mut reader = rocm_perf_inflate::Parallel::with_ranges(std::sync::Arc::new(packed), 3, 5_000..=5_000);
    let mut some = [0; 100];
    reader.read_exact(&mut some).unwrap();
    drop(reader);
}
