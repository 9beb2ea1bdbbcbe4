//! Times in formats for people and other machines.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A calendar time, in UTC.
struct Calendar {
    date: (i64, u64, u64),
    time: (u64, u64, u64),
}

impl Calendar {
    fn of(time: SystemTime) -> Self {
        let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        // Days from 1 March of year 0, in eras of 400 years.
        let day = days + 719_468;
        let (era, day_of_era) = (day / 146_097, day % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = (year_of_era + era * 400) as i64 + i64::from(month <= 2);
        let date = (year, month, day_of_year - (153 * shifted + 2) / 5 + 1);
        Self { date, time: (second / 3600, second / 60 % 60, second % 60) }
    }
}

/// `2026-11-15_07-04-38`, for folders.
pub(super) fn for_folder(time: SystemTime) -> String {
    let Calendar { date: (y, m, d), time: (h, min, s) } = Calendar::of(time);
    format!("{y:04}-{m:02}-{d:02}_{h:02}-{min:02}-{s:02}")
}

/// `2026-11-15T07:04:38Z`.
pub fn iso(time: SystemTime) -> String {
    let Calendar { date: (y, m, d), time: (h, min, s) } = Calendar::of(time);
    format!("{y:04}-{m:02}-{d:02}T{h:02}:{min:02}:{s:02}Z")
}

/// Wall-clock time minus time since boot, which profilers use: aligns traces of several machines.
pub(super) fn wall_minus_boot_ns() -> Option<i64> {
    let mut boot = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a whole timespec of ours.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut boot) } != 0;
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    (!failed).then(|| wall.as_nanos() as i64 - (boot.tv_sec * 1_000_000_000 + boot.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_is_right() {
        let at = |seconds| iso(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_794_726_278), "2026-11-15T07:04:38Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(for_folder(UNIX_EPOCH), "1970-01-01_00-00-00");
    }
}
