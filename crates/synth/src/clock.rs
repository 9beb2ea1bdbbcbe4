//! The clock of a rank: what it shows at a moment of true time.

use crate::scenario::Ranks;

/// Runs begin at this reading of the clock, as if the machine had been up for most of a day.
const BEGIN_NS: i64 = 63_855_948_165_371;

/// A clock that starts off and runs off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    offset_ns: i64,
    drift_ppb: i64,
}

impl Clock {
    pub(crate) fn of(ranks: &Ranks, rank: u32) -> Self {
        let of = |list: &[f64]| list.get(rank as usize % list.len().max(1)).copied().unwrap_or(0.0);
        Self {
            offset_ns: (of(&ranks.clock_offset_us) * 1e3).round() as i64,
            drift_ppb: (of(&ranks.clock_drift_ppm) * 1e3).round() as i64,
        }
    }

    /// This clock, off by these further microseconds and ppm.
    pub(crate) fn off_by(self, (us, ppm): (f64, f64)) -> Self {
        Self {
            offset_ns: self.offset_ns + (us * 1e3).round() as i64,
            drift_ppb: self.drift_ppb + (ppm * 1e3).round() as i64,
        }
    }

    /// What the clock shows.
    #[inline]
    pub(crate) fn show(&self, true_ns: i64) -> i64 {
        let drift = (i128::from(true_ns) * i128::from(self.drift_ppb)).div_euclid(1_000_000_000) as i64;
        BEGIN_NS + self.offset_ns + true_ns + drift
    }

    pub(crate) fn offset_ns(&self) -> i64 {
        self.offset_ns
    }

    pub(crate) fn drift_ppm(&self) -> f64 {
        self.drift_ppb as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_drift() {
        let clock = Clock { offset_ns: -5, drift_ppb: -40_000 };
        assert!((0..2000).all(|t| clock.show(t) <= clock.show(t + 1)));
        assert_eq!(clock.show(1_000_000_000) - clock.show(0), 1_000_000_000 - 40_000);
    }
}
