//! One file per command: its options, and the calls that run it.

pub mod att;
pub mod autotune;
pub mod bottleneck;
pub mod breakdown;
pub mod capture;
pub mod collect;
pub mod compare;
pub mod convert;
pub mod critical_path;
pub mod demo;
pub mod digest;
pub mod doctor;
pub mod efficiency;
pub mod experiment;
pub mod explain;
pub mod info;
pub mod lake;
pub mod mcp;
pub mod memory;
pub mod merge;
pub mod occupancy;
pub mod open;
pub mod ops;
pub mod optimize;
pub mod overlap;
pub mod panels;
pub mod perfetto_fix;
pub mod presets;
pub mod profile;
pub mod query;
pub mod ranks;
pub mod report;
pub mod requests;
pub mod roofline;
pub mod serve;
pub mod setup;
pub mod stability;
pub mod summary;
pub mod synth;
pub mod triage;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

/// Runs the chosen command.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let output = &arguments.output;
    if let Some(threads) = output.threads {
        app::use_threads(threads.into());
    }
    match &arguments.command {
        Command::Demo(args) => args.run(output),
        Command::Doctor(args) => args.run(output),
        Command::Info(args) => args.run(output),
        Command::Profile(args) => args.run(output),
        Command::Collect(args) => args.run(output),
        Command::Presets(args) => args.run(output),
        Command::Capture(args) => args.run(output),
        Command::Summary(args) => args.run(output),
        Command::Query(args) => args.run(output),
        Command::Convert(args) => args.run(output),
        Command::Merge(args) => args.run(output),
        Command::Lake(args) => args.run(output),
        Command::Open(args) => args.run(output),
        Command::Triage(args) => args.run(output),
        Command::Breakdown(args) => args.run(output),
        Command::Efficiency(args) => args.run(output),
        Command::Ranks(args) => args.run(output),
        Command::Digest(args) => args.run(output),
        Command::Memory(args) => args.run(output),
        Command::Ops(args) => args.run(output),
        Command::Requests(args) => args.run(output),
        Command::Overlap(args) => args.run(output),
        Command::CriticalPath(args) => args.run(output),
        Command::Roofline(args) => args.run(output),
        Command::Occupancy(args) => args.run(output),
        Command::Panels(args) => args.run(output),
        Command::Bottleneck(args) => args.run(output),
        Command::Att(args) => args.run(output),
        Command::Stability(args) => args.run(output),
        Command::PerfettoFix(args) => args.run(output),
        Command::Compare(args) => args.run(output),
        Command::Explain(args) => args.run(output),
        Command::Experiment(args) => args.run(output),
        Command::Report(args) => args.run(output),
        Command::Serve(args) => args.run(output),
        Command::Mcp(args) => args.run(output),
        Command::Autotune(args) => args.run(output),
        Command::Optimize(args) => args.run(output),
        Command::Synth(args) => args.run(output),
        Command::Completions(args) => args.run(),
        Command::Man(args) => args.run(),
    }
}
