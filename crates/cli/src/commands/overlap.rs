//! `overlap`

use std::path::PathBuf;

use clap::Args;
use model::Run;

use super::breakdown::classifier;
use crate::failure::Failure;
use crate::input::{InputArgs, one_run, with_progress};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf overlap trace.json.gz
  rocm-perf overlap decode.json.gz --mapping capture.json.gz
  rocm-perf overlap 4711_results.db --min-share 0.5 --format json

`exclusive` is time with nothing on another stream, `exposed` is critical time: communication without computation,
copies without either, computation alone. `gain ceiling` is the most that could be won if the order may be changed:
step by step the lesser of the exposed time and the computation it could hide beside, on the GPU where that is most.
`free gain` is the part that the recorded order (streams, events, blocking calls) allows as it is. `dependency risk`
says how likely the order is needed.")]
pub struct OverlapArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Trace of a graph's capture, or of a run without graphs, that tells where replayed kernels come from
    #[arg(long, alias = "mapping-input", value_name = "FILE")]
    mapping: Option<PathBuf>,

    /// Leave out kernels below this share of their stage's GPU time, in percent
    #[arg(long, value_name = "PCT", default_value_t = 1.0)]
    min_share: f64,

    /// Rules for kernel names (TOML), tried before the built-in ones
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

impl OverlapArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let classifier = classifier(self.rules.as_ref())?;
        let needs = analysis::overlap_needs();
        let (whose, rest) = self.input.selection.whose_and_rest();
        let input = InputArgs { selection: whose, ..self.input.clone() };
        let mut trace = input.read(&rest.widen(&needs)?, output)?;
        one_run(&trace, "overlap")?;
        let part = rest.mark(&mut trace, &|| classifier.clone())?;
        let mapping = match &self.mapping {
            Some(path) => Some(with_progress("reading", output, |progress| {
                ingest::read(std::slice::from_ref(path), &needs, progress)
            })?),
            None => None,
        };
        let mut context = Run::new(&trace, mapping.as_ref(), &classifier, self.min_share)
            .map_err(|error| Failure::input(error.to_string()))?
            .with_stage_patterns(&self.input.selection.stage_patterns());
        // The rest of the trace still tells where the part comes from.
        if let Some(part) = &part {
            context.rows.retain(|&row| part.wants_work(&trace, row));
        }
        output.show(analysis::overlap_report(&context))
    }
}
