//! The logarithm of the gamma function and its first two derivatives, for positive numbers.
//!
//! Each is Stirling's series after shifting the argument to where the series is exact to 10⁻¹¹.

const SHIFTED: f64 = 10.0;

/// Logarithm of the gamma function.
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < SHIFTED {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// First derivative of the logarithm.
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < SHIFTED {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    shift + x.ln()
        - 0.5 / x
        - inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse / 240.0)))
}

/// Second derivative of the logarithm.
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < SHIFTED {
        shift += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    shift
        + 1.0 / x
        + inverse * (0.5 + (1.0 / 6.0 - inverse * (1.0 / 30.0 - inverse * (1.0 / 42.0 - inverse / 30.0))) / x)
}

/// The inverse of `trigamma`, which is decreasing, so bisection finds it.
pub fn trigamma_inverse(value: f64) -> f64 {
    let (mut low, mut high) = (-14.0f64, 14.0f64);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if trigamma(middle.exp()) > value { low = middle } else { high = middle }
    }
    ((low + high) / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let square = std::f64::consts::PI.powi(2);
        let near = |found: f64, known: f64| assert!((found - known).abs() < 1e-9, "{found} {known}");
        near(ln_gamma(1.0), 0.0);
        near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        near(ln_gamma(6.0), 120f64.ln());
        near(digamma(1.0), -EULER);
        near(digamma(0.5), -EULER - 2.0 * 2f64.ln());
        near(trigamma(1.0), square / 6.0);
        near(trigamma(0.5), square / 2.0);
        near(trigamma_inverse(square / 6.0), 1.0);
        near(trigamma_inverse(trigamma(37.0)), 37.0);
    }
}
