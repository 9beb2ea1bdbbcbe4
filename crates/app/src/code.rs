//! Files with GPU code that commands are given or find.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hw::code_object::{self, CodeObjectError, Contents};
use report::InputFact;

use crate::failure::Failure;

/// Whether a file holds GPU code rather than a trace.
pub fn is_code(path: &Path) -> bool {
    let mut head = [0; 24];
    let read = std::fs::metadata(path)
        .ok()
        .filter(|facts| facts.is_file())
        .and_then(|_| File::open(path).ok())
        .and_then(|mut file| file.read(&mut head).ok());
    read.is_some_and(|length| code_object::is_code(&head[..length]))
}

/// The kernels of a file, and its entry in the list of inputs.
pub fn read(path: &Path) -> Result<(InputFact, Contents), Failure> {
    let shown = path.display();
    let (bytes, contents) =
        open(path).map_err(|error| Failure::input(format!("cannot read `{shown}`: {error}")))?;
    let contents = contents.map_err(|error| Failure::input(format!("`{shown}`: {error}")))?;
    let input = InputFact { path: shown.to_string(), format: "code-object".into(), bytes, rank: None };
    Ok((input, contents))
}

/// The kernels of several files as one; `None` if there are no files.
pub fn read_all(paths: &[PathBuf]) -> Result<Option<Contents>, Failure> {
    let mut all: Option<Contents> = None;
    for path in paths {
        let (_, contents) = read(path)?;
        add(all.get_or_insert_default(), path, contents);
    }
    Ok(all)
}

/// Adds the kernels of a file to others.
pub fn add(all: &mut Contents, path: &Path, contents: Contents) {
    all.code_objects += contents.code_objects;
    all.kernels.extend(contents.kernels);
    all.problems.extend(contents.problems.iter().map(|problem| format!("{}: {problem}", path.display())));
}

/// Size of a file, and the kernels in it.
pub fn open(path: &Path) -> std::io::Result<(u64, Result<Contents, CodeObjectError>)> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        return Ok((bytes.len() as u64, code_object::contents(&bytes)));
    }
    // Only a small part of a program is looked at, so it is mapped.
    // SAFETY: the map is only read. A file that shrinks meanwhile ends the program, as with any mapped reader.
    let bytes = unsafe { memmap2::Mmap::map(&file) }?;
    Ok((bytes.len() as u64, code_object::contents(&bytes)))
}
