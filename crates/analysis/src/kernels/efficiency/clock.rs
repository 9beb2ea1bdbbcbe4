//! The clock that a GPU ran at: from cycles counted with a dispatch, or from samples while the GPU worked. A
//! clock that the GPU cannot reach is counted and not used.

use std::sync::LazyLock;

use model::lanes::GpuRow;
use serde::Deserialize;
use trace::{AgentId, Map, Ns, StrId, Trace};

use crate::kernels::occupancy::cycles_of;

/// Readings may exceed the highest clock by this factor.
const MARGIN: f64 = 1.05;
/// No kernel runs at a lower clock; a sample below it is from an idle or sleeping GPU.
const SLOWEST_MHZ: f64 = 100.0;
/// Counters include up to 20 µs of dispatch start and end, which would inflate the clock of shorter kernels.
const COUNTED_NS: Ns = 400_000;
/// A sample this long after the last work still shows its clock.
const STILL_BUSY_NS: Ns = 1_000_000;
/// A sample says nothing about work further away than this.
const NEAR_NS: Ns = 1_000_000_000;

/// Where clocks come from, and what was rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockEvidence {
    /// Peak clock of the GPU, if known.
    pub peak_mhz: Option<f64>,
    /// Samples that were used.
    pub samples: usize,
    /// Dispatches whose own cycles were used.
    pub dispatches: usize,
    /// Samples and dispatches with a clock that the GPU cannot reach.
    pub impossible: usize,
    /// The highest impossible clock.
    pub impossible_mhz: f64,
    /// Time-weighted mean clock of the kernels for which one is known.
    pub mean_mhz: Option<f64>,
}

/// Clocks of the kernels of a trace.
pub(super) struct Clocks {
    peak_mhz: f64,
    /// Share of the peak by kernel, if its cycles were counted.
    counted: Vec<f64>,
    /// Sorted samples by GPU, as shares of the peak.
    samples: Map<AgentId, Vec<(Ns, f64)>>,
    pub evidence: ClockEvidence,
    /// Kernels with a known clock: their time, and their time weighted by share of the peak.
    seen: (f64, f64),
}

impl Clocks {
    /// `None` if the peak clock is not known.
    pub fn of(trace: &Trace, peak_mhz: Option<f64>, dies: Option<u32>) -> Option<Self> {
        let peak_mhz = peak_mhz.filter(|mhz| *mhz > 0.0)?;
        let evidence = ClockEvidence { peak_mhz: Some(peak_mhz), ..ClockEvidence::default() };
        let mut clocks =
            Self { peak_mhz, counted: Vec::new(), samples: Map::default(), evidence, seen: (0.0, 0.0) };
        clocks.read_samples(trace);
        clocks.read_counters(trace, f64::from(dies.unwrap_or(1).max(1)));
        Some(clocks)
    }

    fn read_samples(&mut self, trace: &Trace) {
        let samples = &trace.samples;
        let mut factors: Map<(StrId, StrId), Option<f64>> = Map::default();
        for row in 0..samples.len() {
            let key = (samples.name[row], samples.unit[row]);
            let factor = *factors
                .entry(key)
                .or_insert_with(|| engine_clock_mhz(trace.strings.get(key.0), trace.strings.get(key.1)));
            let Some(factor) = factor else { continue };
            if let Some(share) = self.possible(samples.value[row] * factor) {
                self.samples.entry(samples.agent[row]).or_default().push((samples.start[row], share));
            }
        }
        self.samples.values_mut().for_each(|samples| samples.sort_by_key(|sample| sample.0));
    }

    fn read_counters(&mut self, trace: &Trace, dies: f64) {
        if trace.counters.is_empty() && trace.counter_columns.is_empty() {
            return;
        }
        let cycles = cycles_of(trace);
        self.counted = vec![f64::NAN; trace.kernels.len()];
        for (row, &cycles) in cycles.iter().enumerate().filter(|(_, cycles)| cycles.is_finite()) {
            let ns = trace.kernels.end[row] - trace.kernels.start[row];
            if ns < COUNTED_NS {
                continue;
            }
            if let Some(share) = self.possible(cycles / dies / ns as f64 * 1000.0) {
                self.counted[row] = share;
                self.evidence.dispatches += 1;
            }
        }
    }

    /// A clock as a share of the peak; `None` if a working GPU cannot have it.
    fn possible(&mut self, mhz: f64) -> Option<f64> {
        if mhz > MARGIN * self.peak_mhz {
            self.evidence.impossible += 1;
            self.evidence.impossible_mhz = self.evidence.impossible_mhz.max(mhz);
            return None;
        }
        (mhz >= SLOWEST_MHZ).then(|| (mhz / self.peak_mhz).min(1.0))
    }

