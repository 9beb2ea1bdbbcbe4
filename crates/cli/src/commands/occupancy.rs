//! `occupancy`

use std::path::PathBuf;

use analysis::OccupancyOptions;
use clap::Args;
use hw::Arch;
use hw::occupancy::KernelResources;
use report::Report;

use crate::code;
use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

/// Heading of the options that describe a kernel.
const KERNEL: &str = "What the kernel uses";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf occupancy 4711_results.db
  rocm-perf occupancy ./app --kernel gemm --workgroup 256
  rocm-perf occupancy kernel.hsaco --lds 32768 --format json
  rocm-perf occupancy --arch gfx942 --vgpr 137 --workgroup 256 --lds 16384
  rocm-perf occupancy run.db --code-object ./app

An input is a trace, a code object (.co, .hsaco), an offload bundle, or a program or library that carries GPU code; without
one, give --arch and --vgpr. Occupancy is the share of the wave slots of a compute unit that can be filled. A trace has
the workgroups and the LDS of each launch; of a code object they are what the source bounds, unless given.")]
pub struct OccupancyArgs {
    #[command(flatten)]
    input: InputArgs,

    /// GPU: `gfx942`, or a product such as MI300X; picks among the code objects of a file
    #[arg(long, value_name = "GPU")]
    arch: Option<String>,

    /// Code objects of a trace: their register counts win over the profiler's
    #[arg(long, value_name = "FILE")]
    code_object: Vec<PathBuf>,

    /// Vector registers per lane
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    vgpr: Option<u32>,

    /// Accumulation registers per lane [default: 0]
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    agpr: Option<u32>,

    /// Scalar registers per wave [default: 0]
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    sgpr: Option<u32>,

    /// LDS per workgroup; of a code object, the dynamic part
    #[arg(help_heading = KERNEL, long, value_name = "BYTES")]
    lds: Option<u32>,

    /// Threads per workgroup, where the input does not tell [default without an input: 256]
    #[arg(help_heading = KERNEL, long, value_name = "N")]
    workgroup: Option<u32>,

    /// Lanes per wave, where the GPU has a choice
    #[arg(help_heading = KERNEL, long, value_name = "32|64")]
    wave_size: Option<u32>,

    /// RDNA: workgroups stay within one compute unit
    #[arg(help_heading = KERNEL, long)]
    cu_mode: bool,
}

impl OccupancyArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let arch = self.arch.as_deref().map(known_arch).transpose()?;
        let given: Vec<&PathBuf> = self.input.files.inputs.iter().chain(&self.input.files.more).collect();
        if given.is_empty() {
            return output.show(self.of_numbers(arch)?);
        }
        if self.vgpr.is_some()
            || self.agpr.is_some()
            || self.sgpr.is_some()
            || self.wave_size.is_some()
            || self.cu_mode
        {
            return Err(Failure::input(
                "registers and wave size are the input's; give them without an input",
            ));
        }
        let with_code = given.iter().filter(|path| code::is_code(path)).count();
        match (with_code, given.len()) {
            (0, _) => output.show(self.of_trace(arch, output)?),
            (code, all) if code == all => output.show(self.of_code(&given, arch)?),
            _ => Err(Failure::input("traces and code objects are given together")
                .with_help("the code objects of a trace go to `--code-object`")),
        }
    }

    fn of_numbers(&self, arch: Option<&'static Arch>) -> Result<Report, Failure> {
        let (Some(arch), Some(vgpr)) = (arch, self.vgpr) else {
            return Err(Failure::input("no input given")
                .with_help("name a trace, a code object or a program, or give `--arch gfx942 --vgpr 128`"));
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

    fn of_trace(&self, arch: Option<&'static Arch>, output: &OutputArgs) -> Result<Report, Failure> {
        if self.lds.is_some() {
            return Err(Failure::input("a trace has the LDS of each launch; `--lds` is for code objects"));
        }
        let code = code::read_all(&self.code_object)?;
        let trace = self.input.read(&analysis::occupancy_needs(), output)?;
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

    fn of_code(&self, paths: &[&PathBuf], arch: Option<&'static Arch>) -> Result<Report, Failure> {
        let wanted = self.input.selection.only_kernel("code objects")?;
        let files = paths.iter().map(|path| code::read(path)).collect::<Result<Vec<_>, _>>()?;
        let options = OccupancyOptions {
            arch,
            workgroup: self.workgroup,
            dynamic_lds: self.lds.unwrap_or(0),
            ..OccupancyOptions::default()
        };
        let report = analysis::occupancy_of_code(&files, &options, &wanted);
        if report.table("kernels").is_none_or(|table| table.rows.is_empty()) {
            let mut targets: Vec<&str> = files
                .iter()
                .flat_map(|(_, contents)| &contents.kernels)
                .map(|kernel| kernel.target.as_str())
                .collect();
            targets.sort_unstable();
            targets.dedup();
            let failure = Failure::input("there are no such kernels in the code objects");
            return Err(match targets.is_empty() {
                true => failure,
                false => failure.with_help(format!("they hold kernels for {}", targets.join(", "))),
            });
        }
        Ok(report)
    }
}

/// The architecture of a name or of a product.
pub fn known_arch(name: &str) -> Result<&'static Arch, Failure> {
    hw::arch::find(name).or_else(|| hw::arch::of_product(name)).ok_or_else(|| {
        let names: Vec<&str> = hw::arch::all().iter().map(|arch| arch.name.as_str()).collect();
        Failure::input(format!("`{name}` is no known GPU"))
            .with_help(format!("known are {}", names.join(", ")))
    })
}
