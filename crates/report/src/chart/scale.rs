//! Maps numbers to positions along an axis, and chooses its ticks.

use super::{Axis, Scale};
use crate::{Unit, Value, number};

/// A number on the axis and its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

/// An axis with fixed ends, between two positions on the canvas.
#[derive(Clone, Debug)]
pub struct Scaled {
    pub low: f64,
    pub high: f64,
    from: f64,
    to: f64,
    log: bool,
    unit: Unit,
}

impl Scaled {
    /// Decides the ends of an axis for `values`, at least one of which is inside them.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let log = axis.scale == Scale::Log;
        let usable = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (mut low, mut high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = if log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let positive = |end: Option<f64>| end.filter(|v| v.is_finite() && (!log || *v > 0.0));
        if log {
            // Some margin, so that nothing touches the frame.
            (low, high) = (low / 1.15, high * 1.15);
            if high / low < 4.0 {
                (low, high) = (low / 2.0, high * 2.0);
            }
        }
        low = positive(axis.min).unwrap_or(low);
        high = positive(axis.max).unwrap_or(high);
        if high <= low {
            high = if log { low * 10.0 } else { low + low.abs().max(1.0) };
        }
        Self { low, high, from, to, log, unit: axis.unit }
    }

    /// Extends the upper end to the next tick, for bars that should end below it.
    pub fn rounded(mut self, room_per_tick: f64) -> Self {
        if !self.log {
            let step = self.step(room_per_tick);
            self.high = (self.high / step - 1e-9).ceil() * step;
            self.low = (self.low / step + 1e-9).floor() * step;
        }
        self
    }

    /// The position of a number; numbers beyond the ends are clamped.
    pub fn place(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Whether a number is between the ends.
    pub fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Ticks that are at least this far apart.
    pub fn ticks(&self, room_per_tick: f64) -> Vec<Tick> {
        if self.log { self.log_ticks(room_per_tick) } else { self.linear_ticks(room_per_tick) }
    }

    fn step(&self, room_per_tick: f64) -> f64 {
        let count = ((self.to - self.from).abs() / room_per_tick).max(1.0);
        let (factor, _) = unit_factor(self.unit, self.high.abs().max(self.low.abs()));
        let least = (self.high - self.low) / factor / count;
        let power = 10f64.powf(least.log10().floor());
        let nice = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|n| n * power >= least * (1.0 - 1e-9));
        let step = nice.unwrap_or(10.0) * power;
        let whole =
            matches!(self.unit, Unit::Exact) || (self.unit == Unit::None && self.high - self.low > 3.0);
        factor * if whole { step.max(1.0).ceil() } else { step }
    }

    fn linear_ticks(&self, room_per_tick: f64) -> Vec<Tick> {
        let step = self.step(room_per_tick);
        let (factor, suffix) = unit_factor(self.unit, self.high.abs().max(self.low.abs()));
        let digits = (0..4).find(|&d| {
            let shown = step / factor * 10f64.powi(d);
            (shown - shown.round()).abs() < 1e-6
        });
        let digits = digits.unwrap_or(4) as usize;
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|n| {
                let value = n as f64 * step;
                let shown = value / factor;
                let label = match self.unit {
                    _ if n == 0 && suffix.is_empty() => "0".to_string(),
                    Unit::None if digits == 0 => number::show(&Value::Int(value.round() as i64), Unit::None),
                    _ if suffix.is_empty() => format!("{shown:.digits$}"),
                    _ => format!("{shown:.digits$} {suffix}"),
                };
                Tick { value, label }
            })
            .collect()
    }

    /// Powers of ten; only every second or third if there is no room for all.
    fn log_ticks(&self, room_per_tick: f64) -> Vec<Tick> {
        let decades = (self.high / self.low).log10();
        let per_decade = (self.to - self.from).abs() / decades;
        let every = (room_per_tick / per_decade).ceil().max(1.0) as i32;
        let digits: &[f64] = match per_decade / room_per_tick {
            many if many >= 5.0 => &[1.0, 2.0, 5.0],
            some if some >= 2.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let mut ticks = Vec::new();
        for power in (first..=last).filter(|power| power.rem_euclid(every) == 0) {
            for digit in digits {
                let value = digit * 10f64.powi(power);
                if self.holds(value) {
                    ticks.push(Tick { value, label: short(value, self.unit) });
                }
            }
        }
        ticks
    }
}

