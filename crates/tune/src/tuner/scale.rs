//! The scale on which values are compared: lower is better, and ratios count if all are positive.

/// How values are compared: lower is better, and by ratio if all are positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Whether larger values are better.
    pub maximise: bool,
    /// Whether values are compared as logarithms.
    pub logarithmic: bool,
}

impl Scale {
    /// The value for models.
    pub fn to(self, value: f64) -> f64 {
        let value = if self.logarithmic { value.ln() } else { value };
        if self.maximise { -value } else { value }
    }

    /// The value from a model's value.
    pub fn back(self, seen: f64) -> f64 {
        let seen = if self.maximise { -seen } else { seen };
        if self.logarithmic { seen.exp() } else { seen }
    }

    /// The mean of values in model space, in their own unit: for positive values, the geometric mean.
    pub fn centre(self, values: &[f64]) -> f64 {
        match values {
            // Logarithms would lose their last digits.
            [first, rest @ ..] if rest.iter().all(|value| value == first) => *first,
            _ => self.back(mean(values, self)),
        }
    }
}

/// The mean of values in model space.
pub(crate) fn mean(values: &[f64], scale: Scale) -> f64 {
    values.iter().map(|value| scale.to(*value)).sum::<f64>() / values.len().max(1) as f64
}
