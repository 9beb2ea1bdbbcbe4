//! Spread between runs, and its effect on a mean.

use crate::student;

/// Spread between runs of one configuration, pooled over all repeated ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Standard deviation of one run.
    pub deviation: f64,
    /// Its degrees of freedom; zero: unknown.
    pub freedom: usize,
}

impl Noise {
    /// Pools groups of repeats.
    pub fn pooled(groups: impl Iterator<Item = Vec<f64>>) -> Self {
        let (mut squares, mut freedom) = (0.0, 0);
        for group in groups.filter(|group| group.len() > 1) {
            let mean = group.iter().sum::<f64>() / group.len() as f64;
            squares += group.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            freedom += group.len() - 1;
        }
        let deviation = if freedom > 0 { (squares / freedom as f64).sqrt() } else { 0.0 };
        Self { deviation, freedom }
    }

    /// The deviation, mixed with an assumed one while there is little data.
    pub fn or_assumed(&self, assumed: f64) -> f64 {
        const WORTH: f64 = 2.0;
        let freedom = self.freedom as f64;
        ((self.deviation.powi(2) * freedom + assumed * assumed * WORTH) / (freedom + WORTH)).sqrt()
    }

    /// Half of the 95 % interval of the mean of `runs` runs; `None` if nothing was repeated.
    pub fn half_width(&self, runs: usize) -> Option<f64> {
        (self.freedom > 0 && runs > 0).then(|| {
            let t = student::two_sided_quantile(0.05, self.freedom as f64);
            t * self.deviation / (runs as f64).sqrt()
        })
    }

    /// The probability that a mean lower by `less` is lower by luck alone.
    pub fn chance_of_luck(&self, less: f64, runs: usize, others: usize) -> Option<f64> {
        if self.freedom == 0 || runs == 0 || others == 0 {
            return None;
        }
        let error = self.deviation * (1.0 / runs as f64 + 1.0 / others as f64).sqrt();
        if error == 0.0 {
            return Some(if less > 0.0 { 0.0 } else { 0.5 });
        }
        let two_sided = student::two_sided((less / error).abs(), self.freedom as f64);
        Some(if less >= 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooled_noise_is_that_of_the_groups() {
        let noise = Noise::pooled([vec![1.0, 3.0], vec![10.0, 12.0, 14.0], vec![5.0]].into_iter());
        assert_eq!(noise.freedom, 3);
        assert!((noise.deviation - (10.0f64 / 3.0).sqrt()).abs() < 1e-12);
        // t of 3 degrees of freedom at 95 % is 3.182.
        let expected = 3.182_446 * noise.deviation / 2f64.sqrt();
        assert!((noise.half_width(2).unwrap() - expected).abs() < 1e-4);
        assert_eq!(Noise::default().half_width(3), None);
        assert_eq!(noise.chance_of_luck(0.0, 2, 2), Some(0.5));
        assert!(noise.chance_of_luck(20.0, 3, 3).unwrap() < 0.01);
    }
}
