//! A process beside ours that ends what we started when we are killed and cannot do it ourselves.
//!
//! The parent-death signal reaches only the process that we started, not what that one started. A shell therefore
//! holds the other end of a pipe. It hears which process groups run, and when the pipe closes it ends those that still do.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Ends the groups politely first: a profiler writes what it has when it is told to terminate.
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

/// The pipe to the shell; none before the first process and where no shell can be started.
static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// A process group that ends when this program is killed.
pub(crate) fn watch(group: libc::pid_t) {
    let mut pipe = PIPE.lock().unwrap_or_else(|e| e.into_inner());
    if pipe.is_none() {
        *pipe = start();
    }
    tell(&mut pipe, '+', group);
}

/// A process group that has ended.
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
    // A group of its own: an interrupt from the terminal is for us, not for it.
    shell
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    shell.current_dir("/").spawn().ok()?.stdin.take()
}
