//! Folders in which other programs work: cleared for each session, never if this program did not create them.

use std::fs;
use std::io;
use std::path::Path;

use crate::folder::MARKER;

/// Creates a folder that this program may clear later; keeps its contents. Fails if there is a folder with
/// files that this program did not create.
pub fn claim_work_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.is_dir() => return Err(foreign(path)),
        Ok(_) if is_work_folder(path) => return Ok(()),
        Ok(_) if fs::read_dir(path)?.next().is_some() => {
            // Another thread may have marked it meanwhile: the mark is the first file in the folder.
            return if is_work_folder(path) { Ok(()) } else { Err(foreign(path)) };
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(path)?,
        Err(error) => return Err(error),
    }
    fs::write(path.join(MARKER), "")
}

/// Whether [`claim_work_folder`] created a folder.
pub fn is_work_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir()) && path.join(MARKER).is_file()
}

/// Removes a folder created by [`claim_work_folder`] with everything in it, if it exists. Any other folder
/// stays, and is an error unless it is empty. After a kill midway it can still be removed: the mark is last.
pub fn remove_work_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) if is_work_folder(path) => remove_with_mark_last(path),
        Ok(facts) if facts.is_dir() && fs::read_dir(path)?.next().is_none() => Ok(()),
        Ok(_) => Err(foreign(path)),
    }
}

fn remove_with_mark_last(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != MARKER {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(path.join(MARKER))?;
    fs::remove_dir(path)
}

fn foreign(path: &Path) -> io::Error {
    let why = format!(
        "will not clear `{}`: rocm-perf did not create it; move it away or choose another folder",
        path.display()
    );
    io::Error::new(io::ErrorKind::AlreadyExists, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_that_start_together_all_get_their_folder() {
        let place = tempfile::tempdir().unwrap();
        for round in 0..300 {
            let folder = place.path().join(round.to_string());
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                let claim = |id: usize| {
                    let (folder, start) = (&folder, &start);
                    scope.spawn(move || {
                        start.wait();
                        claim_work_folder(folder).and_then(|()| fs::create_dir(folder.join(id.to_string())))
                    })
                };
                let claims: Vec<_> = (0..4).map(claim).collect();
                for claim in claims {
                    claim.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn at_each_moment_of_a_removal_the_folder_can_be_removed_again() {
        let place = tempfile::tempdir().unwrap();
        let ours = place.path().join("work");
        for _ in 0..20 {
            claim_work_folder(&ours).unwrap();
            let names: Vec<_> = (0..200).map(|id| ours.join(format!("{id}.o"))).collect();
            names.iter().for_each(|name| fs::write(name, "x").unwrap());
            std::thread::scope(|scope| {
                scope.spawn(|| remove_work_folder(&ours).unwrap());
                while is_work_folder(&ours) {}
                assert!(!names.iter().any(|name| name.exists()), "files are there, and the mark is not");
            });
        }
    }

    #[test]
    fn only_a_folder_that_was_claimed_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let ours = place.path().join("out/work");
        claim_work_folder(&ours).unwrap();
        fs::create_dir(ours.join("base")).unwrap();
        fs::write(ours.join("base/a.o"), "x").unwrap();
        claim_work_folder(&ours).unwrap();
        assert!(ours.join("base/a.o").exists(), "claiming again keeps what is there");
        remove_work_folder(&ours).unwrap();
        assert!(!ours.exists());
        remove_work_folder(&ours).unwrap();

        let theirs = place.path().join("work");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("thesis.tex"), "years").unwrap();
        assert!(claim_work_folder(&theirs).is_err());
        let error = remove_work_folder(&theirs).unwrap_err();
        assert!(error.to_string().contains("did not create it"), "{error}");
        assert_eq!(fs::read_to_string(theirs.join("thesis.tex")).unwrap(), "years");

        let link = place.path().join("link");
        std::os::unix::fs::symlink(&theirs, &link).unwrap();
        assert!(claim_work_folder(&link).is_err() && remove_work_folder(&link).is_err());
        assert!(theirs.join("thesis.tex").exists() && link.is_symlink());
    }
}
