//! `explain`

mod sql_rules;

use std::path::PathBuf;

use analysis::explain::{RULES, explain, explain_needs, rank, rule_row};
use clap::Args;
use model::Run;
use model::classify::Classifier;
use query::Session;
use trace::Needs;

use self::sql_rules::SqlRule;
use crate::failure::Failure;
use crate::input::{InputArgs, one_run, with_progress};
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf explain trace.json.gz
  rocm-perf explain ranks/ --rule straggler --rule exposed-communication
  rocm-perf explain 4711_results.db --rules my_rules/ --format json

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

    /// Folder of your own rules, one `*.sql` file each
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,

    /// Ask this rule only; may be repeated
    #[arg(long, value_name = "ID")]
    rule: Vec<String>,

    /// Trace of a graph's capture, or of a run without graphs, that tells where replayed kernels come from
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
}

impl ExplainArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let own = match &self.rules {
            Some(folder) => sql_rules::load(folder)?,
            None => Vec::new(),
        };
        self.check_ids(&own)?;
        let asked: Vec<&SqlRule> =
            own.iter().filter(|rule| self.rule.is_empty() || self.rule.contains(&rule.id)).collect();
        let needs = if asked.is_empty() { explain_needs() } else { Needs::everything() };
        let trace = self.input.read(&needs, output)?;
        one_run(&trace, "explain")?;
        let mapping = match &self.mapping {
            Some(path) => Some(with_progress("reading", output, |progress| {
                ingest::read(std::slice::from_ref(path), &needs, progress)
            })?),
            None => None,
        };
        let mut report = {
            let context = Run::new(&trace, mapping.as_ref(), &Classifier::builtin(), 0.0)
                .map_err(|error| Failure::input(error.to_string()))?
                .with_stage_patterns(&self.input.selection.stage_patterns());
            explain(&context, &self.rule)
        };
        if !asked.is_empty() {
            let session = Session::of_trace(trace).map_err(|error| Failure::input(error.to_string()))?;
            for rule in asked {
                let judged = rule.judge(&session)?;
                let status = if judged.findings.is_empty() { "clear" } else { "found" };
                let row = rule_row(&rule.id, &rule.title, status, &judged.note, &judged.findings);
                report.tables[0].push(row);
                report.findings.extend(judged.findings);
            }
            rank(&mut report.findings);
        }
        output.show(report)
    }

    /// Every id asked for is one of a rule, and no rule of the user's has a built-in one's id.
    fn check_ids(&self, own: &[SqlRule]) -> Result<(), Failure> {
        if let Some(rule) = own.iter().find(|rule| RULES.iter().any(|built_in| built_in.id == rule.id)) {
            let message = format!("{}: `{}` is the id of a built-in rule", rule.place(), rule.id);
            return Err(Failure::input(message));
        }
        let known: Vec<&str> =
            RULES.iter().map(|rule| rule.id).chain(own.iter().map(|rule| rule.id.as_str())).collect();
        match self.rule.iter().find(|id| !known.contains(&id.as_str())) {
            Some(id) => Err(Failure::input(format!("there is no rule `{id}`"))
                .with_help(format!("rules are {}", known.join(", ")))),
            None => Ok(()),
        }
    }
}
