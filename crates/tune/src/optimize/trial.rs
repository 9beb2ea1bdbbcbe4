//! One kernel's proposals, one after the other; each is judged, and kept if it is proven.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::checks::Checks;
use super::experiment::{Plan, Side};
use super::propose::rules::{self, Site};
use super::propose::{Attempt, NoProposal, Proposal, external, llm, patch};
use super::runner::Runner;
use super::session::{self, Candidate, CandidateStatus, Ranked, Session};
use super::source::{Kernel, Source};
use super::workspace::CANDIDATES;
use super::{OptimizeError, OptimizeRequest, Proposer};
use crate::measure::Measure;
use stats::random::Random;

/// Work on one kernel.
pub(super) struct Trial<'a> {
    pub request: &'a OptimizeRequest<'a>,
    pub runner: &'a Runner<'a>,
    pub checks: &'a Checks<'a>,
    pub relative: &'a Path,
    pub kernel: String,
    pub target: &'a Ranked,
    pub measure: &'a dyn Measure,
}

/// What was accepted so far.
pub(super) struct Current {
    /// The source.
    pub text: String,
    /// Compiler options, in addition to those of the build command.
    pub flags: Vec<String>,
}

/// What a proposer may use.
struct ProposalContext<'a> {
    source: &'a Source,
    kernel: &'a Kernel,
    flags: &'a [String],
    done: &'a [String],
    attempts: &'a [Attempt],
}

impl Trial<'_> {
    /// The source and the kernel in it, if it occurs once and is understood.
    pub(super) fn parsed(&self, text: &str) -> Result<(Source, Kernel), String> {
        let source = Source::parse(text).ok_or("cannot parse the source")?;
        let kernels: Vec<Kernel> =
            source.kernels().into_iter().filter(|one| one.name == self.kernel).collect();
        match &kernels[..] {
            [kernel] if kernel.damaged => Err("cannot parse the kernel".into()),
            [kernel] => Ok((source, kernel.clone())),
            [] => Err("the kernel is not in the source".into()),
            _ => Err(format!("the source has {} kernels with that name", kernels.len())),
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
        let (mut done, mut attempts) = (Vec::new(), Vec::new());
        while session.candidates.len() < self.request.most_candidates {
            let next = match self.parsed(&current.text) {
                Ok((source, kernel)) => self.next(&ProposalContext {
                    source: &source,
                    kernel: &kernel,
                    flags: &current.flags,
                    done: &done,
                    attempts: &attempts,
                }),
                Err(why) => {
                    session.notes.push(format!("kernel `{}`: {why}", self.kernel));
                    break;
                }
            };
            let Some((id, proposal)) = next else { break };
            done.push(id);
            let number = session.candidates.len() + 1;
            let folder = self.request.out.join(CANDIDATES).join(number.to_string());
            let mut candidate = Candidate::new(number, &self.kernel, self.origin());
            let mut attempt = Attempt::default();
            match proposal {
                Err(NoProposal(why)) => candidate.reason = why,
                Ok(proposal) => {
                    watch(&format!("{number}: {}", proposal.description));
                    let name = self.relative.display().to_string();
                    attempt.diff = patch::difference(&name, &current.text, &proposal.text);
                    session::write(&folder.join("diff"), attempt.diff.as_bytes())?;
                    session::write(&folder.join("source"), proposal.text.as_bytes())?;
                    let plan = self.plan(session);
                    let judged = self.judge(&proposal, current, &plan, &folder, random)?;
                    candidate.origin = proposal.origin.clone();
                    candidate.description = proposal.description.clone();
                    candidate.flags = proposal.flags.clone();
                    (candidate.status, candidate.reason) = (judged.status, judged.reason);
                    (candidate.proof, candidate.metadata) = (judged.proof, judged.metadata);
                    attempt.errors = judged.errors;
                    if judged.status == CandidateStatus::Accepted {
                        *current = Current { text: proposal.text, flags: proposal.flags };
                        self.runner.workspace.write(Side::Base, self.relative, &current.text)?;
                        let built = self.runner.build(Side::Base, &current.flags);
                        built.map_err(|failed| OptimizeError::Build(failed.why))?;
                    }
                }
            }
            let why = candidate.reason.lines().last().unwrap_or_default();
            watch(&format!("{number}: {}: {why}", candidate.status.name()));
            (attempt.status, attempt.reason) = (candidate.status.name(), candidate.reason.clone());
            attempts.push(attempt);
            let audit = format!("{:#}\n", candidate.to_json());
            session::write(&folder.join("candidate.json"), audit.as_bytes())?;
            session.candidates.push(candidate);
            session.save(self.request.out)?;
        }
        Ok(())
    }

    /// The plan of a candidate: it accounts for the noise floor, and each candidate has its share of the
    /// error, which is never laxer than Holm's correction over the candidates tried.
    fn plan(&self, session: &Session) -> Plan {
        let plan = &self.request.plan;
        let plan = session.noise_floor.as_ref().map_or(*plan, |floor| floor.heeded(plan));
        Plan { error: plan.error / self.request.most_candidates.max(1) as f64, ..plan }
    }

    fn origin(&self) -> &'static str {
        match self.request.proposer {
            Proposer::Rules(_) => "rule",
            Proposer::Llm(..) => "llm",
            Proposer::Command(_) => "command",
            Proposer::Patch(_) => "patch",
        }
    }

    /// The next proposal that was not tried; `None` if there are no more.
    fn next(&self, known: &ProposalContext) -> Option<(String, Result<Proposal, NoProposal>)> {
        let ProposalContext { source, kernel, flags, done, attempts } = *known;
        let evidence = &self.target.evidence;
        match &self.request.proposer {
            Proposer::Rules(choice) => {
                let build: Vec<String> = self.request.build.iter().chain(flags).cloned().collect();
                rules::proposals(&Site { source, kernel, evidence, choice, build: &build, flags })
                    .into_iter()
                    .map(|proposal| (proposal.key.clone(), Ok(proposal)))
                    .find(|(id, _)| !done.contains(id))
            }
            Proposer::Llm(endpoint, most) => (done.len() < *most).then(|| {
                let asked = llm::proposal(endpoint, source, kernel, evidence, attempts, flags);
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
                    "attempts": attempts.iter().map(Attempt::to_json).collect::<Vec<Json>>(),
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
}
