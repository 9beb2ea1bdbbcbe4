//! `att`

use std::path::PathBuf;

use analysis::att::{pc_sample_needs, pc_samples_report, thread_trace_report};
use clap::Args;
use trace::ThreadTrace;

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::input::with_progress;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf att ui_output_agent_1_dispatch_3
  rocm-perf att stats_ui_output_agent_1_dispatch_3.csv --table instructions
  rocm-perf att att_run/ --table sources --format csv
  rocm-perf att pc_sampling_stochastic.csv

Reads decoded thread traces of rocprofv3 (folders and statistics) and PC samples. A wait is charged to the load it waits
for, a stall to the unit that was busy, idle time after a branch to instruction fetch. Cycles are shader clocks: tracing
slows a kernel down, so no time is taken from it. docs/att.md explains the causes.")]
pub struct AttArgs {
    #[command(flatten)]
    files: PathArgs,
}

impl AttArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let paths = self.files.paths()?;
        let traces = thread_traces(&paths)?;
        if !traces.is_empty() {
            return output.show(thread_trace_report(&traces));
        }
        let read =
            with_progress("reading", output, |progress| ingest::read(&paths, &pc_sample_needs(), progress));
        // What cannot be read at all says so itself.
        let trace = read?;
        if let Some(report) = pc_samples_report(&trace) {
            return output.show(report);
        }
        let list: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let message = format!("`{}` holds no decoded thread trace and no PC samples", list.join("`, `"));
        let database = trace.sources.iter().any(|source| source.format == "rocpd");
        Err(Failure::input(message).with_help(match database {
            true => "the profiler writes PC samples to csv and json files, not to rocpd databases: collect with `-f csv`",
            false => "`rocprofv3 --att` writes folders `ui_output_agent_…` where its decoder library is installed",
        }))
    }
}

/// The thread traces at some paths; none when they are something else.
pub fn thread_traces(paths: &[PathBuf]) -> Result<Vec<ThreadTrace>, Failure> {
    let found = paths.iter().flat_map(|path| ingest::att::find(path));
    found.map(|path| Ok(ingest::att::read(&path)?)).collect()
}
