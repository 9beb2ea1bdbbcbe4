//! How long a dispatch took in each pass, weighted by rows.

/// Durations, each with the number of rows that had it.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<(f64, u64)>);

impl Spans {
    /// Adds the duration of one more row.
    pub fn took(&mut self, duration: f64) {
        match self.0.last_mut() {
            Some((last, rows)) if *last == duration => *rows += 1,
            _ => self.0.push((duration, 1)),
        }
    }

    /// Adds the durations of another pass.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// The median of all rows' durations: a pass with many counters has many rows, so more weight.
    pub fn median(&self) -> f64 {
        let mut durations: Vec<_> = self.0.iter().filter(|(duration, _)| !duration.is_nan()).collect();
        durations.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rows: u64 = durations.iter().map(|(_, rows)| rows).sum();
        if rows == 0 {
            return f64::NAN;
        }
        let at = |place: u64| {
            let mut before = 0;
            let holds = |(_, rows): &&&(f64, u64)| {
                before += rows;
                place < before
            };
            durations.iter().find(holds).map_or(f64::NAN, |(duration, _)| *duration)
        };
        (at((rows - 1) / 2) + at(rows / 2)) / 2.0
    }
}
