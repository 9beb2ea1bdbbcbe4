//! Kernel launches without a kernel, and how long the lost kernels ran.
//!
//! A program launches the same kernels again and again. What a launch without work would have run follows
//! from launches at the same place in other rounds: same position after the last host wait, or same
//! neighbours; failing that, from launches by the same call.

use trace::{LinkKind, Map, ProcessId, StrId, StreamId, Table, ThreadId, Trace};

use super::launches::{Action, Scan};
use super::{Estimate, Evidence, Missing};
use crate::recordings::Recordings;

const NONE: u32 = u32::MAX;

/// Half width of the estimate, in standard deviations.
const DEVIATIONS: f64 = 4.0;
/// Least relative half width: kernels of one run differ by more than chance.
const SLACK: f64 = 0.05;

/// Durations of the kernels seen at one kind of place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub count: f64,
    sum: f64,
    squares: f64,
    least: f64,
    stream: StreamId,
    mixed: bool,
}

impl Times {
    pub(super) fn add(&mut self, ns: f64, stream: StreamId) {
        self.mixed |= self.count > 0.0 && self.stream != stream;
        self.stream = stream;
        self.least = if self.count > 0.0 { self.least.min(ns) } else { ns };
        self.count += 1.0;
        self.sum += ns;
        self.squares += ns * ns;
    }

    pub(super) fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    pub(super) fn variance(&self) -> f64 {
        let mean = self.mean();
        // One or two kernels say little about the spread.
        let assumed = (0.35 * mean).powi(2);
        match self.count {
            n if n >= 3.0 => (self.squares / n - mean * mean).max(0.0) * n / (n - 1.0),
            _ => assumed.max((self.squares / self.count.max(1.0) - mean * mean).max(0.0)),
        }
    }
}

/// Where in the sequence a launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LaunchPosition {
    /// In a round of launches between two waits: the recording, the calls of the round, the position.
    OwnRound(u32, u64, u32),
    Round(u64, u32),
    /// Between two kernels.
    Between(StrId, StrId),
    Call(StrId),
    Any,
}

impl LaunchPosition {
    /// Whether this position always runs the same kernel.
    fn is_specific(self) -> bool {
        !matches!(self, LaunchPosition::Call(_) | LaunchPosition::Any)
    }
}

/// A launch of a thread, in the order of calls.
#[derive(Clone, Copy)]
struct Launch {
    row: u32,
    /// Row of its kernel, or `NONE`.
    kernel: u32,
    /// Its round and the position in it.
    round: u32,
    position: u32,
}

/// Launches without work, by recording.
pub(super) fn missing(trace: &Trace, recordings: &Recordings, scan: &Scan) -> Vec<Missing> {
    if scan.empty.is_empty() {
        return Vec::new();
    }
    let threads = launches_by_thread(trace, scan);
    let known = known_times(trace, recordings, &threads);
    let mut of_recording: Vec<Vec<&Thread>> = recordings.all.iter().map(|_| Vec::new()).collect();
    for ((process, _), thread) in &threads {
        if let Some(place) = recordings.of_process(*process) {
            of_recording[place].push(thread);
        }
    }
    let mut found = Vec::new();
    for (place, recording) in recordings.all.iter().enumerate() {
        let mut guess = Guess::default();
        for thread in &of_recording[place] {
            guess.add(trace, place, thread, &known);
        }
        if guess.launches == 0 {
            continue;
        }
        let counts = &scan.recordings[place];
        let (first, last) = guess.between;
        let silent = silent(trace, recordings, place, &guess);
        found.push(Missing {
            evidence: silent.map_or(Evidence::LaunchesWithoutWork, |(evidence, _)| evidence),
            recording: recording.label.clone(),
            stream: silent.and_then(|(_, stream)| stream),
            launches: guess.launches,
            of_launches: counts.launches,
            kernels: Some(guess.launches),
            of_kernels: Some(counts.launches),
            between: Some((first, last)),
            time: known.contains_key(&LaunchPosition::Any).then(|| {
                let mut time = guess.estimate(&known);
                // Kernels without a recorded launch may be missing in the same proportion.
                let linked = counts.linked.max(1) as f64;
                time.high = (time.high as f64 * (counts.kernels as f64 / linked).max(1.0)) as i64;
                time
            }),
        });
    }
    found
}

