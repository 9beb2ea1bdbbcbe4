//! `synth`

use std::path::PathBuf;

use app::ranks::MadeDigests;
use app::synth::{
    DisaggregatedOptions, Faults, GenerateOptions, GraphMode, Loss, Options, OutputFormat, Parallelism,
    SlowLink, Straggler, disaggregated, scenario, scenario_names,
};
use clap::Args;

use crate::failure::Failure;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf synth --out run --to torch
  rocm-perf synth --scenario training --ranks 8 --to rocpd --out ranks
  rocm-perf synth --size 1GB --to torch --out big
  rocm-perf synth --scenario my.toml --scale 'gemm=0.5' --out faster
  rocm-perf synth --lose graph=10% --to rocpd --out incomplete
  rocm-perf synth --scenario parallel-training --ranks 16 --pipeline 4 \
      --clock-offset-ms 5 --drift-ppm 20 --out job
  rocm-perf synth --scenario parallel-training --out late \
      --straggler 3:lower-clocks:1.3 --slow-link data:1:2.5
  rocm-perf synth --scenario disaggregated --out servers
  rocm-perf synth --list

The same seed gives the same bytes. `truth.json` beside the traces lists what
the run contains, as the correct answer for tests.")]
pub struct SynthArgs {
    /// Built-in scenario or scenario file (docs/synth.md)
    #[arg(long, value_name = "NAME|FILE", default_value = "serving")]
    scenario: String,

    /// Folder to write to
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,

    /// Formats: rocpd, rocpd-4.0, rocpd-4.1, rpd, torch, torch-gz, rocprofv3-csv, rocprofv3-json, xplane, snapshot, inspector
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "torch", value_parser = format_of)]
    to: Vec<OutputFormat>,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// At least this many kernels per rank; the run ends with a whole step
    #[arg(long, value_name = "N")]
    kernels: Option<u64>,

    /// Number of steps, or of requests where the scenario has two servers
    #[arg(long, value_name = "N", conflicts_with = "kernels")]
    steps: Option<u64>,

    /// Number of ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,

    /// Write N digests for `ranks` instead of traces; ranks of the simulated job are repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "size")]
    digests: Option<u32>,

    /// Size of each rank's file, such as 500MB or 1GB
    #[arg(long, value_name = "SIZE", value_parser = size_of, conflicts_with_all = ["kernels", "steps"])]
    size: Option<u64>,

    /// Multiply the time of kernels whose name contains NAME by FACTOR
    #[arg(long, value_name = "NAME=FACTOR", value_parser = scale_of)]
    scale: Vec<(String, f64)>,

    /// Leave kernels out, as a profiler that loses them: SHARE (0.1, 10%) of graph, replay, eager, stream, rank or collective
    #[arg(long, value_name = "KIND=SHARE")]
    lose: Vec<Loss>,

    /// Ranks of a tensor group
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tensor: Option<u32>,

    /// Pipeline stages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pipeline: Option<u32>,

    /// Ranks that share the experts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    expert: Option<u32>,

    /// Set the clock of each rank off by up to MS milliseconds
    #[arg(long, value_name = "MS")]
    clock_offset_ms: Option<f64>,

    /// Let the clock of each rank drift by up to PPM
    #[arg(long, value_name = "PPM")]
    drift_ppm: Option<f64>,

    /// Make a rank (a number or `any`) late by CAUSE: more-work, larger-kernels, slower-kernels, slower-kernels:KERNEL, lower-clocks, data-loader or gc-pause
    #[arg(long, value_name = "RANK:CAUSE:FACTOR")]
    straggler: Vec<Straggler>,

    /// Make transfers of a group FACTOR times longer. KIND: world, tensor, pipeline, data or expert; INDEX: a number or `any`
    #[arg(long, value_name = "KIND:INDEX:FACTOR")]
    slow_link: Vec<SlowLink>,

    /// Spread tokens unevenly over experts; CV is the relative spread, such as 0.4
    #[arg(long, value_name = "CV")]
    expert_skew: Option<f64>,

    /// No Python frames in torch traces
    #[arg(long)]
    no_stacks: bool,

    /// Launch kernels one by one instead of replaying graphs
    #[arg(long)]
    no_graphs: bool,

    /// Overwrite an existing run
    #[arg(long)]
    force: bool,

    /// List the built-in scenarios
    #[arg(long)]
    list: bool,
}

