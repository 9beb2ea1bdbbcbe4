//! Student's t: the distribution of a mean whose spread is itself estimated from few runs.

use crate::gamma::ln_gamma;

/// Probability that |t| is at least this large if nothing changed.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The |t| that is exceeded with this probability.
pub fn two_sided_quantile(chance: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > chance && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, freedom) > chance { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(1.0 - x, b, a) / b
    }
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from printed tables of the t distribution.
    #[test]
    fn equals_the_tables() {
        let table = [
            (0.05, 1.0, 12.706_205),
            (0.05, 4.0, 2.776_445),
            (0.05, 8.0, 2.306_004),
            (0.001, 8.0, 5.041_305),
            (0.01, 30.0, 2.749_996),
            (0.05, 1e6, 1.959_966),
        ];
        for (chance, freedom, t) in table {
            assert!((two_sided_quantile(chance, freedom) / t - 1.0).abs() < 1e-6, "{chance} {freedom}");
            assert!((two_sided(t, freedom) / chance - 1.0).abs() < 1e-5, "{chance} {freedom}");
        }
        assert_eq!(two_sided(0.0, 3.0), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3.0), 0.0);
    }
}
