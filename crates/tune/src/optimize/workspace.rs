//! Private copies of the source tree, one per side; only [`apply`] changes the tree itself.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::experiment::Side;

/// Trees larger than this are a mistake.
const LARGEST: u64 = 2 << 30;

/// Why there is no copy, or nothing was applied.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A file cannot be used.
    #[error("cannot use `{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Another session uses the folder.
    #[error("another session is using `{}`", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// It is too large to copy.
    #[error("`{}` holds more than {} GiB", path.display(), LARGEST >> 30)]
    Large {
        /// The tree.
        path: PathBuf,
    },
    /// A path leads out of the tree.
    #[error("`{}` is outside the source tree `{}`", path.display(), tree.display())]
    Outside {
        /// The path.
        path: PathBuf,
        /// The tree.
        tree: PathBuf,
    },
    /// The source was edited meanwhile.
    #[error("`{}` changed during the session, so it was not overwritten", path.display())]
    Changed {
        /// The source.
        path: PathBuf,
    },
}

type Done<T> = Result<T, WorkspaceError>;

fn file_error(path: &Path) -> impl Fn(io::Error) -> WorkspaceError + '_ {
    move |error| WorkspaceError::File { path: path.into(), error }
}

/// Folder of candidates, below the session's folder.
pub(super) const CANDIDATES: &str = "candidates";

/// Removes the results of an earlier session from its folder, so that they are not taken for this one's.
/// Backups and files of others stay.
pub fn forget(out: &Path) -> Done<()> {
    let candidates = out.join(CANDIDATES);
    files::remove_work_folder(&candidates)
        .and_then(|()| files::claim_work_folder(&candidates))
        .map_err(file_error(&candidates))?;
    let accepted = out.join("accepted.diff");
    match fs::remove_file(&accepted) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(&accepted)(error)),
        _ => Ok(()),
    }
}

/// Two copies of a source tree.
pub struct Workspace {
    tree: PathBuf,
    folder: PathBuf,
    /// Where commands run, relative to the tree.
    here: PathBuf,
    _lock: File,
}

impl Workspace {
    /// Copies the tree twice into the session's folder, without `.git` and the folder itself.
    pub fn make(tree: &Path, out: &Path) -> Done<Self> {
        fs::create_dir_all(out).map_err(file_error(out))?;
        let out = out.canonicalize().map_err(file_error(out))?;
        let tree = tree.canonicalize().map_err(file_error(tree))?;
        let lock_path = out.join("lock");
        let mut options = OpenOptions::new();
        let lock = options
            .create(true)
            .write(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(file_error(&lock_path))?;
        if !files::lock(&lock).map_err(file_error(&lock_path))? {
            return Err(WorkspaceError::Busy { path: out });
        }
        let folder = out.join("work");
        files::remove_work_folder(&folder)
            .and_then(|()| files::claim_work_folder(&folder))
            .map_err(file_error(&folder))?;
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
        let here = here.strip_prefix(&tree).map(Path::to_path_buf).unwrap_or_default();
        let workspace = Self { tree, folder, here, _lock: lock };
        let mut left = LARGEST;
        for side in [Side::Base, Side::Candidate] {
            copy(&workspace.tree, &workspace.root(side), &out, &mut left, &workspace.tree)?;
            left = LARGEST;
        }
        Ok(workspace)
    }

    /// The copy of a side.
    pub fn root(&self, side: Side) -> PathBuf {
        self.folder.join(match side {
            Side::Base => "base",
            Side::Candidate => "candidate",
        })
    }

    /// The folder with both copies, and nothing else.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where commands may put temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Where the commands of a side run: the user's current folder, in the copy.
    pub fn here(&self, side: Side) -> PathBuf {
        self.root(side).join(&self.here)
    }

    /// A path of the tree in a side's copy; `None` if it leads out of it, even through a link. Only files in
    /// a copy may be removed.
    pub fn place(&self, side: Side, path: &Path) -> Option<PathBuf> {
        let root = self.root(side);
        let place = match path.strip_prefix(&self.tree) {
            Ok(inside) => root.join(inside),
            Err(_) => self.here(side).join(path),
        };
        let there = place.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok())?;
        there.starts_with(root.canonicalize().ok()?).then_some(place)
    }

    /// A command for a side: paths into the tree become paths into the copy.
    pub fn words(&self, side: Side, words: &[String]) -> Vec<String> {
        let (tree, root) = (self.tree.display().to_string(), self.root(side).display().to_string());
        let inside = |word: &String| *word == tree || word.contains(&format!("{tree}/"));
        words
            .iter()
            .map(|word| if inside(word) { word.replace(&tree, &root) } else { word.clone() })
            .collect()
    }

    /// A file of the tree, relative to it.
    pub fn relative(&self, path: &Path) -> Done<PathBuf> {
        let whole = path.canonicalize().map_err(file_error(path))?;
        let inside = whole.strip_prefix(&self.tree).map(Path::to_path_buf);
        inside.map_err(|_| WorkspaceError::Outside { path: whole.clone(), tree: self.tree.clone() })
    }

    /// Writes a source file of a side.
    pub fn write(&self, side: Side, relative: &Path, text: &str) -> Done<()> {
        let path = self.root(side).join(relative);
        fs::write(&path, text).map_err(file_error(&path))
    }
}

