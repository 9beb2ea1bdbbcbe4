//! A serving server: which framework it runs, and the requests that control its profiler.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use formats::secrets::redact_json;
use serde_json::{Map, Value, json};

use super::http::{Answer, Client};
use super::running::{self, Running};
use super::workload::{Plan, Prompts, Requests, Scope};
use super::{Error, Framework, Options, Site};

/// Routes that describe an SGLang server, newest first.
const SGLANG_INFO: [&str; 2] = ["/server_info", "/get_server_info"];
/// Keys that only an SGLang server's description has.
const SGLANG_KEYS: [&str; 4] = ["internal_states", "tokenizer_path", "prefill", "decode"];

/// What a server says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its address.
    pub url: String,
    /// Its framework.
    pub framework: Framework,
    /// Its release.
    pub version: Option<String>,
    /// The model it serves.
    pub model: Option<String>,
    /// Tensor-parallel ranks.
    pub tp_size: Option<u32>,
    /// Ranks that write a trace each, if known.
    pub ranks: Option<u32>,
    /// Its own arguments, without secrets.
    pub server_args: Map<String, Value>,
}

/// A server that was recognised.
pub(super) struct Server {
    client: Client,
    facts: Facts,
    /// Whether chat requests were refused, so that plain completions are sent.
    plain: AtomicBool,
}

impl Server {
    /// Asks the server which framework it runs.
    pub fn find(site: &Site, options: &Options) -> Result<Self, Error> {
        let client = Client::new(&site.url, options)?;
        let sglang = match options.framework {
            Some(Framework::Vllm) => None,
            _ => sglang_facts(&client)?,
        };
        let facts = match (sglang, options.framework) {
            (Some(facts), _) => facts,
            (None, Some(Framework::Sglang)) => return Err(Error::Unknown { url: client.url().into() }),
            (None, _) => vllm_facts(&client)?,
        };
        if facts.framework != Framework::Sglang
            && let Some(option) = options.sglang_only()
        {
            let name = facts.framework.name();
            return Err(Error::Usage(format!(
                "{option} only works with SGLang, but the server at `{}` is {name}",
                facts.url
            )));
        }
        Ok(Self { client, facts, plain: AtomicBool::new(false) })
    }

    /// What it said about itself.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Its framework.
    pub fn framework(&self) -> Framework {
        self.facts.framework
    }

    /// Whether the server no longer accepts connections.
    pub fn is_gone(&self) -> bool {
        self.client.is_gone()
    }

    /// Starts a profile.
    pub fn start(&self, site: &Site, options: &Options, plan: &Plan) -> Result<(), Error> {
        let path = "/start_profile";
        let body = match self.framework() {
            Framework::Sglang => start_body(site, options, plan)?,
            Framework::Vllm => Value::Null,
        };
        let answer = self.client.post_once(path, &body, options.timeout)?;
        if matches!(answer.status, 404 | 405) {
            return Err(self.profiling_off(site));
        }
        if answer.status == 500 && answer.body.contains("in progress") {
            return Err(Error::AlreadyRunning { url: self.facts.url.clone() });
        }
        self.client.succeeded(path, answer)?;
        running::add(Running { url: self.facts.url.clone(), key: self.client.key().map(Into::into) });
        Ok(())
    }

    /// Stops the profile. One that has already stopped is not a failure.
    pub fn stop(&self, timeout: Duration) -> Result<(), Error> {
        let path = "/stop_profile";
        let result = self.client.post_once(path, &Value::Null, timeout);
        running::remove(&self.facts.url);
        let answer = result?;
        // SGLang responds like this once the profile has reached its last step; there is no other sign of it.
        if answer.status == 500 && self.framework() == Framework::Sglang {
            return Ok(());
        }
        self.client.succeeded(path, answer).map(|_| ())
    }

