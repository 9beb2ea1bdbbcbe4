//! The requests to send to a server, before and during a profile.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Framework, Options};

/// One profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Legacy,
    Prefill,
    Decode,
}

impl Scope {
    /// For progress messages.
    pub fn label(self) -> &'static str {
        match self {
            Scope::Legacy => "all",
            Scope::Prefill => "prefill",
            Scope::Decode => "decode",
        }
    }
}

/// A number of similar requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requests {
    pub count: u32,
    /// Words of the prompt; 0 for the user's prompt.
    pub words: u32,
    /// The prompt after the first word, if the user gave one.
    pub prompt: Option<String>,
    /// Tokens to generate.
    pub tokens: u32,
    /// Sent at once, as one batch, or one after the other.
    pub together: bool,
}

/// A profile: the requests before it and during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub scope: Scope,
    pub warm_up: Requests,
    pub probes: Requests,
}

impl Plan {
    /// The plan of a profile.
    pub fn new(scope: Scope, options: &Options, framework: Framework) -> Self {
        let steps = options.num_steps;
        match scope {
            Scope::Prefill => {
                let tokens = options.prefill.output.unwrap_or(1).max(1);
                let requests = |count| Requests {
                    count,
                    words: options.prefill.input,
                    prompt: None,
                    tokens,
                    together: false,
                };
                let probes = requests(options.probe_requests.max(steps));
                Self { scope, warm_up: requests(options.warmup_steps), probes }
            }
            Scope::Decode => {
                let words = options.decode.input;
                // SGLang stops on its own after this many steps. vLLM profiles to the end of the requests,
                // and thousands of steps would make a file of gigabytes: one step to read the prompt, then
                // these.
                let tokens = options.decode.output.unwrap_or(match framework {
                    Framework::Sglang => 2048,
                    Framework::Vllm => steps + 1,
                });
                let warm_up = Requests {
                    count: u32::from(options.warmup_steps > 0),
                    words,
                    prompt: None,
                    tokens: options.warmup_steps.max(1),
                    together: false,
                };
                let count = options.probe_requests;
                let probes = Requests { count, words, prompt: None, tokens: tokens.max(1), together: true };
                Self { scope, warm_up, probes }
            }
            Scope::Legacy => {
                let prompt = options.probe_prompt.clone();
                let prompt = prompt.or_else(|| Some("Explain what a GPU kernel is, step by step.".into()));
                let tokens = options.probe_max_new_tokens.unwrap_or((8 * steps).max(64));
                let count = options.probe_requests;
                let probes = Requests { count, words: 0, prompt, tokens, together: true };
                let warm_up = Requests {
                    count: u32::from(options.warmup_steps > 0),
                    tokens: options.warmup_steps.max(1),
                    ..probes.clone()
                };
                Self { scope, warm_up, probes }
            }
        }
    }

    /// The prefix of file names, which identifies the workload.
    pub fn prefix(&self, prefix: &str) -> String {
        match self.scope {
            Scope::Legacy => prefix.to_string(),
            scope => format!("{prefix}-{}", scope.label()),
        }
    }
}

/// Prompts that no cache has seen: each starts with a unique word.
pub(super) struct Prompts {
    run: u32,
    next: AtomicU32,
}

impl Prompts {
    /// Prompts of one run; other runs get different ones.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { run: now.subsec_nanos() ^ now.as_secs() as u32, next: AtomicU32::new(0) }
    }

    /// How many there were so far.
    pub fn count(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// The next prompt for such requests.
    pub fn next(&self, requests: &Requests) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut prompt = format!("profile_probe_{number}_{:08x}", self.run);
        match &requests.prompt {
            Some(text) => {
                prompt.push(' ');
                prompt.push_str(text);
            }
            None => prompt.push_str(&" profile".repeat(requests.words.saturating_sub(1) as usize)),
        }
        prompt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Site;

    #[test]
    fn prompts_have_their_length_and_never_repeat() {
        let prompts = Prompts::new();
        let requests = Requests { count: 1, words: 5, prompt: None, tokens: 1, together: false };
        let (a, b) = (prompts.next(&requests), prompts.next(&requests));
        assert_eq!((a.split(' ').count(), b.split(' ').count()), (5, 5));
        assert_ne!(a.split(' ').next(), b.split(' ').next());
        assert!(a.starts_with("profile_probe_0_"));
    }

    #[test]
    fn plans_follow_the_options() {
        let options = Options::new(Site::default());
        let prefill = Plan::new(Scope::Prefill, &options, Framework::Sglang);
        assert_eq!((prefill.warm_up.count, prefill.probes.count, prefill.probes.words), (10, 5, 4090));
        let decode = |framework| Plan::new(Scope::Decode, &options, framework).probes.tokens;
        assert_eq!((decode(Framework::Sglang), decode(Framework::Vllm)), (2048, 6));
        assert_eq!(Plan::new(Scope::Legacy, &options, Framework::Vllm).probes.tokens, 64);
        assert_eq!(prefill.prefix("run"), "run-prefill");
    }
}
