//! One request to a language model behind an OpenAI-compatible endpoint.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::tls;

/// Longest response that is read.
const LONGEST_ANSWER: u64 = 4 << 20;
/// Longest part of an error response that is shown.
const LONGEST_ERROR: usize = 200;

/// Where the model is, and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub struct Chat<'a> {
    /// `https://host/v1`, `http://host:port/v1`, or the full address of chat completions.
    pub url: &'a str,
    /// Key, if the endpoint requires one.
    pub key: Option<&'a str>,
    /// Longest wait for a response.
    pub timeout: Duration,
    /// CA certificates to trust [default: the system's].
    pub certificates: Option<&'a Path>,
}

impl Chat<'_> {
    /// Sends a completion request and returns the message of its first choice; an error names the address.
    pub fn message(&self, body: &Value) -> Result<Value, String> {
        self.answer(body).map_err(|why| format!("`{}` {why}", self.url))
    }

    fn answer(&self, body: &Value) -> Result<Value, String> {
        let url = match self.url.trim_end_matches('/') {
            whole if whole.ends_with("/chat/completions") => whole.to_string(),
            base => format!("{base}/chat/completions"),
        };
        // An address without encryption may not redirect, so that a key is never sent unencrypted by
        // surprise.
        let secure = url.starts_with("https://");
        let tls = if secure { tls::config(self.certificates)? } else { Default::default() };
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .https_only(secure)
            .max_redirects(if secure { 3 } else { 0 })
            .timeout_global(Some(self.timeout))
            .http_status_as_error(false)
            .build();
        let mut request = config.new_agent().post(url).header("Content-Type", "application/json");
        if let Some(key) = self.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let mut response =
            request.send(body.to_string()).map_err(|error| format!("did not respond: {error}"))?;
        let status = response.status();
        let text = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_string();
        let text = text.map_err(|error| format!("broke off its response: {error}"))?;
        if !status.is_success() {
            let said: String = text.chars().take(LONGEST_ERROR).collect();
            return Err(format!("responded with {status}: {said}"));
        }
        let mut answer: Value =
            serde_json::from_str(&text).map_err(|_| "did not respond with JSON".to_string())?;
        match answer.pointer_mut("/choices/0/message") {
            Some(message @ Value::Object(_)) => Ok(message.take()),
            _ => Err("responded without `choices[0].message`".into()),
        }
    }
}
