//! The clock implied by cycle counters: cycles of a die over the time of the kernels. If the GPU cannot reach
//! that clock, cycles and times are not of the same work, and no figure per cycle can be trusted.

use report::{HealthCheck, HealthStatus};
use trace::{Agent, AgentId, Map, StrId, Trace};

use super::achieved::{ACTIVE, column};
use crate::kernels::gpu::{RecordedGpu, Specs};

/// Readings may exceed the highest clock by this factor.
const MARGIN: f64 = 1.05;
/// No GPU runs faster; used if its clock is not known.
const FASTEST_MHZ: f64 = 3500.0;
/// No GPU has more dies; used if the number is not known.
const MOST_DIES: f64 = 8.0;
/// Counters include launch start and end: at most as long as the kernel itself, and at most this long.
const AROUND_NS: f64 = 20_000.0;

/// Why a figure per cycle is absent.
pub(crate) const IMPOSSIBLE: &str = "its cycles imply a clock that this GPU cannot have";

/// Cycles and times of some dispatches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cycles {
    cycles: f64,
    ns: f64,
    /// The time in which the counter may have been running.
    counted_ns: f64,
}

impl Cycles {
    /// Adds a dispatch if it has both.
    pub fn add(&mut self, cycles: f64, ns: i64) {
        if cycles > 0.0 && ns > 0 {
            let ns = ns as f64;
            self.cycles += cycles;
            self.ns += ns;
            self.counted_ns += ns + ns.min(AROUND_NS);
        }
    }
}

/// The limits of a GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockLimit {
    mhz: f64,
    dies: f64,
}

impl ClockLimit {
    /// The limits of a GPU as far as known, otherwise the least strict.
    pub fn of(trace: &Trace, specs: &Specs, agent: Option<&Agent>) -> Self {
        let recorded = RecordedGpu::of(trace, specs, agent);
        let setup = recorded.setup();
        let arch = agent.and_then(|agent| hw::arch::find(trace.strings.get(agent.name)));
        let product = arch.zip(setup.product).and_then(|(arch, name)| arch.product(name));
        let dies = arch.and_then(|arch| hw::peaks::xccs(arch, &setup)).map(f64::from);
        Self {
            mhz: setup.clock_mhz.or(product.map(|product| product.clock_mhz)).unwrap_or(FASTEST_MHZ),
            dies: dies.unwrap_or(MOST_DIES),
        }
    }

    /// Whether these cycles cannot have happened in their time.
    pub fn excludes(&self, cycles: &Cycles) -> bool {
        cycles.cycles / self.dies > MARGIN * self.mhz / 1000.0 * cycles.counted_ns
    }

    fn ghz(&self, cycles: &Cycles) -> f64 {
        cycles.cycles / self.dies / cycles.ns
    }
}

/// The cycles of each dispatch over all dies; NaN if they were not counted.
pub(crate) fn cycles_of(trace: &Trace) -> Vec<f64> {
    column(trace, ACTIVE, "")
}

/// Kernels whose cycles imply an impossible clock, as a health check.
pub fn impossible_clock(trace: &Trace) -> Option<HealthCheck> {
    let specs = Specs::of(trace);
    let mut limits: Map<AgentId, ClockLimit> = Map::default();
    let mut names: Map<StrId, f64> = Map::default();
    let mut passes: Vec<&str> =
        trace.counter_columns.columns.iter().map(|column| trace.strings.get(column.pass)).collect();
    passes.push("");
    passes.sort_unstable();
    passes.dedup();
    let mut most_mhz: f64 = 0.0;
    for pass in passes {
        let cycles = column(trace, ACTIVE, pass);
        let mut tallies: Map<(StrId, AgentId), Cycles> = Map::default();
        for (row, &cycles) in cycles.iter().enumerate().filter(|(_, cycles)| cycles.is_finite()) {
            let kernels = &trace.kernels;
            let tally = tallies.entry((kernels.name[row], kernels.agent[row])).or_default();
            tally.add(cycles, kernels.end[row] - kernels.start[row]);
        }
        for ((name, agent), cycles) in tallies {
            let gpu = || ClockLimit::of(trace, &specs, agent.get().and_then(|agent| trace.agents.get(agent)));
            let limit = limits.entry(agent).or_insert_with(gpu);
            if limit.excludes(&cycles) {
                let ghz = names.entry(name).or_default();
                *ghz = ghz.max(limit.ghz(&cycles));
                most_mhz = most_mhz.max(limit.mhz);
            }
        }
    }
    let worst = names.values().copied().reduce(f64::max)?;
    let kernels = if names.len() == 1 { "1 kernel".into() } else { format!("{} kernels", names.len()) };
    Some(HealthCheck {
        id: "impossible_clock".into(),
        status: HealthStatus::Fail,
        value: Some(worst),
        message: format!(
            "{ACTIVE} of {kernels} implies a clock of up to {worst:.1} GHz, and the GPU reaches {:.1}: cycles and times are \
             not of the same work, so figures per cycle are not to be trusted",
            most_mhz / 1000.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excludes(cycles: f64, ns: i64) -> bool {
        let mut tally = Cycles::default();
        tally.add(cycles, ns);
        ClockLimit { mhz: 2100.0, dies: 8.0 }.excludes(&tally)
    }

    #[test]
    fn clocks_of_seven_gigahertz_are_impossible_and_short_kernels_get_their_start_and_end() {
        assert!(!excludes(8.0 * 2.1e6, 1_000_000), "2.1 GHz");
        assert!(excludes(8.0 * 2.3e6, 1_000_000), "2.3 GHz over a millisecond");
        assert!(excludes(8.0 * 7e4, 10_000), "7 GHz");
        // From real files: 15 µs, and 27 µs of cycles.
        assert!(!excludes(454_139.0, 15_040));
        assert!(excludes(2_569_126.0, 15_040));
        assert!(!excludes(1e9, 0), "no time, no clock");
    }
}