/// The factor and suffix that suit numbers up to `largest`.
fn unit_factor(unit: Unit, largest: f64) -> (f64, &'static str) {
    let scaled = |steps: &[(f64, &'static str)]| {
        let fits = steps.iter().rev().find(|(factor, _)| largest >= *factor);
        *fits.unwrap_or(&steps[0])
    };
    match unit {
        Unit::Ns => scaled(&[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")]),
        Unit::Bytes => scaled(&[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")]),
        Unit::Pct => (1.0, "%"),
        _ => (1.0, ""),
    }
}

/// A round number with its unit and no extra digits.
fn short(value: f64, unit: Unit) -> String {
    let (factor, suffix) = unit_factor(unit, value * (1.0 + 1e-9));
    let shown = value / factor;
    let digits = (0..6).find(|&d| (shown * 10f64.powi(d)).fract().abs() < 1e-6).unwrap_or(6) as usize;
    match (suffix, shown >= 10_000.0 && digits == 0) {
        ("", true) => number::show(&Value::Int(shown.round() as i64), Unit::None),
        ("", false) => format!("{shown:.digits$}"),
        _ => format!("{shown:.digits$} {suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], length: f64, room: f64) -> Vec<String> {
        let scaled = Scaled::new(axis, values.iter().copied(), 0.0, length);
        scaled.ticks(room).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_share_a_unit() {
        let ns = Axis::of(Unit::Ns);
        assert_eq!(
            labels(&ns, &[0.0, 1_000_000.0], 500.0, 120.0),
            ["0.00 ms", "0.25 ms", "0.50 ms", "0.75 ms", "1.00 ms"]
        );
        assert_eq!(
            labels(&ns, &[0.0, 870_000.0], 500.0, 100.0),
            ["0 µs", "200 µs", "400 µs", "600 µs", "800 µs"]
        );
        assert_eq!(
            labels(&Axis::of(Unit::Pct), &[0.0, 100.0], 400.0, 90.0),
            ["0 %", "25 %", "50 %", "75 %", "100 %"]
        );
        assert_eq!(labels(&Axis::default(), &[0.0, 3.0], 400.0, 90.0), ["0", "1", "2", "3"]);
        // A narrow range far from zero used to have no tick at all.
        assert_eq!(
            labels(&Axis::default().between(30.58, 30.63), &[], 400.0, 90.0),
            ["30.58", "30.60", "30.62"]
        );
        assert_eq!(
            labels(&Axis::default(), &[0.0, 2_000_000.0], 400.0, 150.0),
            ["0", "1,000,000", "2,000,000"]
        );
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        let ns = Axis::log(Unit::Ns).between(100.0, 10_000_000.0);
        assert_eq!(labels(&ns, &[], 500.0, 60.0), ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
        assert_eq!(labels(&ns, &[], 200.0, 60.0), ["100 ns", "10 µs", "1 ms"]);
        assert_eq!(
            labels(&Axis::log(Unit::None).between(0.01, 10.0), &[], 300.0, 60.0),
            ["0.01", "0.1", "1", "10"]
        );
    }

    #[test]
    fn places_run_from_end_to_end() {
        let linear = Scaled::new(&Axis::default(), [0.0, 10.0].into_iter(), 100.0, 200.0);
        assert_eq!((linear.place(0.0), linear.place(5.0), linear.place(99.0)), (100.0, 150.0, 200.0));
        let log = Scaled::new(&Axis::log(Unit::None).between(1.0, 100.0), [].into_iter(), 0.0, 100.0);
        assert_eq!((log.place(1.0), log.place(10.0).round(), log.place(-5.0)), (0.0, 50.0, 0.0));
        let none = Scaled::new(&Axis::default(), [].into_iter(), 0.0, 1.0);
        assert_eq!((none.low, none.high), (0.0, 1.0));
    }

    #[test]
    fn constant_data_still_has_an_axis() {
        for axis in [Axis::default(), Axis::log(Unit::None)] {
            let scaled = Scaled::new(&axis, [7.0, 7.0].into_iter(), 0.0, 100.0);
            assert!(scaled.high > scaled.low);
            assert!(!scaled.ticks(40.0).is_empty());
        }
    }
}
