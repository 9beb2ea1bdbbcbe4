//! Interrupts: child processes stop with this program, or instead of it while a [`Guard`] exists.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::output::remove_partial_files;
use crate::watchdog;

/// Whether a caller handles interrupts itself.
static GUARDED: AtomicBool = AtomicBool::new(false);
/// Number of interrupts under the current guard.
static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);
/// The running process groups.
static RUNNING: Mutex<Vec<libc::pid_t>> = Mutex::new(Vec::new());

/// How long a profiler gets to write its data before the next, stronger signal.
const PATIENCE: Duration = Duration::from_secs(10);

/// While it exists, interrupts stop the child processes instead of this program.
pub struct Guard(());

impl Guard {
    /// Forgets earlier interrupts.
    #[expect(
        clippy::new_without_default,
        reason = "a guard acts as long as it lives; nobody wants one by default"
    )]
    pub fn new() -> Self {
        INTERRUPTS.store(0, Ordering::SeqCst);
        GUARDED.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDED.store(false, Ordering::SeqCst);
    }
}

/// For the handler of Ctrl-C: whether what is running stops on its own. If not, all child processes are
/// killed, all partial files are removed, and the program must exit.
///
/// Under a guard the first interrupt is passed on to the child processes; if that does not end them, they are
/// terminated, then killed. Each further interrupt takes the next step at once.
pub fn interrupt() -> bool {
    if !GUARDED.load(Ordering::SeqCst) {
        running().iter().for_each(|group| send(*group, libc::SIGKILL));
        remove_partial_files();
        return false;
    }
    let step = INTERRUPTS.fetch_add(1, Ordering::SeqCst);
    let groups = running();
    groups.iter().for_each(|group| send(*group, [libc::SIGINT, libc::SIGTERM, libc::SIGKILL][step.min(2)]));
    if step == 0 && !groups.is_empty() {
        std::thread::spawn(move || {
            for signal in [libc::SIGTERM, libc::SIGKILL] {
                std::thread::sleep(PATIENCE);
                let still = running();
                groups.iter().filter(|group| still.contains(group)).for_each(|group| send(*group, signal));
            }
        });
    }
    true
}

/// Whether the user has interrupted since the newest guard was created.
pub fn is_interrupted() -> bool {
    INTERRUPTS.load(Ordering::SeqCst) > 0
}

/// A process group that receives interrupts, while this exists.
pub(crate) struct Registered(libc::pid_t);

impl Registered {
    pub(crate) fn new(group: libc::pid_t) -> Self {
        RUNNING.lock().unwrap_or_else(|e| e.into_inner()).push(group);
        watchdog::watch(group);
        // An interrupt may have come after the process started but before this.
        if GUARDED.load(Ordering::SeqCst) && is_interrupted() {
            send(group, libc::SIGINT);
        }
        Self(group)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(|e| e.into_inner()).retain(|group| *group != self.0);
        watchdog::forget(self.0);
    }
}

fn running() -> Vec<libc::pid_t> {
    RUNNING.lock().unwrap_or_else(|e| e.into_inner()).clone()
}

/// Sends a signal to all processes of a group.
pub(crate) fn send(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: a plain system call; the error for a group that is gone can be ignored.
    unsafe { libc::kill(-group, signal) };
}
