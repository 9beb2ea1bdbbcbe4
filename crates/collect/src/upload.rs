//! Sends something large to a server over HTTP; retries if that is safe and may help.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ureq::{Agent, SendBody};

use crate::tls;

/// Connecting takes milliseconds, or will not happen.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server may be silent after everything was sent: it checks and stores it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// Longer than any response that is read.
const LONGEST_ANSWER: u64 = 4 << 20;
/// Statuses of a server that is busy, or behind a proxy that cannot reach it.
const BUSY: [u16; 4] = [429, 502, 503, 504];

/// Where to send something, and how often to try.
#[derive(Clone, Debug)]
pub struct Upload<'a> {
    /// `https://perf.example.org/api/…`
    pub url: String,
    /// Its type: `application/x-tar`.
    pub content_type: &'a str,
    /// Sent to the server.
    pub token: Option<&'a str>,
    /// Certificates to trust [default: the system's].
    pub certificates: Option<&'a Path>,
    /// Maximum retries.
    pub retries: u32,
    /// Pause before a retry; it doubles each time.
    pub pause: Duration,
}

/// Why the upload failed.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The address cannot be used.
    #[error("{0}")]
    Address(String),
    /// Nothing responds.
    #[error("cannot reach `{url}`: {why}")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        why: String,
    },
    /// The server does not accept the token.
    #[error("`{url}` refuses access ({status}): {why}")]
    Forbidden {
        /// The address.
        url: String,
        /// 401 or 403.
        status: u16,
        /// Whether a token was sent, or what the server says.
        why: String,
    },
    /// The server refused.
    #[error("`{url}` refused it ({status}): {why}")]
    Refused {
        /// The address.
        url: String,
        /// Status of the response.
        status: u16,
        /// The server's message.
        why: String,
    },
    /// The content cannot be read.
    #[error("cannot read what is to be sent: {0}")]
    Body(io::Error),
}

/// Sends the content of `body`, from its beginning at each try, and returns the response. Only for content
/// that may arrive twice.
pub fn send<R: Read>(
    upload: &Upload,
    mut body: impl FnMut() -> io::Result<R>,
    mut again: impl FnMut(&UploadError),
) -> Result<Value, UploadError> {
    let agent = agent(upload)?;
    let (mut left, mut pause) = (upload.retries, upload.pause);
    loop {
        let error = match once(&agent, upload, body().map_err(UploadError::Body)?) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let helps = match &error {
            UploadError::Unreachable { .. } => true,
            UploadError::Refused { status, .. } => BUSY.contains(status),
            _ => false,
        };
        if !helps || left == 0 {
            return Err(error);
        }
        again(&error);
        std::thread::sleep(pause);
        (left, pause) = (left - 1, pause * 2);
    }
}

fn agent(upload: &Upload) -> Result<Agent, UploadError> {
    let url = &upload.url;
    let tls = match url.split_once("://") {
        Some(("https", host)) if !host.is_empty() => {
            tls::config(upload.certificates).map_err(|why| UploadError::Address(format!("`{url}` {why}")))?
        }
        Some(("http", host)) if !host.is_empty() => Default::default(),
        _ => {
            let message = format!("`{url}` is not an address such as `https://perf.example.org`");
            return Err(UploadError::Address(message));
        }
    };
    Ok(Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        // A token goes only to the server that was named.
        .max_redirects(0)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(ANSWER_TIMEOUT))
        .build()
        .new_agent())
}

fn once(agent: &Agent, upload: &Upload, mut body: impl Read) -> Result<Value, UploadError> {
    let url = upload.url.clone();
    let mut request = agent.post(&url).header("Content-Type", upload.content_type);
    if let Some(token) = upload.token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let answer = request.send(SendBody::from_reader(&mut body)).and_then(|mut response| {
        let status = response.status().as_u16();
        let text =
            response.body_mut().with_config().limit(LONGEST_ANSWER).lossy_utf8(true).read_to_string()?;
        Ok((status, text))
    });
    match answer {
        Ok((200..300, text)) => Ok(serde_json::from_str(&text).unwrap_or(Value::Null)),
        Ok((status @ (401 | 403), text)) => {
            let why = match upload.token {
                Some(_) => words(&text),
                None => "it wants a token".into(),
            };
            Err(UploadError::Forbidden { url, status, why })
        }
        Ok((status, text)) => Err(UploadError::Refused { url, status, why: words(&text) }),
        Err(ureq::Error::BadUri(why)) => {
            Err(UploadError::Address(format!("`{url}` is not an address: {why}")))
        }
        Err(ureq::Error::Io(error)) => {
            Err(UploadError::Unreachable { url, why: error.to_string().to_lowercase() })
        }
        Err(error) => Err(UploadError::Unreachable { url, why: error.to_string() }),
    }
}

/// The error message of a response, in one short line.
fn words(text: &str) -> String {
    let json: Option<Value> = serde_json::from_str(text).ok();
    let told = json.as_ref().and_then(|json| {
        let found = ["/error/message", "/message", "/detail", "/error"].map(|at| json.pointer(at));
        found.into_iter().flatten().find_map(Value::as_str)
    });
    let line = told.unwrap_or(text).lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    line.trim().chars().take(300).collect()
}
