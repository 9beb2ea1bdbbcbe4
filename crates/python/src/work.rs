//! Runs work on a separate thread, while the calling thread waits without the interpreter's lock, checks for
//! Ctrl-C, shows progress and passes warnings on.

use std::any::Any;
use std::ffi::CString;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use app::{Failure, Kept, Observer, Progress, Remedy};
use pyo3::prelude::*;

use crate::failure::Failed;
use crate::words;

/// How often the waiting thread takes the lock, for microseconds.
const TICK: Duration = Duration::from_millis(50);
/// Work that takes less shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// As much as a main thread usually has.
const STACK: usize = 16 << 20;

/// State that both threads share.
#[derive(Default)]
struct Handover<T> {
    result: Mutex<Option<std::thread::Result<T>>>,
    is_done: Condvar,
}

/// The caller of a request, as the working thread sees it.
#[derive(Default)]
pub struct Caller {
    kept: Option<Arc<Kept>>,
    cancelled: AtomicBool,
    doing: Mutex<Option<(&'static str, Arc<Progress>)>>,
    warnings: Mutex<Vec<String>>,
}

impl Observer for Caller {
    fn begin(&self, doing: &'static str, progress: &Arc<Progress>) -> Box<dyn Any> {
        *lock(&self.doing) = Some((doing, Arc::clone(progress)));
        Box::new(())
    }

    fn warn(&self, message: &str) {
        lock(&self.warnings).push(message.to_string());
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    fn remedy(&self, remedy: &Remedy) -> Option<String> {
        words::words(remedy)
    }
}

/// Runs a request and waits for it. Ctrl-C raises at once; the thread then ends at its next step.
pub fn work<T: Send + 'static>(
    py: Python<'_>,
    kept: Option<Arc<Kept>>,
    request: impl FnOnce(&dyn Observer) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failed> {
    interruptible(py, kept, || (), request)
}

/// Like `work`, but `interrupt` stops code that does not check whether it is cancelled.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    kept: Option<Arc<Kept>>,
    interrupt: impl Fn(),
    request: impl FnOnce(&dyn Observer) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failed> {
    let caller = Arc::new(Caller { kept, ..Caller::default() });
    let shared = Arc::new(Handover { result: Mutex::new(None), is_done: Condvar::new() });
    let (theirs, told) = (Arc::clone(&caller), Arc::clone(&shared));
    let started = std::thread::Builder::new().name("rocm-perf".into()).stack_size(STACK).spawn(move || {
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| request(&*theirs)));
        *lock(&told.result) = Some(result);
        told.is_done.notify_all();
    });
    started.map_err(|error| Failure::input(format!("cannot start a thread: {error}")))?;
    let mut shown = Shown { began: Instant::now(), is_shown: false };
    let result = loop {
        if let Some(result) = py.detach(|| shared.wait()) {
            break result;
        }
        if let Err(interrupted) = py.check_signals() {
            caller.cancelled.store(true, Ordering::Release);
            interrupt();
            shown.clear(py);
            return Err(interrupted.into());
        }
        shown.draw(py, &caller);
    };
    shown.clear(py);
    warn(py, &caller)?;
    match result {
        Ok(result) => Ok(result?),
        Err(panic) => Err(Failure::input(format!("rocm-perf failed: {}", said(&*panic))).into()),
    }
}

impl<T> Handover<T> {
    /// The result, once it is ready; `None` after a tick.
    fn wait(&self) -> Option<std::thread::Result<T>> {
        let result = lock(&self.result);
        let waited = self.is_done.wait_timeout_while(result, TICK, |result| result.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// Progress as Python shows it; a failure there does not fail the request.
struct Shown {
    began: Instant,
    is_shown: bool,
}

impl Shown {
    fn draw(&mut self, py: Python<'_>, caller: &Caller) {
        if self.began.elapsed() < PATIENCE {
            return;
        }
        let doing = lock(&caller.doing).as_ref().map(|(doing, progress)| (*doing, progress.get()));
        if let Some((doing, (done, total))) = doing.filter(|(_, (_, total))| *total > 0) {
            let seconds = self.began.elapsed().as_secs_f64();
            self.is_shown = true;
            self.call(py, "show", (doing, done, total, seconds));
        }
    }

    fn clear(&mut self, py: Python<'_>) {
        if self.is_shown {
            self.call(py, "clear", ());
        }
    }

    fn call<'py>(&self, py: Python<'py>, name: &str, values: impl pyo3::call::PyCallArgs<'py>) {
        let drawn = py.import("rocm_perf._progress").and_then(|module| module.call_method1(name, values));
        drop(drawn);
    }
}

fn warn(py: Python<'_>, caller: &Caller) -> Result<(), Failed> {
    for message in std::mem::take(&mut *lock(&caller.warnings)) {
        let class = py.import("rocm_perf._errors")?.getattr("Warning")?;
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &class, &message, 2)?;
    }
    Ok(())
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for an unknown reason")
}

/// Locks a mutex; data that a panicking thread left is good enough here.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