struct Thread {
    launches: Vec<Launch>,
    /// The calls of each round as one number.
    rounds: Vec<u64>,
}

fn launches_by_thread(trace: &Trace, scan: &Scan) -> Vec<((ProcessId, ThreadId), Thread)> {
    let regions = &trace.regions;
    let mut kernel_of = vec![NONE; regions.len()];
    let links = &trace.links;
    for i in (0..links.len()).rev() {
        let (LinkKind::Launch, Some(call), Some(kernel)) =
            (links.kind[i], links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Kernels))
        else {
            continue;
        };
        kernel_of[call] = kernel as u32;
    }
    let mut numbers: Map<(ProcessId, ThreadId), usize> = Map::default();
    let mut threads: Vec<((ProcessId, ThreadId), Thread)> = Vec::new();
    let mut empty = scan.empty.iter().copied().peekable();
    for (row, &kernel) in kernel_of.iter().enumerate() {
        let action = scan.actions[regions.name[row].0 as usize];
        let is_empty = empty.next_if_eq(&(row as u32)).is_some();
        if action == Action::Other || (action == Action::LaunchKernel && kernel == NONE && !is_empty) {
            continue;
        }
        let key = (regions.process[row], regions.thread[row]);
        let number = *numbers.entry(key).or_insert_with(|| {
            threads.push((key, Thread { launches: Vec::new(), rounds: vec![0] }));
            threads.len() - 1
        });
        let thread = &mut threads[number].1;
        let round = thread.rounds.len() - 1;
        if action != Action::LaunchKernel {
            thread.rounds.push(0);
            continue;
        }
        let call = u64::from(regions.name[row].0) + 1;
        thread.rounds[round] =
            (thread.rounds[round] ^ call).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let position = match thread.launches.last() {
            Some(last) if last.round as usize == round => last.position + 1,
            _ => 0,
        };
        thread.launches.push(Launch { row: row as u32, kernel, round: round as u32, position });
    }
    threads
}

/// The positions of a launch, the most specific first.
fn places(
    trace: &Trace,
    recording: usize,
    thread: &Thread,
    at: usize,
) -> impl Iterator<Item = LaunchPosition> {
    let launch = thread.launches[at];
    let round = thread.rounds[launch.round as usize];
    let name = |launch: Option<&Launch>| {
        launch.filter(|launch| launch.kernel != NONE).map(|launch| trace.kernels.name[launch.kernel as usize])
    };
    let before = name(at.checked_sub(1).and_then(|before| thread.launches.get(before)));
    let after = name(thread.launches.get(at + 1));
    [
        Some(LaunchPosition::OwnRound(recording as u32, round, launch.position)),
        Some(LaunchPosition::Round(round, launch.position)),
        before.zip(after).map(|(before, after)| LaunchPosition::Between(before, after)),
        Some(LaunchPosition::Call(trace.regions.name[launch.row as usize])),
        Some(LaunchPosition::Any),
    ]
    .into_iter()
    .flatten()
}

fn known_times(
    trace: &Trace,
    recordings: &Recordings,
    threads: &[((ProcessId, ThreadId), Thread)],
) -> Map<LaunchPosition, Times> {
    let mut known: Map<LaunchPosition, Times> = Map::default();
    for ((process, _), thread) in threads {
        let Some(recording) = recordings.of_process(*process) else { continue };
        for (at, launch) in thread.launches.iter().enumerate().filter(|(_, launch)| launch.kernel != NONE) {
            let kernel = launch.kernel as usize;
            let ns = (trace.kernels.end[kernel] - trace.kernels.start[kernel]) as f64;
            for place in places(trace, recording, thread, at) {
                known.entry(place).or_default().add(ns, trace.kernels.stream[kernel]);
            }
        }
    }
    known
}

