//! How many waves of each kernel fit, and what limits them.

use std::path::PathBuf;

use analysis::OccupancyOptions;
use analysis::filters::Filters;
use hw::Arch;
use hw::occupancy::KernelResources;
use report::{Remedy, Report};

use crate::code;
use crate::failure::Failure;
use crate::input::Input;
use crate::observer::Observer;

/// Which kernels to look at: from traces, from code objects, or one given by its numbers.
#[derive(Clone, Debug, Default)]
pub struct OccupancyRequest {
    /// Traces or code objects; empty if numbers are given.
    pub input: Input,
    /// Architecture or product; picks among the code objects of a file.
    pub arch: Option<String>,
    /// Code objects of a trace.
    pub code_objects: Vec<PathBuf>,
    /// Vector registers per lane.
    pub vgpr: Option<u32>,
    /// Accumulation registers per lane.
    pub agpr: Option<u32>,
    /// Scalar registers per wave.
    pub sgpr: Option<u32>,
    /// LDS per workgroup; of a code object, the dynamic part.
    pub lds: Option<u32>,
    /// Threads per workgroup, if the input does not have it.
    pub workgroup: Option<u32>,
    /// Lanes per wave, if the GPU supports several.
    pub wave_size: Option<u32>,
    /// RDNA: workgroups stay within one compute unit.
    pub cu_mode: bool,
}

/// How many waves of each kernel fit, what limits them and what to change to gain one.
pub fn occupancy(request: &OccupancyRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let arch = request.arch.as_deref().map(known_arch).transpose()?;
    let given = &request.input.paths;
    if given.is_empty() {
        return request.of_numbers(arch);
    }
    let registers = [request.vgpr, request.agpr, request.sgpr, request.wave_size];
    if registers.iter().any(Option::is_some) || request.cu_mode {
        return Err(Failure::input(
            "registers and wave size cannot be combined with an input: it has its own",
        )
        .with_help(Remedy::NoRegisters));
    }
    let with_code = given.iter().filter(|path| code::is_code(path)).count();
    match (with_code, given.len()) {
        (0, _) => request.of_trace(arch, observer),
        (code, all) if code == all => request.of_code(arch),
        _ => Err(Failure::input("traces and code objects cannot be combined").with_help(Remedy::CodeObject)),
    }
}

impl OccupancyRequest {
    fn of_numbers(&self, arch: Option<&'static Arch>) -> Result<Report, Failure> {
        let (arch, vgpr) = match (arch, self.vgpr) {
            (Some(arch), Some(vgpr)) => (arch, vgpr),
            (Some(arch), None) => {
                let message =
                    format!("no input given, and the registers of the {} kernel are missing", arch.name);
                return Err(Failure::input(message).with_help(Remedy::Registers));
            }
            (None, Some(_)) => {
                return Err(
                    Failure::input("no input given, and the architecture is missing").with_help(Remedy::Arch)
                );
            }
            (None, None) => return Err(Failure::input("no input given").with_help(Remedy::ArchAndRegisters)),
        };
        if let Some(size) = self.wave_size.filter(|size| !arch.facts.wave_sizes.contains(size)) {
            return Err(Failure::input(format!("{} has no waves of {size} lanes", arch.name)));
        }
        let kernel = KernelResources {
            vgpr,
            agpr: self.agpr.unwrap_or(0),
            sgpr: self.sgpr.unwrap_or(0),
            lds_bytes: self.lds.unwrap_or(0),
            workgroup: self.workgroup.unwrap_or(256),
            wave_size: self.wave_size,
            cu_mode: self.cu_mode,
        };
        Ok(analysis::occupancy_of_numbers(arch, &kernel))
    }

    fn of_trace(&self, arch: Option<&'static Arch>, observer: &dyn Observer) -> Result<Report, Failure> {
        if self.lds.is_some() {
            let message = "LDS cannot be set for a trace: it has the LDS of each launch";
            return Err(Failure::input(message).with_help(Remedy::NoLds));
        }
        let code = code::read_all(&self.code_objects)?;
        let trace = self.input.read(&analysis::occupancy_needs(), observer)?;
        if trace.kernels.is_empty() {
            return Err(Failure::input("there are no kernels in this part of the trace"));
        }
        let options = OccupancyOptions {
            arch,
            workgroup: self.workgroup,
            code: code.as_ref(),
            ..OccupancyOptions::default()
        };
        Ok(analysis::occupancy(&trace, &options))
    }

    fn of_code(&self, arch: Option<&'static Arch>) -> Result<Report, Failure> {
        let wanted = only_kernel(&self.input.filters)?;
        let files = self.input.paths.iter().map(|path| code::read(path)).collect::<Result<Vec<_>, _>>()?;
        let options = OccupancyOptions {
            arch,
            workgroup: self.workgroup,
            dynamic_lds: self.lds.unwrap_or(0),
            ..OccupancyOptions::default()
        };
        let found = analysis::kernels::occupancy::compute_of_code(&files, &options, &wanted);
        if found.kernels.is_empty() {
            let mut targets: Vec<&str> = files
                .iter()
                .flat_map(|(_, contents)| &contents.kernels)
                .map(|kernel| kernel.target.as_str())
                .collect();
            targets.sort_unstable();
            targets.dedup();
            let failure = Failure::input("no kernel in the code objects matches");
            return Err(match targets.is_empty() {
                true => failure,
                false => failure.with_help(format!("they hold kernels for {}", targets.join(", "))),
            });
        }
        Ok(analysis::kernels::occupancy::present_code(&files, &found))
    }
}

/// A test for the selected kernel name; other filters are refused.
fn only_kernel(filters: &Filters) -> Result<impl Fn(&str) -> bool + use<>, Failure> {
    let rest = Filters { kernel: None, ..filters.clone() };
    if !rest.is_empty() {
        let message = "code objects can only be filtered by kernel name";
        return Err(Failure::input(message).with_help(Remedy::KernelNameOnly));
    }
    let pattern = filters.kernel.clone();
    Ok(move |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.is_match(name)))
}

/// The architecture for its name or a product's.
pub fn known_arch(name: &str) -> Result<&'static Arch, Failure> {
    hw::arch::find(name).or_else(|| hw::arch::of_product(name)).ok_or_else(|| {
        let names: Vec<&str> = hw::arch::all().iter().map(|arch| arch.name.as_str()).collect();
        Failure::input(format!("`{name}` is not a known GPU"))
            .with_help(format!("known are {}", names.join(", ")))
    })
}
