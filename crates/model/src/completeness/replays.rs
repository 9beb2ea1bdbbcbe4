//! Graph launches with fewer kernels than other launches of the same graph, or than its capture.

use trace::{Map, StrId, Trace};

use super::classes::{Class, GAP_SHARE, classes, count_of, united, usual_gaps, varied, whole_of};
use super::eager::Times;
use super::launches::Scan;
use super::{Estimate, Evidence, Missing};
use crate::recordings::Recordings;

const DEVIATIONS: f64 = 4.0;
const SLACK: f64 = 0.05;

/// What graph launches lack, and whether every graph has a known capture.
pub(super) fn missing(trace: &Trace, recordings: &Recordings, scan: &Scan) -> (Vec<Missing>, bool) {
    if scan.replays.is_empty() {
        return (Vec::new(), false);
    }
    let (mut classes, empty, times) = classes(trace, scan);
    let mut whole = whole_of(&classes, &times);
    united(&mut classes, &mut whole);
    varied(&mut classes, &mut whole);
    let mut found = partial(trace, recordings, scan, &classes, &whole, &times);
    let captured = captured(recordings, trace, scan, &classes, &whole, &times);
    found.extend(captured);
    found.extend(without_work(trace, recordings, scan, &empty, &classes, &whole, &times));
    let mut graphs = classes.iter().enumerate().filter(|(class, _)| whole[*class] == *class);
    let has_capture = graphs.all(|(_, graph)| scan.captured.contains(&graph.kernels()));
    (found, has_capture && !scan.captured.is_empty())
}

fn partial(
    trace: &Trace,
    recordings: &Recordings,
    scan: &Scan,
    classes: &[Class],
    whole: &[usize],
    times: &Map<StrId, Times>,
) -> Vec<Missing> {
    let mut sums: Map<usize, Sum> = Map::default();
    for (class, facts) in classes.iter().enumerate().filter(|(class, _)| whole[*class] != *class) {
        let all = &classes[whole[class]];
        // Work lost only at the end may not have run yet when the recording ended.
        let gaps = facts.idle() - usual_gaps(facts, all);
        let shortest = all.names.iter().map(|(name, _)| times[name].mean()).fold(f64::MAX, f64::min);
        let ends_early = all.order.starts_with(&facts.order) && gaps < GAP_SHARE * shortest;
        let counts = |launch: &&u32| !(ends_early && is_cut_off(trace, scan, **launch));
        for &launch in facts.launches.iter().filter(counts) {
            let row = scan.replays[launch as usize] as usize;
            let Some(recording) = recordings.of_process(trace.regions.process[row]) else { continue };
            let sum = sums.entry(recording).or_default();
            sum.add_launch(trace.regions.start[row], all.kernels());
            for &(name, count) in &all.names {
                sum.add(name, count.saturating_sub(count_of(&facts.names, name)));
            }
            if all.may_lack_kernels() {
                sum.gaps += facts.room();
            }
        }
    }
    // If launches have lost kernels, those that seem whole may have lost some too.
    let seem_whole = |(class, facts): &(usize, &Class)| {
        whole[*class] == *class && facts.launches.len() == 1 && facts.is_doubtful()
    };
    for (_, facts) in classes.iter().enumerate().filter(seem_whole) {
        let row = scan.replays[facts.launches[0] as usize] as usize;
        let recording = recordings.of_process(trace.regions.process[row]);
        if let Some(sum) = recording.and_then(|recording| sums.get_mut(&recording)) {
            sum.gaps += facts.room();
        }
    }
    finish(recordings, scan, sums, times, Evidence::PartialReplays)
}

/// Whether a launch is the last of its process with no wait after it: the recording may have ended during it.
fn is_cut_off(trace: &Trace, scan: &Scan, launch: u32) -> bool {
    let row = scan.replays[launch as usize] as usize;
    let process = trace.regions.process[row];
    let mut later = scan.replays[launch as usize + 1..].iter();
    let is_last = !later
        .any(|&other| trace.regions.process[other as usize] == process && scan.has_work.get(other as usize));
    let waited = process.get().and_then(|process| scan.waited_until[process]);
    is_last && waited.is_none_or(|waited| trace.regions.start[row] > waited)
}

/// Missing work of one recording's launches.
#[derive(Default)]
struct Sum {
    launches: usize,
    between: Option<(i64, i64)>,
    of_kernels: usize,
    lost: Map<StrId, f64>,
    /// Time in which more kernels may have run.
    gaps: f64,
}

impl Sum {
    fn add_launch(&mut self, start: i64, kernels: usize) {
        self.launches += 1;
        self.of_kernels += kernels;
        let (first, last) = self.between.unwrap_or((start, start));
        self.between = Some((first.min(start), last.max(start)));
    }

    fn add(&mut self, name: StrId, count: u32) {
        if count > 0 {
            *self.lost.entry(name).or_default() += f64::from(count);
        }
    }

    fn estimate(&self, times: &Map<StrId, Times>) -> Estimate {
        let (mut likely, mut variance) = (0.0, 0.0);
        for (name, count) in &self.lost {
            let times = &times[name];
            likely += count * times.mean();
            variance += times.variance() * (count + count * count / times.count);
        }
        let mut time = Estimate::around(likely, DEVIATIONS * variance.sqrt() + SLACK * likely, 0.0);
        time.high += self.gaps as i64;
        time
    }
}

