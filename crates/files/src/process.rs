//! Child processes: each in its own process group, with a time limit, its output and its exact exit status.
//!
//! [`run`] captures the output and leaves nothing running: for builds, checks and measured programs.
//! [`run_watched`] passes on the output line by line and signals before it kills: for applications under a
//! profiler, which writes at the end.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::interrupt::{Registered, is_interrupted, send};
use crate::memory;
use crate::sandbox::Sandbox;

/// Limit for the captured standard output and standard error: the beginning, and as much of the end.
const KEPT: usize = 8 << 20;
/// How long to wait for a pipe that a process outside the group keeps open.
const PATIENCE: Duration = Duration::from_secs(1);
/// Processes that outlive a watched one may keep its output open; we wait no longer than this for them.
const LEFTOVERS: Duration = Duration::from_millis(500);
/// The signals that end a watched process, and the time after each.
const STEPS: [(libc::c_int, Duration); 3] = [
    (libc::SIGINT, Duration::from_secs(5)),
    (libc::SIGTERM, Duration::from_secs(5)),
    (libc::SIGKILL, Duration::from_secs(60)),
];

/// What to run.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The program and its arguments.
    pub words: &'a [String],
    /// Variables added to the environment.
    pub env: &'a [(String, String)],
    /// Its working directory; the current one if `None`.
    pub folder: Option<&'a Path>,
    /// Time limit, after which it is stopped.
    pub limit: Option<Duration>,
    /// Restrictions.
    pub confinement: Confinement<'a>,
}

impl<'a> Job<'a> {
    /// A command in the current folder, without limits or restrictions.
    pub fn of(words: &'a [String]) -> Self {
        Self { words, env: &[], folder: None, limit: None, confinement: Confinement::default() }
    }
}

/// Restrictions on a program; none by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confinement<'a> {
    /// Names of variables that are hidden from it.
    pub hidden: &'a [String],
    /// Where it may write, and what it may connect to.
    pub sandbox: Option<&'a Sandbox>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// On its own, with this exit code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// Stopped at its time limit.
    Limit,
    /// It could not be started.
    NotStarted(String),
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub how: How,
    /// The exit status; `None` if it was not started.
    pub status: Option<ExitStatus>,
    /// How long it took.
    pub wall: Duration,
    /// Standard output, if captured.
    pub stdout: Vec<u8>,
    /// Standard error, if captured.
    pub stderr: Vec<u8>,
}

impl Ended {
    fn not_started(why: String) -> Self {
        let how = How::NotStarted(why);
        Self { how, status: None, wall: Duration::ZERO, stdout: Vec::new(), stderr: Vec::new() }
    }

    /// Whether it exited on its own with code 0.
    pub fn is_success(&self) -> bool {
        self.how == How::Exit(0)
    }

    /// The exit code, or 128 and the signal's number; -1 if it was not started.
    pub fn code(&self) -> i32 {
        let status = |status: ExitStatus| status.code().or(status.signal().map(|signal| 128 + signal));
        self.status.and_then(status).unwrap_or(-1)
    }

    /// The exit status, in words.
    pub fn status_in_words(&self) -> String {
        self.status.map_or_else(|| "exited with -1".into(), status_in_words)
    }

    /// How it ended, in words, and its last lines of output.
    pub fn explain(&self) -> String {
        let how = match &self.how {
            How::Exit(_) | How::Signal(_) => self.status_in_words(),
            How::Limit => format!("was stopped after {:.1} s", self.wall.as_secs_f64()),
            How::NotStarted(why) => format!("cannot be started: {why}"),
        };
        let said = last_lines(if self.stderr.is_empty() { &self.stdout } else { &self.stderr });
        if said.is_empty() { how } else { format!("{how}: {said}") }
    }
}

