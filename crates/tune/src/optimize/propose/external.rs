//! Proposals from another program: it reads the evidence from a JSON file and prints proposals as JSON.

use std::path::Path;
use std::time::Duration;

use files::process::{self, Job};
use serde_json::Value as Json;

use super::{NoProposal, Proposal, splice};
use crate::optimize::source::{Kernel, Source};

/// This variable names the file with the evidence.
pub const CONTEXT_VARIABLE: &str = "ROCM_PERF_CONTEXT";

/// Runs the program. It prints `{"proposals": [{"description": "…", "source": "whole file"}]}`, or `kernel`
/// with only the kernel instead of `source`.
pub fn proposals(
    words: &[String],
    context: &Json,
    scratch: &Path,
    limit: Duration,
    source: &Source,
    kernel: &Kernel,
    flags: &[String],
) -> Result<Vec<Result<Proposal, NoProposal>>, NoProposal> {
    let file = scratch.join("context.json");
    std::fs::write(&file, format!("{context:#}\n"))
        .map_err(|error| NoProposal(format!("cannot write the context: {error}")))?;
    let env = [(CONTEXT_VARIABLE.to_string(), file.display().to_string())];
    let ended = process::run(&Job { env: &env, limit: Some(limit), ..Job::of(words) });
    if !ended.is_success() {
        return Err(NoProposal(format!("the proposer {}", ended.explain())));
    }
    let answer: Json = serde_json::from_slice(&ended.stdout)
        .map_err(|error| NoProposal(format!("the proposer's output is not JSON: {error}")))?;
    let list = answer["proposals"].as_array();
    let list = list.ok_or_else(|| NoProposal("the proposer's output has no list `proposals`".into()))?;
    Ok(list.iter().enumerate().map(|(i, one)| read(i, one, source, kernel, flags)).collect())
}

fn read(
    number: usize,
    one: &Json,
    source: &Source,
    kernel: &Kernel,
    flags: &[String],
) -> Result<Proposal, NoProposal> {
    let description = one["description"].as_str().unwrap_or("without description").to_string();
    let text = match (one["source"].as_str(), one["kernel"].as_str()) {
        (Some(text), _) => text.to_string(),
        (None, Some(written)) => splice(source, kernel, written)?,
        _ => return Err(NoProposal(format!("proposal {} has neither `source` nor `kernel`", number + 1))),
    };
    Ok(Proposal::of_source("command", description, text, flags))
}
