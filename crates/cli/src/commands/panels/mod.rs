//! `panels`

mod files;
mod preset;
mod tui;

use std::path::PathBuf;

use analysis::panels::catalogue::{ARCHITECTURES, Catalogue, architecture};
use analysis::panels::{
    Block, Blocks, Choice, ChoiceError, NormalUnit, PanelsOptions, Rule, TimeUnit, choose, list_metrics,
    memory_chart_text, panels, panels_needs,
};
use clap::{Args, ValueEnum};
use report::Report;
use trace::Trace;

pub use self::preset::choose_counters;
use crate::aggregate::AggregateArgs;
use crate::failure::Failure;
use crate::input::{InputArgs, PathArgs};
use crate::output::{Format, OutputArgs, print};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf panels workloads/vcopy/MI200                    # top kernels, speed of light, memory chart
  rocm-perf panels workloads/vcopy/MI200 -b 7.2 -b 16,17    # these tables and panels
  rocm-perf panels run.db -k gemm -n per_wave -b all
  rocm-perf panels -p before/ -p after/ -b 2                # the second beside the first, with changes
  rocm-perf panels workloads/vcopy/MI200 --vendor-parity --decimal 10 --format json
  rocm-perf panels --list-metrics gfx942 -b 2
  rocm-perf panels workloads/app/MI300X --tui

Inputs are workload folders of ROCm Compute Profiler of any release, or traces with hardware counters; several inputs
are ranks of one run. A metric of many dispatches is a ratio of sums, and known slips of the vendor's formulas are
corrected: `--vendor-parity` gives the values of rocprof-compute 3.3.0 instead. docs/panels.md lists the differences.")]
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

    /// What work is counted by
    #[arg(short, long, value_enum, value_name = "UNIT", default_value_t)]
    normal_unit: Unit,

    /// Unit of durations
    #[arg(short, long, value_enum, value_name = "UNIT", default_value_t)]
    time_unit: Time,

    /// Digits behind the point [default: 2 in table and md, all in json and csv]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=15))]
    decimal: Option<u32>,

    /// The vendor's values: mean of ratios, and its formulas with their slips
    #[arg(long)]
    vendor_parity: bool,

    /// A fact about the GPU that the workload has wrong: max_sclk=2100; may be repeated
    #[arg(long, alias = "specs-correction", value_name = "FACT=N", value_delimiter = ',', value_parser = fact)]
    specs: Vec<(String, f64)>,

    /// List the metrics and their formulas, of ARCH or of the input's GPU, and stop
    #[arg(long, value_name = "ARCH", num_args = 0..=1, default_missing_value = "")]
    list_metrics: Option<String>,

    /// List kernels with their ids and dispatches, and stop
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
            return self.list(wanted, &options, output);
        }
        let runs = self.read(output)?;
        if self.tui {
            choose(&runs[0], &options.choice).map_err(|error| unchosen(&error))?;
            return tui::run(&runs, options);
        }
        let report = panels(&runs, &options).map_err(|error| unchosen(&error))?;
        if let Some(folder) = &self.out {
            return files::write(folder, &runs, &options, output);
        }
        let drawn = match &runs[..] {
            [run] if options.for_people && !options.list_stats => memory_chart_text(run, &options),
            _ => None,
        };
        // All rows were asked for by their block; a chart stands between tables and remarks.
        let output = &OutputArgs { limit: output.limit.or(Some(0)), ..output.clone() };
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

    /// One trace for the inputs, and one for each further run.
    fn read(&self, output: &OutputArgs) -> Result<Vec<Trace>, Failure> {
        let needs = panels_needs();
        let mut inputs = Vec::new();
        let files = &self.input.files;
        if !(files.inputs.is_empty() && files.more.is_empty() && !self.runs.is_empty()) {
            inputs.push(self.input.clone());
        }
        inputs.extend(self.runs.iter().map(|run| InputArgs {
            files: PathArgs { inputs: vec![run.clone()], more: Vec::new() },
            ..self.input.clone()
        }));
        let mut traces = Vec::new();
        for input in inputs {
            let mut trace = input.read(&needs, output)?;
            self.aggregate.apply(&mut trace);
            if trace.kernels.is_empty() {
                let paths: Vec<String> =
                    input.paths()?.iter().map(|path| path.display().to_string()).collect();
                return Err(Failure::input(format!("there is no kernel in `{}`", paths.join("`, `"))));
            }
            traces.push(trace);
        }
        Ok(traces)
    }

    fn list(&self, wanted: &str, options: &PanelsOptions, output: &OutputArgs) -> Result<(), Failure> {
        let name = if architecture(wanted).is_some() {
            wanted.to_string()
        } else {
            // The word behind the option may be the input.
            let mut input = self.input.clone();
            if !wanted.is_empty() {
                if wanted.starts_with("gfx") {
                    return Err(Failure::input(format!(
                        "no panels are known for the architecture `{wanted}`"
                    ))
                    .with_help(format!("it is one of {}", ARCHITECTURES.join(", "))));
                }
                input.files.inputs.push(PathBuf::from(wanted));
            }
            input.files.inputs.extend(self.runs.iter().take(1).cloned());
            let trace = input.read(&panels_needs(), output)?;
            let agents = trace.agents.iter().map(|agent| trace.strings.get(agent.name));
            let known = agents.filter(|name| architecture(name).is_some()).max();
            known.unwrap_or_default().to_string()
        };
        let Some(architecture) = architecture(&name) else {
            return Err(Failure::input("the input does not name an architecture with panels")
                .with_help(format!("give one of {}", ARCHITECTURES.join(", "))));
        };
        output.show(list_metrics(architecture, &options.blocks, options.rule))
    }
}

fn unchosen(error: &ChoiceError) -> Failure {
    Failure::input(error.to_string()).with_help("`--list-stats` lists kernels with their ids, and dispatches")
}

/// `max_sclk=2100`, or with the vendor's colon.
fn fact(text: &str) -> Result<(String, f64), String> {
    let (key, value) =
        text.split_once(['=', ':']).ok_or("a fact and its number are needed: max_sclk=2100")?;
    let number = value.trim().parse().map_err(|_| format!("`{value}` is no number"))?;
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

/// The panels, tables and metrics that are asked for by number; none means what the command shows by itself.
fn blocks(asked: &[String]) -> Result<Blocks, Failure> {
    let panels = &Catalogue::builtin().panels;
    if asked.iter().any(|block| block == "all") {
        let numbers = [0, 1].into_iter().chain(panels.iter().map(|panel| panel.number));
        return Ok(Blocks(numbers.map(|panel| Block { panel, table: None, row: None }).collect()));
    }
    let mut blocks = Vec::new();
    for text in asked {
        let wrong = |why: String| Failure::input(format!("`-b {text}` is no block: {why}"));
        let block: Block = text.parse().map_err(wrong)?;
        let known = block.panel < 2
            || panels.iter().any(|panel| {
                let table = |number| panel.tables.iter().any(|table| table.number == number);
                panel.number == block.panel && block.table.is_none_or(table)
            });
        if !known {
            return Err(wrong("there is none with this number".into())
                .with_help("`rocm-perf panels --list-metrics gfx942` lists panels and metrics"));
        }
        blocks.push(block);
    }
    Ok(Blocks(blocks))
}