fn copy(from: &Path, to: &Path, out: &Path, left: &mut u64, tree: &Path) -> Done<()> {
    fs::create_dir_all(to).map_err(file_error(to))?;
    for entry in fs::read_dir(from).map_err(file_error(from))? {
        let path = entry.map_err(file_error(from))?.path();
        let name = path.file_name().unwrap_or_default();
        if path == out || name == ".git" {
            continue;
        }
        let target = to.join(name);
        let facts = fs::symlink_metadata(&path).map_err(file_error(&path))?;
        if facts.is_symlink() {
            let link = fs::read_link(&path).map_err(file_error(&path))?;
            std::os::unix::fs::symlink(link, &target).map_err(file_error(&target))?;
        } else if facts.is_dir() {
            copy(&path, &target, out, left, tree)?;
        } else if facts.is_file() {
            *left =
                left.checked_sub(facts.len()).ok_or_else(|| WorkspaceError::Large { path: tree.into() })?;
            fs::copy(&path, &target).map_err(file_error(&path))?;
            // Build tools compare times; a copy must not look newer than its build outputs.
            if let (Ok(time), Ok(file)) = (facts.modified(), File::options().write(true).open(&target)) {
                let _ = file.set_modified(time);
            }
        }
    }
    Ok(())
}

/// Hash of a text, for the audit and to detect edits.
pub fn hash(text: &[u8]) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Replaces a source file atomically, after a durable backup; fails if the file is not the one that was
/// optimised. Returns the backup's path.
pub fn apply(path: &Path, original: &str, text: &str, backups: &Path) -> Done<PathBuf> {
    let path = &path.canonicalize().map_err(file_error(path))?;
    let now = fs::read(path).map_err(file_error(path))?;
    if now != original.as_bytes() {
        return Err(WorkspaceError::Changed { path: path.clone() });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let backup = backups.join(format!("{name}.{}", &hash(original.as_bytes())[..12]));
    let durable = |target: &Path, bytes: &[u8]| -> io::Result<()> {
        let mut file = files::OutputFile::create(target)?;
        if let Ok(facts) = fs::metadata(path) {
            fs::set_permissions(file.partial(), facts.permissions())?;
        }
        file.write_all(bytes)?;
        file.commit()?;
        // The file name must also survive a crash.
        target.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    durable(&backup, original.as_bytes()).map_err(file_error(&backup))?;
    durable(path, text.as_bytes()).map_err(file_error(path))?;
    Ok(backup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_hold_the_tree_and_nothing_of_the_session() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::create_dir_all(tree.join(".git")).unwrap();
        fs::write(tree.join("src/k.cu"), "kernel").unwrap();
        fs::write(tree.join(".git/HEAD"), "x").unwrap();
        std::os::unix::fs::symlink("src/k.cu", tree.join("link")).unwrap();
        let out = tree.join("out");
        let workspace = Workspace::make(&tree, &out).unwrap();
        for side in [Side::Base, Side::Candidate] {
            let root = workspace.root(side);
            assert_eq!(fs::read_to_string(root.join("link")).unwrap(), "kernel");
            assert!(!root.join(".git").exists() && !root.join("out").exists());
        }
        let relative = workspace.relative(&tree.join("link")).unwrap();
        assert_eq!(relative, Path::new("src/k.cu"));
        workspace.write(Side::Candidate, &relative, "changed").unwrap();
        assert_eq!(fs::read_to_string(tree.join("src/k.cu")).unwrap(), "kernel");
        let tree = tree.canonicalize().unwrap();
        let words = [format!("{}/app", tree.display()), "-I.".into(), format!("-I{}/inc", tree.display())];
        let root = workspace.root(Side::Base).display().to_string();
        assert_eq!(
            workspace.words(Side::Base, &words),
            [format!("{root}/app"), "-I.".into(), format!("-I{root}/inc")]
        );
        let inside = [Path::new("out.bin"), Path::new("new/out.bin"), Path::new("src/../out.bin")];
        for path in inside.into_iter().map(Path::to_path_buf).chain([tree.join("out.bin")]) {
            let place = workspace.place(Side::Base, &path).unwrap();
            assert!(place.starts_with(&root), "{}", place.display());
        }
        // Checked files are removed before a run, so they must never be the user's files.
        std::os::unix::fs::symlink(folder.path(), Path::new(&root).join("away")).unwrap();
        for path in ["../../out.bin", "away/out.bin", "/etc/hostname"] {
            assert_eq!(workspace.place(Side::Base, Path::new(path)), None, "{path}");
        }
        assert!(matches!(Workspace::make(&tree, &out), Err(WorkspaceError::Busy { .. })));
        drop(workspace);
        assert!(Workspace::make(&tree, &out).is_ok(), "a session that ended leaves no lock");
    }

    #[test]
    fn f5_a_session_never_clears_folders_that_no_session_made() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        for name in ["work", "candidates"] {
            let out = folder.path().join(format!("out-{name}"));
            let precious = out.join(name).join("thesis.tex");
            fs::create_dir_all(out.join(name)).unwrap();
            fs::write(&precious, "years").unwrap();
            let refused = Workspace::make(&tree, &out).and_then(|_| forget(&out)).unwrap_err();
            assert!(refused.to_string().contains("did not create it"), "{refused}");
            assert_eq!(fs::read_to_string(&precious).unwrap(), "years");
        }
        let out = folder.path().join("ours");
        for _ in 0..2 {
            let workspace = Workspace::make(&tree, &out).unwrap();
            forget(&out).unwrap();
            assert!(!workspace.root(Side::Base).join("built").exists(), "the earlier session's is gone");
            fs::write(workspace.root(Side::Base).join("built"), "x").unwrap();
        }
    }

    #[test]
    fn applying_keeps_a_backup_and_never_overwrites_an_edit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.cu");
        fs::write(&path, "old").unwrap();
        let backup = apply(&path, "old", "new", &folder.path().join("backup")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(backup).unwrap(), "old");
        fs::write(&path, "edited").unwrap();
        let refused = apply(&path, "new", "newer", &folder.path().join("backup"));
        assert!(matches!(refused, Err(WorkspaceError::Changed { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "edited");
    }
}