impl SynthArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        if self.list {
            return crate::output::print(
                &scenario_names().map(|name| format!("{name}\n")).collect::<String>(),
            );
        }
        let Some(out) = &self.out else { return Err(Failure::input("no output folder: give `--out DIR`")) };
        if let Some(servers) = disaggregated(&self.scenario)? {
            let [format] = self.to[..] else {
                return Err(Failure::input(format!("`{}` is written in one format", self.scenario)));
            };
            let options = DisaggregatedOptions { seed: self.seed, requests: self.steps };
            return output.show(app::synth_disaggregated(&servers, options, out, format, self.force)?);
        }
        let options = GenerateOptions {
            scenario: scenario(&self.scenario)?,
            out: out.clone(),
            formats: self.to.clone(),
            options: Options {
                seed: self.seed,
                scale: self.scale.clone(),
                kernels: self.kernels,
                steps: self.steps,
                ranks: self.ranks,
                stacks: !self.no_stacks,
                graphs: if self.no_graphs { GraphMode::Off } else { GraphMode::On },
                lose: self.lose.clone(),
                parallel: Parallelism { tensor: self.tensor, pipeline: self.pipeline, expert: self.expert },
                faults: Faults {
                    clock_offset_ms: self.clock_offset_ms,
                    drift_ppm: self.drift_ppm,
                    stragglers: self.straggler.clone(),
                    slow_links: self.slow_link.clone(),
                    expert_skew: self.expert_skew.unwrap_or(0.0),
                },
                ..Options::default()
            },
            size: self.size,
            mapping: true,
            force: self.force,
        };
        if let Some(count) = self.digests {
            let GenerateOptions { scenario, options, out, .. } = options;
            let options = Options { stacks: false, ..options };
            return output.show(app::ranks::made_digests(&MadeDigests { scenario, options, count, out })?);
        }
        output.show(app::synth(&options)?)
    }
}

fn format_of(name: &str) -> Result<OutputFormat, String> {
    let names: Vec<&str> = OutputFormat::ALL.iter().map(|(name, _)| *name).collect();
    OutputFormat::from_name(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

fn scale_of(text: &str) -> Result<(String, f64), String> {
    let (name, factor) = text.split_once('=').ok_or("write it as NAME=FACTOR, such as gemm=0.5")?;
    let factor: f64 = factor.trim().parse().map_err(|_| format!("`{factor}` is not a number"))?;
    if !factor.is_finite() || factor < 0.0 {
        return Err(format!("`{factor}` is not a factor: it must be at least 0"));
    }
    Ok((name.trim().to_string(), factor))
}

/// Units of sizes, longest spelling first.
const SIZES: &[(&str, u64)] = &[
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("b", 1),
];

fn size_of(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_lowercase();
    let unit = SIZES.iter().find_map(|(name, bytes)| Some((lower.strip_suffix(name)?, *bytes)));
    let (number, bytes) = unit.unwrap_or((&lower, 1));
    let number: f64 =
        number.trim().parse().map_err(|_| "write it as a number with a unit, such as 500MB or 1GB")?;
    if !(number > 0.0 && number * bytes as f64 <= 1e15) {
        return Err("it must be above 0 and at most 1 PB".into());
    }
    Ok((number * bytes as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_factors_are_understood() {
        assert_eq!(size_of("1GB"), Ok(1_000_000_000));
        assert_eq!(size_of("1.5 MiB"), Ok(1_572_864));
        assert_eq!(size_of("4096"), Ok(4096));
        assert!(size_of("lots").is_err() && size_of("-1GB").is_err() && size_of("0").is_err());
        assert_eq!(scale_of("gemm=0.5"), Ok(("gemm".to_string(), 0.5)));
        assert!(scale_of("gemm").is_err() && scale_of("gemm=x").is_err() && scale_of("gemm=-1").is_err());
    }
}
