//! Verdicts on rows, and the correction for multiple tests.

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Takes less time, beyond noise and the minimum effect.
    Faster,
    /// Takes more time, beyond noise and the minimum effect.
    Slower,
    /// Any change is below the minimum effect.
    Same,
    /// It is called more or less often, and there is no spread to judge its time by.
    CallsChanged,
    /// The data are not sufficient.
    Inconclusive,
    /// Only in the candidate.
    New,
    /// Only in the base.
    Gone,
}

impl Verdict {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::CallsChanged => "calls changed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::New => "new",
            Verdict::Gone => "gone",
        }
    }
}

/// Holm's step-down correction: the chance that any result below α is false is at most α.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (place, &row) in order.iter().enumerate() {
        largest = largest.max(p[row] * (p.len() - place) as f64).min(1.0);
        adjusted[row] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_steps_down() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (found, expected) in adjusted.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }
}
