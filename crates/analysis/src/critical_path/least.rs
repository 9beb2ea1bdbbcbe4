//! The least time that launches and the step from one kernel to the next take, learnt from the run itself.
//!
//! A kernel whose stream was empty when its call began shows how long a launch takes; one that was launched before
//! its predecessor ended shows how long a stream needs from one to the next. A quarter of those took no longer than
//! what is learnt: how soon a kernel could have started that in fact waited for something else. The first work of a
//! stream counts only where no other tells.

use trace::{Map, Regions, StrId};

use super::NONE;
use super::clocks::Clocks;
use model::work::GpuWork;

/// Times learnt from a run.
#[derive(Default)]
pub(super) struct Least {
    /// From the end of a call to the start of its work, by call and for any.
    after_call: Map<StrId, i64>,
    after_any_call: Option<i64>,
    /// From the start of a call that held its work's whole time to that work's start.
    into_call: Map<StrId, i64>,
    into_any_call: Option<i64>,
    /// From the end of work to the start of the next on its stream: launched one by one, replayed from a graph.
    gap: [Option<i64>; 2],
}

impl Least {
    /// Learns from work that waits for no event (`waits`).
    pub fn of(regions: &Regions, works: &GpuWork, clocks: &Clocks, waits: &[bool]) -> Self {
        let (mut after, mut into): (Map<StrId, Vec<i64>>, Map<StrId, Vec<i64>>) = Default::default();
        // The first work of a stream may have waited for what ran before the recording began.
        let mut first_after: Map<StrId, Vec<i64>> = Map::default();
        let mut gaps: [Vec<i64>; 2] = Default::default();
        for lane in &works.streams {
            let mut busy_until = i64::MIN;
            for &work in &lane.work {
                let work = work as usize;
                let (start, end) = (works.start[work], works.end[work]);
                if works.launch[work] != NONE && !waits[work] {
                    let call = works.launch[work] as usize;
                    let from = clocks.align(regions.process[call], regions.start[call]);
                    let to = clocks.align(regions.process[call], regions.end[call]);
                    if busy_until <= from && start >= from {
                        if end <= to {
                            into.entry(regions.name[call]).or_default().push(start - from);
                        } else {
                            let seen = if busy_until == i64::MIN { &mut first_after } else { &mut after };
                            seen.entry(regions.name[call]).or_default().push(start - to);
                        }
                    } else if busy_until >= to && start >= busy_until {
                        gaps[usize::from(works.replayed[work])].push(start - busy_until);
                    }
                }
                busy_until = busy_until.max(end);
            }
        }
        let (after_call, after_any_call) = quartiles(if after.is_empty() { first_after } else { after });
        let (into_call, into_any_call) = quartiles(into);
        let gap = gaps.map(|mut gaps| quartile(&mut gaps));
        Self { after_call, after_any_call, into_call, into_any_call, gap }
    }

    /// From the start of a call to the earliest start of its work. A call that holds its work's whole time is as
    /// long as that work makes it; others take their own time first.
    pub fn launch(&self, call: StrId, call_ns: i64, holds_work: bool) -> i64 {
        let (by_name, any) = match holds_work {
            true => (&self.into_call, self.into_any_call),
            false => (&self.after_call, self.after_any_call),
        };
        let usual = by_name.get(&call).copied().or(any).unwrap_or(0);
        if holds_work { usual } else { (call_ns + usual).max(0) }
    }

    /// From the end of work to the start of the next on its stream.
    pub fn gap(&self, replayed: bool) -> i64 {
        let own = usize::from(replayed);
        self.gap[own].or(self.gap[1 - own]).unwrap_or(0)
    }
}

fn quartiles(samples: Map<StrId, Vec<i64>>) -> (Map<StrId, i64>, Option<i64>) {
    let mut all: Vec<i64> = samples.values().flatten().copied().collect();
    let by_name = samples.into_iter().filter_map(|(name, mut values)| Some((name, quartile(&mut values)?)));
    (by_name.collect(), quartile(&mut all))
}

/// The value that a quarter of all does not exceed.
pub(super) fn quartile(values: &mut [i64]) -> Option<i64> {
    let place = values.len() / 4;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}
