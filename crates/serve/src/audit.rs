//! The log of writes: who did what and when, one JSON object per line.

use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use crate::error::ServeError;
use crate::time;

/// The log file.
pub struct Audit(Mutex<File>);

impl Audit {
    /// Opens the log for appending.
    pub fn open(path: &Path) -> Result<Self, ServeError> {
        let refused = |error| ServeError::Audit { path: path.to_path_buf(), error };
        let mut options = File::options();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self(Mutex::new(options.open(path).map_err(refused)?)))
    }

    /// Logs a request that wrote, or tried to.
    pub fn write(&self, peer: IpAddr, role: &str, method: &str, path: &str, status: u16) {
        let at = time::iso(time::now_ns());
        let entry =
            json!({ "at": at, "peer": peer, "role": role, "method": method, "path": path, "status": status });
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One write for the whole line, so that lines of two servers do not mix.
        if let Err(error) = file.write_all(format!("{entry}\n").as_bytes()) {
            eprintln!("rocm-perf: cannot write the audit log: {error}: {entry}");
        }
    }
}
