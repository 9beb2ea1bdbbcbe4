//! Achieved occupancy: mean number of resident waves from counters, next to the number that would fit.
//!
//! ```text
//! waves per CU = SQ_LEVEL_WAVES added up every cycle / (GRBM_GUI_ACTIVE / XCCs) / CUs
//!              = 4 × SQ_WAVE_CYCLES / (GRBM_GUI_ACTIVE / XCCs) / CUs              (CDNA, where waves count every 4th cycle)
//! ```
//!
//! All reports use this achieved occupancy, except the panels, whose formulas are AMD's: those divide the
//! level of one pass by the cycles of another. If cycles imply an impossible clock, there is no occupancy.

use trace::{AgentId, Map, Table, Trace};

use super::clock::{ClockLimit, Cycles, IMPOSSIBLE};
use super::recorded::{lds_of, workgroup_of};
use super::rounded;
use crate::kernels::gpu::{RecordedGpu, Specs};

/// Waves that were resident.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resident {
    /// Mean over time and compute units.
    pub waves_per_cu: f64,
    /// Share of the wave slots.
    pub percent: f64,
}

impl Resident {
    /// The percentage to four digits.
    pub fn shown_pct(&self) -> f64 {
        rounded(self.percent)
    }
}

/// Identifies a launch in two runs of the same program.
pub(super) type Launch<'t> = (&'t str, Option<u32>, Option<u32>);

/// Resident waves of the kernels of a run with counters.
pub(crate) struct Achieved<'t> {
    by_launch: Map<Launch<'t>, Result<Resident, &'static str>>,
    by_name: Map<&'t str, Result<Resident, &'static str>>,
    counted: bool,
}

/// The wave level summed over cycles, as two tools name it; the second measures it in its own pass.
const LEVEL: &str = "SQ_LEVEL_WAVES_ACCUM";
const LEVEL_OF_PASS: &str = "SQ_ACCUM_PREV_HIRES";
const LEVEL_PASS: &str = "SQ_LEVEL_WAVES";
pub(super) const ACTIVE: &str = "GRBM_GUI_ACTIVE";
const WAVE_CYCLES: &str = "SQ_WAVE_CYCLES";
/// Cycles between two samples of the waves.
const WAVE_CYCLES_STEP: f64 = 4.0;

/// The cheapest counters that give achieved occupancy on an architecture; empty if there are none.
pub fn occupancy_counters(arch: &hw::Arch) -> Vec<&'static str> {
    let waves = if arch.is_cdna() { WAVE_CYCLES } else { LEVEL };
    let known = |name: &&str| hw::counters::find(&arch.name, name).is_some();
    let names = vec![ACTIVE, waves];
    if names.iter().all(known) { names } else { Vec::new() }
}

/// Sums over the dispatches with both counters of a formula.
#[derive(Clone, Copy, Default)]
struct Sums {
    waves: f64,
    cycles: f64,
    clock: Cycles,
}

impl Sums {
    fn add(&mut self, waves: f64, cycles: f64, ns: i64) {
        if waves.is_finite() && cycles > 0.0 {
            (self.waves, self.cycles) = (self.waves + waves, self.cycles + cycles);
            self.clock.add(cycles, ns);
        }
    }
}

