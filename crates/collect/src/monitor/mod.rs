//! Monitors: power, memory, clocks, temperature and utilisation of the GPUs during a run.
//!
//! ```text
//! sysfs, or amd-smi ──► a sample every interval ──► gpu_info_*_profiler_output.csv, monitor_samples.csv
//!                                                └─► Samples of the trace, on the trace's clock
//! ```
//!
//! Every sample has the time on three clocks, so that it fits into traces of rocprofv3 (time since boot) and
//! of torch (time of day) alike. Samples are written immediately: a kill loses nothing.

mod amd_smi;
mod clock;
mod files;
mod metrics;
mod samples;
mod sysfs;

pub use clock::{Clock, Moment};
pub use metrics::{METRICS, Metric};
pub use samples::{Recorded, Sample};

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use self::files::Files;

/// Shortest interval with amd-smi, which starts a process per sample.
const SLOWEST: Duration = Duration::from_secs(1);

/// Why nothing can be monitored.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// An unknown kind.
    #[error("no monitor `{0}`")]
    UnknownKind(String),
    /// No source to read from.
    #[error("no GPU to monitor: sysfs has no AMD card, and amd-smi reports no metrics")]
    NoSource,
    /// A file could not be written.
    #[error("cannot write `{path}`: {why}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: std::io::Error,
    },
}

/// A source of numbers: one reading has a value, or none, for every GPU and metric.
trait Source: Send {
    /// `sysfs` or `amd-smi`.
    fn name(&self) -> &'static str;
    /// Number of GPUs.
    fn gpus(&self) -> usize;
    /// Values by GPU, then metric.
    fn read(&mut self, metrics: &[&'static Metric]) -> Vec<Vec<Option<f64>>>;
}

/// A running monitor; it ends on [`Monitor::stop`] or when dropped.
pub struct Monitor {
    shared: Arc<StopSignal>,
    thread: Option<JoinHandle<Recorded>>,
}

#[derive(Default)]
struct StopSignal {
    stop: Mutex<bool>,
    wake: Condvar,
}

impl Monitor {
    /// Monitors the GPUs of this machine: `power`, `vram`, `clocks`, `temperature`, `utilisation`.
    pub fn start<S: AsRef<str>>(
        kinds: &[S],
        interval: Duration,
        out_dir: &Path,
    ) -> Result<Self, MonitorError> {
        Self::start_below(Path::new("/"), kinds, interval, out_dir)
    }

    /// Starts a monitor with sysfs below another root.
    pub fn start_below<S: AsRef<str>>(
        root: &Path,
        kinds: &[S],
        interval: Duration,
        out_dir: &Path,
    ) -> Result<Self, MonitorError> {
        let metrics = metrics::of_kinds(kinds)?;
        let mut source: Box<dyn Source> = match sysfs::Sysfs::open(root) {
            Some(sysfs) => Box::new(sysfs),
            None => Box::new(amd_smi::AmdSmi::find().ok_or(MonitorError::NoSource)?),
        };
        let interval = if source.name() == "sysfs" { interval } else { interval.max(SLOWEST) };
        let mut files = Files::create(out_dir, &metrics, source.gpus())?;
        let shared = Arc::new(StopSignal::default());
        let seen = shared.clone();
        let thread = std::thread::spawn(move || {
            let mut recorded = Recorded::new(source.name(), source.gpus(), &metrics);
            watch(&mut *source, &metrics, interval, &seen, &mut files, &mut recorded);
            recorded.files = files.paths();
            recorded
        });
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Stops after one last sample, and returns what was recorded.
    pub fn stop(mut self) -> Recorded {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Recorded> {
        *self.shared.stop.lock().unwrap_or_else(|e| e.into_inner()) = true;
        self.shared.wake.notify_all();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

/// Samples at a fixed interval until stopped; a reading that takes longer skips samples.
fn watch(
    source: &mut dyn Source,
    metrics: &[&'static Metric],
    interval: Duration,
    shared: &StopSignal,
    files: &mut Files,
    recorded: &mut Recorded,
) {
    let mut due = Instant::now();
    loop {
        let moment = Moment::now();
        let values = source.read(metrics);
        recorded.add(&moment, metrics, &values);
        if let Err(why) = files.append(&moment, metrics, &values) {
            recorded.notes.push(format!("the monitor stopped at {}: {why}", moment.local()));
            files.close();
        }
        let stop = shared.stop.lock().unwrap_or_else(|e| e.into_inner());
        if *stop {
            return;
        }
        due += interval;
        let now = Instant::now();
        while due < now {
            due += interval.max(Duration::from_millis(1));
            recorded.missed += 1;
        }
        drop(shared.wake.wait_timeout_while(stop, due - now, |stop| !*stop));
    }
}

/// The number of GPUs in the output of `amd-smi metric --json`; `None` for other output.
pub(crate) fn gpus_in(text: &str) -> Option<usize> {
    amd_smi::parse(text).map(|gpus| gpus.len()).filter(|count| *count > 0)
}
