//! The command line, defined once: parsing, help, completions and man pages come from here.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::output::OutputArgs;

/// Performance engineering for AMD GPUs: record a run, find what is slow, fix it
#[derive(Parser, Debug)]
#[command(name = "rocm-perf", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// How to show it.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Commands; `help::GROUPS` says under which heading each is listed.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Simulate a serving run and triage it; no GPU needed
    Demo(commands::demo::DemoArgs),
    /// Check that this machine can profile; show how to fix problems
    Doctor(commands::doctor::DoctorArgs),
    /// Show what is in a trace: inputs, tables, GPUs, health
    Info(commands::info::InfoArgs),
    /// Profile a program: kernel times, occupancy, critical path
    Profile(Box<commands::profile::ProfileArgs>),
    /// Record an application: traces, counters, monitors, all ranks
    Collect(Box<commands::collect::CollectArgs>),
    /// List, show and copy the recording presets
    Presets(commands::presets::PresetsArgs),
    /// Profile a running SGLang or vLLM server and triage its traces
    Capture(Box<commands::capture::CaptureArgs>),
    /// Show where the time went: kernels, copies, host calls
    Summary(commands::summary::SummaryArgs),
    /// Run SQL on any trace, with rocpd's table and view names
    Query(commands::query::QueryArgs),
    /// Convert a trace: csv, Perfetto, OTF2, Chrome, rocpd, Parquet
    Convert(commands::convert::ConvertArgs),
    /// Merge the rocpd databases of many ranks, without their secrets
    Merge(commands::merge::MergeArgs),
    /// Put the traces of many ranks into one dataset, for SQL
    Lake(commands::lake::LakeArgs),
    /// Open a trace in the Perfetto UI, served from this machine
    Open(commands::open::OpenArgs),
    /// Rank kernels by cost and source; find overlaps and fusions
    Triage(Box<commands::triage::TriageArgs>),
    /// Show how each GPU spent its time: compute, copies, idle
    Breakdown(commands::breakdown::BreakdownArgs),
    /// Show how far a run is from the GPU's peak, and why
    Efficiency(commands::efficiency::EfficiencyArgs),
    /// Find late ranks and slow links, and what they cost a step
    Ranks(commands::ranks::RanksArgs),
    /// Write a small digest of each rank's trace, for ranks
    Digest(commands::digest::DigestArgs),
    /// Show peak memory, what held it, fragmentation and leaks
    Memory(commands::memory::MemoryArgs),
    /// Show GPU time by op, shapes, nn.Module and Python frame
    Ops(commands::ops::OpsArgs),
    /// Show where the time of each request went, across servers
    Requests(commands::requests::RequestsArgs),
    /// Show what runs alone but could overlap, and what it would save
    Overlap(commands::overlap::OverlapArgs),
    /// Show the critical path: what determines the run time
    CriticalPath(commands::critical_path::CriticalPathArgs),
    /// Show how close kernels get to compute and memory peaks
    Roofline(Box<commands::roofline::RooflineArgs>),
    /// Show how many waves of a kernel fit, and what limits them
    Occupancy(Box<commands::occupancy::OccupancyArgs>),
    /// Show hardware counters in the panels of ROCm Compute Profiler
    Panels(Box<commands::panels::PanelsArgs>),
    /// Label what bounds each kernel, with the evidence
    Bottleneck(commands::bottleneck::BottleneckArgs),
    /// Show what waves wait for, from thread traces and PC samples
    Att(commands::att::AttArgs),
    /// Show how much repeated runs differ: spread, drift, outliers
    Stability(commands::stability::StabilityArgs),
    /// Fix a torch trace so that Perfetto shows every slice
    PerfettoFix(commands::perfetto_fix::PerfettoFixArgs),
    /// Show what got slower or faster between two runs, beyond noise
    Compare(Box<commands::compare::CompareArgs>),
    /// Find what slows a run down, ranked by what a fix could save
    Explain(commands::explain::ExplainArgs),
    /// Keep runs as trials of experiments: trends, alerts, a gate
    Experiment(Box<commands::experiment::ExperimentCommand>),
    /// Write a report: html, pdf, md, xlsx, json, and chart images
    Report(commands::report::ReportArgs),
    /// Serve the dashboard of experiments, and its JSON API
    Serve(commands::serve::ServeArgs),
    /// Answer agents: a Model Context Protocol server for traces
    Mcp(commands::mcp::McpArgs),
    /// Find the best values of a program's parameters
    Autotune(Box<commands::autotune::AutotuneArgs>),
    /// Try changes to a kernel; keep those that are faster and correct
    Optimize(Box<commands::optimize::OptimizeArgs>),
    /// Simulate a run with known truth and write its trace files
    Synth(commands::synth::SynthArgs),
    /// Print shell completions
    Completions(commands::setup::CompletionsArgs),
    /// Write man pages
    Man(commands::setup::ManArgs),
}
