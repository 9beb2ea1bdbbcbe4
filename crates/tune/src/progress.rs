//! The progress of a search, as one line on a terminal.

use report::{Unit, Value, show};

use crate::space::Space;
use crate::tuner::Progress;

impl Progress<'_> {
    /// Estimated seconds left; `None` before the first trial.
    pub fn seconds_left(&self) -> Option<f64> {
        let each = (self.used > 0).then(|| self.spent / self.used as f64)?;
        let by_trials = each * self.of.saturating_sub(self.used) as f64;
        let by_time = self.time.map_or(f64::INFINITY, |time| (time - self.spent).max(0.0));
        Some(by_trials.min(by_time))
    }

    /// The time left, the best so far and its configuration, which may be cut off at the end of the line.
    pub fn line(&self, space: &Space, is_time: bool) -> String {
        let Some(left) = self.seconds_left() else { return "running the first configuration".into() };
        let left = match left {
            left if left < 100.0 => format!("{left:.0} s left"),
            left if left < 6000.0 => format!("{:.0} min left", left / 60.0),
            left => format!("{:.1} h left", left / 3600.0),
        };
        let unit = if is_time { Unit::Ns } else { Unit::None };
        match self.best {
            None => format!("{left}, no configuration has worked yet"),
            Some((levels, value)) => {
                format!("{left}, best {}: {}", show(&Value::Float(value), unit), space.describe(levels))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_that_of_the_budget_that_ends_first() {
        let space = Space::parse(r#"{"BLOCK": [16, 32], "WARPS": [1, 2]}"#).unwrap();
        let start = Progress { used: 0, of: 80, spent: 0.0, time: None, best: None };
        let failing = Progress { used: 4, spent: 10.0, ..start.clone() };
        let long = Progress { used: 1, spent: 600.0, best: Some((&[1, 0], 1_234_567.0)), ..start.clone() };
        let short = Progress { time: Some(900.0), ..long.clone() };
        let over = Progress { time: Some(500.0), used: 80, ..long.clone() };
        let lines = [start, failing, long.clone(), short, over].map(|progress| progress.line(&space, true));
        let expected = [
            "running the first configuration",
            "3 min left, no configuration has worked yet",
            "13.2 h left, best 1.235 ms: BLOCK=32 WARPS=1",
            "5 min left, best 1.235 ms: BLOCK=32 WARPS=1",
            "0 s left, best 1.235 ms: BLOCK=32 WARPS=1",
        ];
        assert_eq!(lines, expected);
        assert_eq!(long.line(&space, false), "13.2 h left, best 1234567: BLOCK=32 WARPS=1");
    }
}
