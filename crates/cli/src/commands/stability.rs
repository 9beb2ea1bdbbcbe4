//! `stability`

use analysis::stability::{RunTimes, run_needs, stability_report};
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, PathArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf stability run1.db run2.db run3.db
  rocm-perf stability runs/*/ --table kernels --format csv
  rocm-perf stability run*.json.gz --kernel gemm

Each input (a file, or a folder of one run's ranks) is one run, in the order they were made. The label comes from the
coefficient of variation: stable up to 5 %, noisy up to 10 %, else unstable. Slow first runs are warm-up and left out;
drift with the order of runs, two modes (clock states) and outliers are named. The interval of the median is a
bootstrap's 95 %. docs/stability.md has the thresholds.")]
pub struct StabilityArgs {
    #[command(flatten)]
    input: InputArgs,
}

impl StabilityArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let mut traces = Vec::new();
        let mut runs = Vec::new();
        for path in self.input.paths()? {
            let label = path.display().to_string();
            let files = PathArgs { inputs: vec![path], more: Vec::new() };
            let trace = InputArgs { files, ..self.input.clone() }.read(&run_needs(), output)?;
            let Some(times) = RunTimes::of(&trace, &label) else {
                return Err(Failure::input(format!(
                    "`{label}` has no dispatch, so it has no time to compare"
                )));
            };
            runs.push(times);
            // Only what the report names is kept of a run.
            traces.push(trace::Trace { sources: trace.sources, health: trace.health, ..Default::default() });
        }
        output.show(stability_report(&traces, &runs))
    }
}
