//! Leftovers of killed processes: partial files and folders, found when the same name is written again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::output::remove;

/// Leftovers this recent are left alone: they may belong to a process on another machine or in a container
/// that still runs.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Something left by a killed process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its path, even after removal.
    pub path: PathBuf,
    /// Time since the last write.
    pub age: Duration,
    /// Whether it was removed; if not, it is too recent.
    pub removed: bool,
}

impl Leftover {
    /// A sentence about it.
    pub fn explain(&self) -> String {
        let (path, age) = (self.path.display(), in_words(self.age));
        match self.removed {
            true => format!("removed `{path}`, which a killed run left {age} ago"),
            false => {
                format!(
                    "`{path}` is from a run that was killed {age} ago; the next run over an hour after that removes it"
                )
            }
        }
    }
}

/// Leftovers found since the last call.
static FOUND: Mutex<Vec<Leftover>> = Mutex::new(Vec::new());

/// Takes the leftovers found since the last call, to report them to the user.
pub fn take_leftovers() -> Vec<Leftover> {
    std::mem::take(&mut FOUND.lock().unwrap_or_else(|e| e.into_inner()))
}

/// A folder with more names than this is not listed again for every file written to it.
const LARGE: usize = 64;

/// Possible leftovers in the last large folder.
struct Listed {
    folder: PathBuf,
    /// Files that may be written before it is listed again: as many as it held, which spreads the cost.
    fresh_for: usize,
    names: Vec<String>,
}

static LISTED: Mutex<Option<Listed>> = Mutex::new(None);

/// Unfinished files in a folder with this prefix, now or when it was last listed.
fn unfinished(folder: &Path, start: &str) -> Vec<String> {
    let begin = |names: &[String]| names.iter().filter(|name| name.starts_with(start)).cloned().collect();
    let mut listed = LISTED.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(known) = listed.as_mut().filter(|known| known.folder == folder && known.fresh_for > 0) {
        known.fresh_for -= 1;
        return begin(&known.names);
    }
    let (mut count, mut names) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        count += 1;
        let name = entry.file_name().into_string().ok();
        names.extend(name.filter(|name| pid_in(name).is_some_and(|pid| pid != std::process::id() as i32)));
    }
    let found = begin(&names);
    if count > LARGE {
        *listed = Some(Listed { folder: folder.to_path_buf(), fresh_for: count, names });
    }
    found
}

/// The process in `.NAME.PID.partial` or `.NAME.PID.removed`.
fn pid_in(name: &str) -> Option<libc::pid_t> {
    let rest = name.strip_suffix(".partial").or_else(|| name.strip_suffix(".removed"))?;
    rest.rsplit_once('.')?.1.parse().ok()
}

/// Removes partial files for the same target that killed processes left.
pub(crate) fn remove_abandoned(target: &Path, name: &str) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let start = format!(".{name}.");
    for found in unfinished(folder, &start) {
        // Another output's name may begin the same way.
        let is_ours = |pid: &libc::pid_t| {
            [".partial", ".removed"].iter().any(|end| found == format!("{start}{pid}{end}"))
        };
        let Some(pid) = pid_in(&found).filter(is_ours) else { continue };
        if runs(pid) {
            continue;
        }
        let path = folder.join(&found);
        // Another run may have removed it since.
        let Ok(facts) = std::fs::symlink_metadata(&path) else { continue };
        let age = facts.modified().ok().and_then(|time| time.elapsed().ok()).unwrap_or_default();
        if age > ABANDONED {
            remove(&path);
        }
        let removed = !path.exists();
        let leftover = Leftover { path, age, removed };
        let mut all = FOUND.lock().unwrap_or_else(|e| e.into_inner());
        if !all.iter().any(|known| known.path == leftover.path) {
            all.push(leftover);
        }
    }
}

/// Whether a process with this id exists.
pub fn runs(pid: libc::pid_t) -> bool {
    // SAFETY: signal 0 only checks whether the process exists.
    let there = unsafe { libc::kill(pid, 0) } == 0;
    there || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// `5 minutes`, `3 hours`, `2 days`.
pub fn in_words(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::OutputFile;

    #[test]
    fn a_folder_of_thousands_was_listed_again_for_each_file_written_into_it() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..100 {
            std::fs::write(folder.path().join(format!("rank-{number}")), "").unwrap();
        }
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let leave = |name: &str| {
            let path = folder.path().join(format!(".{name}.{}.partial", child.id()));
            let time = SystemTime::now() - Duration::from_secs(7200);
            File::create(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let write = |name: &str| drop(OutputFile::create(&folder.path().join(name)).unwrap());
        let (first, second) = (leave("a"), leave("b"));
        // The second is known from the first listing.
        write("a");
        write("b");
        assert!(!first.exists() && !second.exists());
        // A later leftover is found once as many files as there were have been written.
        let late = leave("c");
        (0..200).for_each(|_| write("c"));
        assert!(!late.exists());
    }

    #[test]
    fn g8_partial_files_of_a_killed_run_do_not_stay_for_ever_and_their_age_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let left = |name: &str, pid: u32, hours: u64| {
            let path = folder.path().join(format!(".{name}.{pid}.partial"));
            let time = SystemTime::now() - Duration::from_secs(3600 * hours);
            File::create(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let abandoned = left("out.db", child.id(), 3);
        let fresh = left("out.db", child.id() + (1 << 23), 0);
        let running = left("out.db", std::os::unix::process::parent_id(), 3);
        let other = left("other.db", child.id(), 3);
        drop(OutputFile::create(&folder.path().join("out.db")).unwrap());
        assert!(!abandoned.exists());
        assert!(fresh.exists() && running.exists() && other.exists());
        let said: Vec<String> = take_leftovers().iter().map(Leftover::explain).collect();
        let said = |path: &Path| said.iter().find(|said| said.contains(&path.display().to_string()));
        assert!(said(&abandoned).is_some_and(|said| said.ends_with("left 3 hours ago")));
        assert!(said(&fresh).is_some_and(|said| said.contains("was killed 0 seconds ago")));
        assert!(said(&running).is_none() && said(&other).is_none());
    }
}
