//! A trace in a format that the Perfetto UI reads.

use std::path::PathBuf;
use std::sync::Arc;

use convert::pftrace;
use files::TemporaryFolder;
use model::recordings::Recordings;
use report::Report;
use trace::Needs;

use crate::failure::Failure;
use crate::input::{Input, base_name, input_facts};
use crate::observer::Observer;

/// A file for the Perfetto UI, deleted when this is dropped.
pub struct PerfettoFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name for people.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Inputs, health and notes.
    pub report: Report,
    _folder: TemporaryFolder,
}

/// Writes a trace to a temporary file for the Perfetto UI.
pub fn perfetto_file(
    input: &Input,
    by_queue: bool,
    observer: &dyn Observer,
) -> Result<PerfettoFile, Failure> {
    let name = format!("{}.pftrace", base_name(&input.paths));
    let mut trace = Arc::unwrap_or_clone(input.read(&Needs::everything(), observer)?);
    let clocks = Recordings::of(&trace).side_by_side(&trace);
    if let Some(clocks) = &clocks {
        trace.shift(&clocks.shift);
    }
    // Deleted when the program ends, interrupted or not.
    let folder = std::env::temp_dir().join("rocm-perf-open");
    let cannot = |path: &std::path::Path, error: std::io::Error| {
        Failure::input(format!("cannot write `{}`: {error}", path.display()))
            .with_help("`TMPDIR` names a folder with more room")
    };
    let folder = TemporaryFolder::beside(&folder).map_err(|error| cannot(&folder, error))?;
    let path = folder.path().join(&name);
    let options = pftrace::Options { gzip: false, by_queue };
    let written = pftrace::write(&trace, &path, &options).map_err(|error| cannot(&path, error))?;
    let remarks = written.remarks.iter().map(|remark| format!("pftrace: {remark}").into());
    let report = Report {
        command: "open".into(),
        inputs: input_facts(&trace),
        health: analysis::health(&trace.health),
        notes: clocks.iter().map(|clocks| clocks.note().into()).chain(remarks).collect(),
        ..Report::default()
    };
    Ok(PerfettoFile { path, name, bytes: written.bytes, report, _folder: folder })
}
