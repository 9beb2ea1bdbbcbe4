//! The audit of a session: what was requested, seen, tried and decided; written to disk after every step.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::experiment::{Experiment, Floor, Proof};
use super::propose::Evidence;

/// The outcome of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateStatus {
    /// There was no change to try.
    NoProposal,
    /// A guard on the source refused it.
    Refused,
    /// It does not build.
    BuildFailed,
    /// The guard on the code object refused it.
    AbiChanged,
    /// The built program is the same byte for byte.
    NoEffect,
    /// A checker refused its result.
    WrongResult,
    /// A run failed.
    RunFailed,
    /// It is not faster by the required minimum.
    NotFaster,
    /// The whole program is slower.
    SlowerEndToEnd,
    /// The budget ended before the result was clear.
    Inconclusive,
    /// Fresh runs did not confirm it.
    NotConfirmed,
    /// Proven.
    Accepted,
}

impl CandidateStatus {
    /// Its name in reports and the audit.
    pub fn name(self) -> &'static str {
        match self {
            CandidateStatus::NoProposal => "no_proposal",
            CandidateStatus::Refused => "refused",
            CandidateStatus::BuildFailed => "build_failed",
            CandidateStatus::AbiChanged => "abi_changed",
            CandidateStatus::NoEffect => "no_effect",
            CandidateStatus::WrongResult => "wrong_result",
            CandidateStatus::RunFailed => "run_failed",
            CandidateStatus::NotFaster => "not_faster",
            CandidateStatus::SlowerEndToEnd => "slower_end_to_end",
            CandidateStatus::Inconclusive => "inconclusive",
            CandidateStatus::NotConfirmed => "not_confirmed",
            CandidateStatus::Accepted => "accepted",
        }
    }
}

/// A change that was tried.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Number, from 1; also the name of its folder below `candidates`.
    pub id: usize,
    /// The kernel.
    pub kernel: String,
    /// Where it came from.
    pub origin: String,
    /// What it does.
    pub description: String,
    /// Its outcome.
    pub status: CandidateStatus,
    /// Why.
    pub reason: String,
    /// The measurements.
    pub proof: Option<Proof>,
    /// What the built kernel uses, before and after.
    pub metadata: Json,
    /// Compiler options of its build, in addition to those of the build command.
    pub flags: Vec<String>,
}

/// A kernel of the profile.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Its name in the trace.
    pub name: String,
    /// Evidence from the profile.
    pub evidence: Evidence,
}

/// A whole session.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The request.
    pub request: Json,
    /// Kernels, most important first.
    pub kernels: Vec<Ranked>,
    /// The apparent gain of the program over itself.
    pub noise_floor: Option<Floor>,
    /// Results of the checks on the original program.
    pub checks: Json,
    /// Candidates that were tried.
    pub candidates: Vec<Candidate>,
    /// Current step: `building`, `checking`, `profiling`, `trying`, `done`.
    pub state: &'static str,
    /// Speed-up of all accepted changes together, estimated from their experiments.
    pub speedup: Option<f64>,
    /// Accepted compiler options.
    pub flags: Vec<String>,
    /// Whether the tree was changed, and where the backup is.
    pub applied: Option<PathBuf>,
    /// Notes.
    pub notes: Vec<String>,
}

impl Session {
    /// Candidates that were accepted.
    pub fn accepted(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|one| one.status == CandidateStatus::Accepted)
    }

    /// The probability that a candidate's speed-up is chance, with Holm's correction over all measured candidates.
    pub fn adjusted(&self) -> Vec<(usize, f64)> {
        let measured: Vec<(usize, f64)> =
            self.candidates.iter().filter_map(|one| Some((one.id, one.proof.as_ref()?.chance()))).collect();
        let chances: Vec<f64> = measured.iter().map(|(_, chance)| *chance).collect();
        measured.iter().map(|(id, _)| *id).zip(analysis::timeline::compare::holm(&chances)).collect()
    }

    /// Writes `session.json` atomically.
    pub fn save(&self, out: &Path) -> std::io::Result<()> {
        let kernels: Vec<Json> = self
            .kernels
            .iter()
            .map(|one| json!({ "name": one.name, "evidence": one.evidence.to_json() }))
            .collect();
        let adjusted = self.adjusted();
        let candidates: Vec<Json> = self
            .candidates
            .iter()
            .map(|one| {
                let mut audit = one.to_json();
                audit["holm_chance"] = json!(adjusted.iter().find(|(id, _)| *id == one.id).map(|(_, p)| p));
                audit
            })
            .collect();
        let audit = json!({
            "state": self.state,
            "request": self.request,
            "kernels": kernels,
            "noise_floor": self.noise_floor.as_ref().map(Floor::to_json),
            "checks_of_base": self.checks,
            "candidates": candidates,
            "accepted": self.accepted().map(|one| one.id).collect::<Vec<_>>(),
            "accepted_flags": self.flags,
            "speedup": self.speedup,
            "applied": self.applied.is_some(),
            "backup": self.applied,
            "notes": self.notes,
        });
        write(&out.join("session.json"), format!("{audit:#}\n").as_bytes())
    }
}

impl Candidate {
    /// A candidate without any results yet.
    pub fn new(id: usize, kernel: &str, origin: &str) -> Self {
        Self {
            id,
            kernel: kernel.into(),
            origin: origin.into(),
            description: String::new(),
            status: CandidateStatus::NoProposal,
            reason: String::new(),
            proof: None,
            metadata: Json::Null,
            flags: Vec::new(),
        }
    }

    /// JSON for the audit.
    pub fn to_json(&self) -> Json {
        let timing = self.proof.as_ref().map(timing).unwrap_or_default();
        json!({
            "id": self.id,
            "kernel": self.kernel,
            "origin": self.origin,
            "description": self.description,
            "flags": self.flags,
            "status": self.status.name(),
            "reason": self.reason,
            "experiment": timing["experiment"],
            "fresh": timing["fresh"],
            "chance": timing["chance"],
            "metadata": self.metadata,
        })
    }
}

/// All measurements of a proof.
pub fn timing(proof: &Proof) -> Json {
    let experiment = |one: &Experiment| {
        let pairs: Vec<Json> = one.pairs.iter().map(|(a, b)| json!([a.value, b.value])).collect();
        let whole: Vec<Json> = one.pairs.iter().map(|(a, b)| json!([a.end_to_end, b.end_to_end])).collect();
        json!({
            "verdict": one.verdict.name(),
            "effect": one.effect.to_json(),
            "end_to_end": one.end_to_end.to_json(),
            "chance": one.chance,
            "pairs": pairs,
            "end_to_end_pairs": whole,
        })
    };
    json!({
        "experiment": experiment(&proof.first),
        "fresh": proof.fresh.as_ref().map(experiment),
        "chance": proof.chance(),
    })
}

/// Writes a file atomically.
pub fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = files::OutputFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}
