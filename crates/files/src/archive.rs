//! Archives with several names: a folder, and files next to it, the last of which makes the others readable.

use std::fs;
use std::io;
use std::path::Path;

use crate::folder::OutputFolder;
use crate::output::{OutputFile, name_all, prepare};

/// Moves a folder and files to their final names. All names cannot change at once, so the last file, without
/// which nobody reads the others, is removed first and added last: a kill in between leaves no archive, never
/// parts of two. After an error everything is as before.
pub fn commit_archive(folder: OutputFolder, mut parts: Vec<OutputFile>) -> io::Result<()> {
    prepare(&mut parts)?;
    let Some(last) = parts.last().map(|part| part.target.clone()) else { return folder.commit() };
    let name = last.file_name().unwrap_or_default().to_string_lossy();
    let aside = last.with_file_name(format!(".{name}.{}.replaced", std::process::id()));
    let was_there = set_aside(&last, &aside)?;
    let done = folder.swap().and_then(|swapped| match name_all(parts) {
        Ok(()) => {
            swapped.finish();
            Ok(())
        }
        Err(error) => {
            swapped.undo();
            Err(error)
        }
    });
    match (was_there, &done) {
        (false, _) => done,
        (true, Ok(())) => fs::remove_file(&aside),
        (true, Err(_)) => fs::rename(&aside, &last).and(done),
    }
}

/// Sets a file aside; returns whether there was one.
fn set_aside(file: &Path, aside: &Path) -> io::Result<bool> {
    match fs::rename(file, aside) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn write(root: &Path, text: &str) -> io::Result<()> {
        let mut index = OutputFile::create(&root.join("run.def"))?;
        let mut anchor = OutputFile::create(&root.join("run.otf2"))?;
        index.write_all(text.as_bytes())?;
        anchor.write_all(text.as_bytes())?;
        commit_archive(folder(root, text)?, vec![index, anchor])
    }

    fn folder(root: &Path, text: &str) -> io::Result<OutputFolder> {
        let folder = OutputFolder::create(&root.join("run"))?;
        fs::write(folder.partial().join("events"), text)?;
        Ok(folder)
    }

    #[test]
    fn an_archive_replaces_another_whole_and_leaves_nothing_beside_it() {
        let root = tempfile::tempdir().unwrap();
        for text in ["old", "new"] {
            write(root.path(), text).unwrap();
            for path in ["run/events", "run.def", "run.otf2"] {
                assert_eq!(fs::read_to_string(root.path().join(path)).unwrap(), text);
            }
        }
        let mut left: Vec<_> =
            fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["run", "run.def", "run.otf2"]);
    }

    #[test]
    fn a_failure_after_the_folder_left_events_of_one_run_with_the_index_of_another() {
        let root = tempfile::tempdir().unwrap();
        folder(root.path(), "new").unwrap().swap().unwrap().undo();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "there was none");
        write(root.path(), "old").unwrap();
        folder(root.path(), "new").unwrap().swap().unwrap().undo();
        assert_eq!(fs::read_to_string(root.path().join("run/events")).unwrap(), "old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3, "and nothing is left of the new one");
    }
}
