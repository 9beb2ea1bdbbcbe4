//! Which parameters matter: how much of the predicted variation over the space each one explains alone.

use crate::search::{Features, Model};
use crate::space::{Candidates, Space};
use crate::tuner::Scale;

/// The effect of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    /// Its index.
    pub parameter: usize,
    /// Share of the variance of predictions that its values explain alone, in percent.
    pub share_pct: f64,
    /// How much worse its worst value is than its best on average, in percent; only if values are ratios.
    pub range_pct: Option<f64>,
    /// The level that is best on average.
    pub best_level: usize,
}

/// Importance of every parameter with more than one value, highest first; the rest to 100 % is interaction.
pub fn importance(
    space: &Space,
    candidates: &Candidates,
    features: &Features,
    model: &Model,
    scale: Scale,
) -> Vec<Importance> {
    let predicted: Vec<f64> = model.predict_all(features).into_iter().map(|(mean, _)| mean).collect();
    let n = predicted.len().max(1) as f64;
    let mean = predicted.iter().sum::<f64>() / n;
    let total: f64 = predicted.iter().map(|value| (value - mean).powi(2)).sum();
    let mut found = Vec::new();
    for (p, parameter) in space.parameters.iter().enumerate().filter(|(_, one)| one.values.len() > 1) {
        let mut sums = vec![(0.0, 0.0); parameter.values.len()];
        for (levels, value) in candidates.iter().zip(&predicted) {
            let sum = &mut sums[usize::from(levels[p])];
            sum.0 += value;
            sum.1 += 1.0;
        }
        let between: f64 = sums.iter().filter(|s| s.1 > 0.0).map(|s| s.1 * (s.0 / s.1 - mean).powi(2)).sum();
        let means =
            || sums.iter().enumerate().filter(|(_, s)| s.1 > 0.0).map(|(level, s)| (level, s.0 / s.1));
        let Some((best_level, best)) = means().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let worst = means().map(|(_, value)| value).fold(best, f64::max);
        found.push(Importance {
            parameter: p,
            share_pct: if total > 0.0 { 100.0 * between / total } else { 0.0 },
            range_pct: scale.logarithmic.then(|| 100.0 * ((worst - best).exp() - 1.0)),
            best_level,
        });
    }
    found.sort_by(|a, b| b.share_pct.total_cmp(&a.share_pct));
    found
}
