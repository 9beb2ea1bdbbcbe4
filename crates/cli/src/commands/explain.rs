//! `explain`

use std::path::PathBuf;

use app::explain::ExplainRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::{InputArgs, MappingArgs, TargetArgs};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf explain trace.json.gz
  rocm-perf explain ranks/ --rule straggler --rule exposed-communication
  rocm-perf explain 4711_results.db --sql-rules my_rules/ --format json

Findings come by gain ceiling: the most that could be won if the one thing were gone. The table `rules` says of each
rule whether it found something, is clear, or cannot judge and why; docs/explain.md lists the rules. A rule of your own
is a file NAME.sql with a header of comments and one SELECT, whose rows are the findings:
  -- id: long-kernels
  -- title: kernels above a millisecond
  -- severity: medium
  -- message: {name} takes {total_ns} ns in {calls} calls
  -- gain: total_ns
  SELECT name, count(*) AS calls, sum(duration) AS total_ns FROM kernels GROUP BY name HAVING max(duration) > 1000000")]
pub struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Folder of your own rules, one `*.sql` file each
    #[arg(long, alias = "rules", value_name = "DIR")]
    sql_rules: Option<PathBuf>,

    /// Ask this rule only; may be repeated
    #[arg(long, value_name = "ID")]
    rule: Vec<String>,

    #[command(flatten)]
    mapping: MappingArgs,
}

impl ExplainArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = ExplainRequest {
            input: self.input.request()?,
            target_arch: self.target.arch(),
            sql_rules: self.sql_rules.clone(),
            rules: self.rule.clone(),
            mapping: self.mapping.path(),
        };
        output.show(app::explain(&request, output)?)
    }
}
