//! Windows of time: how people write points in time, and which rows are in a window.

use std::fmt;
use std::str::FromStr;

use crate::Ns;
use crate::ids::ProcessId;
use crate::trace::Trace;

/// A point in time as a person writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A share of the trace's span (`30%`), in units of 10⁻⁹ percent so that no digit is lost.
    Share(u64),
    /// Nanoseconds after the trace's start (`1.2s`, `350ms`, `80us`).
    After(Ns),
    /// Nanoseconds of the trace's own clock, a plain whole number.
    At(Ns),
}

/// Why a text is not a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadMoment {
    /// Neither a share, nor a time, nor a whole number.
    Unknown,
    /// A share beyond 100 %.
    Beyond,
    /// Digits below a nanosecond (or below 10⁻⁹ percent).
    TooFine,
    /// More than 292 years.
    TooLong,
}

impl fmt::Display for BadMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadMoment::Unknown => {
                "a time is `30%` of the trace, `1.2s`, `350ms` or `80us` from its start, or whole nanoseconds of its clock"
            }
            BadMoment::Beyond => "a share of the trace must be between 0% and 100%",
            BadMoment::TooFine => "a time has at most nine decimals and cannot be finer than a nanosecond",
            BadMoment::TooLong => "a time must fit in 64 bits of nanoseconds (292 years)",
        })
    }
}

impl std::error::Error for BadMoment {}

/// Nine digits after the point, of a percentage.
const SHARE_DIGITS: u32 = 9;
const WHOLE: u64 = 100 * 10u64.pow(SHARE_DIGITS);

/// Suffixes and how many digits after the point are whole nanoseconds; `s` comes last: others end in it.
const UNITS: &[(&str, u32)] = &[("ns", 0), ("us", 3), ("µs", 3), ("μs", 3), ("ms", 6), ("s", 9)];

impl FromStr for Moment {
    type Err = BadMoment;

    fn from_str(text: &str) -> Result<Self, BadMoment> {
        let text = text.trim();
        if let Some(share) = text.strip_suffix('%') {
            let share = decimal(share, SHARE_DIGITS)?;
            return match u64::try_from(share) {
                Ok(share) if share <= WHOLE => Ok(Moment::Share(share)),
                _ => Err(BadMoment::Beyond),
            };
        }
        for (unit, digits) in UNITS {
            if let Some(number) = text.strip_suffix(unit) {
                let ns = decimal(number, *digits)?;
                return Ns::try_from(ns).map(Moment::After).map_err(|_| BadMoment::TooLong);
            }
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(BadMoment::Unknown);
        }
        text.parse().map(Moment::At).map_err(|_| BadMoment::TooLong)
    }
}

/// A decimal number times 10^`digits`, exactly.
fn decimal(text: &str, digits: u32) -> Result<u128, BadMoment> {
    let text = text.trim_end();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let numeric = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !numeric(whole) || !numeric(fraction) {
        return Err(BadMoment::Unknown);
    }
    let fraction = fraction.trim_end_matches('0');
    let missing = digits.checked_sub(fraction.len() as u32).ok_or(BadMoment::TooFine)?;
    let number = |part: &str| if part.is_empty() { Some(0u128) } else { part.parse().ok() };
    let scaled = || {
        let whole = number(whole)?.checked_mul(10u128.pow(digits))?;
        whole.checked_add(number(fraction)? * 10u128.pow(missing))
    };
    scaled().ok_or(BadMoment::TooLong)
}

