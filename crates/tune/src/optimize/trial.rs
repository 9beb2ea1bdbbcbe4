//! One kernel's proposals: each is guarded, built, checked and measured, and kept when it is proven.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::experiment::{Plan, Proof, Side, Verdict, prove};
use super::propose::rules::{self, Site};
use super::propose::{NoProposal, Proposal, external, llm, patch};
use super::runner::Runner;
use super::session::{self, Candidate, CandidateStatus, Ranked, Session};
use super::source::{Kernel, Source};
use super::{OptimizeError, OptimizeRequest, Proposer, guard, metadata};
use crate::measure::Measure;
use crate::random::Random;

/// Work on one kernel.
pub(super) struct Trial<'a> {
    pub request: &'a OptimizeRequest<'a>,
    pub runner: &'a Runner<'a>,
    pub relative: &'a Path,
    pub kernel: String,
    pub target: &'a Ranked,
    pub measure: &'a dyn Measure,
}

/// What was accepted so far.
pub(super) struct Current {
    /// The source.
    pub text: String,
    /// Compiler options beside those of the build command.
    pub flags: Vec<String>,
}

/// What came of one proposal.
type Judged = (CandidateStatus, String, Option<Proof>, Json);

impl Trial<'_> {
    fn parsed(&self, text: &str) -> Result<(Source, Kernel), String> {
        let source = Source::parse(text).ok_or("the source cannot be parsed")?;
        let kernels: Vec<Kernel> =
            source.kernels().into_iter().filter(|one| one.name == self.kernel).collect();
        match &kernels[..] {
            [kernel] if kernel.damaged => Err("the parser does not understand the kernel".into()),
            [kernel] => Ok((source, kernel.clone())),
            [] => Err("the kernel is not in the source".into()),
            _ => Err(format!("the source has {} kernels of that name", kernels.len())),
        }
    }

    /// Tries all proposals, each on top of what was accepted before it.
    pub fn all(
        &self,
        session: &mut Session,
        current: &mut Current,
        random: &mut Random,
        watch: &mut dyn FnMut(&str),
    ) -> Result<(), OptimizeError> {
        let mut done: Vec<String> = Vec::new();
        let mut refusals: Vec<String> = Vec::new();
        while session.candidates.len() < self.request.most_candidates {
            let next = match self.parsed(&current.text) {
                Ok((source, kernel)) => self.next(&source, &kernel, &current.flags, &done, &refusals),
                Err(why) => {
                    session.notes.push(format!("kernel `{}`: {why}", self.kernel));
                    break;
                }
            };
            let Some((id, proposal)) = next else { break };
            done.push(id);
            let number = session.candidates.len() + 1;
            let folder = self.request.out.join(format!("candidates/{number}"));
            let mut candidate = Candidate {
                id: number,
                kernel: self.kernel.clone(),
                origin: self.origin().into(),
                description: String::new(),
                status: CandidateStatus::NoProposal,
                reason: String::new(),
                proof: None,
                metadata: Json::Null,
            };
            match proposal {
                Err(NoProposal(why)) => candidate.reason = why,
                Ok(proposal) => {
                    watch(&format!("{number}: {}", proposal.description));
                    let name = self.relative.display().to_string();
                    let difference = patch::difference(&name, &current.text, &proposal.text);
                    session::write(&folder.join("diff"), difference.as_bytes())?;
                    session::write(&folder.join("source"), proposal.text.as_bytes())?;
                    let floor = session.noise_floor.unwrap_or(0.0);
                    let (status, reason, proof, metadata) =
                        self.judge(&proposal, current, floor, &folder, random)?;
                    candidate.origin = proposal.origin.clone();
                    candidate.description = proposal.description.clone();
                    (candidate.status, candidate.reason) = (status, reason);
                    (candidate.proof, candidate.metadata) = (proof, metadata);
                    if status == CandidateStatus::Accepted {
                        *current = Current { text: proposal.text, flags: proposal.flags };
                        self.runner.workspace.write(Side::Base, self.relative, &current.text)?;
                        self.runner.build(Side::Base, &current.flags).map_err(OptimizeError::Build)?;
                    }
                }
            }
            if candidate.status != CandidateStatus::Accepted {
                refusals.push(format!("{}: {}", candidate.status.name(), candidate.reason));
            }
            session::write(
                &folder.join("candidate.json"),
                format!("{:#}\n", candidate.to_json()).as_bytes(),
            )?;
            session.candidates.push(candidate);
            session.save(self.request.out)?;
        }
        Ok(())
    }

    fn origin(&self) -> &'static str {
        match self.request.proposer {
            Proposer::Rules(_) => "rule",
            Proposer::Llm(..) => "llm",
            Proposer::Command(_) => "command",
            Proposer::Patch(_) => "patch",
        }
    }

    /// The next proposal that was not tried; none when there are no more.
    fn next(
        &self,
        source: &Source,
        kernel: &Kernel,
        flags: &[String],
        done: &[String],
        refusals: &[String],
    ) -> Option<(String, Result<Proposal, NoProposal>)> {
        let evidence = &self.target.evidence;
        match &self.request.proposer {
            Proposer::Rules(choice) => {
                let build: Vec<String> = self.request.build.iter().chain(flags).cloned().collect();
                rules::proposals(&Site { source, kernel, evidence, choice, build: &build, flags })
                    .into_iter()
                    .map(|proposal| (proposal.key.clone(), Ok(proposal)))
                    .find(|(id, _)| !done.contains(id))
            }
            Proposer::Llm(endpoint, attempts) => (done.len() < *attempts).then(|| {
                let asked = llm::proposal(endpoint, source, kernel, evidence, refusals, flags);
                (format!("attempt {}", done.len()), asked)
            }),
            Proposer::Patch(path) => {
                done.is_empty().then(|| ("patch".to_string(), patch::proposal(&source.text, path, flags)))
            }
            Proposer::Command(words) => {
                let context = json!({
                    "kernel": kernel.name,
                    "evidence": evidence.to_json(),
                    "source": source.text,
                    "code": source.text[kernel.definition.clone()],
                    "refusals": refusals,
                });
                let (scratch, limit) = (self.request.out, self.request.timeout);
                match external::proposals(words, &context, scratch, limit, source, kernel, flags) {
                    Err(error) => done.is_empty().then(|| ("command".to_string(), Err(error))),
                    Ok(all) => {
                        let named =
                            all.into_iter().enumerate().map(|(i, one)| (format!("proposal {i}"), one));
                        named.into_iter().find(|(id, _)| !done.contains(id))
                    }
                }
            }
        }
    }

    /// Guards, builds, checks and measures a proposal.
    fn judge(
        &self,
        proposal: &Proposal,
        current: &Current,
        floor: f64,
        folder: &Path,
        random: &mut Random,
    ) -> Result<Judged, OptimizeError> {
        let refused = |status, reason: String| Ok((status, reason, None, Json::Null));
        let (source, kernel) = match self.parsed(&current.text) {
            Ok(parsed) => parsed,
            Err(why) => return refused(CandidateStatus::Refused, why),
        };
        // With other options the source is the same; with the same options it must not be.
        if (proposal.flags == current.flags || proposal.text != current.text)
            && let Err(refusal) = guard::check(&source, &kernel, &proposal.text, proposal.header)
        {
            return refused(CandidateStatus::Refused, refusal.to_string());
        }
        let runner = self.runner;
        runner.workspace.write(Side::Candidate, self.relative, &proposal.text)?;
        match runner.build(Side::Candidate, &proposal.flags) {
            Ok(log) => session::write(&folder.join("build.log"), &log)?,
            Err(why) => {
                session::write(&folder.join("build.log"), why.as_bytes())?;
                return refused(CandidateStatus::BuildFailed, format!("the build {why}"));
            }
        }
        let (before, after) = (runner.program(Side::Base), runner.program(Side::Candidate));
        if let (Ok(before), Ok(after)) = (std::fs::read(&before), std::fs::read(&after))
            && before == after
        {
            return refused(CandidateStatus::NoEffect, "the built program is the same".into());
        }
        let built = metadata::read(&after, &self.kernel);
        let facts = metadata::to_json(&built);
        if let (Ok(was), Ok(is)) = (metadata::read(&before, &self.kernel), &built)
            && let Err(why) = metadata::check(&was, is, proposal.header, self.request.spills)
        {
            return Ok((CandidateStatus::AbiChanged, why, None, facts));
        }
        if let Err((number, why)) = runner.check(Side::Candidate) {
            let (status, who) = match number {
                0 => (CandidateStatus::RunFailed, "the program".to_string()),
                number => (CandidateStatus::WrongResult, format!("checker {number}")),
            };
            return Ok((status, format!("{who} {why}"), None, facts));
        }
        let plan = Plan {
            min_improvement: self.request.plan.min_improvement.max(floor),
            error: self.request.plan.error / self.request.most_candidates.max(1) as f64,
            ..self.request.plan
        };
        let mut run = |side| runner.sample(side, self.measure);
        let proof = match prove(&plan, random, &mut run) {
            Ok(proof) => proof,
            Err(why) => return Ok((CandidateStatus::RunFailed, why, None, facts)),
        };
        let status = match (proof.first.verdict, &proof.fresh) {
            _ if proof.is_accepted() => CandidateStatus::Accepted,
            (Verdict::Faster, _) => CandidateStatus::NotConfirmed,
            (Verdict::NotFaster, _) => CandidateStatus::NotFaster,
            (Verdict::SlowerEndToEnd, _) => CandidateStatus::SlowerEndToEnd,
            (Verdict::Inconclusive, _) => CandidateStatus::Inconclusive,
        };
        let effect = proof.fresh.as_ref().unwrap_or(&proof.first).effect;
        let reason = format!("{:.3}x ({:.3} to {:.3})", effect.speedup, effect.low, effect.high);
        Ok((status, reason, Some(proof), facts))
    }
}