    /// Sends the requests of a part of a workload and waits for the responses.
    pub fn send(&self, requests: &Requests, prompts: &Prompts) -> Result<(), Error> {
        let send = || self.send_one(&prompts.next(requests), prompts.count(), requests.tokens);
        if !requests.together {
            return (0..requests.count).try_for_each(|_| send());
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..requests.count).map(|_| scope.spawn(send)).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn send_one(&self, prompt: &str, seed: u32, tokens: u32) -> Result<(), Error> {
        if self.framework() == Framework::Sglang {
            let sampling = json!({"sampling_seed": seed, "temperature": 0.0, "max_new_tokens": tokens, "ignore_eos": true});
            let body = json!({"text": prompt, "sampling_params": sampling, "stream": false});
            return self.succeeded("/generate", self.client.post("/generate", &body)?);
        }
        let mut body = json!({"model": self.facts.model, "temperature": 0.0, "max_tokens": tokens,
            "ignore_eos": true, "stream": false});
        if !self.plain.load(Ordering::Relaxed) {
            body["messages"] = json!([{"role": "user", "content": prompt}]);
            let answer = self.client.post("/v1/chat/completions", &body)?;
            if answer.is_ok() {
                return Ok(());
            }
            // A model without a chat template; otherwise, completions show what is wrong.
            self.plain.store(true, Ordering::Relaxed);
            body.as_object_mut().map(|fields| fields.shift_remove("messages"));
        }
        body["prompt"] = json!(prompt);
        self.succeeded("/v1/completions", self.client.post("/v1/completions", &body)?)
    }

    fn succeeded(&self, path: &str, answer: Answer) -> Result<(), Error> {
        self.client.succeeded(path, answer).map(|_| ())
    }

    fn profiling_off(&self, site: &Site) -> Error {
        let folder = site.watched().display();
        let variable = format!("the environment variable VLLM_TORCH_PROFILER_DIR={folder}");
        let flag =
            format!("`--profiler-config '{{\"profiler\":\"torch\",\"torch_profiler_dir\":\"{folder}\"}}'`");
        let help = match (self.framework(), self.facts.version.as_deref().and_then(minor_version)) {
            (Framework::Sglang, _) => "this server has no profile routes: update SGLang".to_string(),
            (_, Some((0, ..=12))) => format!("start vLLM with {variable}"),
            (_, Some((0, 13..=15))) => format!("start vLLM with {flag} or with {variable}"),
            (_, Some(_)) => format!("start vLLM with {flag}"),
            (_, None) => format!("start vLLM with {flag}; before release 0.13 with {variable}"),
        };
        Error::ProfilingOff { url: self.facts.url.clone(), framework: self.framework().name(), help }
    }
}

/// The body of SGLang's `/start_profile`.
fn start_body(site: &Site, options: &Options, plan: &Plan) -> Result<Value, Error> {
    let folder = match &site.server_dir {
        Some(folder) => folder.clone(),
        None => {
            let local = std::path::absolute(site.watched());
            let local =
                local.map_err(|e| Error::Folder { path: site.watched().into(), why: e.to_string() })?;
            local.display().to_string()
        }
    };
    let by_stage = plan.scope == Scope::Legacy && options.profile_by_stage.unwrap_or(true);
    let mut body = json!({
        "output_dir": folder,
        "num_steps": options.num_steps,
        "activities": ["CPU", "GPU"],
        "with_stack": true,
        "record_shapes": true,
        "profile_by_stage": by_stage,
        "merge_profiles": options.merge_profiles,
        "profile_prefix": plan.prefix(&site.profile_prefix),
    });
    if let Some(step) = options.start_step {
        body["start_step"] = json!(step);
    }
    Ok(body)
}

fn sglang_facts(client: &Client) -> Result<Option<Facts>, Error> {
    for path in SGLANG_INFO {
        let answer = client.get(path)?;
        let described = answer.json().filter(|_| answer.is_ok()).map(|info| redact_json(&info).0);
        let Some(Value::Object(info)) = described else { continue };
        if !SGLANG_KEYS.iter().any(|key| info.contains_key(*key)) {
            continue;
        }
        let number = |key: &str| info.get(key).and_then(Value::as_u64).map(|n| n as u32);
        let text = |key: &str| info.get(key).and_then(Value::as_str).map(String::from);
        let tp_size = number("tp_size");
        let ranks = tp_size.map(|tp| {
            // With data-parallel attention the ranks of a group are shared, not added.
            let shared = info.get("enable_dp_attention").and_then(Value::as_bool).unwrap_or(false);
            let copies = if shared { 1 } else { number("dp_size").unwrap_or(1) };
            tp * number("pp_size").unwrap_or(1).max(1) * copies.max(1)
        });
        return Ok(Some(Facts {
            url: client.url().into(),
            framework: Framework::Sglang,
            version: text("version"),
            model: text("model_path"),
            tp_size,
            ranks,
            server_args: info,
        }));
    }
    Ok(None)
}

fn vllm_facts(client: &Client) -> Result<Facts, Error> {
    let answer = client.get("/v1/models")?;
    let unknown = || Error::Unknown { url: client.url().into() };
    let models = answer.json().filter(|_| answer.is_ok()).ok_or_else(unknown)?;
    let model = models.pointer("/data/0/id").and_then(Value::as_str).ok_or_else(unknown)?.to_string();
    let version = client
        .get("/version")
        .ok()
        .and_then(|answer| answer.json()?.get("version").and_then(Value::as_str).map(String::from));
    let mut server_args = Map::new();
    server_args.insert("framework".into(), json!("vllm"));
    server_args.insert("model".into(), json!(model));
    server_args.insert("version".into(), json!(version));
    Ok(Facts {
        url: client.url().into(),
        framework: Framework::Vllm,
        version,
        model: Some(model),
        tp_size: None,
        ranks: None,
        server_args,
    })
}

/// Major and minor of `0.17.1rc2+rocm`.
fn minor_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    Some((number(parts.next()?)?, number(parts.next()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_understood() {
        assert_eq!(minor_version("0.17.1"), Some((0, 17)));
        assert_eq!(minor_version("v0.9rc2+rocm641"), Some((0, 9)));
        assert_eq!(minor_version("dev"), None);
    }
}
