//! Theoretical occupancy of kernels: how many waves fit, what limits them and what to change, from a trace,
//! from code objects or from numbers. The rules are in `hw`; this applies them to a run or a file.

mod achieved;
mod clock;
mod code;
mod gfx950;
mod present;
mod recorded;
mod resources;

use std::sync::Arc;

use hw::Arch;
use hw::code_object::Contents;
use hw::occupancy::{KernelResources, Occupancy, theoretical};
use report::{InputFact, Note, Report};
use trace::{Map, Needs, Trace};

use crate::base;
use model::names;

pub use achieved::{Resident, occupancy_counters};
pub use clock::impossible_clock;

pub(crate) use achieved::Achieved;
pub(crate) use clock::{ClockLimit, Cycles, IMPOSSIBLE, cycles_of};
pub(crate) use gfx950::restored;
pub(crate) use recorded::registers_are_halved;
pub(crate) use resources::NOT_RECORDED;

/// What the user sets beyond the trace or the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct OccupancyOptions<'a> {
    /// The GPU, if the source does not record it; for code objects, the only GPU to look at.
    pub arch: Option<&'static Arch>,
    /// Threads per workgroup, if the source does not record them.
    pub workgroup: Option<u32>,
    /// LDS per workgroup on top of the code object's.
    pub dynamic_lds: u32,
    /// Code objects whose register counts override the profiler's.
    pub code: Option<&'a Contents>,
    /// Another run of the same program with counters, if the trace has none.
    pub counters: Option<&'a Trace>,
}

/// Where figures come from, in tables.
const CODE_OBJECT: &str = "code object";
const PROFILER: &str = "profiler";

/// How many waves of each kernel fit.
#[derive(Clone, Debug, Default)]
pub struct Occupancies {
    /// For a run: most time first, the runtime's own kernels last; for code objects: in file order.
    pub kernels: Vec<KernelOccupancy>,
    /// Whether they come from a run, which has calls, times and maybe counters.
    pub is_of_run: bool,
    /// Notes about the source.
    pub notes: Vec<Note>,
}

impl Occupancies {
    /// The first row of a kernel by its recorded or demangled name.
    pub fn of_kernel(&self, name: &str) -> Option<&KernelOccupancy> {
        let shown = names::demangle(name);
        self.kernels.iter().find(|kernel| kernel.shown_name == name || kernel.shown_name == shown)
    }
}

/// One kernel with one set of resources, and how many of its waves fit.
#[derive(Clone, Debug)]
pub struct KernelOccupancy {
    /// The resources it uses.
    pub used: KernelUse,
    /// Its demangled name.
    pub shown_name: String,
    /// How many of its waves fit and what limits them, or why that is not known.
    pub fits: Result<Arc<Occupancy>, String>,
}

impl KernelOccupancy {
    /// Share of the wave slots that its waves fill, in percent to four digits; absent if not known.
    pub fn occupancy_pct(&self) -> Option<f64> {
        self.fits.as_ref().ok().map(|fits| rounded(fits.percent()))
    }

    /// Waves that fit on a compute unit, to four digits.
    pub fn waves_per_cu(&self) -> Option<f64> {
        self.fits.as_ref().ok().map(|fits| rounded(fits.waves_per_cu()))
    }

    /// Lanes per wave.
    pub fn wave_size(&self) -> Option<u32> {
        self.fits.as_ref().ok().map(|fits| fits.wave_size)
    }

    /// What keeps more waves from fitting, as text.
    pub fn limited_by(&self) -> Option<String> {
        let words = |fits: &Arc<Occupancy>| {
            fits.limited_by.iter().map(|limiter| limiter.name()).collect::<Vec<_>>().join(" ")
        };
        self.fits.as_ref().ok().map(words)
    }
}

/// Enough digits for any share of waves.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// What one kernel uses according to a run or a code object; absent if the source does not say.
#[derive(Clone, Debug, Default)]
pub struct KernelUse {
    /// Recorded name.
    pub name: String,
    /// The architecture as recorded; empty if it is not.
    pub arch_name: String,
    /// Vector registers per lane.
    pub vgpr: Option<u32>,
    /// Accumulation registers per lane.
    pub agpr: Option<u32>,
    /// Scalar registers per wave.
    pub sgpr: Option<u32>,
    /// LDS per workgroup.
    pub lds_bytes: Option<u32>,
    /// Threads per workgroup.
    pub workgroup: Option<u32>,
    /// Lanes per wave, if the GPU has a choice.
    pub wave_size: Option<u32>,
    /// RDNA: workgroups stay within one compute unit.
    pub cu_mode: bool,
    /// Scratch memory per lane.
    pub scratch_bytes: Option<u32>,
    /// Vector registers that were spilled.
    pub spills: Option<u32>,
    /// Number of dispatches, for a run.
    pub calls: u64,
    /// Their total time.
    pub total_ns: i64,
    /// Waves of the largest launch, per compute unit of the GPU.
    pub launched_waves_per_cu: Option<f64>,
    /// Waves that were resident, or why that is not known; absent if the source is not a run.
    pub achieved: Option<Result<Resident, &'static str>>,
    /// Source of the register counts; empty if there is none.
    pub registers_from: &'static str,
    /// Source of the LDS size.
    pub lds_from: &'static str,
    /// Source of the scratch size.
    pub scratch_from: &'static str,
}

