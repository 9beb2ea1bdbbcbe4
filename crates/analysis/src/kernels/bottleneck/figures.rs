//! Figures of each kernel: its counters, its launches, the time around it and the GPU it ran on.

use trace::{AgentId, Map, StrId, Table, Trace};

use super::verdict::{Figures, Verdict, judge_on};
use super::waits::Waits;
use crate::kernels::gpu::{RecordedGpu, Specs, take_measured};
use crate::kernels::occupancy::{Achieved, ClockLimit, Cycles, cycles_of};
use model::names::is_of_runtime;

/// Cycles in which the GPU worked; all figures per cycle depend on this counter.
const CYCLE_COUNTER: &str = "GRBM_GUI_ACTIVE";

/// Facts besides counters, and whether every source should record them: times, and the GPU.
pub const FACTS: &[(&str, bool)] = &[
    ("duration_ns", true),
    ("dispatches", false),
    ("mean_ns", true),
    ("launch_idle_ns", false),
    ("host_idle_ns", false),
    ("gpu_idle_pct", false),
    ("workgroups", false),
    ("workgroups_per_cu", false),
    ("occupancy_pct", false),
    ("achieved_occupancy_pct", false),
    ("scratch_bytes", false),
    ("cus", true),
    ("xccs", true),
    ("simds", true),
    ("clock_mhz", true),
    ("peak_hbm_gbps", true),
    ("peak_l2_gbps", true),
    ("peak_l1_gbps", true),
    ("tail_pct", false),
    ("att_stall_pct", false),
    ("att_memory_wait_pct", false),
    ("att_barrier_pct", false),
    ("att_fetch_pct", false),
    ("att_lds_wait_pct", false),
];

/// All dispatches with one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelFigures {
    /// Recorded kernel name.
    pub name: String,
    /// Sum of dispatch times.
    pub total_ns: i64,
    /// Its known figures.
    pub figures: Figures,
    /// Its architecture as the counter catalogue names it, if known.
    pub arch: Option<String>,
    /// The GPU of its last dispatch.
    pub(super) agent: Option<AgentId>,
    /// Its cycles imply a clock that the GPU cannot have, so they are left out of its figures.
    pub impossible_clock: bool,
}

impl KernelFigures {
    /// What bounds it.
    pub fn judge(&self) -> Verdict {
        judge_on(&self.figures, self.arch.as_deref())
    }
}

#[derive(Default)]
struct Tally {
    dispatches: usize,
    total: i64,
    workgroups: f64,
    scratch: f64,
    agent: AgentId,
    /// The longest launch: its row.
    largest: usize,
    largest_ns: i64,
    counters: Map<String, f64>,
    cycles: Cycles,
}

/// The figures of every kernel: the program's own before the runtime's, most time first.
pub fn kernel_figures(trace: &Trace) -> Vec<KernelFigures> {
    let counted = !trace.counters.is_empty() || !trace.counter_columns.is_empty();
    // Reading counters runs kernels one at a time, so the time between them means nothing.
    let waits = if counted { Waits::default() } else { Waits::of(trace) };
    let mut kernels = kernel_figures_where(trace, |_| true);
    for kernel in &mut kernels {
        let id = trace.strings.find(&kernel.name);
        if let Some(wait) = id.and_then(|id| waits.by_name.get(&id)) {
            kernel.figures.insert("launch_idle_ns".into(), wait.launch_ns);
            kernel.figures.insert("host_idle_ns".into(), wait.host_ns);
        }
        if let Some(&idle) = kernel.agent.and_then(|agent| waits.idle_pct.get(&agent)) {
            kernel.figures.insert("gpu_idle_pct".into(), idle);
        }
    }
    if counted {
        let achieved = Achieved::of(trace);
        for kernel in &mut kernels {
            if let Ok(resident) = achieved.of_kernel(&kernel.name) {
                kernel.figures.insert("achieved_occupancy_pct".into(), resident.percent);
            }
        }
    }
    kernels.sort_by_key(|kernel| is_of_runtime(&kernel.name));
    kernels
}

