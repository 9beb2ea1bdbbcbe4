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

Findings are ranked by gain ceiling: the most you could save by removing the
cause. The table `rules` shows which rules found something, found nothing, or
could not judge and why; docs/explain.md lists them. Your own rule is a file
NAME.sql with a header of comments and one SELECT; each row is a finding:
  -- id: long-kernels
  -- title: kernels above a millisecond
  -- severity: medium
  -- message: {name} takes {total_ns} ns in {calls} calls
  -- gain: total_ns
  SELECT name, count(*) AS calls, sum(duration) AS total_ns
  FROM kernels GROUP BY name HAVING max(duration) > 1000000")]
pub struct ExplainArgs {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Folder with your own rules, one `*.sql` file each
    #[arg(long, alias = "rules", value_name = "DIR")]
    sql_rules: Option<PathBuf>,

    /// Run only this rule; may be repeated
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
