//! What the rest of the program does to the file system: outputs that are whole or not there at all.
//!
//! A file or folder is written beside its target and renamed into place at the end. A folder replaces another one only
//! if this program wrote that one and nobody has put anything else into it.

mod folder;
mod output;

pub use folder::{MARKER, OutputFolder, TemporaryFolder, check_replaceable};
pub use output::{OutputFile, remove_partial_files};
