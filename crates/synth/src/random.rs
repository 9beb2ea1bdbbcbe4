//! Counter-based random numbers: each draw is a pure function of its purpose, so that changing one kernel does not
//! change the draws of others.

use stats::random::{mix, unit};

/// What a draw is for: distinct numbers keep the streams of draws apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub seed: u64,
    pub rank: u32,
    pub stream: u32,
    pub instance: u64,
}

/// The rank of draws that all ranks share, such as the duration of a collective.
pub(crate) const EVERY_RANK: u32 = u32::MAX;

impl Key {
    fn bits(self) -> u64 {
        let place = (u64::from(self.rank) << 32) | u64::from(self.stream);
        mix(mix(mix(self.seed) ^ place) ^ self.instance)
    }

    /// A standard normal number.
    fn normal(self) -> f64 {
        let bits = self.bits();
        stats::random::normal(unit(bits), unit(mix(bits)))
    }

    /// A lognormal factor with mean 1 and this coefficient of variation.
    pub(crate) fn factor(self, spread: Spread) -> f64 {
        if spread.sigma == 0.0 {
            return 1.0;
        }
        (spread.sigma * self.normal() - spread.sigma * spread.sigma / 2.0).exp()
    }
}

/// A coefficient of variation, prepared for drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    sigma: f64,
}

impl Spread {
    pub(crate) fn of_cv(cv: f64) -> Self {
        Self { sigma: (cv * cv).ln_1p().sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_the_asked_mean_and_spread() {
        for cv in [0.05, 0.5] {
            let spread = Spread::of_cv(cv);
            let n = 200_000;
            let draws: Vec<f64> =
                (0..n).map(|i| Key { seed: 7, rank: 1, stream: 2, instance: i }.factor(spread)).collect();
            let mean = draws.iter().sum::<f64>() / n as f64;
            let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
            assert!((mean - 1.0).abs() < 0.01, "{mean}");
            assert!((variance.sqrt() / cv - 1.0).abs() < 0.03, "{}", variance.sqrt());
        }
    }

    #[test]
    fn every_part_of_the_key_matters() {
        let key = Key { seed: 1, rank: 2, stream: 3, instance: 4 };
        let others = [
            Key { seed: 2, ..key },
            Key { rank: 3, ..key },
            Key { stream: 4, ..key },
            Key { instance: 5, ..key },
            Key { rank: 3, stream: 2, ..key },
        ];
        assert!(others.iter().all(|other| other.bits() != key.bits()));
        assert_eq!(key.bits(), Key { ..key }.bits());
    }
}
