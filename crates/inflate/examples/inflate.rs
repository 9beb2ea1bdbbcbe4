//! Inflates a gzip file and prints the cost: `inflate FILE seq|flate2|N [repeats]`.

use std::io::{BufReader, Read};
use std::sync::Arc;
use std::time::Instant;

use rocm_perf_inflate as inflate;

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).expect("a readable file");
    let repeats = arguments.get(3).and_then(|n| n.parse().ok()).unwrap_or(1);
    let input: inflate::Input = Arc::new(data.clone());
    let (mut bytes, mut block) = (0, vec![0; 4 << 20]);
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    for _ in 0..repeats {
        let from = BufReader::with_capacity(256 << 10, &data[..]);
        let mut reader: Box<dyn Read> = match arguments[2].as_str() {
            "seq" => Box::new(inflate::Sequential::new(from)),
            "flate2" => Box::new(flate2::bufread::MultiGzDecoder::new(from)),
            threads => Box::new(inflate::Parallel::new(input.clone(), threads.parse().expect("a number"))),
        };
        loop {
            match reader.read(&mut block) {
                Ok(0) => break,
                Ok(count) => bytes += count,
                Err(e) => {
                    println!("{e}");
                    break;
                }
            }
        }
    }
    let gigabytes = bytes as f64 / 1e9;
    let (cpu, wall) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
    println!(
        "{:>7} {gigabytes:.3} GB, CPU {cpu:.2} s ({:.2} GB/s), wall {wall:.2} s ({:.2} GB/s)",
        arguments[2],
        gigabytes / cpu,
        gigabytes / wall
    );
}
