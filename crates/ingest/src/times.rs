//! Plausible times.

/// Whether these times, in nanoseconds, are plausible for a row. Damaged ones near the ends of 64 bits would
/// overflow every sum of durations.
pub(crate) fn are_believable(start: i64, end: i64) -> bool {
    /// The year 2116, counted from 1970.
    const LATEST: u64 = 1 << 62;
    /// More than a year.
    const LONGEST: u64 = 1 << 55;
    start.unsigned_abs() < LATEST && end.unsigned_abs() < LATEST && (end - start).unsigned_abs() < LONGEST
}

/// Start and end, if both exist and are plausible.
pub(crate) fn usable(start: Option<i64>, end: Option<i64>) -> Option<(i64, i64)> {
    start.zip(end).filter(|&(start, end)| are_believable(start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_no_run_has_are_not_believed() {
        let now = 1_790_000_000_000_000_000;
        assert!(are_believable(0, 0) && are_believable(now, now + 1_000) && are_believable(now + 5, now));
        for (start, end) in
            [(i64::MIN, 0), (0, i64::MAX), (i64::MIN, i64::MAX), (now, now + (1 << 56)), (1 << 62, 1 << 62)]
        {
            assert!(!are_believable(start, end), "{start} to {end}");
        }
    }
}
