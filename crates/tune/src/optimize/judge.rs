//! What a proposal has to pass, in this order: guards on the source, the build, guards on the built program,
//! checks, measurements. Each result is kept in the candidate's folder.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::experiment::{Plan, Proof, Side, Verdict, prove};
use super::propose::Proposal;
use super::session::{self, CandidateStatus};
use super::trial::{Current, Trial};
use super::{OptimizeError, guard, metadata};
use stats::random::Random;

/// The outcome of a proposal.
pub(super) struct Judged {
    pub status: CandidateStatus,
    pub reason: String,
    pub proof: Option<Proof>,
    /// What the built kernel uses, before and after.
    pub metadata: Json,
    /// The compiler's errors.
    pub errors: String,
}

impl Judged {
    fn new(status: CandidateStatus, reason: String) -> Self {
        Self { status, reason, proof: None, metadata: Json::Null, errors: String::new() }
    }
}

impl Trial<'_> {
    /// Guards, builds, checks and measures a proposal.
    pub(super) fn judge(
        &self,
        proposal: &Proposal,
        current: &Current,
        plan: &Plan,
        folder: &Path,
        random: &mut Random,
    ) -> Result<Judged, OptimizeError> {
        let (source, kernel) = match self.parsed(&current.text) {
            Ok(parsed) => parsed,
            Err(why) => return Ok(Judged::new(CandidateStatus::Refused, why)),
        };
        // With other options the source may be the same; with the same options it must not.
        if (proposal.flags == current.flags || proposal.text != current.text)
            && let Err(refusal) = guard::check(&source, &kernel, &proposal.text, proposal.header)
        {
            return Ok(Judged::new(CandidateStatus::Refused, refusal.to_string()));
        }
        let runner = self.runner;
        runner.workspace.write(Side::Candidate, self.relative, &proposal.text)?;
        match runner.build(Side::Candidate, &proposal.flags) {
            Ok(log) => session::write(&folder.join("build.log"), &log)?,
            Err(failed) => {
                session::write(&folder.join("build.log"), &failed.log)?;
                let judged = Judged::new(CandidateStatus::BuildFailed, format!("the build {}", failed.why));
                return Ok(Judged { errors: failed.errors(), ..judged });
            }
        }
        if runner.is_same() {
            return Ok(Judged::new(CandidateStatus::NoEffect, "the build produced the same program".into()));
        }
        let mut judged = self.built(proposal);
        save(&folder.join("metrics.json"), &judged.metadata)?;
        if judged.status != CandidateStatus::Accepted {
            return Ok(judged);
        }
        let (refused, seen) = self.checks.all(Side::Candidate);
        save(&folder.join("check.json"), &seen)?;
        if let Some(refused) = refused {
            let wrong =
                if refused.program { CandidateStatus::RunFailed } else { CandidateStatus::WrongResult };
            (judged.status, judged.reason) = (wrong, format!("{} {}", refused.who, refused.why));
            return Ok(judged);
        }
        self.measured(judged, plan, folder, random)
    }

    /// The code objects of both sides; accepted so far if nothing is wrong with them.
    fn built(&self, proposal: &Proposal) -> Judged {
        let workgroup = self.target.evidence.workgroup;
        let read = |side| metadata::read(&self.runner.code_objects(side), &self.kernel);
        let (before, after) = (read(Side::Base), read(Side::Candidate));
        let limits = &self.request.limits;
        let verdict = match (&before, &after) {
            (Ok(before), Ok(after)) => metadata::check(before, after, proposal.header, limits, workgroup),
            (Ok(_), Err(why)) => Err(format!("cannot read the code object of the changed program: {why}")),
            // Without a code object there is nothing to guard; that is recorded.
            (Err(_), _) => Ok(()),
        };
        let metadata = json!({
            "before": metadata::to_json(&before, workgroup),
            "after": metadata::to_json(&after, workgroup),
            "verdict": verdict.as_ref().err(),
        });
        let judged = match verdict {
            Ok(()) => Judged::new(CandidateStatus::Accepted, String::new()),
            Err(why) => Judged::new(CandidateStatus::AbiChanged, why),
        };
        Judged { metadata, ..judged }
    }

    fn measured(
        &self,
        judged: Judged,
        plan: &Plan,
        folder: &Path,
        random: &mut Random,
    ) -> Result<Judged, OptimizeError> {
        let mut run = |side| self.runner.sample(side, self.measure, &self.kernel);
        let proof = match prove(plan, random, &mut run) {
            Ok(proof) => proof,
            Err(why) => return Ok(Judged { status: CandidateStatus::RunFailed, reason: why, ..judged }),
        };
        let mut timing = session::timing(&proof);
        timing["plan"] = json!({
            "min_improvement": plan.min_improvement, "end_to_end_floor": plan.end_to_end_floor, "error": plan.error,
        });
        save(&folder.join("timing.json"), &timing)?;
        let status = match (proof.first.verdict, proof.fresh.as_ref().map(|fresh| fresh.verdict)) {
            _ if proof.is_accepted() => CandidateStatus::Accepted,
            (Verdict::SlowerEndToEnd, _) | (_, Some(Verdict::SlowerEndToEnd)) => {
                CandidateStatus::SlowerEndToEnd
            }
            (Verdict::Faster, _) => CandidateStatus::NotConfirmed,
            (Verdict::NotFaster, _) => CandidateStatus::NotFaster,
            (Verdict::Inconclusive, _) => CandidateStatus::Inconclusive,
        };
        let experiment = proof.fresh.as_ref().unwrap_or(&proof.first);
        let (effect, whole) = (experiment.effect, experiment.end_to_end);
        let mut reason = format!("{:.3}x ({:.3} to {:.3})", effect.speedup, effect.low, effect.high);
        if status == CandidateStatus::SlowerEndToEnd {
            reason +=
                &format!(", the whole program {:.3}x ({:.3} to {:.3})", whole.speedup, whole.low, whole.high);
        }
        Ok(Judged { status, reason, proof: Some(proof), ..judged })
    }
}

fn save(path: &Path, value: &Json) -> std::io::Result<()> {
    session::write(path, format!("{value:#}\n").as_bytes())
}
