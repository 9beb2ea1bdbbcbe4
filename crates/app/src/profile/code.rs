//! The code of a profiled program: in the program itself, in files the profiler says it was loaded from,
//! among the files it left, or given by the user. Later sources win: they are closer to what ran.

use std::fs::File;
use std::path::{Path, PathBuf};

use hw::code_object::{self, CodeObjectError, Contents};
use query::{Session, ValueRef};

use crate::code;
use crate::failure::Failure;

/// The code of a program, and what could not be read.
#[derive(Default)]
pub struct ProgramCode {
    /// Kernels; later ones win.
    pub contents: Contents,
    /// For the user.
    pub notes: Vec<String>,
}

/// Looks for the code of a program that was run: `databases` are from a timing run, `folder` has all runs.
pub fn find(
    program: &str,
    databases: &[PathBuf],
    folder: &Path,
    given: &[PathBuf],
) -> Result<ProgramCode, Failure> {
    let mut found = ProgramCode::default();
    if let Some(path) = collect::profiler::on_path(program) {
        found.look(&path, None);
    }
    for loaded in loaded_from(databases) {
        found.look(&loaded.path, loaded.part);
    }
    for path in left_by_profiler(folder) {
        found.look(&path, None);
    }
    for path in given {
        let (_, contents) = code::read(path)?;
        code::add(&mut found.contents, path, contents);
    }
    Ok(found)
}

impl ProgramCode {
    /// Adds the kernels of a file, or of a part of it. A file without GPU code adds nothing.
    fn look(&mut self, path: &Path, part: Option<(u64, u64)>) {
        let read = match part {
            Some((offset, size)) => read_part(path, offset, size),
            None if code::is_code(path) => code::open(path).map(|(_, contents)| contents),
            None => return,
        };
        match read {
            Ok(Ok(contents)) => code::add(&mut self.contents, path, contents),
            Ok(Err(CodeObjectError::NoGpuCode | CodeObjectError::NotACodeObject)) => {}
            Ok(Err(error)) => self.notes.push(format!("`{}`: {error}", path.display())),
            Err(error) => self.notes.push(format!("cannot read code in `{}`: {error}", path.display())),
        }
    }
}

fn read_part(path: &Path, offset: u64, size: u64) -> std::io::Result<Result<Contents, CodeObjectError>> {
    use std::os::unix::fs::FileExt;
    let file = File::open(path)?;
    let there = file.metadata()?.len().saturating_sub(offset).min(size);
    let mut bytes = vec![0; usize::try_from(there).unwrap_or(0)];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(code_object::contents(&bytes))
}

/// A file that code was loaded from; offset and bytes of the part, if known.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Loaded {
    path: PathBuf,
    part: Option<(u64, u64)>,
}

/// The files that code was loaded from, according to the profiler. Code in memory has no file.
fn loaded_from(databases: &[PathBuf]) -> Vec<Loaded> {
    let mut loaded = Vec::new();
    let is_database = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "db");
    let databases: Vec<PathBuf> = databases.iter().filter(is_database).cloned().collect();
    let Ok(session) = Session::of_databases(databases) else { return loaded };
    let Ok(mut result) = session.run("SELECT DISTINCT uri FROM rocpd_info_code_object") else {
        return loaded;
    };
    let mut rows = result.rows();
    while let Ok(Some(row)) = rows.next() {
        if let ValueRef::Text(uri) = row.value(0) {
            loaded.extend(parsed(&String::from_utf8_lossy(uri)));
        }
    }
    loaded.sort();
    loaded
}

/// `file:///lib/libkernels.so#offset=8192&size=4096`
fn parsed(uri: &str) -> Option<Loaded> {
    let rest = uri.strip_prefix("file://")?;
    let (path, part) = rest.split_once('#').unwrap_or((rest, ""));
    let number = |key: &str| {
        let text = part.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    Some(Loaded { path: unescaped(path)?, part: number("offset").zip(number("size")) })
}

/// A path without `%20` and the like.
fn unescaped(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(std::ffi::OsString::from_vec(bytes).into())
}

/// Depth of folders below the run's to search.
const DEEPEST: usize = 4;

/// Code objects in the profiler's output: `*.out` of a thread trace, `*.co` and `*.hsaco`.
fn left_by_profiler(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            if path.is_dir() && depth < DEEPEST {
                folders.push((path, depth + 1));
            } else if ["out", "co", "hsaco"].contains(&extension) && code::is_code(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_memory_and_parts_from_whole_files() {
        let whole = Loaded { path: "/lib/a b.co".into(), part: None };
        assert_eq!(parsed("file:///lib/a%20b.co"), Some(whole));
        let part = Loaded { path: "/app".into(), part: Some((8192, 4096)) };
        assert_eq!(parsed("file:///app#offset=8192&size=4096"), Some(part));
        let part = Loaded { path: "/app".into(), part: Some((16, 32)) };
        assert_eq!(parsed("file:///app#offset=0x10&size=0x20"), Some(part));
        assert_eq!(parsed("file:///app#offset=16").unwrap().part, None);
        assert_eq!(parsed("memory://7#offset=0x7f00&size=64"), None);
        assert_eq!(parsed("file:///a%2"), None);
    }

    #[test]
    fn the_database_says_where_code_was_loaded_from() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.db");
        let mut trace = trace::Trace::default();
        let source = trace.add_source(trace::Source::named("test", "rocpd"));
        let process = trace.add_process(trace::Process::new(source, 7));
        let name = trace.strings.intern("k");
        trace.kernels.push(trace::Kernel { name, start: 1, end: 2, process, ..Default::default() });
        trace.finish();
        convert::rocpd::write(&trace, &path, &Default::default()).unwrap();
        assert_eq!(loaded_from(std::slice::from_ref(&path)), []);
        let db = rusqlite::Connection::open(&path).unwrap();
        let find =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_info_code_object_%'";
        let table: String = db.query_row(find, [], |row| row.get(0)).unwrap();
        db.execute(&format!("UPDATE \"{table}\" SET uri = 'file:///app#offset=16&size=32'"), []).unwrap();
        drop(db);
        let expected = Loaded { path: "/app".into(), part: Some((16, 32)) };
        assert_eq!(loaded_from(&[path]), [expected]);
    }

    #[test]
    fn a_part_of_a_file_is_read_and_what_cannot_be_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.so");
        let code = include_bytes!("../../../hw/tests/fixtures/gfx942.co");
        std::fs::write(&path, [&[0; 100], code.as_slice(), &[0; 50]].concat()).unwrap();
        let mut found = ProgramCode::default();
        found.look(&path, Some((100, code.len() as u64)));
        assert_eq!((found.contents.kernels.len(), found.notes.len()), (3, 0));
        // An offset beyond the end or a huge size does no harm.
        found.look(&path, Some((100, u64::MAX)));
        found.look(&path, Some((u64::MAX, 8)));
        found.look(&folder.path().join("gone.so"), Some((0, 8)));
        assert_eq!(found.contents.kernels.len(), 6);
        assert!(found.notes.iter().any(|note| note.contains("gone.so")), "{:?}", found.notes);
    }
}
