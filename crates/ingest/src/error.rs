//! Why an input could not be read at all. Damage that leaves data readable is health, not an error.

use std::path::PathBuf;

/// A reader's failure: one line that names the file, and a line of help if there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path cannot be opened or read.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        why: String,
    },
    /// The file has no bytes.
    #[error("`{path}` is empty (0 bytes): the run was probably killed before its profiler wrote the file")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file's format is unknown, or known but unsupported.
    #[error("`{path}` is not a trace: {why}")]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        why: String,
    },
    /// A folder holds nothing to read.
    #[error("no trace found in `{path}`")]
    NoTraces {
        /// The folder.
        path: PathBuf,
    },
    /// A link in a folder points outside it.
    #[error("skipped `{path}`: it links to `{target}`, outside the folder")]
    Outside {
        /// The link.
        path: PathBuf,
        /// Where it points.
        target: PathBuf,
    },
    /// The file asks for more than data.
    #[error(
        "refused `{path}`: at byte {at} it loads {asks} ({opcode}), but a memory snapshot holds only data; nothing was executed"
    )]
    Refused {
        /// The file.
        path: PathBuf,
        /// What it asks for.
        asks: String,
        /// Pickle's name of the opcode.
        opcode: &'static str,
        /// Byte position.
        at: u64,
    },
    /// The right format, but too damaged to give anything.
    #[error("cannot read `{path}` as {format}: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be.
        format: &'static str,
        /// Where and why reading failed.
        why: String,
    },
}

impl Error {
    /// What to type or do next, if something helps.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::NotATrace { .. } => Some(
                "rocm-perf reads rocpd databases (.db), torch/Kineto traces (.json, .json.gz, .json.zst), rocprofv3 JSON and CSV, results of the legacy rocprof, Perfetto traces (.pftrace), JAX profiles (.xplane.pb), memory snapshots of torch (.pickle), output of RCCL's Inspector (.jsonl), metrics of Prometheus, and workload folders and analysis databases of rocprof-compute",
            ),
            Error::NoTraces { .. } => Some(
                "give the files themselves, or a folder that holds .db, .json(.gz) or rocprofv3 CSV files",
            ),
            Error::Empty { .. } => Some("collect the run again, and let the program exit normally"),
            _ => None,
        }
    }
}
