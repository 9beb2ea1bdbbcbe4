//! SQL on a cluster: a separate client talks to the scheduler, so that this program need not link Ballista.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::rows::Take;
use crate::wire::{self, Broken};
use crate::{Address, Engine, Error};

/// The program that talks to a cluster.
pub const CLIENT: &str = "rocm-perf-cluster";

/// What the client exits with when the cluster is at fault, not the SQL.
pub const CLUSTER_FAILED: i32 = 3;

/// A cluster that reads a lake.
#[derive(Clone, Debug)]
pub struct Cluster {
    lake: Address,
    url: String,
}

impl Cluster {
    /// The cluster whose scheduler is at a URL, for one lake.
    pub fn new(lake: Address, url: &str) -> Self {
        Self { lake, url: url.into() }
    }
}

impl Engine for Cluster {
    fn run(&self, sql: &str, take: &mut Take<'_>) -> Result<(), Error> {
        let program = client();
        let failed = |why: String| Error::NoClient { program: program.display().to_string(), why };
        let mut child = Command::new(&program)
            .args(["query", &self.lake.to_string(), "--url", &self.url, "--sql", sql])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed("it has no output".into()));
        };
        // Read errors in parallel, so that a client that writes many does not block.
        let complaint = std::thread::spawn(move || std::io::read_to_string(err).unwrap_or_default());
        let read = wire::read(&mut BufReader::new(out), take);
        if let Ok(false) = read {
            // The rest is not needed; it does not matter if the client has already ended.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(());
        }
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        let complaint = complaint.join().unwrap_or_default();
        // Warnings may come before the error.
        let complaint: Vec<&str> =
            complaint.trim().lines().skip_while(|line| !line.starts_with("error: ")).collect();
        let complaint = complaint.join("\n").trim_start_matches("error: ").to_string();
        let of_cluster = |why: String| Error::Cluster { url: self.url.clone(), why };
        match (status.success(), read) {
            (true, Ok(_)) => Ok(()),
            (true, Err(Broken::Short)) => Err(of_cluster("sent only a part of the result".into())),
            (true, Err(Broken::Line(line))) => Err(of_cluster(format!("sent an unexpected line: {line}"))),
            (false, _) if status.code() == Some(CLUSTER_FAILED) || complaint.is_empty() => {
                Err(of_cluster(if complaint.is_empty() { format!("failed: {status}") } else { complaint }))
            }
            (false, _) => {
                let (message, hint) = match complaint.split_once("\nhelp: ") {
                    Some((message, hint)) => (message.to_string(), Some(hint.to_string())),
                    None => (complaint, None),
                };
                let message = message.strip_prefix("bad SQL: ").map(str::to_string).unwrap_or(message);
                Err(Error::Sql { message, hint })
            }
        }
    }
}

/// The client next to this program, else the one in PATH.
fn client() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(CLIENT)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(CLIENT))
}
