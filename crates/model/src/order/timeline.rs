//! Host actions in causal order: launches, records and waits when their calls begin, blocking calls when they
//! begin and when they return.
//!
//! Every analysis that replays a run uses this order, so that all agree on what came first. At equal times
//! returns come first (the host continues only then), then launches, then other calls, then work without a
//! known launch. Cost: a step per launch and call, and a heap of the open blocking calls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use trace::Ns;

use super::Operations;

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A call launches work: a range of the given launches, all by one call.
    Launch(Range<usize>),
    /// A record, a stream wait, or a blocking call begins, by its number.
    Begin(usize),
    /// A blocking call returns, by its number.
    Return(usize),
    /// Work without a known launch starts: its index in `alone`.
    Alone(usize),
}

/// A launch: when its call begins, and the call's row of `regions`.
pub type Launch = (Ns, u32);

/// The steps of a run.
pub struct Timeline<'a> {
    operations: &'a Operations,
    /// Numbers of the selected operations, ascending.
    wanted: Vec<u32>,
    launches: Vec<Launch>,
    alone: Vec<Ns>,
    next: (usize, usize, usize),
    /// Blocking calls that have not returned, the first to return first.
    open: BinaryHeap<Reverse<(Ns, u32)>>,
}

impl<'a> Timeline<'a> {
    /// The steps for these operations (numbers, ascending), launches by call and other starts, all in order.
    pub fn new(operations: &'a Operations, wanted: Vec<u32>, launches: Vec<Launch>, alone: Vec<Ns>) -> Self {
        Self { operations, wanted, launches, alone, next: (0, 0, 0), open: BinaryHeap::new() }
    }
}

impl Iterator for Timeline<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (launch, operation, alone) = self.next;
        let next_launch = self.launches.get(launch).map(|launch| launch.0);
        let number = self.wanted.get(operation).map(|&number| number as usize);
        let next_operation = number.map(|number| self.operations.all[number].start);
        let next_alone = self.alone.get(alone).copied();
        let now = [next_launch, next_operation, next_alone].into_iter().flatten().min();
        if let Some(&Reverse((end, returning))) = self.open.peek()
            && now.is_none_or(|now| end <= now)
        {
            self.open.pop();
            return Some(Step::Return(returning as usize));
        }
        let now = now?;
        if next_launch == Some(now) {
            let call = self.launches[launch].1;
            let count = self.launches[launch..].iter().take_while(|other| other.1 == call).count();
            self.next.0 += count;
            return Some(Step::Launch(launch..launch + count));
        }
        if next_operation == Some(now) {
            self.next.1 += 1;
            let number = number?;
            let operation = &self.operations.all[number];
            if operation.effect.blocks() {
                self.open.push(Reverse((operation.end.max(operation.start), number as u32)));
            }
            return Some(Step::Begin(number));
        }
        self.next.2 += 1;
        Some(Step::Alone(alone))
    }
}

#[cfg(test)]
mod tests {
    use trace::{Process, Region, Source, Trace};

    use super::*;
    use crate::calls::Calls;
    use crate::recordings::Recordings;

    /// Calls as (name, start, end).
    fn operations(calls: &[(&str, Ns, Ns)]) -> Operations {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("a", "rocpd"));
        let process = trace.add_process(Process::new(source, 1));
        for &(name, start, end) in calls {
            let name = trace.strings.intern(name);
            trace.regions.push(Region { name, start, end, process, ..Region::default() });
        }
        trace.finish();
        Operations::of(&trace, &Calls::of(&trace), &Recordings::of(&trace))
    }

    #[test]
    fn calls_that_block_count_when_they_return() {
        let operations = operations(&[("hipDeviceSynchronize", 10, 50), ("hipEventRecord", 20, 21)]);
        let steps: Vec<Step> =
            Timeline::new(&operations, vec![0, 1], vec![(5, 7), (5, 7), (30, 9), (50, 11)], vec![30])
                .collect();
        let expected = [
            Step::Launch(0..2),
            Step::Begin(0),
            Step::Begin(1),
            Step::Launch(2..3),
            Step::Alone(0),
            // The host launches at 50 because the call has returned.
            Step::Return(0),
            Step::Launch(3..4),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn what_is_open_at_the_end_returns_last() {
        let operations = operations(&[("hipDeviceSynchronize", 10, 90), ("hipStreamSynchronize", 20, 80)]);
        let steps: Vec<Step> = Timeline::new(&operations, vec![0, 1], Vec::new(), vec![30]).collect();
        assert_eq!(steps[2..], [Step::Alone(0), Step::Return(1), Step::Return(0)]);
    }
}
