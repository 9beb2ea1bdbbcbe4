//! A helper process that ends what we started if we are killed.
//!
//! The parent-death signal reaches only the process that we started, not that one's children. So a shell
//! holds the other end of a pipe. It receives the running process groups, and ends the remaining ones when
//! the pipe closes.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Ends the groups gently first: a profiler writes its data when it is terminated.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=
while read -r sign group; do
  rest=
  for one in $groups; do [ "$one" = "$group" ] || rest="$rest $one"; done
  groups=$rest
  [ "$sign" = + ] && groups="$groups $group"
done
[ -n "$groups" ] || exit 0
for one in $groups; do kill -s TERM -- "-$one"; done
sleep 5
for one in $groups; do kill -s KILL -- "-$one"; done
"#;

/// The pipe to the shell; `None` before the first process or if no shell can be started.
static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Registers a process group that must end when this program is killed.
pub(crate) fn watch(group: libc::pid_t) {
    let mut pipe = PIPE.lock().unwrap_or_else(|e| e.into_inner());
    if pipe.is_none() {
        *pipe = start();
    }
    tell(&mut pipe, '+', group);
}

/// Unregisters a process group that has ended.
pub(crate) fn forget(group: libc::pid_t) {
    tell(&mut PIPE.lock().unwrap_or_else(|e| e.into_inner()), '-', group);
}

fn tell(pipe: &mut Option<ChildStdin>, sign: char, group: libc::pid_t) {
    if let Some(shell) = pipe
        && writeln!(shell, "{sign} {group}").is_err()
    {
        *pipe = None;
    }
}

fn start() -> Option<ChildStdin> {
    let mut shell = Command::new("sh");
    // Its own group: an interrupt from the terminal is for us, not for it.
    shell
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    shell.current_dir("/").spawn().ok()?.stdin.take()
}
