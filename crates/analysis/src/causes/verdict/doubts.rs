//! Reasons not to judge a trace. If there is a doubt, the verdict names it instead of guessing.

use report::Verdict;
use trace::{Check, Status, Trace};

use super::Parts;
use crate::subject::{OneRun, OneRunError};

/// Checks that rule out a verdict even if they only warn: all rows of a kind may be missing.
const INCOMPLETE: [&str; 1] = ["truncated"];

/// The evidence for a verdict.
pub(super) struct Ground<'a> {
    pub trace: &'a Trace,
    /// The time of all GPUs; `None` if no GPU work is recorded.
    pub parts: Option<&'a Parts>,
    /// Whether any GPU work is linked to the call that launched it; `None` if no calls were read.
    pub is_linked: Option<bool>,
}

impl Ground<'_> {
    /// Adds to a verdict what cannot be judged and why, and removes what would be a guess.
    pub fn put_doubts_into(&self, verdict: &mut Verdict) {
        let checks = &self.trace.health.checks;
        let incomplete: Vec<String> = checks
            .iter()
            .filter(|check| self.is_incomplete(check))
            .map(|check| check.message.clone())
            .collect();
        let several = self.is_linked.is_none().then(|| several_runs(self.trace)).flatten();
        let failed = checks.iter().any(|check| check.status == Status::Fail);
        let is_one_piece = self.parts.is_some_and(|parts| parts.pieces == 1);
        let no_judgement = failed || !incomplete.is_empty() || several.is_some() || is_one_piece;

        verdict.why_not.extend(incomplete);
        verdict.why_not.extend(several);
        if self.parts.is_none() {
            verdict.why_not.push("no GPU work is recorded".into());
        } else if is_one_piece {
            verdict.why_not.push("only one kernel or copy is recorded".into());
        } else if verdict.bound_by.is_none() {
            verdict.why_not.extend(self.is_linked.map(|is_linked| match is_linked {
                true => "more than half of the time has no recorded cause".into(),
                false => "no launch is recorded, so why the GPU is idle is not known".to_string(),
            }));
        }
        if no_judgement {
            verdict.bound_by = None;
        }
        if !self.has_names() {
            verdict.why_not.push("kernels have no names, so what takes the time is not known".into());
            verdict.largest_cost = None;
        }
    }

    fn is_incomplete(&self, check: &Check) -> bool {
        // Kernels start before they are launched, so idle time cannot be matched with what the host did.
        let most = self.trace.kernels.len() as f64 / 2.0;
        let clocks_differ = check.id == "causality" && check.value.is_some_and(|early| early > most);
        check.status == Status::Warn && (INCOMPLETE.contains(&check.id) || clocks_differ)
    }

    fn has_names(&self) -> bool {
        let names = &self.trace.kernels.name;
        names.is_empty() || names.iter().any(|name| !self.trace.strings.get(*name).is_empty())
    }
}

/// Whether the inputs are several runs, which cannot share a verdict.
fn several_runs(trace: &Trace) -> Option<String> {
    if trace.sources.len() < 2 {
        return None;
    }
    let mut ranks: Vec<Option<u32>> = trace.sources.iter().map(|source| source.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks.into_iter().find_map(|rank| match OneRun::choose(&trace.sources, rank) {
        Err(OneRunError::Several { paths }) => {
            Some(format!("there are {} runs, and each needs a verdict of its own", paths.len()))
        }
        _ => None,
    })
}