/// Estimate of what the launches without work of one recording would have run.
#[derive(Default)]
struct Guess {
    launches: usize,
    between: (i64, i64),
    /// Launches by the position that decides their time.
    by_place: Map<LaunchPosition, f64>,
    /// Squared lengths of series of launches known only by their call: a series may differ as a whole.
    runs_squared: f64,
    /// The stream that all of them would have been on.
    stream: Option<StreamId>,
    streams_differ: bool,
}

impl Guess {
    fn add(&mut self, trace: &Trace, recording: usize, thread: &Thread, known: &Map<LaunchPosition, Times>) {
        let mut run = 0.0;
        for (at, launch) in thread.launches.iter().enumerate().filter(|(_, launch)| launch.kernel == NONE) {
            let start = trace.regions.start[launch.row as usize];
            self.between = match self.launches {
                0 => (start, start),
                _ => (self.between.0.min(start), self.between.1.max(start)),
            };
            self.launches += 1;
            let Some(place) = places(trace, recording, thread, at).find(|place| known.contains_key(place))
            else {
                continue;
            };
            *self.by_place.entry(place).or_default() += 1.0;
            if place.is_specific() {
                let times = &known[&place];
                self.streams_differ |=
                    times.mixed || self.stream.is_some_and(|stream| stream != times.stream);
                self.stream = Some(times.stream);
                self.runs_squared += run * run;
                run = 0.0;
            } else {
                run += 1.0;
            }
        }
        self.runs_squared += run * run;
    }

    fn estimate(&self, known: &Map<LaunchPosition, Times>) -> Estimate {
        let (mut likely, mut variance, mut least) = (0.0, 0.0, 0.0);
        let mut widest: f64 = 0.0;
        for (place, launches) in &self.by_place {
            let times = &known[place];
            likely += launches * times.mean();
            least += launches * times.least;
            let of_one = times.variance();
            variance += launches * of_one + launches * launches * of_one / times.count;
            if !place.is_specific() {
                widest = widest.max(of_one.sqrt());
            }
        }
        let half = DEVIATIONS * variance.sqrt() + 2.0 * widest * self.runs_squared.sqrt() + SLACK * likely;
        Estimate::around(likely, half, 0.5 * least)
    }
}

/// Whether all launches without work are on one stream or rank that has no other kernels meanwhile.
fn silent(
    trace: &Trace,
    recordings: &Recordings,
    recording: usize,
    guess: &Guess,
) -> Option<(Evidence, Option<StreamId>)> {
    let (first, last) = guess.between;
    let stream = guess.stream.filter(|_| !guess.streams_differ);
    let (mut on_stream, mut on_rank) = (0usize, 0usize);
    let kernels = &trace.kernels;
    let own = |row: usize| recordings.of_process(kernels.process[row]) == Some(recording);
    for i in 0..trace.links.len() {
        let links = &trace.links;
        let (LinkKind::Launch, Some(call), Some(kernel)) =
            (links.kind[i], links.from[i].row_of(Table::Regions), links.to[i].row_of(Table::Kernels))
        else {
            continue;
        };
        let start = trace.regions.start[call];
        if start >= first && start <= last && own(kernel) {
            on_rank += 1;
            on_stream += usize::from(Some(kernels.stream[kernel]) == stream);
        }
    }
    // Few launches say little about a whole stream.
    if guess.launches < 8 {
        return None;
    }
    match (on_rank, stream) {
        (0, _) if recordings.all.len() > 1 => Some((Evidence::SilentRank, None)),
        (_, Some(stream)) if on_stream == 0 => Some((Evidence::SilentStream, Some(stream))),
        _ => None,
    }
}
