//! What was recorded, and its conversion to samples of a trace.

use std::path::PathBuf;

use trace::{AgentId, AgentKind, ProcessId, Trace};

use super::metrics::Metric;
use super::{Clock, Moment};

/// One value of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub moment: Moment,
    /// Number among the GPUs.
    pub gpu: usize,
    /// Which metric.
    pub metric: &'static Metric,
    /// The value.
    pub value: f64,
}

/// All samples of a monitor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// `sysfs` or `amd-smi`.
    pub source: String,
    /// GPUs that were monitored.
    pub gpus: usize,
    /// How often all GPUs were read.
    pub readings: u64,
    /// Samples that were skipped because a reading took longer than the interval.
    pub missed: u64,
    /// Values that a GPU does not provide, or did not provide that time.
    pub absent: u64,
    /// The samples, in time order.
    pub samples: Vec<Sample>,
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// What went wrong.
    pub notes: Vec<String>,
}

impl Recorded {
    pub(super) fn new(source: &str, gpus: usize, metrics: &[&'static Metric]) -> Self {
        let expected = gpus * metrics.len() * 64;
        Self { source: source.into(), gpus, samples: Vec::with_capacity(expected), ..Self::default() }
    }

    pub(super) fn add(&mut self, moment: &Moment, metrics: &[&'static Metric], values: &[Vec<Option<f64>>]) {
        self.readings += 1;
        for (gpu, values) in values.iter().enumerate() {
            for (metric, value) in metrics.iter().zip(values) {
                match value {
                    Some(value) => self.samples.push(Sample { moment: *moment, gpu, metric, value: *value }),
                    None => self.absent += 1,
                }
            }
        }
    }

    /// Adds the samples to an unfinished trace, on the clock of its timestamps.
    pub fn add_to(&self, trace: &mut Trace) {
        let clock = clock_of(trace);
        let kind = trace.strings.intern("amd_smi");
        let process = if trace.processes.is_empty() { ProcessId::NONE } else { ProcessId::at(0) };
        for sample in &self.samples {
            let time = sample.moment.on(clock);
            let row = trace::Sample {
                start: time,
                end: time,
                kind,
                name: trace.strings.intern(sample.metric.name),
                value: sample.value,
                unit: trace.strings.intern(sample.metric.unit),
                process,
                agent: gpu_of(trace, sample.gpu),
                ..trace::Sample::default()
            };
            trace.samples.push(row);
        }
    }
}

/// The clock of a trace, by its format.
fn clock_of(trace: &Trace) -> Clock {
    match trace.sources.first().map(|source| source.format.as_str()) {
        Some("torch") => Clock::Wall,
        Some("rocprof") => Clock::Monotonic,
        _ => Clock::Boot,
    }
}

/// The n-th GPU of the trace's first process.
fn gpu_of(trace: &Trace, number: usize) -> AgentId {
    let first = trace.agents.first().map(|agent| agent.process);
    let gpus =
        trace.agents.iter().enumerate().filter(|(_, a)| a.kind == AgentKind::Gpu && Some(a.process) == first);
    let numbered = gpus.clone().find(|(_, agent)| agent.type_index.get() == Some(number as i64));
    let found = numbered.or_else(|| gpus.clone().nth(number));
    found.map_or(AgentId::NONE, |(at, _)| AgentId::at(at))
}
