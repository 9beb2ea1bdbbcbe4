//! `roofline`

use std::io::Write;
use std::path::{Path, PathBuf};

use analysis::{PeakSource, RooflineOptions};
use clap::Args;
use files::OutputFile;
use report::chart::SvgOptions;
use report::{Report, render};
use trace::{Source, Trace};

use crate::aggregate::AggregateArgs;
use crate::commands::occupancy::known_arch;
use crate::failure::Failure;
use crate::input::{InputArgs, one_run_of};
use crate::output::OutputArgs;

/// Heading of the options that describe the GPU.
const GPU: &str = "The GPU, where the input does not tell";

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf roofline workloads/vcopy/MI300X
  rocm-perf roofline 4711_results.db --product MI300X
  rocm-perf roofline workloads/vcopy/MI200 --measured --format json
  rocm-perf roofline trace.json.gz --product MI300X
  rocm-perf roofline trace.json.gz counters.db      (both in one row)
  rocm-perf roofline run.db --peaks peaks.json -o roofline.svg
  rocm-perf roofline --counters --arch gfx942

Intensity is operations per byte of memory traffic; `peak` is the share of the nearest ceiling: the time that the bytes
of a level or the operations take at their peaks, over the kernel's time. From 60 % on a kernel is bound by it, below 30 %
of all by latency. Operations and bytes need counters; what was not collected is absent and named. Ops of torch traces
with shapes are modelled without counters (table `ops`); with counters of the same program as a second input, what was
measured stands beside what they must do.")]
pub struct RooflineArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    aggregate: AggregateArgs,

    /// Use the peaks that rocprof-compute measured (roofline.csv)
    #[arg(long, conflicts_with = "peaks")]
    measured: bool,

    /// Peaks of your own as JSON, such as `{"hbm_gbps": 4300, "bf16_matrix_gflops": 708000}`
    #[arg(long, value_name = "FILE")]
    peaks: Option<PathBuf>,

    /// Draw the kernels under the roofs into this file (.svg or .png)
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// List the counters that a roofline needs on `--arch`, and the passes they take
    #[arg(long, requires = "arch")]
    counters: bool,

    /// Architecture (`gfx942`) or product (MI300X)
    #[arg(help_heading = GPU, long, value_name = "GPU")]
    arch: Option<String>,

    /// Product, which has clock, compute units and bandwidth
    #[arg(help_heading = GPU, long, value_name = "NAME")]
    product: Option<String>,

    /// Compute units of the device
    #[arg(help_heading = GPU, long, value_name = "N")]
    cus: Option<u32>,

    /// Engine clock
    #[arg(help_heading = GPU, long, value_name = "MHZ")]
    clock_mhz: Option<f64>,

    /// Memory bandwidth of the device
    #[arg(help_heading = GPU, long, value_name = "GBPS")]
    memory_gbps: Option<f64>,

    /// Compute partition mode: SPX, DPX, TPX, QPX, CPX
    #[arg(help_heading = GPU, long, value_name = "MODE")]
    partition: Option<String>,

    /// Memory partition mode: NPS1, NPS2, NPS4, NPS8
    #[arg(help_heading = GPU, long, value_name = "MODE")]
    memory_mode: Option<String>,
}

impl RooflineArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let arch = self.arch.as_deref().map(known_arch).transpose()?;
        if let (true, Some(arch)) = (self.counters, arch) {
            return output.show(analysis::roofline_counter_report(arch));
        }
        let peaks = match &self.peaks {
            None if self.measured => PeakSource::Measured,
            None => PeakSource::DataSheet,
            Some(path) => {
                let shown = path.display();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| Failure::input(format!("cannot read `{shown}`: {error}")))?;
                PeakSource::parse(&text).map_err(|error| Failure::input(format!("`{shown}`: {error}")))?
            }
        };
        let named = self.arch.as_deref().filter(|name| hw::arch::find(name).is_none());
        let options = RooflineOptions {
            arch,
            product: self.product.clone().or(named.map(str::to_owned)),
            cus: self.cus,
            clock_mhz: self.clock_mhz,
            memory_gbps: self.memory_gbps,
            compute_partition: self.partition.clone(),
            memory_partition: self.memory_mode.clone(),
            peaks,
        };
        let mut trace = self.input.read(&analysis::roofline_needs(), output)?;
        self.aggregate.apply(&mut trace);
        one_run_each(&trace)?;
        if trace.kernels.is_empty() {
            return Err(Failure::input("there are no kernels in this part of the trace"));
        }
        let report = analysis::roofline(&trace, &options);
        let counted = !trace.counters.is_empty() || !trace.counter_columns.is_empty();
        if !counted && report.table("ops").is_none() {
            return Err(Failure::input("there are neither counters nor ops with shapes in the input")
                .with_help("`rocm-perf roofline --counters --arch gfx942` lists the counters to collect"));
        }
        if let Some(path) = &self.out {
            draw(&report, path)?;
        }
        output.show(report)
    }
}

/// A run with counters may stand beside one without; of each there is one.
fn one_run_each(trace: &Trace) -> Result<(), Failure> {
    let counted = analysis::counted_sources(trace);
    for side in [true, false] {
        let sources: Vec<Source> = trace
            .sources
            .iter()
            .zip(&counted)
            .filter(|(_, of)| **of == side)
            .map(|(s, _)| s.clone())
            .collect();
        one_run_of(&sources, "roofline")?;
    }
    Ok(())
}

/// Writes the picture of a report.
fn draw(report: &Report, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let Some(chart) = report.charts.first() else {
        return Err(Failure::input(format!(
            "there is nothing to draw in `{shown}`: no kernel has operations, memory traffic and a duration"
        )));
    };
    let svg = chart.svg(&SvgOptions::default());
    let bytes = match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => svg.into_bytes(),
        Some("png") => render::png(&svg, 2.0).map_err(|error| Failure::input(error.to_string()))?,
        _ => return Err(Failure::input(format!("`{shown}` should end in .svg or .png"))),
    };
    let unwritable = |error: std::io::Error| Failure::input(format!("cannot write `{shown}`: {error}"));
    let mut file = OutputFile::create(path).map_err(unwritable)?;
    file.file().and_then(|file| file.write_all(&bytes)).map_err(unwritable)?;
    file.commit().map_err(unwritable)
}
