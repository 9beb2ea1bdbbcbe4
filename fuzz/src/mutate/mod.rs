//! Changes to inputs that know how they are built. Each returns `None` if an input is not built that way.

mod json;
mod lines;
mod pickle;
mod protobuf;
mod sqlite;

use libfuzzer_sys::fuzzer_mutate;

/// How the inputs of a target are built.
#[derive(Clone, Copy)]
pub enum Shape {
    Bytes,
    Json,
    Lines,
    Pickle,
    Protobuf,
    Sqlite,
}

/// Numbers at the limits of types and of what readers expect.
pub const EDGES: [&str; 22] = [
    "0",
    "-1",
    "1",
    "127",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "-1e-320",
    "1e19",
    "0.1",
    "NaN",
    "9223372036854775.807",
];

/// Random numbers of one change (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`; 0 if there is nothing to choose from.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }

    /// A number at a limit.
    pub fn edge(&mut self) -> &'static str {
        EDGES[self.below(EDGES.len())]
    }
}

/// Changes `data[..size]` in place and returns its new size.
pub fn mutate(shape: Shape, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(u64::from(seed) << 16);
    let change = match shape {
        Shape::Bytes => None,
        Shape::Json => Some(json::change as fn(&[u8], &mut Random) -> Option<Vec<u8>>),
        Shape::Lines => Some(lines::change as _),
        Shape::Pickle => Some(pickle::change as _),
        Shape::Protobuf => Some(protobuf::change as _),
        Shape::Sqlite => Some(sqlite::change as _),
    };
    // One in four changes is libFuzzer's own, which knows which comparisons failed.
    if let Some(change) = change.filter(|_| random.below(4) > 0) {
        let mut changed = data[..size].to_vec();
        for _ in 0..=random.below(3) {
            match change(&changed, &mut random) {
                Some(next) => changed = next,
                None => return fuzzer_mutate(data, size, max_size),
            }
        }
        if changed.len() <= max_size && changed != data[..size] {
            data[..changed.len()].copy_from_slice(&changed);
            return changed.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
}

/// `bytes` with a range replaced.
pub fn replaced(bytes: &[u8], range: std::ops::Range<usize>, by: &[u8]) -> Vec<u8> {
    [&bytes[..range.start], by, &bytes[range.end..]].concat()
}
