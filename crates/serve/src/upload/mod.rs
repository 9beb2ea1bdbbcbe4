//! Trials from other machines: an archive of artifacts, and facts about them.

mod archive;

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use app::experiment::{Received, receive};
use axum::body::{Body, Bytes};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use store::{Link, Metric, Store};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::Dashboard;
use crate::error::Problem;

pub use self::archive::Limits;

/// The file of an archive that holds facts instead of being an artifact.
const FACTS: &str = "trial.json";
/// Most bytes of that file.
const MOST_FACTS: u64 = 16 << 20;
/// Parts of the body that wait to be unpacked.
const AHEAD: usize = 16;
/// How long a sender may be silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes that are taken in after an archive is refused, or after its end.
const MOST_UNWANTED: usize = 64 << 20;
/// How long they may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// Uploads at the same time.
pub const MOST_UPLOADS: usize = 8;

/// Where the files go.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The experiment; created if it is new.
    pub experiment: String,
    /// The trial; created if it is new.
    pub trial: String,
    /// Whether other files of the same name are replaced.
    pub replace: bool,
}

/// Facts that travel with the files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Facts {
    branch: Option<String>,
    testbed: Option<String>,
    tags: Vec<String>,
    metrics: Vec<Metric>,
    metadata: serde_json::Map<String, serde_json::Value>,
    notes: Vec<Remark>,
    links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct Remark {
    text: String,
}

/// The outcome of an upload.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Uploaded {
    /// The experiment.
    pub experiment: String,
    /// The trial.
    pub trial: String,
    /// Whether the trial is new.
    pub new_trial: bool,
    /// Files that the trial did not have.
    pub added: Vec<String>,
    /// Files that replaced others.
    pub replaced: Vec<String>,
    /// Files that were there already.
    pub unchanged: Vec<String>,
}

/// Unpacks a body while it comes in, checks its files and attaches them, all or none.
pub async fn take(
    state: &Dashboard,
    body: Body,
    destination: Destination,
    limits: Limits,
) -> Result<Uploaded, Problem> {
    let full = || Problem::unavailable("too many uploads at once");
    // A slow sender only blocks other uploads, not readers.
    let _turn = state.uploads.try_acquire().map_err(|_| full())?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let pumping = tokio::spawn(pump(body, sender));
    let near = state.artifacts.join("upload");
    let unpacked = tokio::task::spawn_blocking(move || {
        let cannot = |error: io::Error| Problem::internal(format!("cannot unpack what was sent: {error}"));
        // Next to the artifacts, so that only one disk needs room.
        let folder = files::TemporaryFolder::beside(&near).map_err(cannot)?;
        archive::unpack(Incoming { receiver, part: Bytes::new() }, folder.path(), limits)?;
        Ok::<_, Problem>(folder)
    });
    let unpacked =
        unpacked.await.map_err(|_| Problem::internal("the upload failed; the server's log says why"));
    let abort = pumping.abort_handle();
    if tokio::time::timeout(FAREWELL, pumping).await.is_err() {
        abort.abort();
    }
    let folder = unpacked??;
    state.pool.with(move |store| attach(store, folder.path(), destination)).await
}

fn attach(store: &mut Store, folder: &Path, to: Destination) -> Result<Uploaded, Problem> {
    let facts = facts(&folder.join(FACTS))?;
    let received = Received {
        experiment: to.experiment.clone(),
        trial: to.trial.clone(),
        folder: folder.to_path_buf(),
        branch: facts.branch,
        testbed: facts.testbed,
        metrics: facts.metrics,
        metadata: facts.metadata,
        tags: facts.tags,
        notes: facts.notes.into_iter().map(|note| note.text).collect(),
        links: facts.links,
        replace: to.replace,
    };
    let attached = receive(store, &received).map_err(|refused| match refused {
        app::experiment::Refused::File(failure) => Problem::from(failure),
        app::experiment::Refused::Store(error) => Problem::from(error),
    })?;
    Ok(Uploaded {
        experiment: to.experiment,
        trial: to.trial,
        new_trial: attached.new_trial,
        added: attached.added,
        replaced: attached.replaced,
        unchanged: attached.unchanged,
    })
}

/// Takes the facts out of the folder, so that they do not become an artifact.
fn facts(path: &Path) -> Result<Facts, Problem> {
    let Ok(found) = std::fs::metadata(path) else { return Ok(Facts::default()) };
    let wrong = |why: String| Problem::bad_request(format!("`{FACTS}`: {why}"));
    if found.len() > MOST_FACTS {
        return Err(Problem::too_large(format!("`{FACTS}` has more than {MOST_FACTS} bytes")));
    }
    let bytes = std::fs::read(path).map_err(|error| Problem::internal(error.to_string()))?;
    std::fs::remove_file(path).map_err(|error| Problem::internal(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}

/// Passes the body on to the thread that unpacks it. After a refusal the rest is still received: a client
/// reads the answer only after it has sent everything.
async fn pump(body: Body, sender: mpsc::Sender<io::Result<Bytes>>) {
    let mut parts = body.into_data_stream();
    let mut unwanted = 0;
    while unwanted <= MOST_UNWANTED {
        let part = match tokio::time::timeout(PATIENCE, parts.next()).await {
            Ok(Some(part)) => part.map_err(io::Error::other),
            Ok(None) => return,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no data arrived for too long")),
        };
        let (length, failed) = (part.as_ref().map_or(0, Bytes::len), part.is_err());
        if sender.send(part).await.is_err() {
            unwanted += length;
        }
        if failed {
            return;
        }
    }
}

/// The body as the unpacking thread reads it.
struct Incoming {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    part: Bytes,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            match self.receiver.blocking_recv() {
                Some(part) => self.part = part?,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.part.len());
        buffer[..length].copy_from_slice(&self.part.split_to(length));
        Ok(length)
    }
}