/// The figures of the wanted rows of `kernels`, most time first.
pub(crate) fn kernel_figures_where(trace: &Trace, wanted: impl Fn(usize) -> bool) -> Vec<KernelFigures> {
    let kernels = &trace.kernels;
    let mut tallies: Map<StrId, Tally> = Map::default();
    for i in (0..kernels.len()).filter(|&i| wanted(i)) {
        let (start, end) = (kernels.start[i], kernels.end[i].max(kernels.start[i]));
        let tally = tallies.entry(kernels.name[i]).or_default();
        tally.dispatches += 1;
        tally.total += end - start;
        tally.agent = kernels.agent[i];
        if end - start >= tally.largest_ns {
            (tally.largest, tally.largest_ns) = (i, end - start);
        }
        let shape = trace.shapes.get(kernels.shape[i]);
        tally.workgroups = tally.workgroups.max(workgroups(shape));
        tally.scratch = tally.scratch.max(shape.scratch_bytes.get().unwrap_or(0) as f64);
    }
    let cycles = cycles_of(trace);
    for i in (0..kernels.len()).filter(|&i| wanted(i)) {
        if let Some(tally) = tallies.get_mut(&kernels.name[i]) {
            tally.cycles.add(cycles[i], kernels.end[i] - kernels.start[i]);
        }
    }
    each_counter(trace, |kernel, counter, value| {
        if let (Some(tally), true) = (tallies.get_mut(&kernels.name[kernel]), wanted(kernel)) {
            *tally.counters.entry(trace.strings.get(counter).to_string()).or_default() += value;
        }
    });
    let mut gpus: Map<AgentId, Option<Gpu>> = Map::default();
    for tally in tallies.values() {
        gpus.entry(tally.agent).or_insert_with(|| Gpu::of(trace, tally.agent));
    }
    let specs = Specs::of(trace);
    let mut found: Vec<KernelFigures> = tallies
        .into_iter()
        .map(|(name, mut tally)| {
            let gpu = gpus.get(&tally.agent).and_then(Option::as_ref);
            let agent = tally.agent.get().and_then(|agent| trace.agents.get(agent));
            let impossible_clock = ClockLimit::of(trace, &specs, agent).excludes(&tally.cycles);
            if impossible_clock {
                tally.counters.remove(CYCLE_COUNTER);
            }
            KernelFigures {
                name: trace.strings.get(name).to_string(),
                total_ns: tally.total,
                figures: figures(trace, &tally, gpu),
                arch: gpu.map(|gpu| gpu.arch.facts.counters.clone()),
                agent: Some(tally.agent),
                impossible_clock,
            }
        })
        .collect();
    found.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    found
}

fn workgroups(shape: &trace::LaunchShape) -> f64 {
    match (shape.grid, shape.workgroup) {
        (Some(grid), Some(group)) => {
            let along = |i: usize| f64::from(grid[i].max(1).div_ceil(group[i].max(1)));
            along(0) * along(1) * along(2)
        }
        _ => 0.0,
    }
}

/// Calls `each` with the kernel row, the counter name and the value, for all values in a trace.
pub(crate) fn each_counter(trace: &Trace, mut each: impl FnMut(usize, StrId, f64)) {
    let counters = &trace.counters;
    for row in 0..counters.len() {
        let (Some(kernel), Some(kind)) =
            (counters.kernel[row].row_of(Table::Kernels), counters.counter[row].get())
        else {
            continue;
        };
        if counters.value[row].is_finite() {
            each(kernel, trace.counter_kinds[kind].name, counters.value[row]);
        }
    }
    // Level passes count the same counters again under the same names.
    for column in trace.counter_columns.columns.iter().filter(|column| column.pass.is_empty()) {
        for (kernel, &value) in column.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            each(kernel, column.counter, value);
        }
    }
}

/// Adds a counter under its name and its `_sum` name: values of several instances are sums either way.
pub(crate) fn put_counter(figures: &mut Figures, name: &str, value: f64) {
    if value.is_finite() {
        figures.insert(name.to_string(), value);
        if !name.ends_with("_sum") && !name.contains('[') {
            figures.insert(format!("{name}_sum"), value);
        }
    }
}