impl Moment {
    /// The nanosecond for a trace with these bounds.
    pub fn resolve(self, bounds: (Ns, Ns)) -> Ns {
        let (first, last) = bounds;
        match self {
            Moment::Share(share) => {
                // 128 bits: a span times 10¹¹ overflows 64 bits, and floats lose nanoseconds after 104 days.
                let span = i128::from(last) - i128::from(first);
                (i128::from(first) + span * i128::from(share) / i128::from(WHOLE)) as Ns
            }
            Moment::After(ns) => first.saturating_add(ns),
            Moment::At(ns) => ns,
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Share(share) => write!(f, "{} %", shortest(*share, SHARE_DIGITS)),
            Moment::After(ns) => {
                let ns = ns.unsigned_abs();
                let (digits, unit) = match ns {
                    0..1_000 => (0, "ns"),
                    1_000..1_000_000 => (3, "us"),
                    1_000_000..1_000_000_000 => (6, "ms"),
                    _ => (9, "s"),
                };
                write!(f, "{} {unit}", shortest(ns, digits))
            }
            Moment::At(ns) => write!(f, "{ns} ns"),
        }
    }
}

/// A scaled number without trailing zeros.
fn shortest(scaled: u64, digits: u32) -> String {
    let one = 10u64.pow(digits);
    let (whole, fraction) = (scaled / one, scaled % one);
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:0width$}", width = digits as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// A time range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First nanosecond.
    pub start: Ns,
    /// Last nanosecond.
    pub end: Ns,
    /// Whether rows that only overlap it count; otherwise rows must be entirely inside.
    pub overlapping: bool,
}

impl Window {
    /// Whether a row is in it. Rows are kept or dropped whole, never clipped.
    pub fn holds(&self, start: Ns, end: Ns) -> bool {
        // A damaged row may end before it starts; it still covers the time in between.
        let (first, last) = (start.min(end), start.max(end));
        if self.overlapping {
            first <= self.end && last >= self.start
        } else {
            first >= self.start && last <= self.end
        }
    }
}

/// The window of each process: recordings on different clocks have separate windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Windows {
    /// All time.
    #[default]
    All,
    /// The same window for all processes.
    One(Window),
    /// One per process, by its number; a row without a process may be in any of them.
    PerProcess(Vec<Window>),
}

impl Windows {
    /// Whether a row of a process is in its window.
    pub fn hold(&self, process: ProcessId, start: Ns, end: Ns) -> bool {
        match self {
            Windows::All => true,
            Windows::One(window) => window.holds(start, end),
            Windows::PerProcess(windows) => match process.get().and_then(|process| windows.get(process)) {
                Some(window) => window.holds(start, end),
                None => windows.iter().any(|window| window.holds(start, end)),
            },
        }
    }
}

impl Trace {
    /// First and last nanosecond, which shares and times of a window are relative to: of all rows except
    /// Python frames, which most commands do not read, so that a window means the same for every command.
    pub fn bounds(&self) -> Option<(Ns, Ns)> {
        self.bounds_of(|_| true)
    }

