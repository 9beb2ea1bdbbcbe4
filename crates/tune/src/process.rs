//! Running a command in a process group of its own: time limit, captured output, nothing left behind.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Process groups that run now, for the handler of Ctrl-C.
static RUNNING: Mutex<Vec<libc::pid_t>> = Mutex::new(Vec::new());

/// What is kept of standard output and standard error each: the beginning, and as much of the end.
const KEPT: usize = 8 << 20;
/// A pipe that somebody outside the group still holds is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What to run.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The program and its arguments.
    pub words: &'a [String],
    /// Variables added to the environment.
    pub env: &'a [(String, String)],
    /// Where it runs; here without.
    pub folder: Option<&'a Path>,
    /// Afterwards it is killed.
    pub limit: Duration,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// Killed at its time limit.
    Limit,
    /// It could not be started.
    NotStarted(String),
}

/// What a command left.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// How long it took.
    pub wall: Duration,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: Vec<u8>,
}

impl Ended {
    /// Whether it ended by itself with code 0.
    pub fn is_success(&self) -> bool {
        self.how == How::Exit(0)
    }

    /// How it ended in words, and the last lines it said.
    pub fn explain(&self) -> String {
        let how = match &self.how {
            How::Exit(code) => format!("exited with {code}"),
            How::Signal(signal) => format!("was killed by signal {signal}"),
            How::Limit => format!("was stopped after {:.1} s", self.wall.as_secs_f64()),
            How::NotStarted(why) => format!("cannot be started: {why}"),
        };
        let said = last_lines(if self.stderr.is_empty() { &self.stdout } else { &self.stderr });
        if said.is_empty() { how } else { format!("{how}: {said}") }
    }
}

/// The last lines of a log, at most eight.
pub fn last_lines(log: &[u8]) -> String {
    const LINES: usize = 8;
    const WIDTH: usize = 200;
    let text = String::from_utf8_lossy(&log[log.len().saturating_sub(16 << 10)..]).into_owned();
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].iter();
    last.map(|line| line.chars().take(WIDTH).collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// Runs a command to its end or its limit. Whatever it started goes with it.
pub fn run(job: &Job) -> Ended {
    let began = Instant::now();
    let not_started = |why: String| Ended {
        how: How::NotStarted(why),
        wall: began.elapsed(),
        stdout: vec![],
        stderr: vec![],
    };
    let Some((program, arguments)) = job.words.split_first() else {
        return not_started("there is no command".into());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command.envs(job.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = job.folder {
        command.current_dir(folder);
    }
    // SAFETY: prctl is safe to call between fork and exec; it only makes the child follow us when we are killed.
    #[cfg(target_os = "linux")]
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return not_started(error.to_string()),
    };
    let group = child.id() as libc::pid_t;
    let _registered = Registered::new(group);
    let stdout = child.stdout.take().map(Captured::start);
    let stderr = child.stderr.take().map(Captured::start);
    let in_time = wait_for_end(group, job.limit);
    let wall = if in_time { began.elapsed() } else { job.limit };
    // The leader is not yet reaped, so that the group's number is still ours.
    kill(group);
    let status = child.wait();
    let text = |captured: Option<Captured>| captured.map(Captured::finish).unwrap_or_default();
    let how = match status {
        _ if !in_time => How::Limit,
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => How::Exit(code),
            (None, signal) => How::Signal(signal.unwrap_or(0)),
        },
        Err(error) => How::NotStarted(error.to_string()),
    };
    Ended { how, wall, stdout: text(stdout), stderr: text(stderr) }
}

/// Waits until the process has ended, without reaping it; whether it did so in time.
fn wait_for_end(pid: libc::pid_t, limit: Duration) -> bool {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // SAFETY: siginfo_t is plain data for which all zeros is a value; the pointer lives through the call.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above; interrupted calls are repeated.
        while unsafe {
            libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT)
        } == -1
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
        let _ = sender.send(());
    });
    receiver.recv_timeout(limit) != Err(RecvTimeoutError::Timeout)
}