/// How a process ended, in words.
pub fn status_in_words(status: ExitStatus) -> String {
    match (status.signal(), status.code().unwrap_or(-1)) {
        (Some(signal), _) => format!("was killed by signal {signal}{}", name_of(signal)),
        (_, code @ 129..=159) => {
            format!("exited with {code} (128 + signal {}{})", code - 128, name_of(code - 128))
        }
        (_, code) => format!("exited with {code}"),
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGKILL => " (SIGKILL: out of memory?)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGINT => " (SIGINT)",
        _ => "",
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

/// The system's reason for a failure as part of a sentence, without its number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Runs a command to its end or its limit and captures its output. Everything it started is ended with it.
pub fn run(job: &Job) -> Ended {
    let began = Instant::now();
    let mut running = match Running::start(job, true, libc::SIGKILL) {
        Ok(running) => running,
        Err(why) => return Ended::not_started(why),
    };
    let stdout = running.child.stdout.take().map(Captured::start);
    let stderr = running.child.stderr.take().map(Captured::start);
    let in_time = running.wait(job.limit, &[]);
    let wall = job.limit.filter(|_| !in_time).unwrap_or_else(|| began.elapsed());
    let (how, status) = running.finish(in_time, true);
    let text = |captured: Option<Captured>| captured.map(Captured::finish).unwrap_or_default();
    Ended { how, status, wall, stdout: text(stdout), stderr: text(stderr) }
}

/// Runs a command to its end and passes on each line that it prints. At its limit, or when the user
/// interrupts it, it is signalled before it is killed; only then are its child processes ended.
pub fn run_watched(job: &Job, mut line: impl FnMut(&[u8]) + Send) -> Ended {
    let began = Instant::now();
    let keeps_input = !io::stdin().is_terminal();
    let mut running = match Running::start(job, !keeps_input, libc::SIGTERM) {
        Ok(running) => running,
        Err(why) => return Ended::not_started(why),
    };
    let (sender, lines) = channel::<Vec<u8>>();
    let outputs: [Option<Box<dyn Read + Send>>; 2] = [
        running.child.stdout.take().map(|pipe| Box::new(pipe) as _),
        running.child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for output in outputs.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || pass_lines_on(output, &sender));
    }
    drop(sender);
    let (over, is_over) = channel::<()>();
    let in_time = std::thread::scope(|scope| {
        let listener = scope.spawn(move || listen(&lines, &mut line, &is_over));
        let in_time = running.wait(job.limit, &STEPS);
        // The listener ends on its own, unless something holds the output open.
        let _ = over.send(());
        let _ = listener.join();
        in_time
    });
    let (how, status) = running.finish(in_time, !in_time || is_interrupted());
    Ended { how, status, wall: began.elapsed(), stdout: Vec::new(), stderr: Vec::new() }
}

/// A process that was started and not yet reaped, so its group number stays reserved.
struct Running {
    child: Child,
    group: libc::pid_t,
    ended: Receiver<()>,
    _registered: Registered,
}

impl Running {
    /// Starts it. It receives the signal `with_us` if this program is killed.
    fn start(job: &Job, without_input: bool, with_us: libc::c_int) -> Result<Self, String> {
        let (program, arguments) = job.words.split_first().ok_or("no command given")?;
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        for name in job.confinement.hidden {
            command.env_remove(name);
        }
        command.envs(job.env.iter().map(|(name, value)| (name, value)));
        // A background process group that reads from a terminal would be stopped forever.
        if without_input {
            command.stdin(Stdio::null());
        }
        if let Some(folder) = job.folder {
            command.current_dir(folder);
        }
        // SAFETY: plain system calls, which are safe between fork and exec: the child ends if we are killed,
        // our memory limit does not apply to it, and it receives our interrupts even if we run in the
        // background of a script, where they are ignored.
        #[cfg(target_os = "linux")]
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, with_us);
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                memory::unlimit();
                Ok(())
            });
        }
        if let Some(sandbox) = job.confinement.sandbox {
            let sandbox = sandbox.clone();
            // SAFETY: `enter` makes two system calls and no allocation.
            unsafe {
                command.pre_exec(move || sandbox.enter());
            }
        }
        let child = command.spawn().map_err(|error| reason(&error))?;
        let group = child.id() as libc::pid_t;
        Ok(Self { child, group, ended: watch_for_end(group), _registered: Registered::new(group) })
    }

    /// Waits for its end, and at the limit sends the signals one by one. Returns whether it ended in time.
    fn wait(&self, limit: Option<Duration>, steps: &[(libc::c_int, Duration)]) -> bool {
        let timed_out = |limit: Duration| self.ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        let Some(limit) = limit else {
            let _ = self.ended.recv();
            return true;
        };
        if !timed_out(limit) {
            return true;
        }
        for (signal, patience) in steps {
            send(self.group, *signal);
            if !timed_out(*patience) {
                break;
            }
        }
        false
    }

    /// Reaps it, first ending its whole group if requested.
    fn finish(mut self, in_time: bool, with_group: bool) -> (How, Option<ExitStatus>) {
        if with_group {
            send(self.group, libc::SIGKILL);
        }
        let status = self.child.wait();
        let how = match &status {
            _ if !in_time => How::Limit,
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => How::Exit(code),
                (None, signal) => How::Signal(signal.unwrap_or(0)),
            },
            Err(error) => How::NotStarted(reason(error)),
        };
        (how, status.ok())
    }
}