    /// The samples of a GPU while it worked.
    pub fn while_busy(&mut self, agent: AgentId, rows: &[GpuRow]) -> Vec<(Ns, f64)> {
        let samples = self.samples.get(&agent).or_else(|| self.samples.get(&AgentId::NONE));
        let Some(samples) = samples else { return Vec::new() };
        let mut found = Vec::new();
        let (mut next, mut until) = (0, Ns::MIN);
        for &(at, share) in samples {
            while let Some(row) = rows.get(next).filter(|row| row.work.start <= at) {
                until = until.max(row.work.end);
                next += 1;
            }
            if next > 0 && at <= until.saturating_add(STILL_BUSY_NS) {
                found.push((at, share));
            }
        }
        self.evidence.samples += found.len();
        found
    }

    /// The clock of a kernel as a share of the peak.
    pub fn share(&mut self, kernel: usize, (start, end): (Ns, Ns), samples: &[(Ns, f64)]) -> Option<f64> {
        let counted = self.counted.get(kernel).copied().filter(|share| share.is_finite());
        let share = counted.or_else(|| nearest(samples, start + (end - start) / 2))?;
        let time = (end - start) as f64;
        self.seen = (self.seen.0 + time, self.seen.1 + time * share);
        Some(share)
    }

    /// The evidence behind the clocks.
    pub fn finish(mut self) -> ClockEvidence {
        let (time, weighed) = self.seen;
        self.evidence.mean_mhz = (time > 0.0).then(|| weighed / time * self.peak_mhz);
        self.evidence
    }
}

fn nearest(samples: &[(Ns, f64)], at: Ns) -> Option<f64> {
    let after = samples.partition_point(|sample| sample.0 < at);
    let around = [after.checked_sub(1), Some(after)].into_iter().flatten();
    let near = around.filter_map(|place| samples.get(place)).min_by_key(|sample| (sample.0 - at).abs());
    near.filter(|sample| (sample.0 - at).abs() <= NEAR_NS).map(|sample| sample.1)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockName {
    names: Vec<String>,
    mhz: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockNames {
    clock: Vec<ClockName>,
}

static NAMES: LazyLock<Result<ClockNames, String>> =
    LazyLock::new(|| formats::tables::built_in(include_str!("../../../rules/clocks.toml")));

/// The factor from a sample's value to MHz; `None` if it is not an engine clock.
pub fn engine_clock_mhz(name: &str, unit: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let rule = NAMES.as_ref().ok()?.clock.iter().find(|rule| rule.names.contains(&name))?;
    Some(match unit.to_ascii_lowercase().as_str() {
        "ghz" => 1e3,
        "mhz" => 1.0,
        "khz" => 1e-3,
        "hz" => 1e-6,
        _ => rule.mhz,
    })
}

#[cfg(test)]
mod tests {
    use trace::Sample;

    use super::*;

    fn clocks(values: &[(i64, f64)]) -> Clocks {
        let mut trace = Trace::default();
        let (name, unit) = (trace.strings.intern("GPU clock"), trace.strings.intern("MHz"));
        for &(at, value) in values {
            trace.samples.push(Sample { start: at, end: at, name, unit, value, ..Sample::default() });
        }
        Clocks::of(&trace, Some(2100.0), Some(8)).unwrap()
    }

    #[test]
    fn an_impossible_clock_is_flagged_and_not_used() {
        let clocks = clocks(&[(5, 1050.0), (15, 28_000.0), (25, 7.0)]);
        assert_eq!(clocks.evidence.impossible, 1);
        assert_eq!(clocks.evidence.impossible_mhz, 28_000.0);
        assert_eq!(clocks.samples[&AgentId::NONE], [(5, 0.5)]);
    }

    #[test]
    fn names_are_known_with_their_units() {
        assert!(NAMES.is_ok(), "the table is read");
        assert_eq!(engine_clock_mhz("GPU clock", "MHz"), Some(1.0));
        assert_eq!(engine_clock_mhz("sclk", "Hz"), Some(1e-6));
        assert_eq!(engine_clock_mhz("rocm_sclk_clock_mhz", ""), Some(1.0));
        assert_eq!(engine_clock_mhz("Memory clock", "MHz"), None);
    }

    #[test]
    fn the_nearest_sample_counts_unless_it_is_far() {
        let samples = [(0, 0.5), (1_000, 0.9)];
        assert_eq!(nearest(&samples, 400), Some(0.5));
        assert_eq!(nearest(&samples, 600), Some(0.9));
        assert_eq!(nearest(&samples, 5_000_000_000), None);
        assert_eq!(nearest(&[], 5), None);
    }
}
