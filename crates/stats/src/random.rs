//! Random numbers from a seed: the same seed gives the same numbers (SplitMix64).

use std::sync::LazyLock;

/// Increment of the state per draw.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One round of SplitMix64 as a function: a bijection whose output passes the usual tests.
pub fn mix(z: u64) -> u64 {
    let mut z = z.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Random bits as a number strictly between 0 and 1.
pub fn unit(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// A standard normal number from two numbers between 0 and 1 (Box and Muller).
pub fn normal(u: f64, v: f64) -> f64 {
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// A seed that depends only on these names.
pub fn seed_of(parts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A separate sequence for each seed: neighbouring seeds begin far apart.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// From a seed that is already well mixed, such as a hash.
    pub fn of_hash(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        bits
    }

    /// A number from 0 up to but not including `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number strictly between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        normal(self.unit(), self.unit())
    }

    /// One of 8192 normal numbers: a tenth of the cost of generating one, for the inner loops of a bootstrap.
    pub fn table_normal(&mut self) -> f64 {
        NORMALS[(self.bits() >> 40) as usize % NORMALS.len()]
    }

    /// Shuffles a slice.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Normal numbers with mean 0 and variance 1 to draw from.
static NORMALS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut random = Random::of_hash(1);
    let mut numbers = Vec::new();
    while numbers.len() < 8192 {
        let number = random.normal();
        // Each number and its mirror image keep the mean at zero.
        numbers.extend([number, -number]);
    }
    let variance = numbers.iter().map(|n| n * n).sum::<f64>() / numbers.len() as f64;
    numbers.iter().map(|n| n / variance.sqrt()).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation (Vigna, splitmix64.c) for the state 1234567.
    #[test]
    fn bits_are_those_of_the_reference() {
        let mut random = Random::of_hash(1_234_567);
        let found: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_are_even_and_normal() {
        let mut random = Random::new(1);
        let mut counts = [0; 5];
        (0..50_000).for_each(|_| counts[random.below(5)] += 1);
        assert!(counts.iter().all(|n| (9_500..10_500).contains(n)), "{counts:?}");
        let normals: Vec<f64> = (0..50_000).map(|_| random.normal()).collect();
        let mean = normals.iter().sum::<f64>() / 5e4;
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / 5e4;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        let quick: Vec<f64> = (0..50_000).map(|_| random.table_normal()).collect();
        assert!((quick.iter().map(|x| x * x).sum::<f64>() / 5e4 - 1.0).abs() < 0.03);
        let mut items: Vec<usize> = (0..100).collect();
        random.shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
