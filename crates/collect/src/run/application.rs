//! Runs the application of one pass; keeps, shows and parses its output.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use ::files::process::{self, How, Job, reason};

use super::error::CollectError;
use super::messages::{Message, is_noise, understand};

/// How it ended, and the messages that matter.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub process: process::Ended,
    pub messages: Vec<Message>,
}

/// Runs it to its end. All output is kept in `log`; `show` gets it as it arrives, without noise.
pub(crate) fn run(job: &Job<'_>, log: &Path, show: &(dyn Fn(&[u8]) + Sync)) -> Result<Ended, CollectError> {
    let Some(program) = job.words.first() else {
        return Err(CollectError::Usage("no application to run".into()));
    };
    let mut kept =
        File::create(log).map_err(|error| CollectError::Folder { path: log.into(), why: reason(&error) })?;
    let mut messages: Vec<Message> = Vec::new();
    let process = process::run_watched(job, |line| {
        // A log that cannot be written is not a reason to stop: a full disk is reported elsewhere.
        let _ = kept.write_all(line);
        let text = String::from_utf8_lossy(line);
        if !is_noise(&text) {
            show(line);
        }
        if let Some(message) = understand(&text)
            && !messages.contains(&message)
        {
            messages.push(message);
        }
    });
    match &process.how {
        How::NotStarted(why) => Err(CollectError::Start { program: program.into(), why: why.clone() }),
        _ => Ok(Ended { process, messages }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run_script(script: &str, limit: Option<Duration>) -> (Ended, String) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let words: Vec<String> = ["sh", "-c", script].map(String::from).into();
        let env = [("GREETING".to_string(), "hello".to_string())];
        let ended = run(&Job { env: &env, limit, ..Job::of(&words) }, &log, &|_| {}).unwrap();
        (ended, std::fs::read_to_string(log).unwrap())
    }

    #[test]
    fn what_is_printed_is_kept_and_understood() {
        let (ended, log) = run_script("echo $GREETING; echo 'Fatal error: oh' >&2; printf end; exit 7", None);
        assert_eq!(ended.process.code(), 7);
        assert!(log.contains("hello\n") && log.contains("end"), "{log}");
        assert_eq!(ended.messages.len(), 1);
    }

    #[test]
    fn a_time_limit_ends_the_whole_group() {
        let (ended, _) = run_script("sleep 30 & sleep 30; exit 0", Some(Duration::from_millis(100)));
        assert_eq!(ended.process.how, How::Limit);
        assert!(ended.process.wall < Duration::from_secs(20));
    }
}
