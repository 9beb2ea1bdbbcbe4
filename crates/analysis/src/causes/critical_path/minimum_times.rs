//! The minimum time of a launch and of the gap between two kernels, learnt from the run itself.
//!
//! A kernel whose stream was empty when its call began shows how long a launch takes; one launched before its
//! predecessor ended shows the gap between two kernels. The learnt value is the lower quartile: how soon a
//! kernel could have started if it had not waited for something else. The first work of a stream only counts
//! if there is no other sample, because it may have waited for work from before the recording. An otherwise
//! idle GPU starts work within microseconds, so learnt times are capped by the table.

use trace::{Map, Regions, StrId};

use super::NONE;
use super::clocks::Clocks;
use super::rules::Rules;
use model::work::GpuWork;

/// Times learnt from a run.
#[derive(Default)]
pub(super) struct MinimumTimes {
    /// From the end of a call to the start of its work, by call name and for all calls.
    after_call: Map<StrId, i64>,
    after_any_call: Option<i64>,
    /// From the start of a call that contains all of its work to the start of that work.
    into_call: Map<StrId, i64>,
    into_any_call: Option<i64>,
    /// From the end of work to the start of the next on its stream: separate launches, graph replays.
    gap: [Option<i64>; 2],
    /// Typical duration of calls that launch onto an empty stream.
    call: Map<StrId, i64>,
    longest: i64,
}

impl MinimumTimes {
    /// Learns from work that does not wait for an event (`waits`).
    pub fn of(regions: &Regions, works: &GpuWork, clocks: &Clocks, waits: &[bool]) -> Self {
        let longest = Rules::built_in().limits.start_ns;
        let mut after = Samples::default();
        let mut into = Samples::default();
        let mut calls: Map<StrId, Vec<i64>> = Map::default();
        let mut gaps: [Vec<i64>; 2] = Default::default();
        for lane in &works.streams {
            let mut busy_until = i64::MIN;
            for &work in &lane.work {
                let work = work as usize;
                let (start, end) = (works.start[work], works.end[work]);
                if works.launch[work] != NONE && !waits[work] {
                    let call = works.launch[work] as usize;
                    let name = regions.name[call];
                    let from = clocks.align(regions.process[call], regions.start[call]);
                    let to = clocks.align(regions.process[call], regions.end[call]);
                    let first = busy_until == i64::MIN;
                    if busy_until <= from && start >= from {
                        if end <= to {
                            into.push(name, start - from, first);
                        } else {
                            after.push(name, start - to, first);
                            calls.entry(name).or_default().push(to - from);
                        }
                    } else if busy_until >= to && start >= busy_until {
                        gaps[usize::from(works.replayed[work])].push(start - busy_until);
                    }
                }
                busy_until = busy_until.max(end);
            }
        }
        let (after_call, after_any_call) = after.floors(longest, longest);
        let (into_call, into_any_call) = into.floors(i64::MAX, Rules::built_in().limits.first_copy_ns);
        let gap = gaps.map(|mut gaps| floor(&mut gaps).map(|gap| gap.min(longest)));
        let call = calls.into_iter().filter_map(|(name, mut times)| Some((name, middle(&mut times)?)));
        let call = call.collect();
        Self { after_call, after_any_call, into_call, into_any_call, gap, call, longest }
    }

    /// From the start of a call to the earliest start of its work. A call that contains all of its work lasts
    /// as long as that work; others take their own time first.
    pub fn launch(&self, call: StrId, call_ns: i64, holds_work: bool) -> i64 {
        let (by_name, any) = match holds_work {
            true => (&self.into_call, self.into_any_call),
            false => (&self.after_call, self.after_any_call),
        };
        let usual = by_name.get(&call).copied().or(any).unwrap_or(0);
        if holds_work { usual } else { (call_ns + usual).max(0) }
    }

    /// How much of a longer launch is its own time. If the work still waited when its call returned, the call
    /// was held up too, so only the usual duration of such calls counts.
    pub fn own_part(&self, call: StrId, call_ns: i64, holds_work: bool) -> i64 {
        let usual = self.call.get(&call).copied().unwrap_or(self.longest).min(self.longest);
        self.launch(call, call_ns.min(usual), holds_work)
    }

    /// From the end of work to the start of the next on its stream.
    pub fn gap(&self, replayed: bool) -> i64 {
        let own = usize::from(replayed);
        self.gap[own].or(self.gap[1 - own]).unwrap_or(0)
    }
}

/// Times by call name; the first work of a stream is kept separate.
#[derive(Default)]
struct Samples {
    sure: Map<StrId, Vec<i64>>,
    first: Map<StrId, Vec<i64>>,
}

impl Samples {
    fn push(&mut self, name: StrId, time: i64, first: bool) {
        let samples = if first { &mut self.first } else { &mut self.sure };
        samples.entry(name).or_default().push(time);
    }

    /// The floor for each name and for all; `longest` caps reliable samples, `longest_first` unreliable ones.
    fn floors(self, longest: i64, longest_first: i64) -> (Map<StrId, i64>, Option<i64>) {
        let (samples, longest) = match self.sure.is_empty() {
            true => (self.first, longest_first),
            false => (self.sure, longest),
        };
        let mut all: Vec<i64> = samples.values().flatten().copied().collect();
        let least = |values: &mut Vec<i64>| floor(values).map(|floor| floor.min(longest));
        let by_name = samples.into_iter().filter_map(|(name, mut values)| Some((name, least(&mut values)?)));
        (by_name.collect(), least(&mut all))
    }
}

/// The lower quartile of many samples; the minimum of few.
fn floor(values: &mut [i64]) -> Option<i64> {
    match values.len() < Rules::built_in().limits.enough_samples {
        true => values.iter().copied().min(),
        false => quartile(values),
    }
}

/// The lower quartile.
pub(super) fn quartile(values: &mut [i64]) -> Option<i64> {
    let place = values.len() / 4;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}

fn middle(values: &mut [i64]) -> Option<i64> {
    let place = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}
