//! A server that survives crashes: the work is done by a worker process, and a new one replaces it when it crashes.
//!
//! The supervisor starts this program again as its worker. A worker inherits the supervisor's listening
//! socket, so no connection is refused while a worker is replaced: the system queues new ones until they are
//! accepted. These end only the worker: a bug, too little memory, a stack overflow, `kill`.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::interrupt;
use crate::process::status_in_words;

/// Tells a worker its supervisor's process and what it inherits: `PID`, or `PID:SOCKET:PIPE`.
const VARIABLE: &str = "ROCM_PERF_WORKER";

/// How often the supervisor checks whether its worker has ended.
const TICK: Duration = Duration::from_millis(50);

/// The wait before a new worker starts; it doubles with each crash.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// After this long without a crash the wait is reset.
const SOUND: Duration = Duration::from_secs(60);

/// What a worker inherited.
pub struct Worker {
    listener: TcpListener,
    ready: PipeWriter,
}

impl Worker {
    /// Tells the supervisor that requests are now answered, starting with those queued at the socket.
    pub fn ready(mut self) -> TcpListener {
        // A supervisor that only waits for the end no longer listens.
        let _ = self.ready.write_all(b"\n");
        self.listener
    }
}

/// Whether a supervisor started this process.
pub fn is_worker() -> bool {
    inherited().is_some()
}

/// What this process inherited from its supervisor, if it passed on a socket.
pub fn worker() -> Option<Worker> {
    let [socket, pipe]: [RawFd; 2] = inherited()?.try_into().ok()?;
    // SAFETY: our parent, the supervisor, passed both on, and nothing else in this process uses them.
    let (listener, ready) = unsafe { (TcpListener::from_raw_fd(socket), PipeWriter::from_raw_fd(pipe)) };
    Some(Worker { listener, ready })
}

/// The inherited descriptors, if our parent is a supervisor. Programs started by a worker have the variable
/// too, but their parent is the worker.
fn inherited() -> Option<Vec<RawFd>> {
    let value = std::env::var(VARIABLE).ok()?;
    let mut numbers = value.split(':').map(str::parse::<i32>);
    // SAFETY: a plain system call.
    let is_parent = numbers.next()? == Ok(unsafe { libc::getppid() });
    is_parent.then(|| numbers.collect::<Result<_, _>>().ok()).flatten()
}

/// Starts this program again as a worker, with the same arguments.
pub fn start(inherited: &[RawFd], stdio: fn() -> Stdio) -> io::Result<Child> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("rocm-perf"));
    // The program behind this link stays even if another version is installed meanwhile.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let mut command = Command::new(program);
    let handed_down: String = inherited.iter().map(|descriptor| format!(":{descriptor}")).collect();
    command.arg0(name).args(arguments).env(VARIABLE, format!("{}{handed_down}", std::process::id()));
    command.stdin(stdio()).stdout(stdio());
    let descriptors = inherited.to_vec();
    // SAFETY: plain system calls, which are safe between fork and exec: descriptors stay open, and the worker
    // ends if we are killed.
    unsafe {
        command.pre_exec(move || {
            for descriptor in &descriptors {
                if libc::fcntl(*descriptor, libc::F_SETFD, 0) == -1 {
                    return Err(io::Error::last_os_error());
                }
            }
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
    command.spawn()
}

/// Keeps a worker on this socket until an interrupt or until it ends on its own. `ready` is called once, when
/// the first worker answers requests.
pub fn supervise(listener: &TcpListener, ready: impl FnOnce()) -> io::Result<()> {
    let _guard = interrupt::Guard::new();
    let mut wait = Wait::default();
    let (mut child, heard) = start_on(listener)?;
    if !is_ready(heard) {
        let status = child.wait()?;
        let ended = interrupt::is_interrupted() || status.success();
        return if ended { Ok(()) } else { Err(io::Error::other(status_in_words(status))) };
    }
    ready();
    loop {
        let began = Instant::now();
        let status = wait_for(&mut child)?;
        if interrupt::is_interrupted() || status.success() {
            return Ok(());
        }
        wait.after_crash("the server", status, began.elapsed());
        if interrupt::is_interrupted() {
            return Ok(());
        }
        child = start_on(listener)?.0;
    }
}

fn start_on(listener: &TcpListener) -> io::Result<(Child, PipeReader)> {
    let (heard, tell) = pipe()?;
    let child = start(&[listener.as_raw_fd(), tell.as_raw_fd()], Stdio::inherit)?;
    Ok((child, heard))
}

/// Waits until the worker reports that it is ready, or has ended.
fn is_ready(mut heard: PipeReader) -> bool {
    heard.read_exact(&mut [0]).is_ok()
}

/// Waits for a worker to end, and terminates it if the user interrupts us.
fn wait_for(child: &mut Child) -> io::Result<ExitStatus> {
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if !asked && interrupt::is_interrupted() {
            asked = true;
            // SAFETY: a plain system call; the worker is not reaped yet, so the number is its own.
            unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        }
        std::thread::sleep(TICK);
    }
}

/// How long to wait before the next worker.
#[derive(Default)]
pub struct Wait {
    last: Option<Duration>,
}

impl Wait {
    /// Reports a crash of a worker that ran for `ran`, and waits: longer if crashes follow each other sooner.
    pub fn after_crash(&mut self, what: &str, status: ExitStatus, ran: Duration) {
        let wait = self.next(ran);
        eprintln!("error: {what} {}; restarting it", status_in_words(status));
        std::thread::sleep(wait);
    }

    fn next(&mut self, ran: Duration) -> Duration {
        let last = self.last.filter(|_| ran < SOUND);
        let wait = last.map_or(FIRST_WAIT, |last| (last * 2).min(LONGEST_WAIT));
        *self.last.insert(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_in_a_row_are_followed_by_longer_waits() {
        let mut wait = Wait::default();
        let soon = Duration::from_secs(1);
        let waits: Vec<u64> = (0..8).map(|_| wait.next(soon).as_millis() as u64).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(wait.next(SOUND), FIRST_WAIT, "after a minute without a crash");
    }

    #[test]
    fn a_process_that_no_supervisor_started_is_no_worker() {
        assert!(!is_worker() && worker().is_none());
    }
}
