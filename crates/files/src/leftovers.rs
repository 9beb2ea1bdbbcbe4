//! What killed processes left: partial files and folders, found beside the next output of that name and removed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::output::remove;

/// What a killed process wrote to is left alone for this long: it may be one of another machine or container that still
/// runs.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Something that a killed process left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is, or was.
    pub path: PathBuf,
    /// How long nobody has written to it.
    pub age: Duration,
    /// Whether it was removed; else it is too new.
    pub removed: bool,
}

impl Leftover {
    /// The same as a sentence.
    pub fn explain(&self) -> String {
        let (path, age) = (self.path.display(), in_words(self.age));
        match self.removed {
            true => format!("removed `{path}`, which a killed run left {age} ago"),
            false => {
                format!("`{path}` is from a run that was killed {age} ago; a run after an hour removes it")
            }
        }
    }
}

/// What was found since the last call.
static FOUND: Mutex<Vec<Leftover>> = Mutex::new(Vec::new());

/// Takes what was found since the last call, so that the user can be told.
pub fn take_leftovers() -> Vec<Leftover> {
    std::mem::take(&mut FOUND.lock().unwrap_or_else(|e| e.into_inner()))
}

/// A folder with so many names is not listed again for each file that is written into it.
const LARGE: usize = 64;

/// What the last large folder held that may be left over.
struct Listed {
    folder: PathBuf,
    /// Files that may be written before it is listed again: as many as it held, so that the cost of listing is shared.
    fresh_for: usize,
    names: Vec<String>,
}

static LISTED: Mutex<Option<Listed>> = Mutex::new(None);

/// Unfinished files in a folder that begin like this, as it is or as it was when it was listed last.
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
        // What another output's name begins with is no leftover of this one.
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

/// Whether there is a process of that number.
pub fn runs(pid: libc::pid_t) -> bool {
    // SAFETY: signal 0 only asks whether the process is there.
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
        // What comes later is found when as many files as there were have been written.
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
