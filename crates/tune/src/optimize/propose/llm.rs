//! Proposals from a language model behind an OpenAI-compatible endpoint. Off by default; its response is a
//! proposal like any other: guarded, built, checked and measured.

use std::path::PathBuf;
use std::time::Duration;

use collect::chat::Chat;
use serde_json::json;

use super::{Attempt, Evidence, NoProposal, Proposal, splice};
use crate::optimize::source::{Kernel, Source};

/// Where the model is and how to ask it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// `https://host/v1`, `http://host:port/v1`, or the full address of chat completions.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// Key, if the endpoint requires one.
    pub key: Option<String>,
    /// Longest wait for a response.
    pub timeout: Duration,
    /// Sampling temperature.
    pub temperature: f64,
    /// CA certificates to trust [default: the system's].
    pub certificates: Option<PathBuf>,
}

/// Longest diff of an attempt that is shown to the model again.
const LONGEST_DIFF: usize = 6000;

/// Asks for a faster kernel; `attempts` holds earlier responses and their outcomes.
pub fn proposal(
    endpoint: &Endpoint,
    source: &Source,
    kernel: &Kernel,
    evidence: &Evidence,
    attempts: &[Attempt],
    flags: &[String],
) -> Result<Proposal, NoProposal> {
    let answer = ask(endpoint, &prompt(source, kernel, evidence, attempts))?;
    let code = code_block(&answer, &kernel.name)
        .ok_or_else(|| NoProposal(format!("the response has no code block with kernel `{}`", kernel.name)))?;
    let text = splice(source, kernel, code)?;
    Ok(Proposal::of_source("llm", format!("answer of {}", endpoint.model), text, flags))
}

/// The prompt: the rules, the evidence, the kernel, and what was wrong before.
pub fn prompt(source: &Source, kernel: &Kernel, evidence: &Evidence, attempts: &[Attempt]) -> String {
    let code = &source.text[kernel.definition.clone()];
    let mut prompt = format!(
        "Make this HIP kernel faster on an AMD GPU without changing what it computes.\n\
         Rules: answer with one code block that holds the whole kernel `{}` and nothing else. Keep its signature \
         exactly as it is. Change its body only. Add no preprocessor line but `#pragma unroll`, no inline assembly, \
         and remove no barrier, fence or atomic.\n\nProfile:\n{:#}\n\nKernel:\n```cpp\n{code}\n```\n",
        kernel.name,
        evidence.to_json()
    );
    for (number, attempt) in attempts.iter().enumerate() {
        let Attempt { diff, status, reason, errors } = attempt;
        let kept = if *status == "accepted" { "it is part of the kernel above" } else { "it was not kept" };
        prompt.push_str(&format!("\nAttempt {}: {status} ({reason}); {kept}.\n", number + 1));
        if !errors.is_empty() {
            prompt.push_str(&format!("The compiler said:\n{errors}\n"));
        }
        if !diff.is_empty() {
            let shown: String = diff.chars().take(LONGEST_DIFF).collect();
            prompt.push_str(&format!("It changed:\n```diff\n{shown}\n```\n"));
        }
    }
    prompt
}

fn ask(endpoint: &Endpoint, prompt: &str) -> Result<String, NoProposal> {
    let body = json!({
        "model": endpoint.model,
        "temperature": endpoint.temperature,
        "messages": [{ "role": "user", "content": prompt }],
    });
    let chat = Chat {
        url: &endpoint.url,
        key: endpoint.key.as_deref(),
        timeout: endpoint.timeout,
        certificates: endpoint.certificates.as_deref(),
    };
    let message = chat.message(&body).map_err(NoProposal)?;
    let content = message["content"].as_str();
    content.map(str::to_string).ok_or_else(|| {
        NoProposal(format!("`{}` responded without `choices[0].message.content`", endpoint.url))
    })
}

/// The first code block that defines the kernel.
fn code_block<'a>(answer: &'a str, kernel: &str) -> Option<&'a str> {
    let mut rest = answer;
    while let Some(start) = rest.find("```") {
        let block = &rest[start + 3..];
        let block = &block[block.find('\n')? + 1..];
        let end = block.find("```")?;
        if block[..end].contains("__global__") && block[..end].contains(kernel) {
            return Some(&block[..end]);
        }
        rest = &block[end + 3..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "__global__ void add(float* x) { x[0] += 1; }\nint main() {}\n";

    #[test]
    fn the_first_block_with_the_kernel_counts() {
        let answer = "Sure:\n```\nsh\n```\nand\n```cpp\n__global__ void add(float* x) { x[0]++; }\n```\n";
        assert_eq!(code_block(answer, "add"), Some("__global__ void add(float* x) { x[0]++; }\n"));
        assert_eq!(code_block("no code", "add"), None);
        assert_eq!(code_block("```cpp\n__global__ void add(", "add"), None, "an answer that was cut off");
    }

    #[test]
    fn only_the_body_of_an_answer_is_taken() {
        let source = Source::parse(TEXT).unwrap();
        let kernel = source.kernels().remove(0);
        let spliced = splice(&source, &kernel, "__global__ void add(float* x) { x[0]++; }").unwrap();
        assert_eq!(spliced, "__global__ void add(float* x) { x[0]++; }\nint main() {}\n");
        let refused = |answer: &str| splice(&source, &kernel, answer).unwrap_err().0;
        assert_eq!(
            refused("__global__ void add(int* x) { x[0]++; }"),
            "the response changes the kernel's signature"
        );
        assert_eq!(
            refused("__global__ void add(float* x) { x[0]++; "),
            "the kernel in the response is not valid code"
        );
        assert_eq!(refused("void f() {}"), "the response does not have kernel `add` exactly once");
    }

    #[test]
    fn the_prompt_has_the_evidence_the_rules_and_earlier_refusals() {
        let source = Source::parse(TEXT).unwrap();
        let kernel = source.kernels().remove(0);
        let evidence = Evidence { share_pct: Some(73.5), ranked_by: "critical path", ..Evidence::default() };
        let mut evidence = evidence;
        evidence.add("bottlenecks", json!([{ "label": "memory latency" }]));
        let attempts = [
            Attempt { status: "refused", reason: "it changes nothing".into(), ..Attempt::default() },
            Attempt {
                diff: "-x[0] += 1\n+x[0] += y\n".into(),
                status: "build_failed",
                reason: "the build exited with 1".into(),
                errors: "k.cu:1: error: `y` is not declared".into(),
            },
            Attempt { status: "accepted", reason: "1.120x (1.100 to 1.140)".into(), ..Attempt::default() },
        ];
        let prompt = prompt(&source, &kernel, &evidence, &attempts);
        for part in [
            "73.5",
            "memory latency",
            "signature",
            "x[0] += 1",
            "Attempt 1: refused (it changes nothing); it was not kept",
            "error: `y` is not declared",
            "+x[0] += y",
            "Attempt 3: accepted (1.120x (1.100 to 1.140)); it is part of the kernel above",
        ] {
            assert!(prompt.contains(part), "{part}");
        }
        assert!(!prompt.contains("int main"));
    }
}
