//! How a caller follows the work on a request, and stops it.

use std::any::Any;
use std::sync::Arc;

use ingest::Progress;
use report::Remedy;

use crate::failure::Failure;
use crate::kept::Kept;

/// The caller's side of a request; every method is optional.
pub trait Observer: Sync {
    /// Something that takes time begins; it has ended when the returned value is dropped.
    fn begin(&self, doing: &'static str, progress: &Arc<Progress>) -> Box<dyn Any> {
        let _ = (doing, progress);
        Box::new(())
    }

    /// A step begins or has ended.
    fn step(&self, message: &str) {
        let _ = message;
    }

    /// A small step of something long, of no interest once it is over.
    fn progress(&self, message: &str) {
        let _ = message;
    }

    /// Something is wrong, but the work continues.
    fn warn(&self, message: &str) {
        let _ = message;
    }

    /// A detail for verbose output.
    fn detail(&self, message: &str) {
        let _ = message;
    }

    /// A program that was started printed something.
    fn output(&self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// Whether to stop; asked between steps.
    fn cancelled(&self) -> bool {
        false
    }

    /// Traces that the caller keeps, so that a second request for the same files does not read them again.
    fn kept(&self) -> Option<&Kept> {
        None
    }

    /// A remedy in the caller's own words, for files that people read.
    fn remedy(&self, remedy: &Remedy) -> Option<String> {
        let _ = remedy;
        None
    }
}

/// Shows nothing and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Runs `work` while the observer sees its progress.
pub(crate) fn watched<T, E: Into<Failure>>(
    doing: &'static str,
    observer: &dyn Observer,
    work: impl FnOnce(&Progress) -> Result<T, E>,
) -> Result<T, Failure> {
    if observer.cancelled() {
        return Err(Failure::cancelled());
    }
    let progress = Arc::new(Progress::default());
    files::memory::doing(doing);
    let shown = observer.begin(doing, &progress);
    let result = work(&progress);
    drop(shown);
    files::memory::doing("");
    result.map_err(Into::into)
}

/// Passes on messages from the collection of a run.
pub(crate) struct ForwardedEvents<'a> {
    pub observer: &'a dyn Observer,
    /// Whether the caller wants what programs print.
    pub output: bool,
}

impl collect::run::Events for ForwardedEvents<'_> {
    fn step(&self, message: &str) {
        self.observer.step(message);
    }

    fn warn(&self, message: &str) {
        self.observer.warn(message);
    }

    fn output(&self, bytes: &[u8]) {
        if self.output {
            self.observer.output(bytes);
        }
    }
}

impl collect::capture::Events for ForwardedEvents<'_> {
    fn step(&self, message: &str) {
        self.observer.step(message);
    }

    fn warn(&self, message: &str) {
        self.observer.warn(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailureKind, Input};

    struct Stopped;

    impl Observer for Stopped {
        fn cancelled(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_cancelled_request_reads_nothing() {
        let input = Input::of(vec!["no/such/file.db".into()]);
        let kind = |observer: &dyn Observer| crate::info(&input, observer).unwrap_err().kind();
        assert_eq!(kind(&Stopped), FailureKind::Cancelled);
        assert_eq!(kind(&Silent), FailureKind::BadInput);
    }
}
