//! Files that only their owner can read, and modes of other files.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;

/// Unfinished files are private.
const OWNER_FILE: u32 = 0o600;
const OWNER_FOLDER: u32 = 0o700;

/// Writes a file that only its owner can read, since it may hold secrets. An existing file or link is
/// replaced, not followed.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_private(path)?.write_all(text.as_bytes())
}

/// Creates a file for its owner only; an error if the name exists, even as a link.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).read(true).create_new(true).mode(OWNER_FILE).open(path)
}

/// Creates a folder for its owner only.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(OWNER_FOLDER).create(path)
}

/// Gives a finished file or folder the mode of the one it replaces, or of a new one; a mode that was set
/// stays.
pub(crate) fn publish(finished: &Path, target: &Path) -> io::Result<()> {
    let facts = std::fs::metadata(finished)?;
    let private = if facts.is_dir() { OWNER_FOLDER } else { OWNER_FILE };
    if facts.permissions().mode() & 0o777 != private {
        return Ok(());
    }
    let new = if facts.is_dir() { 0o777 } else { 0o666 } & !umask();
    let mode = match std::fs::symlink_metadata(target) {
        Ok(old) if old.is_dir() == facts.is_dir() && !old.is_symlink() => old.permissions().mode() & 0o777,
        _ => new,
    };
    std::fs::set_permissions(finished, Permissions::from_mode(mode))
}

/// The mode bits that the user's umask removes. The system call can only change it, so it is read from the
/// kernel's text, once: this program never changes it.
fn umask() -> u32 {
    static READ: OnceLock<u32> = OnceLock::new();
    *READ.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|text| u32::from_str_radix(text.trim(), 8).ok()).unwrap_or(0o022)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_private_file_replaces_a_link_and_never_writes_through_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("job.sh"), folder.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_private(&path, "serve --api-key X").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!((mode(&path), path.is_symlink()), (0o600, false));
        write_private(&path, "again").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "again");
    }

    #[test]
    fn a_finished_file_has_the_mode_of_any_new_file_or_of_the_one_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, target) = (folder.path().join("plain"), folder.path().join("target"));
        std::fs::write(&plain, "x").unwrap();
        let publish_new = || {
            let partial = folder.path().join("partial");
            drop(create_private(&partial).unwrap());
            assert_eq!(mode(&partial), 0o600);
            publish(&partial, &target).unwrap();
            std::fs::rename(&partial, &target).unwrap();
            mode(&target)
        };
        assert_eq!(publish_new(), mode(&plain));
        std::fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(publish_new(), 0o640);
    }
}
