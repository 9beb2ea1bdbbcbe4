//! Durations as counts in buckets of equal ratio: small, mergeable, with quantiles within 2 %.

/// Upper bound of a bucket over its lower one.
const RATIO: f64 = 1.04;

/// Counts of durations by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// (bucket, count), by bucket.
    pub(super) buckets: Vec<(u16, u64)>,
}

impl Sketch {
    /// Adds a duration in ns.
    pub fn add(&mut self, ns: i64) {
        self.add_to(bucket_of(ns), 1);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Sketch) {
        for &(bucket, count) in &other.buckets {
            self.add_to(bucket, count);
        }
    }

    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.buckets.binary_search_by_key(&bucket, |entry| entry.0) {
            Ok(place) => self.buckets[place].1 += count,
            Err(place) => self.buckets.insert(place, (bucket, count)),
        }
    }

    /// How many durations there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|entry| entry.1).sum()
    }

    /// The duration below which this share of all lies, in ns; `None` if there are no durations.
    pub fn quantile(&self, share: f64) -> Option<i64> {
        let wanted = ((self.count() as f64 - 1.0) * share.clamp(0.0, 1.0)).round() as u64;
        let mut before = 0;
        for &(bucket, count) in &self.buckets {
            before += count;
            if before > wanted {
                return Some(middle_of(bucket));
            }
        }
        None
    }
}

fn bucket_of(ns: i64) -> u16 {
    if ns <= 0 { 0 } else { 1 + ((ns as f64).ln() / RATIO.ln()).floor() as u16 }
}

/// The geometric middle of a bucket.
fn middle_of(bucket: u16) -> i64 {
    if bucket == 0 { 0 } else { RATIO.powf(f64::from(bucket) - 0.5).round() as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_two_percent_and_merging_equals_adding() {
        let (mut one, mut two, mut all) = (Sketch::default(), Sketch::default(), Sketch::default());
        for n in 1..=1000i64 {
            let ns = n * n * 17;
            if n % 3 == 0 {
                one.add(ns)
            } else {
                two.add(ns)
            }
            all.add(ns);
        }
        one.merge(&two);
        assert_eq!(one, all);
        for (share, n) in [(0.0, 1i64), (0.5, 500), (0.95, 950), (1.0, 1000)] {
            let (found, exact) = (all.quantile(share).unwrap() as f64, (n * n * 17) as f64);
            assert!((found / exact - 1.0).abs() < 0.025, "{share}: {found} for {exact}");
        }
        assert_eq!(Sketch::default().quantile(0.5), None);
    }
}
