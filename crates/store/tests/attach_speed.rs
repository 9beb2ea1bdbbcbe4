//! The cost of an attach compared with writing and syncing the same files. Run alone, in release:
//! `cargo test --release -p rocm-perf-store --test attach_speed -- --ignored --nocapture`

mod common;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{attachment, latency, on_both};
use rocm_perf_store::{Content, Location, NewArtifact, Store};

const ROUNDS: u64 = 15;

/// Files of a trial: reports, and one trace.
const FILES: [usize; 10] =
    [40_000, 60_000, 80_000, 120_000, 30_000, 200_000, 90_000, 50_000, 10_000, 20_000_000];

/// Bytes that differ from round to round and cannot be compressed.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length.div_ceil(8)).flat_map(|_| next()).take(length).collect()
}

fn write_and_sync(folder: &Path, round: u64, files: &[Vec<u8>]) -> Duration {
    let began = Instant::now();
    for (at, bytes) in files.iter().enumerate() {
        let mut file = File::create(folder.join(format!("{round}-{at}"))).expect("a file");
        file.write_all(bytes).expect("written");
        file.sync_all().expect("synced");
    }
    File::open(folder).expect("the folder").sync_all().expect("synced");
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
#[ignore = "measures time"]
fn an_attach_takes_less_than_twice_the_time_of_its_files() {
    on_both(|location| {
        let kind = if matches!(location, Location::Sqlite { .. }) { "SQLite" } else { "PostgreSQL" };
        let mut store = Store::open(location).expect("a store");
        store.new_experiment("serving", "").expect("an experiment");
        let beside = location.artifacts().join("beside");
        std::fs::create_dir_all(&beside).expect("a folder");
        let (mut plain, mut attached) = (Vec::new(), Vec::new());
        // Alternating, so that both see the same disk.
        for round in 0..ROUNDS {
            let make = |salt: u64| -> Vec<Vec<u8>> {
                FILES
                    .iter()
                    .enumerate()
                    .map(|(at, length)| bytes(salt + round * 1_000 + at as u64 + 1, *length))
                    .collect()
            };
            plain.push(write_and_sync(&beside, round, &make(1 << 32)));
            let artifacts = make(1 << 33).into_iter().enumerate().map(|(at, bytes)| NewArtifact {
                path: format!("{at}.bin"),
                content: Content::Bytes(bytes),
                schema: None,
            });
            let mut trial = attachment(&format!("t{round}"), artifacts.collect());
            trial.metrics.push(latency(100.0 + round as f64));
            let began = Instant::now();
            store.attach(&trial).expect("attached");
            attached.push(began.elapsed());
        }
        let (plain, attached) = (median(plain), median(attached));
        let ratio = attached.as_secs_f64() / plain.as_secs_f64();
        println!("{kind}: written and synced in {plain:.1?}, attached in {attached:.1?}: {ratio:.2} times");
        assert!(ratio <= 2.0, "{kind}: {ratio:.2}");
    });
}
