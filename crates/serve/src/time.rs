//! Times for people and programs, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// Nanoseconds since 1970.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i64)
}

/// Year, month, day, hour, minute, second.
fn parts(ns: i64) -> (i64, i64, i64, i64, i64, i64) {
    let seconds = ns.div_euclid(1_000_000_000);
    let (days, of_day) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // Days since March 1st of the year 0, in eras of 400 years: leap days come last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day, of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

/// `2026-11-16T05:20:00Z`
pub fn iso(ns: i64) -> String {
    let (year, month, day, hour, minute, second) = parts(ns);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// `2026-11-16 05:20`
pub fn short(ns: i64) -> String {
    let (year, month, day, hour, minute, _) = parts(ns);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(951_782_399_000_000_000), "2000-02-28T23:59:59Z");
        assert_eq!(iso(951_782_400_000_000_000), "2000-02-29T00:00:00Z");
        assert_eq!(iso(1_793_942_453_000_000_000), "2026-11-06T05:20:53Z");
        assert_eq!(iso(-1_000_000_000), "1969-12-31T23:59:59Z");
        assert_eq!(short(4_102_444_800_000_000_000), "2100-01-01 00:00");
    }
}
