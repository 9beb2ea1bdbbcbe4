//! The open traces and the answers given so far: handles, the check that a trace has not changed, and what is kept.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use app::experiment::StoreLocation;
use app::{Kept, Observer};
use report::Report;

use crate::refusal::Refusal;
use crate::roots::Roots;
use crate::sql::Sql;
use crate::stamp::Stamp;

/// Most traces open at a time; the least recently used one is closed.
const MOST_TRACES: usize = 8;
/// Answers that are kept for paging.
const MOST_ANSWERS: usize = 128;

/// An open trace.
pub struct Opened {
    /// Its handle.
    pub id: String,
    /// Where it is, with links resolved.
    pub path: PathBuf,
    /// How its files looked when it was opened.
    pub stamp: Stamp,
    /// The SQL session, once someone asked.
    pub sql: Mutex<Option<Sql>>,
    /// What was read from it, so that later questions read nothing.
    kept: Kept,
    closed: AtomicBool,
}

impl Opened {
    /// Fails if the trace's files have changed.
    pub fn check(&self) -> Result<(), Refusal> {
        if Stamp::of(&self.path) == self.stamp {
            return Ok(());
        }
        Err(Refusal::new(format!(
            "the trace `{}` changed since it was opened as {}",
            self.path.display(),
            self.id
        ))
        .with_help("open it again with open_trace; earlier answers are about what it was"))
    }

    /// Whether the trace was closed, so that nobody can ask for it.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Passes a client's observer on, and keeps what is read from a trace.
pub struct Reading<'a> {
    /// The client's side of the call.
    pub client: &'a dyn Observer,
    /// The trace that the call is about.
    pub trace: &'a Opened,
}

impl Observer for Reading<'_> {
    fn cancelled(&self) -> bool {
        self.client.cancelled()
    }

    fn kept(&self) -> Option<&Kept> {
        Some(&self.trace.kept)
    }
}

/// An answer that is kept.
pub struct Answer {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The trace's handle, if it is about one.
    pub trace: Option<String>,
    question: String,
    report: Mutex<Option<Arc<Report>>>,
}

impl Answer {
    /// The report, once it is ready.
    pub fn report(&self) -> Option<Arc<Report>> {
        locked(&self.report).clone()
    }
}

/// All that clients share.
pub struct Desk {
    /// What may be read.
    pub roots: Roots,
    /// The store of experiments.
    pub place: StoreLocation,
    traces: Mutex<Vec<Arc<Opened>>>,
    answers: Mutex<Vec<Arc<Answer>>>,
    opened: AtomicUsize,
    answered: AtomicUsize,
    /// Held while a trace is prepared: one at a time.
    pub preparing: Arc<Mutex<()>>,
}

/// Locks a mutex, even if another thread panicked while holding it.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Desk {
    /// An empty desk.
    pub fn new(roots: Roots, place: StoreLocation) -> Self {
        Self {
            roots,
            place,
            traces: Mutex::default(),
            answers: Mutex::default(),
            opened: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            preparing: Arc::default(),
        }
    }

    /// A trace under a handle: its existing one, if it is open and did not change.
    pub fn open(&self, path: PathBuf) -> Arc<Opened> {
        let stamp = Stamp::of(&path);
        let mut traces = locked(&self.traces);
        if let Some(at) = traces.iter().position(|trace| trace.path == path) {
            let trace = traces.remove(at);
            if trace.stamp == stamp {
                traces.push(trace.clone());
                return trace;
            }
            self.forget(&trace);
        }
        let id = format!("t{}", self.opened.fetch_add(1, Ordering::Relaxed) + 1);
        let (sql, kept, closed) = (Mutex::default(), Kept::default(), AtomicBool::new(false));
        let trace = Arc::new(Opened { id, path, stamp, sql, kept, closed });
        traces.push(trace.clone());
        if traces.len() > MOST_TRACES {
            self.forget(&traces.remove(0));
        }
        trace
    }

    /// The open trace with this handle, unchanged.
    pub fn trace(&self, id: &str) -> Result<Arc<Opened>, Refusal> {
        let trace = {
            let mut traces = locked(&self.traces);
            let Some(at) = traces.iter().position(|trace| trace.id == id) else {
                let open: Vec<&str> = traces.iter().map(|trace| trace.id.as_str()).collect();
                let help = match open.is_empty() {
                    true => "open a trace with open_trace".to_string(),
                    false => format!("open are {}; others need open_trace", open.join(", ")),
                };
                return Err(Refusal::new(format!("no trace is open as `{id}`")).with_help(help));
            };
            let trace = traces.remove(at);
            traces.push(trace.clone());
            trace
        };
        trace.check()?;
        Ok(trace)
    }

    /// The open traces, the last used last.
    pub fn traces(&self) -> Vec<Arc<Opened>> {
        locked(&self.traces).clone()
    }

    /// Closes a trace.
    pub fn close(&self, id: &str) -> bool {
        let mut traces = locked(&self.traces);
        let Some(at) = traces.iter().position(|trace| trace.id == id) else { return false };
        self.forget(&traces.remove(at));
        true
    }

    fn forget(&self, trace: &Opened) {
        trace.closed.store(true, Ordering::Relaxed);
        locked(&self.answers).retain(|answer| answer.trace.as_deref() != Some(&trace.id));
    }

    /// The answer to a question: the kept one, or what `make` returns. Others who ask meanwhile wait for it.
    pub fn answer(
        &self,
        tool: &str,
        trace: Option<&Arc<Opened>>,
        question: String,
        make: impl FnOnce() -> Result<Report, Refusal>,
    ) -> Result<(Arc<Answer>, Arc<Report>), Refusal> {
        let kept = self.place_for(tool, trace.map(|trace| trace.id.clone()), question);
        let mut place = locked(&kept.report);
        if let Some(report) = &*place {
            return Ok((kept.clone(), report.clone()));
        }
        let report = Arc::new(make()?);
        // The trace may have changed while it was read.
        trace.map_or(Ok(()), |trace| trace.check())?;
        *place = Some(report.clone());
        drop(place);
        Ok((kept, report))
    }

    fn place_for(&self, tool: &str, trace: Option<String>, question: String) -> Arc<Answer> {
        let mut answers = locked(&self.answers);
        let same = |answer: &Arc<Answer>| {
            answer.tool == tool && answer.trace == trace && answer.question == question
        };
        if let Some(at) = answers.iter().position(same) {
            let answer = answers.remove(at);
            answers.push(answer.clone());
            return answer;
        }
        let id = format!("a{}", self.answered.fetch_add(1, Ordering::Relaxed) + 1);
        let answer = Arc::new(Answer { id, tool: tool.into(), trace, question, report: Mutex::default() });
        answers.push(answer.clone());
        if answers.len() > MOST_ANSWERS {
            answers.remove(0);
        }
        answer
    }

    /// The kept answer with this id.
    pub fn kept(&self, id: &str) -> Result<(Arc<Answer>, Arc<Report>), Refusal> {
        let found = locked(&self.answers).iter().find(|answer| answer.id == id).cloned();
        let found = found.and_then(|answer| answer.report().map(|report| (answer, report)));
        found.ok_or_else(|| {
            Refusal::new(format!("there is no answer `{id}` any more")).with_help("ask the question again")
        })
    }

    /// All kept answers that are ready.
    pub fn answers(&self) -> Vec<Arc<Answer>> {
        let all = locked(&self.answers).clone();
        all.into_iter()
            .filter(|answer| answer.report.try_lock().is_ok_and(|report| report.is_some()))
            .collect()
    }
}
