//! The command line, defined once: parsing, help, completions and man pages come from here.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::output::OutputArgs;

/// Performance engineering for AMD GPUs: collect a profile, read any ROCm trace, say what is slow and why
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
    /// Make an example run, read it and show what there is to see
    Demo(commands::demo::DemoArgs),
    /// Check that this machine can profile: driver, permissions, profiler, space; and say how to mend it
    Doctor(commands::doctor::DoctorArgs),
    /// Say what is in a trace: inputs, tables, GPUs, health
    Info(commands::info::InfoArgs),
    /// Profile a program: kernel times and their stability, occupancy, roofline, critical path, bottlenecks
    Profile(Box<commands::profile::ProfileArgs>),
    /// Run an application under the profiler: presets, counters in few passes, monitors, ranks and jobs
    Collect(Box<commands::collect::CollectArgs>),
    /// List, show and copy what can be recorded: profiles and tools as files
    Presets(commands::presets::PresetsArgs),
    /// Profile a running SGLang or vLLM server: traces of prefill and decode, triaged
    Capture(Box<commands::capture::CaptureArgs>),
    /// Show where the time went: kernels, copies, allocations, host regions, domains
    Summary(commands::summary::SummaryArgs),
    /// Run SQL with rocpd's table and view names on any trace
    Query(commands::query::QueryArgs),
    /// Write a trace in other formats: csv, Perfetto, OTF2, chrome JSON, rocpd, Parquet
    Convert(commands::convert::ConvertArgs),
    /// Join rocpd databases of many ranks and nodes into one, or into a folder package, without secrets
    Merge(commands::merge::MergeArgs),
    /// Show a trace in the Perfetto UI, which fetches it from this machine
    Open(commands::open::OpenArgs),
    /// Show which kernels cost most and where they come from, what could overlap and what could be fused
    Triage(Box<commands::triage::TriageArgs>),
    /// Show how the GPUs spent their time: timeline, categories and backends, what ran together
    Breakdown(commands::breakdown::BreakdownArgs),
    /// Show what runs alone that could overlap, how likely its order is needed, and what that could win
    Overlap(commands::overlap::OverlapArgs),
    /// Show what the length of a run hangs on, what has slack, and what it would save to make something faster
    CriticalPath(commands::critical_path::CriticalPathArgs),
    /// Show how near each kernel is to what the GPU can compute and move, and which ceiling it is under
    Roofline(Box<commands::roofline::RooflineArgs>),
    /// Show how many waves of each kernel fit, what limits them and what to change to gain one
    Occupancy(Box<commands::occupancy::OccupancyArgs>),
    /// Show what bounds kernels by their hardware counters: the panels of ROCm Compute Profiler, of any workload
    Panels(Box<commands::panels::PanelsArgs>),
    /// Label what bounds each kernel, with evidence, and name the counters that would tell more
    Bottleneck(commands::bottleneck::BottleneckArgs),
    /// Show where the cycles of waves went, from decoded thread traces and PC samples
    Att(commands::att::AttArgs),
    /// Say how much repeated runs differ: spread, drift, modes, outliers
    Stability(commands::stability::StabilityArgs),
    /// Make a torch trace fit for Perfetto: crossing slices go to lanes of their own, nothing is lost
    PerfettoFix(commands::perfetto_fix::PerfettoFixArgs),
    /// Say what got slower or faster from one run to another, beyond noise, and what explains it
    Compare(Box<commands::compare::CompareArgs>),
    /// Say what is wrong with a run and what it could win: ranked findings of rules, your own included
    Explain(commands::explain::ExplainArgs),
    /// Write a report to read and pass on: html, pdf, md, xlsx, json, and its charts as png, svg or jpeg
    Report(commands::report::ReportArgs),
    /// Find the best values of a program's parameters: seed, predict, confirm, with confidence
    Autotune(Box<commands::autotune::AutotuneArgs>),
    /// Change a kernel, prove that it is faster and still right, or put it back
    Optimize(Box<commands::optimize::OptimizeArgs>),
    /// Simulate a run with known truth and write it as trace files
    Synth(commands::synth::SynthArgs),
    /// Print shell completions
    Completions(commands::setup::CompletionsArgs),
    /// Write man pages
    Man(commands::setup::ManArgs),
}
