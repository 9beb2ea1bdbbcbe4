//! What is wrong with a run: ranked findings from rules, including the user's own.

mod sql_rules;

use std::path::PathBuf;
use std::sync::Arc;

use analysis::explain::{RULES, RULES_TABLE, explain_needs, rank, rule_row};
use model::Run;
use model::classify::Classifier;
use query::Session;
use report::Report;
use trace::Needs;

use self::sql_rules::SqlRule;
use crate::causes::for_target;
use crate::failure::Failure;
use crate::input::{Input, one_run, read_mapping};
use crate::observer::Observer;

/// Which run to explain, by which rules.
#[derive(Clone, Debug, Default)]
pub struct ExplainRequest {
    /// The trace.
    pub input: Input,
    /// Folder of the user's own rules, one SQL file each.
    pub sql_rules: Option<PathBuf>,
    /// Ids of the rules to run; empty: all.
    pub rules: Vec<String>,
    /// The trace that shows where replayed kernels come from.
    pub mapping: Option<PathBuf>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
}

/// What is wrong with a run and what it could win.
pub fn explain(request: &ExplainRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let own = match &request.sql_rules {
        Some(folder) => sql_rules::load(folder)?,
        None => Vec::new(),
    };
    check_ids(&request.rules, &own)?;
    let asked: Vec<&SqlRule> =
        own.iter().filter(|rule| request.rules.is_empty() || request.rules.contains(&rule.id)).collect();
    let needs = if asked.is_empty() { explain_needs() } else { Needs::everything() };
    let trace = request.input.read(&needs, observer)?;
    one_run(&trace.sources, "explain")?;
    let mapping = read_mapping(request.mapping.as_ref(), &needs, observer)?;
    let mut report = {
        let context = Run::new(&trace, mapping.as_deref(), &Classifier::builtin(), 0.0)
            .map_err(|error| Failure::input(error.to_string()))?
            .with_stage_patterns(&request.input.filters.stage_patterns);
        analysis::explain::explain(&context, &request.rules, &for_target(&request.target_arch))
    };
    if !asked.is_empty() {
        let session = Session::of_trace(Arc::unwrap_or_clone(trace))
            .map_err(|error| Failure::input(error.to_string()))?;
        for rule in asked {
            let judged = rule.judge(&session)?;
            let status = if judged.findings.is_empty() { "clear" } else { "found" };
            let row = rule_row(
                &rule.id,
                &rule.title,
                status,
                &judged.note,
                judged.findings.len(),
                judged.findings.iter().filter_map(|finding| finding.gain_ceiling_ns).max(),
            );
            if let Some(rules) = report.tables.iter_mut().find(|table| table.name == RULES_TABLE) {
                rules.push(row);
            }
            report.findings.extend(judged.findings);
        }
        rank(&mut report.findings);
    }
    Ok(report)
}

/// Checks that every requested id is a rule, and that no user rule has the id of a built-in one.
fn check_ids(asked: &[String], own: &[SqlRule]) -> Result<(), Failure> {
    if let Some(rule) = own.iter().find(|rule| RULES.iter().any(|built_in| built_in.id == rule.id)) {
        let message = format!("{}: `{}` is the id of a built-in rule", rule.place(), rule.id);
        return Err(Failure::input(message));
    }
    let known: Vec<&str> =
        RULES.iter().map(|rule| rule.id).chain(own.iter().map(|rule| rule.id.as_str())).collect();
    match asked.iter().find(|id| !known.contains(&id.as_str())) {
        Some(id) => Err(Failure::input(format!("there is no rule `{id}`"))
            .with_help(format!("rules are {}", known.join(", ")))),
        None => Ok(()),
    }
}