impl KernelUse {
    fn arch(&self) -> Option<&'static Arch> {
        hw::arch::find(&self.arch_name)
    }

    /// The resources of a launch, or which of them is not known.
    fn resources(&self) -> Result<KernelResources, String> {
        let vgpr = self.vgpr.ok_or("the source does not say how many registers it uses")?;
        let workgroup = self.workgroup.ok_or("the source does not say how large its workgroups are")?;
        Ok(KernelResources {
            vgpr,
            agpr: self.agpr.unwrap_or(0),
            sgpr: self.sgpr.unwrap_or(0),
            lds_bytes: self.lds_bytes.unwrap_or(0),
            workgroup,
            wave_size: self.wave_size,
            cu_mode: self.cu_mode,
        })
    }
}

/// What [`occupancy`] reads from a trace.
pub fn occupancy_needs() -> Needs {
    Needs { kernels: true, shapes: true, counters: true, counter_columns: true, ..Needs::nothing() }
}

/// Occupancy of the kernels of a trace that was read with [`occupancy_needs`].
pub fn compute(trace: &Trace, options: &OccupancyOptions) -> Occupancies {
    let (kernels, mut notes) = recorded::kernels(trace, options);
    notes.extend(options.code.iter().flat_map(|code| code.problems.iter().cloned().map(Note::from)));
    Occupancies { kernels: fitted(kernels), is_of_run: true, notes }
}

/// Occupancy of the kernels in code objects whose name, mangled or not, passes `wanted`.
pub fn compute_of_code(
    files: &[(InputFact, Contents)],
    options: &OccupancyOptions,
    wanted: &dyn Fn(&str) -> bool,
) -> Occupancies {
    let (mut kernels, mut notes) = (Vec::new(), Vec::new());
    for (input, contents) in files {
        let problems = contents.problems.iter().map(|problem| format!("{}: {problem}", input.path));
        notes.extend(problems.map(Note::from));
        kernels.extend(code::kernels(contents, options, wanted));
    }
    Occupancies { kernels: fitted(kernels), is_of_run: false, notes }
}

/// The occupancy of a run's kernels as a report.
pub fn present(trace: &Trace, options: &OccupancyOptions, occupancies: &Occupancies) -> Report {
    let mut report = base::report("occupancy", trace);
    // Host calls were not read, so nothing is missing.
    report.health.retain(|check| check.id != "coverage");
    report.health.extend(impossible_clock(options.counters.unwrap_or(trace)));
    present::fill(&mut report, occupancies);
    report
}

/// The occupancy of kernels in code objects as a report.
pub fn present_code(files: &[(InputFact, Contents)], occupancies: &Occupancies) -> Report {
    let mut report = Report { command: "occupancy".into(), ..Report::default() };
    report.inputs = files.iter().map(|(input, _)| input.clone()).collect();
    report.findings = code::findings(files);
    present::fill(&mut report, occupancies);
    report
}

/// [`compute`] and [`present`] in one.
pub fn occupancy(trace: &Trace, options: &OccupancyOptions) -> Report {
    present(trace, options, &compute(trace, options))
}

/// Occupancy of a kernel given by numbers, as a report.
pub fn occupancy_of_numbers(arch: &'static Arch, kernel: &KernelResources) -> Report {
    let used = KernelUse {
        name: "as given".into(),
        arch_name: arch.name.clone(),
        vgpr: Some(kernel.vgpr),
        agpr: Some(kernel.agpr),
        sgpr: Some(kernel.sgpr),
        lds_bytes: Some(kernel.lds_bytes),
        workgroup: Some(kernel.workgroup),
        wave_size: kernel.wave_size,
        cu_mode: kernel.cu_mode,
        ..KernelUse::default()
    };
    let occupancies = Occupancies { kernels: fitted(vec![used]), ..Occupancies::default() };
    let mut report = Report { command: "occupancy".into(), ..Report::default() };
    present::fill(&mut report, &occupancies);
    report.tables.push(present::limits(arch, kernel));
    report
}

/// Works out how many waves of each kernel fit.
fn fitted(kernels: Vec<KernelUse>) -> Vec<KernelOccupancy> {
    // Libraries have thousands of kernels with few distinct resource needs.
    let mut known: Map<(&'static str, KernelResources), Arc<Occupancy>> = Map::default();
    let mut fits = |used: &KernelUse| {
        let arch = match (used.arch(), used.arch_name.as_str()) {
            (Some(arch), _) => arch,
            (None, "") => return Err("the source does not say which GPU it ran on".into()),
            (None, name) => return Err(format!("{name} is not among the known architectures")),
        };
        let kernel = used.resources()?;
        let key = (arch.name.as_str(), kernel);
        Ok(Arc::clone(known.entry(key).or_insert_with(|| Arc::new(theoretical(arch, &kernel)))))
    };
    let fitted = |used: KernelUse| {
        let (shown_name, fits) = (names::demangle(&used.name).into_owned(), fits(&used));
        KernelOccupancy { used, shown_name, fits }
    };
    kernels.into_iter().map(fitted).collect()
}
