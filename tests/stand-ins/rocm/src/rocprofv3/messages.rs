//! The real profiler's messages on stderr, in their own formats.

use crate::settings::{self, Version};

/// The launcher's prefix: newer ones print their name.
pub(super) fn prefix() -> &'static str {
    if settings::rocm_version() >= Version(7, 13, 0) { "[rocprofv3] " } else { "" }
}

/// A warning of the launcher.
pub(super) fn warning(message: &str) {
    eprintln!("{}Warning: {message}", prefix());
}

/// A line of the library, in glog's form. `level`: `E`, `W`, `F`.
pub(crate) fn library(level: char, place: &str, message: &str) {
    eprintln!("{}", library_line(level, place, message));
}

/// The text of such a line.
pub(crate) fn library_line(level: char, place: &str, message: &str) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let (date, time) = date_and_time(since.as_secs());
    let pid = std::process::id();
    format!("{level}{date} {time}.{:06} {pid} {place}] {message}", since.subsec_micros())
}

/// `20250616` and `14:24:55` of a moment in UTC.
pub(crate) fn date_and_time(seconds: u64) -> (String, String) {
    // Civil date from days since 1970, by Howard Hinnant's algorithm.
    let days = (seconds / 86_400) as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let doe = days.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let month = (5 * doy + 2) / 153;
    let day = doy - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let of_day = seconds % 86_400;
    (
        format!("{year:04}{month:02}{day:02}"),
        format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60),
    )
}