fn kill(group: libc::pid_t) {
    // SAFETY: a plain system call; a group that is gone gives an error that nobody needs.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Kills every command of this process; for the handler of Ctrl-C.
pub fn stop_running() {
    RUNNING.lock().unwrap_or_else(|e| e.into_inner()).iter().for_each(|group| kill(*group));
}

struct Registered(libc::pid_t);

impl Registered {
    fn new(group: libc::pid_t) -> Self {
        RUNNING.lock().unwrap_or_else(|e| e.into_inner()).push(group);
        Self(group)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(|e| e.into_inner()).retain(|group| *group != self.0);
    }
}

/// A pipe that is read to its end, of which the beginning and the end are kept.
struct Captured {
    kept: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
    done: Receiver<()>,
}

impl Captured {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new((Vec::new(), Vec::new())));
        let (sender, done) = channel();
        let into = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut block = [0u8; 1 << 16];
            while let Ok(read @ 1..) = pipe.read(&mut block) {
                let mut kept = into.lock().unwrap_or_else(|e| e.into_inner());
                let head = (KEPT - kept.0.len()).min(read);
                kept.0.extend_from_slice(&block[..head]);
                kept.1.extend_from_slice(&block[head..read]);
                let beyond = kept.1.len().saturating_sub(2 * KEPT);
                if beyond > 0 {
                    kept.1.drain(..beyond + KEPT);
                }
            }
            let _ = sender.send(());
        });
        Self { kept, done }
    }

    fn finish(self) -> Vec<u8> {
        let _ = self.done.recv_timeout(PATIENCE);
        let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        let (mut head, tail) = std::mem::take(&mut *kept);
        head.extend(tail);
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: f64) -> Ended {
        let words = ["sh".to_string(), "-c".to_string(), script.to_string()];
        run(&Job {
            words: &words,
            env: &[("X".into(), "1".into())],
            folder: None,
            limit: Duration::from_secs_f64(seconds),
        })
    }

    #[test]
    fn output_code_and_environment_are_seen() {
        let ended = shell("echo $X; echo no >&2; exit 3", 10.0);
        assert_eq!((ended.how.clone(), ended.stdout.as_slice()), (How::Exit(3), b"1\n".as_slice()));
        assert_eq!(ended.explain(), "exited with 3: no");
        assert_eq!(shell("kill -SEGV $$", 10.0).how, How::Signal(11));
        let words = ["no-such-program-here".to_string()];
        let ended = run(&Job { words: &words, env: &[], folder: None, limit: Duration::from_secs(1) });
        assert!(matches!(ended.how, How::NotStarted(_)));
    }

    #[test]
    fn a_hanging_program_goes_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("sleep 300 & echo $! >> {0}; echo $$ >> {0}; wait", pids.display());
        let ended = shell(&script, 0.3);
        assert_eq!(ended.how, How::Limit);
        let pids = std::fs::read_to_string(&pids).unwrap();
        assert_eq!(pids.lines().count(), 2);
        for pid in pids.lines() {
            let pid: libc::pid_t = pid.parse().unwrap();
            let began = Instant::now();
            // SAFETY: signal 0 only asks whether the process is there.
            while unsafe { libc::kill(pid, 0) } == 0 && !is_zombie(pid) {
                assert!(began.elapsed() < Duration::from_secs(5), "{pid} lives on");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    fn is_zombie(pid: libc::pid_t) -> bool {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        text.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
    }

    #[test]
    fn what_stays_in_the_background_is_not_waited_for() {
        let began = Instant::now();
        let ended = shell("sleep 300 & exit 0", 60.0);
        assert!(ended.is_success());
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn endless_output_is_cut() {
        let ended = shell("yes", 0.5);
        assert_eq!(ended.how, How::Limit);
        assert!(ended.stdout.len() <= 4 * KEPT);
    }
}