fn finish(
    recordings: &Recordings,
    scan: &Scan,
    sums: Map<usize, Sum>,
    times: &Map<StrId, Times>,
    evidence: Evidence,
) -> Vec<Missing> {
    let mut sums: Vec<(usize, Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(recording, _)| *recording);
    let missing = |(recording, sum): (usize, Sum)| Missing {
        evidence,
        recording: recordings.all[recording].label.clone(),
        stream: None,
        launches: sum.launches,
        of_launches: scan.recordings[recording].replays,
        kernels: Some(sum.lost.values().sum::<f64>() as usize),
        of_kernels: Some(sum.of_kernels),
        between: sum.between,
        time: Some(sum.estimate(times)),
    };
    sums.into_iter().map(missing).collect()
}

/// Graphs that have fewer kernels in every launch than any capture launched.
fn captured(
    recordings: &Recordings,
    trace: &Trace,
    scan: &Scan,
    classes: &[Class],
    whole: &[usize],
    times: &Map<StrId, Times>,
) -> Vec<Missing> {
    let mut found = Vec::new();
    let own: Vec<&Class> = classes
        .iter()
        .enumerate()
        .filter(|(class, _)| whole[*class] == *class)
        .map(|(_, facts)| facts)
        .collect();
    for facts in own {
        let kernels = facts.kernels();
        if scan.captured.contains(&kernels) {
            continue;
        }
        let Some(&all) = scan.captured.iter().filter(|&&captured| captured > kernels).min() else { continue };
        // The missing kernel may be any of those present.
        let mean = |name: &StrId| times[name].mean();
        let means = || facts.order.iter().map(mean);
        let (least, most) = (means().fold(f64::MAX, f64::min), means().fold(0.0, f64::max));
        let typical = means().sum::<f64>() / kernels as f64;
        let mut by_recording: Map<usize, Vec<i64>> = Map::default();
        for &launch in &facts.launches {
            let row = scan.replays[launch as usize] as usize;
            if let Some(recording) = recordings.of_process(trace.regions.process[row]) {
                by_recording.entry(recording).or_default().push(trace.regions.start[row]);
            }
        }
        for (recording, starts) in by_recording {
            let lost = starts.len() * (all - kernels);
            let ns = |of_one: f64| (of_one * lost as f64) as i64;
            found.push(Missing {
                evidence: Evidence::FewerThanCaptured,
                recording: recordings.all[recording].label.clone(),
                stream: None,
                launches: starts.len(),
                of_launches: scan.recordings[recording].replays,
                kernels: Some(lost),
                of_kernels: Some(starts.len() * all),
                between: starts.iter().min().copied().zip(starts.iter().max().copied()),
                time: Some(Estimate { low: ns(least), likely: ns(typical), high: ns(most) }),
            });
        }
    }
    found.sort_by(|a, b| a.recording.cmp(&b.recording));
    found
}

/// Graph launches without any work. They may belong to any graph that was seen.
fn without_work(
    trace: &Trace,
    recordings: &Recordings,
    scan: &Scan,
    empty: &[u32],
    classes: &[Class],
    whole: &[usize],
    times: &Map<StrId, Times>,
) -> Vec<Missing> {
    // Times are known only if there is something to compare.
    if empty.is_empty() {
        return Vec::new();
    }
    // Per graph: duration, kernels, and number of launches. Unknown for graphs that may lack kernels.
    let graphs: Vec<(Estimate, f64, f64)> = classes
        .iter()
        .enumerate()
        .filter(|(class, facts)| whole[*class] == *class && !facts.is_doubtful())
        .map(|(class, facts)| {
            let mut sum = Sum::default();
            facts.names.iter().for_each(|&(name, count)| sum.add(name, count));
            let seen = whole.iter().zip(classes).filter(|(whole, _)| **whole == class);
            let seen: usize = seen.map(|(_, facts)| facts.launches.len()).sum();
            (sum.estimate(times), facts.kernels() as f64, seen as f64)
        })
        .collect();
    let seen: f64 = graphs.iter().map(|graph| graph.2).sum();
    let mean =
        |of: &dyn Fn(&(Estimate, f64, f64)) -> f64| graphs.iter().map(|g| of(g) * g.2).sum::<f64>() / seen;
    let mut by_recording: Map<usize, Vec<i64>> = Map::default();
    for &launch in empty {
        let row = scan.replays[launch as usize] as usize;
        if let Some(recording) = recordings.of_process(trace.regions.process[row]) {
            by_recording.entry(recording).or_default().push(trace.regions.start[row]);
        }
    }
    let mut found: Vec<Missing> = by_recording
        .into_iter()
        .map(|(recording, starts)| {
            let launches = starts.len() as f64;
            let kernels = (seen > 0.0).then(|| (launches * mean(&|graph| graph.1)).round() as usize);
            let time = (seen > 0.0).then(|| Estimate {
                low: (launches * graphs.iter().map(|g| g.0.low as f64).fold(f64::MAX, f64::min)) as i64,
                likely: (launches * mean(&|graph| graph.0.likely as f64)) as i64,
                high: (launches * graphs.iter().map(|g| g.0.high as f64).fold(0.0, f64::max)) as i64,
            });
            Missing {
                evidence: Evidence::GraphLaunchesWithoutWork,
                recording: recordings.all[recording].label.clone(),
                stream: None,
                launches: starts.len(),
                of_launches: scan.recordings[recording].replays,
                kernels,
                of_kernels: kernels,
                between: starts.iter().min().copied().zip(starts.iter().max().copied()),
                time,
            }
        })
        .collect();
    found.sort_by(|a, b| a.recording.cmp(&b.recording));
    found
}
