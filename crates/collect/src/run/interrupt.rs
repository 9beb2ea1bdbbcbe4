//! Interrupts: a collection that runs stops its application's process group and keeps what is there.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Whether a collection is under way.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// How often the user interrupted it.
static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);
/// The process group that runs now.
static GROUP: Mutex<Option<libc::pid_t>> = Mutex::new(None);

/// A profiler gets this long to write what it has, then the group is told again, less kindly.
const PATIENCE: Duration = Duration::from_secs(10);

/// While it lives, interrupts stop the application instead of this program.
pub(crate) struct Guard;

impl Guard {
    pub(crate) fn new() -> Self {
        INTERRUPTS.store(0, Ordering::SeqCst);
        ACTIVE.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        ACTIVE.store(false, Ordering::SeqCst);
    }
}

/// For the handler of Ctrl-C: whether a collection took the interrupt, and will end by itself.
///
/// The first interrupt is passed on to the application's process group; if that does not end it, it is told to
/// terminate, then killed. Each further interrupt takes the next step at once.
pub fn interrupt() -> bool {
    if !ACTIVE.load(Ordering::SeqCst) {
        return false;
    }
    let step = INTERRUPTS.fetch_add(1, Ordering::SeqCst);
    let Some(group) = current() else { return true };
    send(group, [libc::SIGINT, libc::SIGTERM, libc::SIGKILL][step.min(2)]);
    if step == 0 {
        std::thread::spawn(move || {
            for signal in [libc::SIGTERM, libc::SIGKILL] {
                std::thread::sleep(PATIENCE);
                if current() != Some(group) {
                    return;
                }
                send(group, signal);
            }
        });
    }
    true
}

/// Whether the user interrupted the collection that runs.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTS.load(Ordering::SeqCst) > 0
}

/// The group that interrupts go to; none when the process has ended.
pub(super) fn set_group(group: Option<libc::pid_t>) {
    *GROUP.lock().unwrap_or_else(|e| e.into_inner()) = group;
    // An interrupt may have come between the start of the process and this.
    if let Some(group) = group.filter(|_| is_interrupted()) {
        send(group, libc::SIGINT);
    }
}

fn current() -> Option<libc::pid_t> {
    *GROUP.lock().unwrap_or_else(|e| e.into_inner())
}

/// Sends a signal to all processes of a group.
pub(super) fn send(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: a plain system call; a group that is gone gives an error that nobody needs.
    unsafe { libc::kill(-group, signal) };
}
