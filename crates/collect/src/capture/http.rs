//! One server over HTTP, and what its failures mean.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;

use super::{Error, Options};
use crate::tls;

/// Statuses of a server that is busy.
const BUSY: [u16; 2] = [429, 503];
/// Longer than any response that is read.
const LONGEST_ANSWER: u64 = 64 << 20;
/// Connecting takes milliseconds, or will not happen.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a server.
pub(super) struct Client {
    agent: Agent,
    url: String,
    key: Option<String>,
    timeout: Duration,
    retries: u32,
    retry_pause: Duration,
    /// Whether it has responded: if it is gone after that, it died.
    answered: AtomicBool,
}

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: u16,
    pub body: String,
}

impl Answer {
    /// Whether the request succeeded.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }

    /// What an error says, in one short line.
    fn message(&self) -> String {
        let json = self.json();
        let text = json.as_ref().and_then(|json| {
            let found = ["/error/message", "/message", "/detail", "/error"].map(|at| json.pointer(at));
            found.into_iter().flatten().find_map(Value::as_str)
        });
        let line = text
            .unwrap_or(&self.body)
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("no reason given");
        line.trim().chars().take(200).collect()
    }
}

impl Client {
    /// A client for a server; sends nothing yet.
    pub fn new(url: &str, options: &Options) -> Result<Self, Error> {
        let url = url.trim_end_matches('/');
        match url.split_once("://") {
            Some(("http" | "https", host)) if !host.is_empty() => {}
            _ => {
                return Err(Error::Usage(format!(
                    "`{url}` is not an address such as `http://localhost:30000`"
                )));
            }
        }
        let tls = match url.starts_with("https://") {
            true => tls::config(options.certificates.as_deref())
                .map_err(|why| Error::Usage(format!("`{url}` {why}")))?,
            false => Default::default(),
        };
        let agent = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            // A proxy in the environment is for the internet; servers to profile are local.
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .build()
            .new_agent();
        Ok(Self {
            agent,
            url: url.into(),
            key: options.api_key.clone(),
            timeout: options.timeout,
            retries: options.retries,
            retry_pause: options.retry_pause,
            answered: AtomicBool::new(false),
        })
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The key that is sent.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Sends a GET; retries while the server is busy or not up yet.
    pub fn get(&self, path: &str) -> Result<Answer, Error> {
        self.retried(|| self.send(path, None, self.timeout))
    }

    /// Sends a request that may be repeated; retries while the server is busy.
    pub fn post(&self, path: &str, body: &Value) -> Result<Answer, Error> {
        self.retried(|| self.send(path, Some(body), self.timeout))
    }

    /// Sends once, with a separate time limit.
    pub fn post_once(&self, path: &str, body: &Value, timeout: Duration) -> Result<Answer, Error> {
        self.send(path, Some(body), timeout)
    }

    /// Whether the server no longer accepts connections.
    pub fn is_gone(&self) -> bool {
        matches!(self.send("/health", None, CONNECT_TIMEOUT), Err(Error::Died { .. }))
    }

    /// The response of a route that must succeed.
    pub fn succeeded(&self, path: &str, answer: Answer) -> Result<Answer, Error> {
        if answer.is_ok() {
            return Ok(answer);
        }
        Err(Error::Failed {
            url: self.url.clone(),
            path: path.into(),
            status: answer.status,
            message: answer.message(),
        })
    }

    fn retried(&self, send: impl Fn() -> Result<Answer, Error>) -> Result<Answer, Error> {
        let mut left = self.retries;
        loop {
            let result = send();
            let again = match &result {
                Ok(answer) => BUSY.contains(&answer.status),
                Err(error) => matches!(error, Error::Refused { .. } | Error::Died { .. }),
            };
            if !again || left == 0 {
                return result;
            }
            left -= 1;
            std::thread::sleep(self.retry_pause);
        }
    }

    fn send(&self, path: &str, body: Option<&Value>, timeout: Duration) -> Result<Answer, Error> {
        let address = format!("{}{path}", self.url);
        let bearer = self.key.as_ref().map(|key| format!("Bearer {key}"));
        let result = match body {
            None => {
                let mut request = self.agent.get(&address);
                if let Some(bearer) = &bearer {
                    request = request.header("Authorization", bearer);
                }
                request.config().timeout_global(Some(timeout)).build().call()
            }
            Some(body) => {
                let mut request = self.agent.post(&address);
                if let Some(bearer) = &bearer {
                    request = request.header("Authorization", bearer);
                }
                let request = request.config().timeout_global(Some(timeout)).build();
                match body {
                    Value::Null => request.send_empty(),
                    body => request.header("Content-Type", "application/json").send(body.to_string()),
                }
            }
        };
        let answer = result.and_then(|mut response| {
            let status = response.status().as_u16();
            let body =
                response.body_mut().with_config().limit(LONGEST_ANSWER).lossy_utf8(true).read_to_string()?;
            Ok(Answer { status, body })
        });
        match answer {
            Ok(Answer { status: status @ (401 | 403), .. }) => Err(Error::Forbidden {
                url: self.url.clone(),
                path: path.into(),
                status,
                key_sent: self.key.is_some(),
            }),
            Ok(answer) => {
                self.answered.store(true, Ordering::Relaxed);
                Ok(answer)
            }
            Err(error) => Err(self.explain(error, path, timeout)),
        }
    }

    fn explain(&self, error: ureq::Error, path: &str, timeout: Duration) -> Error {
        let (url, path) = (self.url.clone(), path.to_string());
        let why = match error {
            ureq::Error::Timeout(ureq::Timeout::Connect) if !self.answered.load(Ordering::Relaxed) => {
                "connecting took too long".to_string()
            }
            ureq::Error::Timeout(_) => return Error::Timeout { url, path, seconds: timeout.as_secs() },
            ureq::Error::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused => "connection refused".into(),
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => "the connection broke".into(),
                _ => error.to_string().to_lowercase(),
            },
            ureq::Error::HostNotFound => "no such host".into(),
            ureq::Error::ConnectionFailed => "connection refused".into(),
            ureq::Error::BadUri(why) => return Error::Usage(format!("`{url}` is not an address: {why}")),
            ureq::Error::Protocol(why) => return Error::Unexpected { url, path, why: why.to_string() },
            other => other.to_string(),
        };
        if self.answered.load(Ordering::Relaxed) {
            return Error::Died { url, path, why };
        }
        Error::Refused { url, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_in_the_servers_words() {
        let message = |body: &str| Answer { status: 500, body: body.into() }.message();
        assert_eq!(message(r#"{"error": {"message": "too long"}}"#), "too long");
        assert_eq!(message(r#"{"detail": "Not Found"}"#), "Not Found");
        assert_eq!(message("\n first line \nsecond"), "first line");
        assert_eq!(message(""), "no reason given");
    }
}