/// Reports when a process has ended, without reaping it.
fn watch_for_end(pid: libc::pid_t) -> Receiver<()> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // SAFETY: siginfo_t is plain data for which all zeros is valid; the pointer outlives the call.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above; interrupted calls are repeated.
        while unsafe {
            libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT)
        } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        let _ = sender.send(());
    });
    receiver
}

/// Passes lines on, including a last one without a line break.
fn pass_lines_on(output: impl Read, to: &Sender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line) {
            Ok(1..) if to.send(line).is_ok() => {}
            _ => return,
        }
    }
}

/// Receives lines until both outputs end, or the process has ended and they are silent.
fn listen(lines: &Receiver<Vec<u8>>, hear: &mut dyn FnMut(&[u8]), is_over: &Receiver<()>) {
    let mut over = false;
    loop {
        match lines.recv_timeout(if over { LEFTOVERS } else { Duration::from_millis(100) }) {
            Ok(line) => hear(&line),
            Err(RecvTimeoutError::Timeout) if over => return,
            Err(RecvTimeoutError::Timeout) => over = is_over.try_recv().is_ok(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A pipe that is read to its end, keeping the beginning and the end.
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
            env: &[("X".into(), "1".into())],
            limit: Some(Duration::from_secs_f64(seconds)),
            ..Job::of(&words)
        })
    }

    #[test]
    fn output_code_and_environment_are_seen() {
        let ended = shell("echo $X; echo no >&2; exit 3", 10.0);
        assert_eq!((ended.how.clone(), ended.stdout.as_slice()), (How::Exit(3), b"1\n".as_slice()));
        assert_eq!(ended.explain(), "exited with 3: no");
        assert_eq!(shell("kill -SEGV $$", 10.0).how, How::Signal(11));
        let words = ["no-such-program-here".to_string()];
        let ended = run(&Job { limit: Some(Duration::from_secs(1)), ..Job::of(&words) });
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
            // SAFETY: signal 0 only checks whether the process exists.
            while unsafe { libc::kill(pid, 0) } == 0 && !is_zombie(pid) {
                assert!(began.elapsed() < Duration::from_secs(5), "{pid} lives on");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn g5_a_program_does_not_get_variables_that_are_hidden_from_it() {
        let words = ["env".to_string()];
        let hidden = ["PATH".to_string()];
        let confinement = Confinement { hidden: &hidden, ..Confinement::default() };
        let names = |ended: Ended| String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(names(run(&Job::of(&words))).contains("\nPATH=") || std::env::var_os("PATH").is_none());
        let confined = names(run(&Job { confinement, ..Job::of(&words) }));
        assert!(!confined.lines().any(|line| line.starts_with("PATH=")), "{confined}");
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

    fn watched(script: &str, limit: Option<Duration>) -> (Ended, String) {
        let words = ["sh".to_string(), "-c".to_string(), script.to_string()];
        let mut said = Vec::new();
        let job = Job { env: &[("X".into(), "1".into())], limit, ..Job::of(&words) };
        let ended = run_watched(&job, |line| said.extend_from_slice(line));
        (ended, String::from_utf8(said).unwrap())
    }

    #[test]
    fn a_watched_program_is_heard_line_by_line_and_its_end_told_exactly() {
        let (ended, said) = watched("echo $X; echo oh >&2; printf end; exit 7", None);
        assert_eq!((ended.code(), ended.status_in_words().as_str()), (7, "exited with 7"));
        assert!(said.contains("1\n") && said.contains("oh\n") && said.contains("end"), "{said}");
        let (ended, _) = watched("kill -SEGV $$", None);
        assert_eq!(
            (ended.code(), ended.status_in_words().as_str()),
            (139, "was killed by signal 11 (SIGSEGV)")
        );
    }

    #[test]
    fn what_outlives_a_watched_program_is_not_waited_for() {
        let began = Instant::now();
        let (ended, _) = watched("sleep 20 & exit 0", None);
        assert_eq!(ended.code(), 0);
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_watched_program_may_write_what_it_has_when_its_time_is_up() {
        let script = "trap 'echo saved; exit 3' INT; sleep 30 & wait";
        let (ended, said) = watched(script, Some(Duration::from_millis(300)));
        assert_eq!((&ended.how, ended.code(), said.as_str()), (&How::Limit, 3, "saved\n"));
        assert!(ended.wall < Duration::from_secs(20));
    }
}
