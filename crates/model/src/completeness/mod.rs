//! Whether all GPU work that was launched is in the trace.
//!
//! A launch call without work, a replay with fewer kernels than another replay of the same graph (or than its
//! capture), and a rank without kernels among ranks that have some are lost work. Without a capture, kernels
//! lost from every replay alike look the same as a smaller graph.
//!
//! ```text
//! launches::scan (one pass over links and calls) ─┬─► eager: launches without work, their time
//!                                                 └─► classes ─► replays: kernels of graph launches, their time
//! ```

mod classes;
mod eager;
mod launches;
mod message;
mod replays;

use trace::{Kernels, Ns, Status, StreamId, Trace};

use crate::recordings::Recordings;

/// A share of GPU time or of launches below which a loss is a caveat, not a reason to distrust the trace.
const CAVEAT_SHARE: f64 = 0.001;

/// What the trace shows to be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completeness {
    /// Evidence of lost work; empty if none was found.
    pub missing: Vec<Missing>,
    /// Launches of kernels and graphs that were checked.
    pub launches: usize,
    /// Graph launches among them.
    pub replays: usize,
    /// Whether captures show how many kernels each graph has.
    pub has_capture: bool,
    /// GPU time of the recorded kernels.
    pub recorded_ns: Ns,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// Launches of single kernels without a kernel.
    LaunchesWithoutWork,
    /// Launches without a kernel, all on one stream that has no other work meanwhile.
    SilentStream,
    /// A rank without any kernel, although launches or other ranks show that some ran.
    SilentRank,
    /// Graph launches without any work.
    GraphLaunchesWithoutWork,
    /// Graph launches with fewer kernels than other launches of the same graph.
    PartialReplays,
    /// Graph launches with fewer kernels than their capture.
    FewerThanCaptured,
}

impl Evidence {
    /// The name used in tables and scripts.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::LaunchesWithoutWork => "launches without work",
            Evidence::SilentStream => "silent stream",
            Evidence::SilentRank => "silent rank",
            Evidence::GraphLaunchesWithoutWork => "graph launches without work",
            Evidence::PartialReplays => "partial replays",
            Evidence::FewerThanCaptured => "fewer kernels than captured",
        }
    }
}

/// Missing work of one recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// How the loss was found.
    pub evidence: Evidence,
    /// The recording: `rank 3`, `node1:4711`, or the input's path.
    pub recording: String,
    /// The stream, if all of it is on one.
    pub stream: Option<StreamId>,
    /// Launches that lack work.
    pub launches: usize,
    /// Launches of that kind in the recording.
    pub of_launches: usize,
    /// Kernels that are missing; `None` if unknown.
    pub kernels: Option<usize>,
    /// Kernels that should have run; `None` if unknown.
    pub of_kernels: Option<usize>,
    /// First and last launch that lacks work.
    pub between: Option<(Ns, Ns)>,
    /// GPU time of the missing work; `None` if it cannot be estimated.
    pub time: Option<Estimate>,
}

/// An estimated amount of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// At least.
    pub low: Ns,
    /// Most likely.
    pub likely: Ns,
    /// At most.
    pub high: Ns,
}

impl Estimate {
    fn around(likely: f64, half: f64, least: f64) -> Self {
        let low = (likely - half).max(least).min(likely);
        Self { low: low as Ns, likely: likely as Ns, high: (likely + half).ceil() as Ns }
    }

    fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, likely: self.likely + other.likely, high: self.high + other.high }
    }
}

fn recorded_ns(kernels: &Kernels) -> Ns {
    kernels.start.iter().zip(&kernels.end).map(|(start, end)| end - start).sum()
}

impl Completeness {
    /// Looks for lost work. Needs kernels, regions and links; without them nothing is checked.
    pub fn of(trace: &Trace) -> Self {
        let recordings = Recordings::of(trace);
        let (scan, recorded_ns) =
            rayon::join(|| launches::scan(trace, &recordings), || recorded_ns(&trace.kernels));
        let mut complete = Self {
            launches: scan.recordings.iter().map(|recording| recording.launches + recording.replays).sum(),
            replays: scan.recordings.iter().map(|recording| recording.replays).sum(),
            recorded_ns,
            ..Self::default()
        };
        let (of_eager, (of_replays, has_capture)) = rayon::join(
            || eager::missing(trace, &recordings, &scan),
            || replays::missing(trace, &recordings, &scan),
        );
        complete.missing.extend(of_eager);
        complete.missing.extend(of_replays);
        complete.has_capture = has_capture;
        complete.missing.extend(scan.silent_ranks(&recordings, &complete.missing));
        complete
    }

    /// Total time that is missing; `None` if nothing is missing or part of it is unknown.
    pub fn missing_time(&self) -> Option<Estimate> {
        if self.missing.is_empty() {
            return None;
        }
        self.missing.iter().try_fold(Estimate::default(), |sum, missing| Some(sum.plus(missing.time?)))
    }

    /// How bad the loss is.
    pub fn status(&self) -> Status {
        if self.missing.is_empty() {
            return Status::Pass;
        }
        let launches: usize = self.missing.iter().map(|missing| missing.launches).sum();
        let few = (launches as f64) < CAVEAT_SHARE * self.launches as f64;
        let short = self
            .missing_time()
            .is_some_and(|time| (time.high as f64) < CAVEAT_SHARE * self.recorded_ns as f64);
        if few && short { Status::Warn } else { Status::Fail }
    }

    /// Adds the check `complete`; its value is the likely share of GPU time that is in the trace, in percent.
    pub fn report_to(&self, trace: &mut Trace) {
        if self.launches == 0 && self.missing.is_empty() {
            return;
        }
        let value = match self.missing_time() {
            None if self.missing.is_empty() => Some(100.0),
            None => None,
            Some(time) => {
                let all = self.recorded_ns + time.likely;
                (all > 0).then(|| 100.0 * self.recorded_ns as f64 / all as f64)
            }
        };
        let message = message::of(self, trace);
        trace.health.report("complete", self.status(), value, message);
    }
}
