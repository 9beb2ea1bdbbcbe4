//! Running one pass: the application in a process group of its own, its output kept and shown, its end told exactly.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::error::CollectError;
use super::interrupt;
use super::messages::{Message, is_noise, understand};
use crate::profiler::reason;

/// What to run.
pub(crate) struct Run<'a> {
    pub words: &'a [String],
    pub env: &'a [(String, String)],
    /// All that it prints is kept here.
    pub log: &'a Path,
    pub timeout: Option<Duration>,
    /// Gets what it prints, as it comes.
    pub show: &'a (dyn Fn(&[u8]) + Sync),
}

/// How it ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub status: ExitStatus,
    pub wall: Duration,
    pub timed_out: bool,
    pub messages: Vec<Message>,
}

impl Ended {
    /// The exit code, or 128 and the signal's number.
    pub fn code(&self) -> i32 {
        self.status.code().or(self.status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
    }

    /// In words.
    pub fn how(&self) -> String {
        match (self.status.signal(), self.status.code()) {
            (Some(signal), _) => format!("was killed by signal {signal}{}", name_of(signal)),
            (_, Some(code)) if (129..=159).contains(&code) => {
                format!("exited with {code}, as after signal {}{}", code - 128, name_of(code - 128))
            }
            (_, code) => format!("exited with {}", code.unwrap_or(-1)),
        }
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

/// Processes that outlive the application may keep its output open; nobody waits longer for them.
const LEFTOVERS: Duration = Duration::from_millis(500);

/// Runs it to its end.
pub(crate) fn run(run: &Run<'_>) -> Result<Ended, CollectError> {
    let Some((program, arguments)) = run.words.split_first() else {
        return Err(CollectError::Usage("there is nothing to run".into()));
    };
    let log = File::create(run.log)
        .map_err(|error| CollectError::Folder { path: run.log.into(), why: reason(&error) })?;
    let mut command = Command::new(program);
    command.args(arguments).envs(run.env.iter().map(|(name, value)| (name, value)));
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A process group in the background that reads a terminal would be stopped for ever.
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        command.stdin(Stdio::null());
    }
    let began = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| CollectError::Start { program: program.into(), why: reason(&error) })?;
    let group = child.id() as libc::pid_t;
    interrupt::set_group(Some(group));
    let (sender, lines) = mpsc::channel::<Vec<u8>>();
    let outputs: [Option<Box<dyn Read + Send>>; 2] =
        [child.stdout.take().map(|s| Box::new(s) as _), child.stderr.take().map(|s| Box::new(s) as _)];
    for output in outputs.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || pump(output, &sender));
    }
    drop(sender);
    let (ended, watched) = mpsc::channel::<()>();
    let (messages, status, timed_out) = std::thread::scope(|scope| {
        let reader = scope.spawn(move || listen(lines, log, run.show, watched));
        let timer = run.timeout.map(|limit| Timer::start(group, limit));
        let status = child.wait();
        let timed_out = timer.is_some_and(Timer::stop);
        // Unless somebody holds the output open, the reader ends by itself.
        let _ = ended.send(());
        (reader.join().unwrap_or_default(), status, timed_out)
    });
    if interrupt::is_interrupted() || timed_out {
        interrupt::send(group, libc::SIGKILL);
    }
    interrupt::set_group(None);
    let status =
        status.map_err(|error| CollectError::Start { program: program.into(), why: reason(&error) })?;
    Ok(Ended { status, wall: began.elapsed(), timed_out, messages })
}

/// Passes lines on, also the last one without an end.
fn pump(output: impl Read, to: &mpsc::Sender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.read_until(b'\n', &mut line) {
            Ok(1..) if to.send(line).is_ok() => {}
            _ => return,
        }
    }
}

/// Keeps, shows and understands all lines until both outputs end, or the process has and they go quiet.
fn listen(
    lines: mpsc::Receiver<Vec<u8>>,
    mut log: File,
    show: &(dyn Fn(&[u8]) + Sync),
    ended: mpsc::Receiver<()>,
) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut over = false;
    loop {
        let line = match lines.recv_timeout(if over { LEFTOVERS } else { Duration::from_millis(100) }) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Timeout) if over => return messages,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                over = ended.try_recv().is_ok();
                continue;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return messages,
        };
        // A log that cannot be kept is no reason to stop: a full disk shows elsewhere.
        let _ = log.write_all(&line);
        let text = String::from_utf8_lossy(&line);
        if !is_noise(&text) {
            show(&line);
        }
        if let Some(message) = understand(&text)
            && !messages.contains(&message)
        {
            messages.push(message);
        }
    }
}

/// Ends a process group when its time is up.
struct Timer {
    done: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

impl Timer {
    fn start(group: libc::pid_t, limit: Duration) -> Self {
        let (done, wait) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            if wait.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout) {
                return false;
            }
            for (signal, patience) in [(libc::SIGINT, 5), (libc::SIGTERM, 5), (libc::SIGKILL, 60)] {
                interrupt::send(group, signal);
                if wait.recv_timeout(Duration::from_secs(patience)) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return true;
                }
            }
            true
        });
        Self { done, thread }
    }

    /// Whether the time was up.
    fn stop(self) -> bool {
        drop(self.done);
        self.thread.join().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_script(script: &str, timeout: Option<Duration>) -> (Ended, String) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let words: Vec<String> = ["sh", "-c", script].map(String::from).into();
        let env = [("GREETING".to_string(), "hello".to_string())];
        let ended = run(&Run { words: &words, env: &env, log: &log, timeout, show: &|_| {} }).unwrap();
        (ended, std::fs::read_to_string(log).unwrap())
    }

    #[test]
    fn ends_are_told_exactly() {
        let (ended, log) = run_script("echo $GREETING; echo 'Fatal error: oh' >&2; printf end; exit 7", None);
        assert_eq!((ended.code(), ended.how().as_str()), (7, "exited with 7"));
        assert!(log.contains("hello\n") && log.contains("end"), "{log}");
        assert_eq!(ended.messages.len(), 1);
        let (ended, _) = run_script("kill -SEGV $$", None);
        assert_eq!((ended.code(), ended.how().as_str()), (139, "was killed by signal 11 (SIGSEGV)"));
    }

    #[test]
    fn what_outlives_the_application_is_not_waited_for() {
        let began = Instant::now();
        let (ended, _) = run_script("sleep 20 & exit 0", None);
        assert_eq!(ended.code(), 0);
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_time_limit_ends_the_whole_group() {
        let (ended, _) = run_script("sleep 30 & sleep 30; exit 0", Some(Duration::from_millis(100)));
        assert!(ended.timed_out);
        assert!(ended.wall < Duration::from_secs(20));
    }
}
