//! Where proposals come from: the rule library, a language model, another program, a patch. All pass the same guards.

pub mod external;
pub mod llm;
pub mod patch;
pub mod rules;

use serde_json::{Value as Json, json};

use super::guard::Header;
use super::source::{Kernel, Source, base_name};

/// A change to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// `rule unroll`, `llm`, `command`, `patch`.
    pub origin: String,
    /// What it does, in one line.
    pub description: String,
    /// The whole source after the change.
    pub text: String,
    /// What it may change besides the body.
    pub header: Header,
    /// Identifies it among the proposer's others, even if lines move.
    pub key: String,
    /// Compiler options for its build, in addition to those of the build command.
    pub flags: Vec<String>,
}

impl Proposal {
    /// A change of the source alone, identified by its origin.
    pub fn of_source(origin: &str, description: String, text: String, flags: &[String]) -> Self {
        let (key, header) = (String::new(), Header::Identical);
        Self { origin: origin.into(), description, text, header, key, flags: flags.to_vec() }
    }
}

/// What the profile shows about a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Dispatches in a run.
    pub dispatches: usize,
    /// Their time in a run.
    pub total_ns: Option<i64>,
    /// Share of the critical path, or of kernel time without a path.
    pub share_pct: Option<f64>,
    /// What the share is based on.
    pub ranked_by: &'static str,
    /// Threads of a workgroup, if all dispatches have the same.
    pub workgroup: Option<u32>,
    /// The GPU.
    pub gpu: Option<String>,
    /// Other collected facts, by name: what bounds the kernel, the roofline, counters, stalls, registers.
    pub more: Vec<(String, Json)>,
}

impl Evidence {
    /// Adds facts that were collected elsewhere.
    pub fn add(&mut self, name: &str, facts: Json) {
        self.more.push((name.to_string(), facts));
    }

    /// JSON for prompts, other programs and the audit.
    pub fn to_json(&self) -> Json {
        let mut all = json!({
            "dispatches": self.dispatches,
            "total_ns": self.total_ns,
            "share_pct": self.share_pct,
            "ranked_by": self.ranked_by,
            "workgroup": self.workgroup,
            "gpu": self.gpu,
        });
        for (name, facts) in &self.more {
            all[name.as_str()] = facts.clone();
        }
        all
    }
}

/// A proposal that was tried, as input for the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// What it changed.
    pub diff: String,
    /// Its outcome.
    pub status: &'static str,
    /// Why: a refusal, or the measurement.
    pub reason: String,
    /// The compiler's errors.
    pub errors: String,
}

impl Attempt {
    /// JSON for other programs.
    pub fn to_json(&self) -> Json {
        json!({ "diff": self.diff, "status": self.status, "reason": self.reason, "errors": self.errors })
    }
}

/// The rows about a kernel in a report's JSON, by table.
pub fn rows_of(report: &Json, kernel: &str) -> Vec<(String, Json)> {
    let about = |row: &&Json| {
        let name = ["name", "kernel", "kernel_name"].iter().find_map(|key| row[key].as_str());
        name.is_some_and(|name| base_name(&model::names::demangle(name)) == kernel)
    };
    let Some(tables) = report["tables"].as_object() else { return Vec::new() };
    let mut found = Vec::new();
    for (table, rows) in tables {
        let rows: Vec<Json> = rows.as_array().into_iter().flatten().filter(about).cloned().collect();
        if !rows.is_empty() {
            found.push((table.clone(), Json::Array(rows)));
        }
    }
    found
}

/// Why a proposer returned nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoProposal(pub String);

/// Replaces a kernel by a rewritten one; takes only its body, and only if everything else is the same.
pub fn splice(source: &Source, kernel: &Kernel, written: &str) -> Result<String, NoProposal> {
    let refused = |why: &str| Err(NoProposal(why.into()));
    let Some(answer) = Source::parse(written) else { return refused("the response is not code") };
    let found: Vec<Kernel> = answer.kernels().into_iter().filter(|other| other.name == kernel.name).collect();
    let [new] = &found[..] else {
        return Err(NoProposal(format!("the response does not have kernel `{}` exactly once", kernel.name)));
    };
    if new.damaged {
        return refused("the kernel in the response is not valid code");
    }
    let header = |source: &Source, kernel: &Kernel| {
        let tokens = source.tokens(&(kernel.definition.start..kernel.body.start));
        tokens.into_iter().map(|token| token.text).collect::<Vec<_>>()
    };
    if header(source, kernel) != header(&answer, new) {
        return refused("the response changes the kernel's signature");
    }
    let mut text = source.text.clone();
    text.replace_range(kernel.body.clone(), &answer.text[new.body.clone()]);
    Ok(text)
}