impl<'t> Achieved<'t> {
    pub fn of(trace: &'t Trace) -> Self {
        let counted = !trace.counters.is_empty() || !trace.counter_columns.is_empty();
        let mut achieved = Achieved { by_launch: Map::default(), by_name: Map::default(), counted };
        if !counted {
            return achieved;
        }
        let level = column(trace, LEVEL, "");
        let cycles = column(trace, WAVE_CYCLES, "");
        let active = column(trace, ACTIVE, "");
        let pass = (column(trace, LEVEL_OF_PASS, LEVEL_PASS), column(trace, ACTIVE, LEVEL_PASS));
        let mut by_launch: Map<(Launch<'t>, AgentId), (Sums, Sums)> = Map::default();
        let mut by_name: Map<(&'t str, AgentId), (Sums, Sums)> = Map::default();
        for row in 0..trace.kernels.len() {
            let shape = trace.shapes.get(trace.kernels.shape[row]);
            let name = trace.strings.get(trace.kernels.name[row]);
            let (launch, agent) = ((name, workgroup_of(shape), lds_of(shape)), trace.kernels.agent[row]);
            let ns = trace.kernels.end[row] - trace.kernels.start[row];
            let sums =
                [by_launch.entry((launch, agent)).or_default(), by_name.entry((name, agent)).or_default()];
            for (levels, by_cycles) in sums {
                levels.add(level[row], active[row], ns);
                levels.add(pass.0[row], pass.1[row], ns);
                by_cycles.add(WAVE_CYCLES_STEP * cycles[row], active[row], ns);
            }
        }
        let specs = Specs::of(trace);
        achieved.by_launch = told(trace, &specs, by_launch);
        achieved.by_name = told(trace, &specs, by_name);
        achieved
    }

    /// The waves of a launch, or why they are not known.
    pub fn get(&self, launch: Launch<'_>) -> Result<Resident, &'static str> {
        if !self.counted {
            return Err("no counters were collected");
        }
        self.by_launch.get(&launch).copied().unwrap_or(Err("it was not launched in the run with counters"))
    }

    /// The waves of all launches of a kernel, or why they are not known.
    pub fn of_kernel(&self, name: &str) -> Result<Resident, &'static str> {
        if !self.counted {
            return Err("no counters were collected");
        }
        self.by_name.get(name).copied().unwrap_or(Err("it was not launched in the run with counters"))
    }
}

/// Resident waves by key, or why they are not known. With several GPUs, any known one is used.
fn told<K: Eq + std::hash::Hash>(
    trace: &Trace,
    specs: &Specs,
    sums: Map<(K, AgentId), (Sums, Sums)>,
) -> Map<K, Result<Resident, &'static str>> {
    let mut all: Map<K, Result<Resident, &'static str>> = Map::default();
    for ((key, agent), (levels, by_cycles)) in sums {
        let found = resident(trace, specs, agent, levels, by_cycles);
        let known = all.entry(key).or_insert(found);
        if known.is_err() {
            *known = found;
        }
    }
    all
}

/// A counter by dispatch, summed over instances; NaN if it was not collected.
pub(super) fn column(trace: &Trace, counter: &str, pass: &str) -> Vec<f64> {
    let mut values = vec![f64::NAN; trace.kernels.len()];
    let mut add = |kernel: usize, value: f64| {
        if let (Some(sum), true) = (values.get_mut(kernel), value.is_finite()) {
            *sum = if sum.is_nan() { value } else { *sum + value };
        }
    };
    let counters = &trace.counters;
    let named = |kind: &trace::CounterKind| trace.strings.get(kind.name) == counter;
    let kinds: Vec<bool> = trace.counter_kinds.iter().map(named).collect();
    if pass.is_empty() && kinds.contains(&true) {
        for row in 0..counters.len() {
            let kind = counters.counter[row].get();
            if let Some(kernel) = counters.kernel[row].row_of(Table::Kernels)
                && kind.is_some_and(|kind| kinds[kind])
            {
                add(kernel, counters.value[row]);
            }
        }
    }
    let text = |id: trace::StrId| trace.strings.get(id);
    for column in &trace.counter_columns.columns {
        if text(column.counter) == counter && text(column.pass) == pass {
            column.values.iter().enumerate().for_each(|(kernel, &value)| add(kernel, value));
        }
    }
    values
}

fn resident(
    trace: &Trace,
    specs: &Specs,
    agent: AgentId,
    levels: Sums,
    by_cycles: Sums,
) -> Result<Resident, &'static str> {
    let agent = agent.get().and_then(|agent| trace.agents.get(agent)).ok_or("the GPU is not recorded")?;
    let arch = hw::arch::find(trace.strings.get(agent.name)).ok_or("the GPU is not known")?;
    let recorded = RecordedGpu::of(trace, specs, Some(agent));
    let setup = recorded.setup();
    let product = setup.product.and_then(|name| arch.product(name));
    let units = setup.cus.or(product.map(|product| product.cus));
    let units = units.map(f64::from).ok_or("how many compute units the GPU has is not known")?;
    let dies =
        hw::peaks::xccs(arch, &setup).map(f64::from).ok_or("how many XCCs the GPU has is not known")?;
    let limit = ClockLimit::of(trace, specs, Some(agent));
    let sound = |sums: &Sums| sums.cycles > 0.0 && !limit.excludes(&sums.clock);
    let by_levels = !arch.is_cdna() || sound(&levels) || (levels.cycles > 0.0 && !sound(&by_cycles));
    let sums = if by_levels { levels } else { by_cycles };
    if sums.cycles <= 0.0 {
        return Err(if arch.is_cdna() {
            "needs the counters GRBM_GUI_ACTIVE, and SQ_LEVEL_WAVES_ACCUM or SQ_WAVE_CYCLES"
        } else {
            "needs the counters GRBM_GUI_ACTIVE and SQ_LEVEL_WAVES_ACCUM"
        });
    }
    if limit.excludes(&sums.clock) {
        return Err(IMPOSSIBLE);
    }
    let waves_per_cu = sums.waves / (sums.cycles / dies) / units;
    let percent = 100.0 * waves_per_cu / f64::from(arch.max_waves_per_cu().max(1));
    Ok(Resident { waves_per_cu, percent })
}
