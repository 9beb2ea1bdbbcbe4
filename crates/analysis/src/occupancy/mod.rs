//! Theoretical occupancy of kernels: how many waves fit, what limits them and what to change, from a trace, from
//! code objects or from numbers. The rules are `hw`'s; here they meet what a run or a file tells.

mod achieved;
mod clock;
mod code;
mod gfx950;
mod recorded;
mod resources;
mod table;

use hw::Arch;
use hw::code_object::Contents;
use hw::occupancy::KernelResources;
use report::{InputFact, Note, Report, Table};
use trace::{Needs, Trace};

use crate::base;

pub use achieved::occupancy_counters;
pub use clock::impossible_clock;

pub(crate) use achieved::Achieved;
pub(crate) use clock::{ClockLimit, Cycles, IMPOSSIBLE, cycles_of};
pub(crate) use gfx950::restored;
pub(crate) use recorded::registers_are_halved;

/// What the user says beyond the trace or the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct OccupancyOptions<'a> {
    /// The GPU, where the source does not tell; of code objects, the only one to look at.
    pub arch: Option<&'static Arch>,
    /// Threads per workgroup, where the source does not tell.
    pub workgroup: Option<u32>,
    /// LDS per workgroup on top of what the code object knows.
    pub dynamic_lds: u32,
    /// Code objects whose register counts win over the profiler's.
    pub code: Option<&'a Contents>,
    /// Another run of the same program with counters, where the trace itself has none.
    pub counters: Option<&'a Trace>,
}

/// Where figures come from, in tables.
const CODE_OBJECT: &str = "code object";
const PROFILER: &str = "profiler";

/// One kernel with one set of resources.
#[derive(Clone, Debug, Default)]
struct Subject {
    name: String,
    /// The architecture as the source names it; empty if it does not.
    arch_name: String,
    vgpr: Option<u32>,
    agpr: Option<u32>,
    sgpr: Option<u32>,
    lds_bytes: Option<u32>,
    workgroup: Option<u32>,
    wave_size: Option<u32>,
    cu_mode: bool,
    scratch_bytes: Option<u32>,
    spills: Option<u32>,
    /// Calls and time, of a trace.
    calls: u64,
    total_ns: i64,
    /// Waves of the largest launch, per compute unit of the GPU.
    launched_waves_per_cu: Option<f64>,
    /// Waves that were resident, of a trace with counters.
    achieved: Option<Result<achieved::Resident, &'static str>>,
    /// How the registers were come by; empty where there are none.
    registers_from: &'static str,
    /// How LDS and scratch were come by; empty where there are none.
    lds_from: &'static str,
    scratch_from: &'static str,
}

impl Subject {
    fn arch(&self) -> Option<&'static Arch> {
        hw::arch::find(&self.arch_name)
    }

    /// What a launch takes, or what is not known about it.
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

/// What [`occupancy`] needs of a trace.
pub fn occupancy_needs() -> Needs {
    Needs { kernels: true, shapes: true, counters: true, counter_columns: true, ..Needs::nothing() }
}

/// Occupancy of the kernels of a trace.
pub fn occupancy(trace: &Trace, options: &OccupancyOptions) -> Report {
    let (subjects, notes) = recorded::subjects(trace, options);
    let mut report = base::report("occupancy", trace);
    // Host calls were not read, so nothing is missing.
    report.health.retain(|check| check.id != "coverage");
    report.health.extend(impossible_clock(options.counters.unwrap_or(trace)));
    report.notes = notes;
    report.notes.extend(options.code.iter().flat_map(|code| code.problems.iter().cloned().map(Note::from)));
    table::fill(&mut report, &subjects, true);
    report
}

/// What the kernels of a trace use, and who says so.
pub fn resources(trace: &Trace, options: &OccupancyOptions) -> Table {
    resources::table(&recorded::subjects(trace, options).0)
}

/// Occupancy of the kernels in code objects that pass `wanted` by name, mangled or not.
pub fn occupancy_of_code(
    files: &[(InputFact, Contents)],
    options: &OccupancyOptions,
    wanted: &dyn Fn(&str) -> bool,
) -> Report {
    let mut report = Report { command: "occupancy".into(), ..Report::default() };
    let mut subjects = Vec::new();
    for (input, contents) in files {
        report.inputs.push(input.clone());
        let problems = contents.problems.iter().map(|problem| format!("{}: {problem}", input.path));
        report.notes.extend(problems.into_iter().map(Note::from));
        subjects.extend(code::subjects(contents, options, wanted));
    }
    code::advise(files, &mut report);
    table::fill(&mut report, &subjects, false);
    report
}

/// Occupancy of a kernel of which only the numbers are known.
pub fn occupancy_of_numbers(arch: &'static Arch, kernel: &KernelResources) -> Report {
    let subject = Subject {
        name: "as given".into(),
        arch_name: arch.name.clone(),
        vgpr: Some(kernel.vgpr),
        agpr: Some(kernel.agpr),
        sgpr: Some(kernel.sgpr),
        lds_bytes: Some(kernel.lds_bytes),
        workgroup: Some(kernel.workgroup),
        wave_size: kernel.wave_size,
        cu_mode: kernel.cu_mode,
        ..Subject::default()
    };
    let mut report = Report { command: "occupancy".into(), ..Report::default() };
    table::fill(&mut report, &[subject], false);
    report.tables.push(table::limits(arch, kernel));
    report
}
