//! Times of dispatches: whole nanoseconds too large for a double, and fractions if passes were averaged.

use super::number::number;

/// A point in time; `NONE` if missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time {
    /// Whole nanoseconds.
    pub ns: i64,
    /// The fraction, from 0 to 1; NaN if there is no time.
    rest: f64,
}

impl Time {
    pub const NONE: Self = Self { ns: 0, rest: f64::NAN };

    /// The time in a field.
    pub fn parse(field: &[u8]) -> Self {
        let text = std::str::from_utf8(field).unwrap_or_default().trim();
        match text.parse() {
            Ok(ns) => Self { ns, rest: 0.0 },
            Err(_) => number(field).map_or(Self::NONE, Self::of),
        }
    }

    fn of(value: f64) -> Self {
        let whole = value.floor();
        Self { ns: whole as i64, rest: value - whole }
    }

    /// Nanoseconds since `start`; NaN if either is missing.
    pub fn since(self, start: Self) -> f64 {
        (self.ns.wrapping_sub(start.ns)) as f64 + (self.rest - start.rest)
    }

    /// The mean of some times.
    pub fn mean(times: &[Self]) -> Self {
        let Some(first) = times.first() else { return Self::NONE };
        // Differences are small, so they are exact even if the times themselves are not.
        let offset = times.iter().map(|time| time.since(*first)).sum::<f64>() / times.len() as f64;
        let moved = Self::of(first.rest + offset);
        Self { ns: first.ns + moved.ns, rest: moved.rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_times_keep_every_nanosecond() {
        let (start, end) = (Time::parse(b"13386742234691895"), Time::parse(b"13386742234700548"));
        assert_eq!(end.since(start), 8653.0);
        let mean = Time::mean(&[start, end]);
        assert_eq!(mean.since(start), 4326.5);
        assert_eq!(Time::parse(b"100.75").since(Time::parse(b"99")), 1.75);
        assert!(Time::parse(b"x").since(start).is_nan());
        assert_eq!(Time::parse(b"8.1097E+14").ns, 810_970_000_000_000);
    }
}
