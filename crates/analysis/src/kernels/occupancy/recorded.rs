//! Kernels of a trace: registers and launches as recorded, one row per name and set of resources.

use report::{Note, Remedy};
use std::collections::BTreeMap;

use hw::code_object::CodeObjectKernel;
use trace::{LaunchShape, Map, OptI64, Trace};

use super::achieved::Achieved;
use super::gfx950::{self, Verdict};
use super::{CODE_OBJECT, KernelUse, OccupancyOptions, PROFILER};
use model::names;

/// The architecture whose registers may be recorded wrong.
const GFX950: &str = "gfx950";

/// Kernels with the same key share a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    name: String,
    arch: String,
    vgpr: Option<u32>,
    agpr: Option<u32>,
    sgpr: Option<u32>,
    lds_bytes: Option<u32>,
    scratch_bytes: Option<u32>,
    workgroup: Option<u32>,
    /// LDS as launched, whatever the code object says.
    launched_lds: Option<u32>,
    lds_from: &'static str,
    scratch_from: &'static str,
}

#[derive(Default)]
struct Tally {
    calls: u64,
    total_ns: i64,
    launched_waves_per_cu: Option<f64>,
    from_code: Option<usize>,
}

pub(super) fn kernels(trace: &Trace, options: &OccupancyOptions) -> (Vec<KernelUse>, Vec<Note>) {
    let code = Code::of(options);
    let mut notes = Vec::new();
    let mut tallies: BTreeMap<Key, Tally> = BTreeMap::new();
    for ((name, shape, agent, symbol), (calls, total_ns)) in launches(trace) {
        let shape = trace.shapes.get(shape);
        let agent = agent.get().and_then(|agent| trace.agents.get(agent));
        let recorded_arch = agent.map_or("", |agent| hw::arch::base_name(trace.strings.get(agent.name)));
        let arch = match options.arch {
            Some(arch) if !recorded_arch.starts_with("gfx") => arch.name.as_str(),
            _ if recorded_arch.starts_with("gfx") => recorded_arch,
            _ => "",
        };
        let name = trace.strings.get(name);
        let symbol = symbol.get().and_then(|symbol| trace.symbols.get(symbol));
        let mangled = symbol.map(|symbol| trace.strings.get(symbol.kernel_name));
        let from_code = code.find(arch, mangled.unwrap_or(name)).or_else(|| code.find(arch, name));
        let mut key = key(name, arch, shape, options);
        if let Some(kernel) = from_code.map(|at| code.kernels[at]) {
            (key.vgpr, key.agpr, key.sgpr) = (Some(kernel.vgpr), Some(kernel.agpr), Some(kernel.sgpr));
            // A launch may add its own LDS and scratch, so prefer the recorded values if there are any.
            if key.lds_bytes.is_none() {
                (key.lds_bytes, key.lds_from) = (Some(kernel.lds_bytes), CODE_OBJECT);
            }
            if key.scratch_bytes.is_none() {
                (key.scratch_bytes, key.scratch_from) = (Some(kernel.scratch_bytes), CODE_OBJECT);
            }
        }
        let wave_size = hw::arch::find(arch).map(|arch| arch.wave_size());
        let launched = launched_waves(shape, wave_size)
            .zip(agent.and_then(|agent| agent.compute_units.get()))
            .map(|(waves, units)| waves / units.max(1) as f64);
        let tally = tallies.entry(key).or_default();
        tally.calls += calls;
        tally.total_ns += total_ns;
        tally.from_code = from_code;
        tally.launched_waves_per_cu =
            [tally.launched_waves_per_cu, launched].into_iter().flatten().reduce(f64::max);
    }
    let verdict = gfx950::judge(
        tallies
            .iter()
            .filter(|(key, tally)| key.arch == GFX950 && tally.from_code.is_none())
            .filter_map(|(key, _)| Some((key.vgpr?, key.agpr.unwrap_or(0)))),
    );
    let on_gfx950 = tallies.keys().any(|key| key.arch == GFX950 && key.vgpr.is_some());
    match verdict {
        Verdict::Halved => notes.push(Note::new(
            "the profiler gave half the registers of gfx950 kernels (a mistake of releases before mid-2026): vgpr is \
             doubled here",
            Remedy::CodeObject,
        )),
        Verdict::Unclear if on_gfx950 => notes.push(Note::new(
            "profilers before mid-2026 record half the registers of gfx950 kernels, and these counts do not show which it is",
            Remedy::CodeObject,
        )),
        _ => {}
    }
    let achieved = Achieved::of(options.counters.unwrap_or(trace));
    let mut kernels: Vec<KernelUse> = tallies
        .into_iter()
        .map(|(key, tally)| {
            let resident = achieved.get((&key.name, key.workgroup, key.launched_lds));
            KernelUse { achieved: Some(resident), ..kernel_use(key, &tally, verdict, &code) }
        })
        .collect();
    // The runtime's own copies and fills come last: users cannot change their registers.
    kernels.sort_by(|a, b| {
        let key =
            |kernel: &KernelUse| (names::is_of_runtime(&kernel.name), std::cmp::Reverse(kernel.total_ns));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    if options.code.is_some() {
        let found = kernels.iter().filter(|kernel| kernel.registers_from == CODE_OBJECT).count();
        let all = kernels.len();
        notes.push(format!("{found} of {all} rows have their registers from the code object").into());
    }
    (kernels, notes)
}

/// Whether the profiler recorded half the registers for the kernels of a trace on a GPU.
pub(crate) fn registers_are_halved(trace: &Trace, arch: &hw::Arch) -> bool {
    if arch.name != GFX950 {
        return false;
    }
    let on_arch = |agent: trace::AgentId| {
        let agent = agent.get().and_then(|agent| trace.agents.get(agent));
        agent.is_some_and(|agent| hw::arch::base_name(trace.strings.get(agent.name)) == GFX950)
    };
    let kernels = &trace.kernels;
    let rows = (0..kernels.len()).filter(|&row| on_arch(kernels.agent[row]));
    let counts = rows.filter_map(|row| {
        let shape = trace.shapes.get(kernels.shape[row]);
        Some((number(shape.vgpr)?, number(shape.agpr).unwrap_or(0)))
    });
    gfx950::judge(counts) == Verdict::Halved
}

type Launch = (trace::StrId, trace::ShapeId, trace::AgentId, trace::SymbolId);

/// Calls and time by name, shape, GPU and symbol.
fn launches(trace: &Trace) -> Map<Launch, (u64, i64)> {
    let kernels = &trace.kernels;
    let mut launches: Map<Launch, (u64, i64)> = Map::default();
    for row in 0..kernels.len() {
        let launch = (kernels.name[row], kernels.shape[row], kernels.agent[row], kernels.symbol[row]);
        let (calls, total) = launches.entry(launch).or_default();
        *calls += 1;
        *total += kernels.end[row] - kernels.start[row];
    }
    launches
}

fn number(value: OptI64) -> Option<u32> {
    value.get().and_then(|value| u32::try_from(value).ok())
}

/// Threads per workgroup of a launch.
pub(super) fn workgroup_of(shape: &LaunchShape) -> Option<u32> {
    shape.workgroup?.into_iter().try_fold(1u32, |all, size| all.checked_mul(size.max(1)))
}

/// LDS per workgroup of a launch.
pub(super) fn lds_of(shape: &LaunchShape) -> Option<u32> {
    number(shape.lds_bytes)
}

fn key(name: &str, arch: &str, shape: &LaunchShape, options: &OccupancyOptions) -> Key {
    let said = |value: OptI64| if number(value).is_some() { PROFILER } else { "" };
    Key {
        name: name.to_owned(),
        arch: arch.to_owned(),
        vgpr: number(shape.vgpr),
        agpr: number(shape.agpr),
        sgpr: number(shape.sgpr),
        lds_bytes: lds_of(shape),
        scratch_bytes: number(shape.scratch_bytes),
        workgroup: workgroup_of(shape).or(options.workgroup),
        launched_lds: lds_of(shape),
        lds_from: said(shape.lds_bytes),
        scratch_from: said(shape.scratch_bytes),
    }
}

/// Waves of a whole launch.
fn launched_waves(shape: &LaunchShape, wave_size: Option<u32>) -> Option<f64> {
    let (grid, workgroup, wave_size) = (shape.grid?, shape.workgroup?, wave_size?);
    let groups: f64 =
        grid.iter().zip(workgroup).map(|(&items, size)| f64::from(items.div_ceil(size.max(1)))).product();
    let threads: f64 = workgroup.iter().map(|&size| f64::from(size.max(1))).product();
    Some(groups * (threads / f64::from(wave_size)).ceil())
}

fn kernel_use(key: Key, tally: &Tally, verdict: Verdict, code: &Code) -> KernelUse {
    let kernel = tally.from_code.map(|at| code.kernels[at]);
    let mut used = KernelUse {
        name: key.name,
        arch_name: key.arch,
        vgpr: key.vgpr,
        agpr: key.agpr,
        sgpr: key.sgpr,
        lds_bytes: key.lds_bytes,
        workgroup: key.workgroup,
        scratch_bytes: key.scratch_bytes,
        calls: tally.calls,
        total_ns: tally.total_ns,
        launched_waves_per_cu: tally.launched_waves_per_cu,
        registers_from: if key.vgpr.is_some() { PROFILER } else { "" },
        lds_from: key.lds_from,
        scratch_from: key.scratch_from,
        ..KernelUse::default()
    };
    if let Some(kernel) = kernel {
        used.registers_from = CODE_OBJECT;
        used.wave_size = Some(kernel.wave_size).filter(|&size| size > 0);
        used.cu_mode = kernel.cu_mode;
        used.spills = kernel.vgpr_spills;
    } else if used.arch_name == GFX950 && verdict == Verdict::Halved {
        let restored = used.vgpr.map(gfx950::restored);
        used.vgpr = restored.map(|(vgpr, _)| vgpr);
        used.agpr = restored.map(|(_, agpr)| agpr);
        used.registers_from = "profiler, doubled";
    }
    used
}

/// The kernels of code objects by architecture and name.
struct Code<'a> {
    kernels: Vec<&'a CodeObjectKernel>,
    by_name: Map<(String, String), usize>,
}

impl<'a> Code<'a> {
    fn of(options: &OccupancyOptions<'a>) -> Self {
        let kernels: Vec<&CodeObjectKernel> =
            options.code.map_or(Vec::new(), |code| code.kernels.iter().collect());
        let mut by_name = Map::default();
        for (at, kernel) in kernels.iter().enumerate() {
            let arch = hw::arch::base_name(&kernel.target);
            for name in [kernel.name.clone(), names::demangle(&kernel.name).into_owned()] {
                by_name.insert((arch.to_owned(), name), at);
            }
        }
        Code { kernels, by_name }
    }

    fn find(&self, arch: &str, name: &str) -> Option<usize> {
        if self.kernels.is_empty() {
            return None;
        }
        let name = name.trim_end_matches(" [clone .kd]").trim_end_matches(" (.kd)").trim_end_matches(".kd");
        self.by_name.get(&(arch.to_owned(), name.to_owned())).copied()
    }
}
