//! `panels`

mod tui;

use std::path::PathBuf;

use app::Input;
use app::panels::{
    Choice, NormalUnit, PanelsOptions, Rule, TimeUnit, blocks, check_choice, memory_chart_text,
    panel_metrics, read_panels, write_panels,
};
use clap::{Args, ValueEnum};
use report::Report;

use crate::aggregate::AggregateArgs;
use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::{Format, OutputArgs, print};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf panels workloads/vcopy/MI200                    # top kernels, speed of light, memory chart
  rocm-perf panels workloads/vcopy/MI200 -b 7.2 -b 16,17    # these tables and panels
  rocm-perf panels run.db -k gemm -n per_wave -b all
  rocm-perf panels -p before/ -p after/ -b 2                # compare two runs
  rocm-perf panels workloads/vcopy/MI200 --vendor-parity --decimal 10 --format json
  rocm-perf panels --list-metrics gfx942 -b 2
  rocm-perf panels workloads/app/MI300X --tui

Inputs are workload folders of any release of ROCm Compute Profiler, or traces
with hardware counters; several inputs are ranks of one run. A metric over
many dispatches is a ratio of sums, and known errors in the vendor's formulas
are corrected. `--vendor-parity` reproduces rocprof-compute 3.3.0 instead;
docs/panels.md lists the differences.")]
pub struct PanelsArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    aggregate: AggregateArgs,

    /// A run to compare; the first one (or INPUT) is the base
    #[arg(short = 'p', long = "path", value_name = "INPUT")]
    runs: Vec<PathBuf>,

    /// Panel, table or metric to show: 2, 7.2, 16.3.4, or `all`; may be repeated
    #[arg(short, long, value_name = "ID", value_delimiter = ',')]
    block: Vec<String>,

    /// Only this kernel: its id in the list of top kernels, its name, or a pattern; may be repeated
    #[arg(short = 'k', long = "top-kernel", value_name = "KERNEL")]
    kernels: Vec<String>,

    /// Only these dispatches: 3, 3..9, or '>3'; may be repeated
    #[arg(short, long = "dispatch", value_name = "N", value_delimiter = ',')]
    dispatches: Vec<String>,

    /// Only dispatches on this GPU
    #[arg(long = "gpu-id", value_name = "N", value_delimiter = ',')]
    gpus: Vec<i64>,

    /// What to normalise metrics by
    #[arg(short, long, value_enum, value_name = "UNIT", default_value_t)]
    normal_unit: Unit,

    /// Unit of durations
    #[arg(short, long, value_enum, value_name = "UNIT", default_value_t)]
    time_unit: Time,

    /// Digits after the decimal point [default: 2 in table and md, all in json and csv]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=15))]
    decimal: Option<u32>,

    /// Reproduce the vendor's values: mean of ratios, formulas with their known errors
    #[arg(long)]
    vendor_parity: bool,

    /// Correct a fact about the GPU in the workload: max_sclk=2100; may be repeated
    #[arg(long, alias = "specs-correction", value_name = "FACT=N", value_delimiter = ',', value_parser = fact)]
    specs: Vec<(String, f64)>,

    /// List the metrics and formulas of ARCH (or of the input's GPU) and exit
    #[arg(long, value_name = "ARCH", num_args = 0..=1, default_missing_value = "")]
    list_metrics: Option<String>,

    /// List kernels with their ids and dispatches and exit
    #[arg(long)]
    list_stats: bool,

    /// Browse kernels and panels in the terminal
    #[arg(long, conflicts_with_all = ["list_metrics", "list_stats", "out"])]
    tui: bool,

    /// Folder for all tables as CSV and the memory chart as SVG
    #[arg(short, long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Unit {
    #[default]
    #[value(name = "per_kernel")]
    Kernel,
    #[value(name = "per_wave")]
    Wave,
    #[value(name = "per_cycle")]
    Cycle,
    #[value(name = "per_second")]
    Second,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Time {
    #[default]
    Ns,
    Us,
    Ms,
    S,
}

impl PanelsArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let options = self.options(output)?;
        if let Some(wanted) = &self.list_metrics {
            let filters = self.input.selection.filters()?;
            let mut paths = self.input.files.given();
            paths.extend(self.runs.iter().take(1).cloned());
            return output.show(panel_metrics(wanted, &Input { paths, filters }, &options, output)?);
        }
        let runs = read_panels(&self.inputs()?, self.aggregate.request(), output)?;
        // The user asked for a whole block, so all its rows are shown. Charts go between tables and notes.
        let output = &OutputArgs { limit: output.limit.or(Some(0)), ..output.clone() };
        if self.tui {
            check_choice(&runs[0], &options)?;
            return tui::run(&runs, options);
        }
        if let Some(folder) = &self.out {
            return output.show(write_panels(folder, &runs, &options)?);
        }
        let report = app::panels(&runs, &options)?;
        let drawn = match &runs[..] {
            [run] if options.for_people && !options.list_stats => memory_chart_text(run, &options),
            _ => None,
        };
        let Some(drawn) = drawn.filter(|_| output.table.is_none()) else { return output.show(report) };
        let mut tables = Report { tables: report.tables.clone(), ..Report::default() };
        tables.command = report.command.clone();
        output.show(tables)?;
        let fence = if output.format() == Format::Md { "```\n" } else { "" };
        print(&format!("{fence}{drawn}{fence}\n"))?;
        OutputArgs { sort: None, ..output.clone() }.show(Report { tables: Vec::new(), ..report })
    }

    fn options(&self, output: &OutputArgs) -> Result<PanelsOptions, Failure> {
        Ok(PanelsOptions {
            rule: if self.vendor_parity { Rule::MeanOfRatios } else { Rule::RatioOfSums },
            unit: self.normal_unit.into(),
            time: self.time_unit.into(),
            blocks: blocks(&self.block)?,
            decimals: self.decimal,
            choice: Choice {
                gpus: self.gpus.clone(),
                kernels: self.kernels.clone(),
                dispatches: self.dispatches.clone(),
            },
            corrections: self.specs.clone(),
            for_people: matches!(output.format(), Format::Table | Format::Md) && self.out.is_none(),
            list_stats: self.list_stats,
        })
    }

    /// One input for the first run, and one for each further run.
    fn inputs(&self) -> Result<Vec<Input>, Failure> {
        let filters = self.input.selection.filters()?;
        let given = self.input.files.given();
        let mut inputs = Vec::new();
        if !given.is_empty() || self.runs.is_empty() {
            inputs.push(Input { paths: self.input.files.paths()?, filters: filters.clone() });
        }
        for run in &self.runs {
            let paths = app::input::expand(std::slice::from_ref(run))?;
            inputs.push(Input { paths, filters: filters.clone() });
        }
        Ok(inputs)
    }
}

/// `max_sclk=2100`, or with a colon as in the vendor's tool.
fn fact(text: &str) -> Result<(String, f64), String> {
    let (key, value) = text.split_once(['=', ':']).ok_or("expected a fact and its number: max_sclk=2100")?;
    let number = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((key.trim().to_string(), number))
}

impl From<Unit> for NormalUnit {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Kernel => NormalUnit::PerKernel,
            Unit::Wave => NormalUnit::PerWave,
            Unit::Cycle => NormalUnit::PerCycle,
            Unit::Second => NormalUnit::PerSecond,
        }
    }
}

impl From<Time> for TimeUnit {
    fn from(time: Time) -> Self {
        match time {
            Time::Ns => TimeUnit::Ns,
            Time::Us => TimeUnit::Us,
            Time::Ms => TimeUnit::Ms,
            Time::S => TimeUnit::S,
        }
    }
}
