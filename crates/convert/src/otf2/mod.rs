//! OTF2 archives, for Vampir and other tools of high-performance computing: an anchor `NAME.otf2`, global
//! definitions `NAME.def` and a folder `NAME/` with the events of each location.
//!
//! Locations are threads, and streams of each device; slices that would cross get additional lanes. Written
//! as a stream: memory holds the current chunk of each location and the definitions so far.

mod definitions;
mod events;
mod record;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trace::Trace;

use files::{OutputFile, OutputFolder};

use definitions::Definitions;
use record::{CHUNK, END};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of all files.
    pub bytes: u64,
    /// Locations.
    pub locations: u64,
    /// Slices: each is an enter and a leave.
    pub slices: u64,
    /// Values of metrics.
    pub values: u64,
    /// What could not be represented exactly, one line each.
    pub remarks: Vec<String>,
}

/// The files of an archive next to the anchor: definitions and the folder of events.
pub fn paths(anchor: &Path) -> [PathBuf; 2] {
    [anchor.with_extension("def"), anchor.with_extension("")]
}

/// Writes a finished trace as the archive of `anchor`, whose name ends in `.otf2`. The anchor is written
/// last, so an archive that can be opened is complete.
pub fn write(trace: &Trace, anchor: &Path) -> io::Result<Written> {
    if anchor.extension().is_none_or(|ending| ending != "otf2") {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the name of an OTF2 archive must end in `.otf2`",
        ));
    }
    let [definitions_path, folder_path] = paths(anchor);
    let folder = OutputFolder::create(&folder_path)?;
    let definitions_file = OutputFile::reserve(&definitions_path)?;
    let mut anchor_file = OutputFile::create(anchor)?;
    let mut definitions = Definitions::new(trace, definitions_file.partial().to_path_buf())?;
    let counts = events::Writer::new(trace, folder.partial().to_path_buf(), &mut definitions)?.write()?;
    let definition_bytes = definitions.finish()?;
    let locations = definitions.locations();
    let anchor_bytes = anchor_record(trace, locations, definitions.count());
    anchor_file.write_all(&anchor_bytes)?;
    files::commit_archive(folder, vec![definitions_file, anchor_file])?;
    let remarks = [
        (counts.negative, "rows before time zero, which the format cannot hold, were left out"),
        (counts.backwards, "rows end before they start and are shown without a length"),
        (counts.instants, "samples without a value were left out"),
        (definitions.cut, "names of more than 64 KiB were cut"),
    ];
    Ok(Written {
        bytes: counts.bytes + definition_bytes + anchor_bytes.len() as u64,
        locations,
        slices: counts.slices,
        values: counts.values,
        remarks: remarks
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect(),
    })
}

/// The anchor: sizes and counts, and a number that identifies the archive.
fn anchor_record(trace: &Trace, locations: u64, definitions: u64) -> Vec<u8> {
    /// Revision of the format, then of the first library version that wrote it.
    const VERSION: [u8; 5] = [3, 2, 3, 0, 2];
    const POSIX: u8 = 1;
    const NOT_COMPRESSED: u8 = 1;
    let identity: String = trace.processes.iter().map(|process| trace.strings.get(process.guid)).collect();
    let mut out = Vec::new();
    out.extend_from_slice(&CHUNK);
    out.extend_from_slice(b"OTF2\0");
    out.extend_from_slice(&VERSION);
    out.extend_from_slice(&(events::CHUNK_SIZE as u64).to_le_bytes());
    out.extend_from_slice(&(definitions::CHUNK_SIZE as u64).to_le_bytes());
    out.extend_from_slice(&[POSIX, NOT_COMPRESSED]);
    out.extend_from_slice(&locations.to_le_bytes());
    out.extend_from_slice(&definitions.to_le_bytes());
    // Machine, creator, description.
    record::text(&mut out, "");
    record::text(&mut out, concat!("rocm-perf ", env!("CARGO_PKG_VERSION")));
    record::text(&mut out, "");
    let properties = 0u32;
    out.extend_from_slice(&properties.to_le_bytes());
    out.extend_from_slice(&rapidhash::v3::rapidhash_v3(identity.as_bytes()).to_le_bytes());
    let (snapshots, thumbnails) = (0u32, 0u32);
    out.extend_from_slice(&snapshots.to_le_bytes());
    out.extend_from_slice(&thumbnails.to_le_bytes());
    out.extend_from_slice(&END);
    out.push(0);
    out
}
