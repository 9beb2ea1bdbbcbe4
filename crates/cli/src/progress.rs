//! Progress bars, logs and notes on standard error while a request runs.

use std::any::Any;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use app::{Observer, Progress, Remedy};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use report::visible;

use crate::output::OutputArgs;
use crate::remedies;

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

impl Observer for OutputArgs {
    fn begin(&self, doing: &'static str, progress: &Arc<Progress>) -> Box<dyn Any> {
        if !self.draws() {
            return Box::new(());
        }
        let finished = Arc::new(AtomicBool::new(false));
        let (seen, done) = (Arc::clone(progress), Arc::clone(&finished));
        Box::new(Drawing { finished, drawer: Some(std::thread::spawn(move || draw(doing, &seen, &done))) })
    }

    fn step(&self, message: &str) {
        if !self.quiet {
            eprintln!("{}", visible(message));
        }
    }

    fn progress(&self, message: &str) {
        if self.draws() {
            eprintln!("{}", visible(message));
        }
    }

    fn warn(&self, message: &str) {
        if !self.quiet {
            eprintln!("warning: {}", visible(message));
        }
    }

    fn detail(&self, message: &str) {
        if self.verbose {
            eprintln!("{}", visible(message));
        }
    }

    fn output(&self, bytes: &[u8]) {
        if !self.quiet {
            let _ = std::io::stderr().write_all(bytes);
        }
    }

    fn remedy(&self, remedy: &Remedy) -> Option<String> {
        Some(remedies::words(remedy))
    }
}

impl OutputArgs {
    /// Whether to draw progress.
    pub fn draws(&self) -> bool {
        !self.quiet && !self.no_progress && std::io::stderr().is_terminal()
    }
}

/// A bar that is drawn until this is dropped.
struct Drawing {
    finished: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.finished.store(true, Ordering::Release);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            let _ = drawer.join();
        }
    }
}

fn draw(doing: &'static str, progress: &Progress, finished: &AtomicBool) {
    let began = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    while !finished.load(Ordering::Acquire) {
        if began.elapsed() >= PATIENCE {
            let (done, total) = progress.get();
            let bar = bar.get_or_insert_with(|| new_bar(doing));
            bar.set_length(total);
            bar.set_position(done);
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(doing: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{prefix} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_prefix(doing);
    bar
}