/// A GPU, and the facts that rules may use.
struct Gpu {
    arch: &'static hw::Arch,
    facts: Vec<(&'static str, f64)>,
    /// Whether the profiler recorded half the registers.
    halved: bool,
}

impl Gpu {
    fn of(trace: &Trace, agent: AgentId) -> Option<Self> {
        let agent = trace.agents.get(agent.get()?)?;
        let arch = hw::arch::find(trace.strings.get(agent.name))?;
        let recorded = RecordedGpu::of(trace, &Specs::of(trace), Some(agent));
        let setup = recorded.setup();
        let product = setup.product.and_then(|name| arch.product(name));
        let mut peaks = hw::peaks::peaks(arch, &setup);
        // What was measured here is a better ceiling than a data sheet.
        take_measured(trace, &mut peaks);
        let cus = setup.cus.or(product.map(|product| product.cus)).map(f64::from);
        let per_second = |level| peaks.bandwidth(level).map(|rate| rate / 1e9);
        let facts = [
            ("simds", Some(f64::from(arch.facts.simds_per_cu))),
            ("cus", cus),
            ("xccs", hw::peaks::xccs(arch, &setup).map(f64::from)),
            ("clock_mhz", setup.clock_mhz.or(product.map(|product| product.clock_mhz))),
            ("peak_hbm_gbps", per_second(hw::Level::Hbm)),
            ("peak_l2_gbps", per_second(hw::Level::L2)),
            ("peak_l1_gbps", per_second(hw::Level::L1)),
        ];
        let known = |(name, value): (&'static str, Option<f64>)| Some((name, value?));
        let facts = facts.into_iter().filter_map(known).collect();
        Some(Self { arch, facts, halved: crate::kernels::occupancy::registers_are_halved(trace, arch) })
    }
}

fn figures(trace: &Trace, tally: &Tally, gpu: Option<&Gpu>) -> Figures {
    let mut figures = Figures::new();
    for (name, &value) in &tally.counters {
        put_counter(&mut figures, name, value);
    }
    let mut put = |name: &str, value: f64| {
        if value.is_finite() {
            figures.insert(name.to_string(), value);
        }
    };
    put("dispatches", tally.dispatches as f64);
    // Some sources have no times or rounded ones; that does not mean zero time.
    if tally.total > 0 {
        put("duration_ns", tally.total as f64);
        put("mean_ns", tally.total as f64 / tally.dispatches.max(1) as f64);
    }
    if tally.workgroups > 0.0 {
        put("workgroups", tally.workgroups);
    }
    let shape = trace.shapes.get(trace.kernels.shape[tally.largest]);
    if shape.scratch_bytes.get().is_some() {
        put("scratch_bytes", tally.scratch);
    }
    let Some(gpu) = gpu else { return figures };
    gpu.facts.iter().for_each(|&(name, value)| put(name, value));
    if let Some(resources) = resources(shape, gpu.halved) {
        let occupancy = hw::occupancy::theoretical(gpu.arch, &resources);
        put("occupancy_pct", occupancy.percent());
        let per_cu = f64::from(occupancy.workgroups) / f64::from(occupancy.cus.max(1));
        put_workgroups(&mut figures, per_cu);
    }
    figures
}

/// Adds the workgroups per compute unit and, if the launch is known, the empty part of the last round.
pub(crate) fn put_workgroups(figures: &mut Figures, per_cu: f64) {
    let known = |name: &str| figures.get(name).copied();
    let rounds = known("workgroups").zip(known("cus")).map(|(all, cus)| all / (cus * per_cu));
    figures.insert("workgroups_per_cu".to_owned(), per_cu);
    // Without a recorded launch there are no rounds.
    if let Some(rounds) = rounds.filter(|rounds| rounds.is_finite() && *rounds > 0.0) {
        figures.insert("tail_pct".to_owned(), 100.0 * (1.0 - rounds / rounds.ceil()));
    }
}

/// The resources of a launch; `None` if registers or the workgroup are not recorded.
fn resources(shape: &trace::LaunchShape, halved: bool) -> Option<hw::occupancy::KernelResources> {
    let whole = |value: trace::OptI64| value.get().and_then(|value| u32::try_from(value).ok());
    let registers = (whole(shape.vgpr)?, whole(shape.agpr).unwrap_or(0));
    let (vgpr, agpr) = if halved { crate::kernels::occupancy::restored(registers.0) } else { registers };
    Some(hw::occupancy::KernelResources {
        vgpr,
        agpr,
        sgpr: whole(shape.sgpr).unwrap_or(0),
        lds_bytes: whole(shape.lds_bytes).unwrap_or(0),
        workgroup: shape.workgroup?.iter().product(),
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Agent, AgentKind, Kernel, Process, Source};

    /// Kernels with these names and durations, one after the other.
    fn trace_of(rows: &[(&str, i64)]) -> Trace {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("t", "rocpd"));
        let process = trace.add_process(Process::new(source, 1));
        let name = trace.strings.intern("gfx942");
        let agent = trace.add_agent(Agent { process, kind: AgentKind::Gpu, name, ..Agent::default() });
        let mut start = 0;
        for (name, length) in rows {
            let name = trace.strings.intern(name);
            let end = start + length;
            trace.kernels.push(Kernel { start, end, name, agent, process, ..Kernel::default() });
            start = end;
        }
        trace.finish();
        trace
    }

    #[test]
    fn a_fill_of_the_runtime_is_never_the_kernel() {
        let rows = [("__amd_rocclr_fillBufferAligned", 900_000), ("small", 1000), ("vector_add", 50_000)];
        let names: Vec<String> = kernel_figures(&trace_of(&rows)).into_iter().map(|k| k.name).collect();
        assert_eq!(names, ["vector_add", "small", "__amd_rocclr_fillBufferAligned"]);
    }
}
