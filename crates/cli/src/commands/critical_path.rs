//! `critical-path`

use std::path::PathBuf;

use analysis::{CriticalPathError, CriticalPathOptions, WhatIf, critical_path, critical_path_needs};
use clap::Args;
use trace::Needs;

use super::breakdown::classifier;
use crate::failure::Failure;
use crate::input::{InputArgs, one_run};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf critical-path trace.json.gz
  rocm-perf critical-path 4711_results.db --what-if 'gemm=0.5' --what-if 'copy=0'
  rocm-perf critical-path ranks/ --table path --format csv
  rocm-perf critical-path trace.json.gz --out path.pftrace

The path goes from the last event back to whatever made each event as late as it was; its segments add up to the span.
`slack` is how much later a kernel may start (the least of its dispatches) without the run ending later. `--what-if`
scales a kind of time (compute, copy, communication, launch, queueing, host, sync), a category (gemm, attention …)
or the kernels and copies whose name matches a regular expression (`kernel:copy=0.5` is always a name), propagates
that through all dependencies and predicts the span. docs/critical-path.md says what follows what.")]
pub struct CriticalPathArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Predict the span with the time of NAME multiplied by FACTOR; may be repeated
    #[arg(long, value_name = "NAME=FACTOR")]
    what_if: Vec<String>,

    /// Use dependencies that only times suggest: work follows what ended last before it
    #[arg(long)]
    infer: bool,

    /// Give every segment of the path a row of its own, however many there are
    #[arg(long)]
    all_segments: bool,

    /// Write the trace with the path as a track of its own, for Perfetto (`.pftrace`, `.pftrace.gz`)
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl CriticalPathArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let what_if: Result<Vec<WhatIf>, _> = self.what_if.iter().map(|text| text.parse()).collect();
        let what_if = what_if.map_err(|error: analysis::WhatIfError| failed(error.into()))?;
        let classifier = classifier(self.rules.as_ref())?;
        let needs = match self.out {
            Some(_) => Needs { shapes: true, ..critical_path_needs() },
            None => critical_path_needs(),
        };
        let trace = self.input.read_classified(&needs, output, || classifier.clone())?;
        one_run(&trace, "critical-path")?;
        let options = CriticalPathOptions { what_if, infer: self.infer, all_segments: self.all_segments };
        let mut found = critical_path(&trace, &classifier, &options).map_err(failed)?;
        if let Some(target) = &self.out {
            let drawn = analysis::critical_path::draw(trace, &found.steps);
            let gzip = target.extension().is_some_and(|extension| extension == "gz");
            let options = convert::pftrace::Options { gzip, ..Default::default() };
            let written = convert::pftrace::write(&drawn, target, &options)
                .map_err(|error| Failure::input(format!("cannot write `{}`: {error}", target.display())))?;
            let note = format!(
                "`{}` holds {} slices; the process `critical path` is the path",
                target.display(),
                written.slices
            );
            found.report.notes.push(note);
        }
        output.show(found.report)
    }
}

fn failed(error: CriticalPathError) -> Failure {
    use analysis::WhatIfError::{Factor, Pattern, Shape, Unmatched};
    let failure = Failure::input(error.to_string());
    match error {
        CriticalPathError::WhatIf(Shape(_) | Factor(_)) => {
            failure.with_help("write it like `--what-if 'gemm=0.5'`: half the time for all GEMMs")
        }
        CriticalPathError::WhatIf(Unmatched(_)) => failure.with_help(
            "`rocm-perf summary` lists names; compute, copy, communication, launch, queueing, host, sync and \
             categories such as gemm stand for themselves",
        ),
        CriticalPathError::WhatIf(Pattern { .. }) => {
            failure.with_help("a `\\` before a character takes it as it is: `gemm\\(`")
        }
        CriticalPathError::Empty => failure.with_help("`rocm-perf info` says what is in a trace"),
    }
}
