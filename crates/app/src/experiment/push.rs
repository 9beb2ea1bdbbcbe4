//! Sends trials to a server that keeps the experiments of many machines.

use std::path::PathBuf;
use std::time::Duration;

use collect::upload::{self, Upload, UploadError};
use report::Report;
use serde_json::{Value, json};
use store::{Store, Trial};

use super::archive::{Archive, Entry};
use super::{StoreLocation, present, report};
use crate::failure::Failure;
use crate::observer::Observer;

/// The file of the archive that holds facts; it is not an artifact.
const FACTS: &str = "trial.json";

/// Which trials to send, and to which server.
#[derive(Clone, Debug, Default)]
pub struct PushRequest {
    /// The store.
    pub place: StoreLocation,
    /// The server: `https://perf.example.org`
    pub url: String,
    /// The experiment, same name here and there.
    pub experiment: String,
    /// Trials [default: all].
    pub trials: Vec<String>,
    /// The server's token.
    pub token: Option<String>,
    /// Certificates to trust [default: the system's].
    pub certificates: Option<PathBuf>,
    /// Whether to replace other files of the same name on the server.
    pub replace: bool,
    /// Maximum retries.
    pub retries: u32,
}

/// The outcome for one trial.
pub struct Pushed {
    pub trial: String,
    pub is_new: Option<bool>,
    pub files: usize,
    pub added: usize,
    pub bytes: u64,
}

/// Sends trials, one after the other. A trial arrives whole or not at all; sending it again changes nothing.
pub fn push(request: &PushRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut store = request.place.open()?;
    let names = match &request.trials[..] {
        [] => store.trials(&request.experiment, false)?.into_iter().map(|row| row.name).collect(),
        named => named.to_vec(),
    };
    if names.is_empty() {
        return Err(Failure::input(format!("experiment `{}` has no trials to send", request.experiment)));
    }
    let mut pushed = Vec::new();
    for name in &names {
        if observer.cancelled() {
            return Err(Failure::cancelled());
        }
        let trial = store.trial(&request.experiment, name)?;
        pushed.push(send(&store, &trial, request, observer)?);
    }
    let url = request.url.trim_end_matches('/');
    let note = format!("sent to {url}/experiments/{}", address_part(&request.experiment));
    Ok(report(vec![present::pushed(&pushed)], vec![note]))
}

fn send(
    store: &Store,
    trial: &Trial,
    request: &PushRequest,
    observer: &dyn Observer,
) -> Result<Pushed, Failure> {
    let entries = entries(store, trial)?;
    let base = request.url.trim_end_matches('/');
    let replace = if request.replace { "?replace=true" } else { "" };
    let upload = Upload {
        url: format!(
            "{base}/api/v1/experiments/{}/trials/{}/bundle{replace}",
            address_part(&request.experiment),
            address_part(&trial.row.name)
        ),
        content_type: "application/x-tar",
        token: request.token.as_deref(),
        certificates: request.certificates.as_deref(),
        retries: request.retries,
        pause: Duration::from_secs(1),
    };
    let again = |error: &UploadError| observer.warn(&format!("{error}; trying again"));
    let answer = upload::send(&upload, || Ok(Archive::of(entries.clone())), again).map_err(failure)?;
    let listed = |name: &str| answer.get(name).and_then(Value::as_array).map_or(0, Vec::len);
    observer.step(&format!("sent trial {}", trial.row.name));
    Ok(Pushed {
        trial: trial.row.name.clone(),
        is_new: answer.get("new_trial").and_then(Value::as_bool),
        files: trial.artifacts.len(),
        added: listed("added") + listed("replaced"),
        bytes: trial.artifacts.iter().map(|artifact| artifact.bytes as u64).sum(),
    })
}

/// Facts first, so that a server can refuse before gigabytes are sent.
fn entries(store: &Store, trial: &Trial) -> Result<Vec<Entry>, Failure> {
    let facts = json!({
        "branch": some(&trial.row.branch),
        "testbed": some(&trial.row.testbed),
        "tags": trial.row.tags,
        "metrics": trial.row.metrics,
        "metadata": trial.metadata,
        "notes": trial.notes,
        "links": trial.links,
        "conclusion": trial.row.conclusion,
    });
    let mut entries = vec![Entry::Bytes(FACTS.into(), facts.to_string().into_bytes())];
    for artifact in &trial.artifacts {
        if artifact.path == FACTS {
            let message = format!("trial `{}` has a file `{FACTS}`, which cannot be sent", trial.row.name);
            return Err(Failure::input(message));
        }
        let path = store.path_of(&artifact.sha256);
        entries.push(Entry::File(artifact.path.clone(), path, artifact.bytes as u64));
    }
    Ok(entries)
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn failure(error: UploadError) -> Failure {
    let help = match &error {
        UploadError::Forbidden { .. } => {
            Some("put a token with the role `write` into a file or the environment")
        }
        UploadError::Refused { status: 409, .. } => {
            Some("choose another trial, or ask to replace the existing one")
        }
        UploadError::Unreachable { .. } => {
            Some("check the address; what was sent already stays, so push again")
        }
        _ => None,
    };
    Failure::input(error.to_string()).with_remedy(help)
}

/// A name as one part of a path or a query of an address.
pub fn address_part(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