    /// First and last nanosecond of the rows of some processes.
    pub fn bounds_of(&self, wanted: impl Fn(ProcessId) -> bool) -> Option<(Ns, Ns)> {
        let frames = self.strings.find("python_function");
        let mut bounds: Option<(Ns, Ns)> = None;
        let mut cover = |start: &[Ns], end: &[Ns], process: &[ProcessId], skip: &dyn Fn(usize) -> bool| {
            for (row, (&start, &end)) in start.iter().zip(end).enumerate() {
                if wanted(process[row]) && !skip(row) {
                    let (first, last) = bounds.unwrap_or((start.min(end), start.max(end)));
                    bounds = Some((first.min(start).min(end), last.max(start).max(end)));
                }
            }
        };
        let never = |_: usize| false;
        cover(&self.kernels.start, &self.kernels.end, &self.kernels.process, &never);
        cover(&self.memory_copies.start, &self.memory_copies.end, &self.memory_copies.process, &never);
        cover(
            &self.memory_allocations.start,
            &self.memory_allocations.end,
            &self.memory_allocations.process,
            &never,
        );
        cover(&self.samples.start, &self.samples.end, &self.samples.process, &never);
        cover(&self.syncs.start, &self.syncs.end, &self.syncs.process, &never);
        let is_frame = |row: usize| frames == Some(self.regions.category[row]);
        cover(&self.regions.start, &self.regions.end, &self.regions.process, &is_frame);
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn times_are_read_in_every_spelling() {
        let cases = [
            ("30%", Moment::Share(30_000_000_000)),
            ("0.000000001 %", Moment::Share(1)),
            ("100.0%", Moment::Share(WHOLE)),
            ("1.2s", Moment::After(1_200_000_000)),
            ("350ms", Moment::After(350_000_000)),
            ("80us", Moment::After(80_000)),
            ("80.5µs", Moment::After(80_500)),
            (".5 s", Moment::After(500_000_000)),
            ("7ns", Moment::After(7)),
            ("0", Moment::At(0)),
            ("-12", Moment::At(-12)),
            ("9223372036854775807", Moment::At(i64::MAX)),
        ];
        for (text, expected) in cases {
            assert_eq!(moment(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_reason() {
        let cases = [
            ("", BadMoment::Unknown),
            ("%", BadMoment::Unknown),
            ("s", BadMoment::Unknown),
            ("1.5", BadMoment::Unknown),
            ("1e9", BadMoment::Unknown),
            ("-5%", BadMoment::Unknown),
            ("3 hours", BadMoment::Unknown),
            ("1.2.3s", BadMoment::Unknown),
            ("100.1%", BadMoment::Beyond),
            ("1.0000000001s", BadMoment::TooFine),
            ("0.5ns", BadMoment::TooFine),
            ("99999999999999999999", BadMoment::TooLong),
            ("99999999999999999999999999999999999999999s", BadMoment::TooLong),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Moment>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn moments_are_shown_as_people_write_them() {
        for text in ["30 %", "12.5 %", "1.2 s", "350 ms", "80.25 us", "7 ns", "0 ns"] {
            assert_eq!(moment(text).to_string(), text);
        }
        assert_eq!(moment("12345678901").to_string(), "12345678901 ns");
    }

    /// A clock that starts at zero is a valid clock.
    #[test]
    fn shares_count_from_a_first_event_at_zero() {
        assert_eq!(moment("0%").resolve((0, 1_000)), 0);
        assert_eq!(moment("30%").resolve((0, 1_000)), 300);
        assert_eq!(moment("100%").resolve((0, 1_000)), 1_000);
        assert_eq!(moment("250ns").resolve((0, 1_000)), 250);
    }

    /// Floats are exact up to 2^53 ns, 104 days of uptime; clocks run longer.
    #[test]
    fn nanoseconds_beyond_2_to_the_53_are_exact() {
        let first = (1i64 << 53) + 1;
        assert_eq!(moment("9007199254740993").resolve((0, 1)), first);
        assert_eq!(moment("0%").resolve((first, first + 10)), first);
        assert_eq!(moment("50%").resolve((first, first + 10)), first + 5);
        assert_eq!(moment("100%").resolve((i64::MIN, i64::MAX)), i64::MAX);
        let window = Window { start: first, end: first + 2, overlapping: false };
        assert!(window.holds(first, first + 2));
        assert!(!window.holds(first - 1, first + 2) && !window.holds(first, first + 3));
    }

    #[test]
    fn a_window_holds_what_lies_inside_or_what_touches() {
        let inside = Window { start: 10, end: 20, overlapping: false };
        let touching = Window { overlapping: true, ..inside };
        // (row, wholly inside, touching)
        let cases = [
            ((10, 20), true, true),
            ((12, 12), true, true),
            ((9, 12), false, true),
            ((15, 21), false, true),
            ((0, 100), false, true),
            ((0, 10), false, true),
            ((20, 30), false, true),
            ((0, 9), false, false),
            ((21, 30), false, false),
            ((18, 12), true, true),
            ((50, 12), false, true),
        ];
        for ((start, end), whole, touched) in cases {
            assert_eq!(inside.holds(start, end), whole, "{start}..{end}");
            assert_eq!(touching.holds(start, end), touched, "{start}..{end}");
        }
    }
}
