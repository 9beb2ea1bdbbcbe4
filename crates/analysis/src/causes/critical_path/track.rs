//! The path as a separate thread in its trace, to show next to the recorded threads.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use trace::{LinkKind, Process, Region, Source, Thread, Trace};

use super::walk::{Bound, Label, Segment};

/// A stretch of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// First nanosecond.
    pub start: i64,
    /// Nanosecond after the last.
    pub end: i64,
    /// What bounds it.
    pub bound: Bound,
    /// Its name.
    pub label: Label,
}

impl PathStep {
    /// How long it takes.
    pub fn duration(&self) -> i64 {
        self.end - self.start
    }
}

impl From<&Segment> for PathStep {
    fn from(&Segment { start, end, bound, label, .. }: &Segment) -> Self {
        Self { start, end, bound, label }
    }
}

/// A path in time order, without gaps. Copies share it: it may have millions of steps.
#[derive(Clone, Default)]
pub struct PathSteps {
    /// As different threads produced them.
    chunks: Arc<Vec<Vec<Segment>>>,
    /// The number of steps before each chunk, then of all.
    before: Arc<Vec<usize>>,
}

impl PathSteps {
    pub(super) fn of(chunks: Vec<Vec<Segment>>) -> Self {
        let mut before = vec![0];
        before.extend(chunks.iter().scan(0, |sum, chunk| {
            *sum += chunk.len();
            Some(*sum)
        }));
        Self { chunks: Arc::new(chunks), before: Arc::new(before) }
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.chunks.iter().flatten()
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.before.last().copied().unwrap_or(0)
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All steps.
    pub fn iter(&self) -> impl Iterator<Item = PathStep> {
        self.segments().map(PathStep::from)
    }

    /// The steps with these numbers.
    pub fn range(&self, numbers: Range<usize>) -> impl Iterator<Item = PathStep> {
        // The last chunk that begins at or before the first step.
        let first = self.before.partition_point(|&before| before <= numbers.start).saturating_sub(1);
        let skipped = numbers.start - self.before.get(first).copied().unwrap_or(0);
        let steps = self.chunks.iter().skip(first).flatten().skip(skipped);
        steps.take(numbers.len()).map(PathStep::from)
    }
}

impl fmt::Debug for PathSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The trace with the path as the only thread of a process `critical path`.
pub fn draw(mut trace: Trace, steps: &PathSteps) -> Trace {
    let source = trace.add_source(Source::named("critical path", "rocm-perf"));
    let (name, guid) =
        (trace.strings.intern("critical path"), trace.strings.intern("rocm-perf critical path"));
    let process = trace.add_process(Process { guid, command: name, ..Process::new(source, 0) });
    let thread = trace.add_thread(Thread { process, tid: 0, name });
    let categories = Bound::ALL.map(|bound| trace.strings.intern(bound.name()));
    for step in steps.iter() {
        let name = match step.label {
            Label::Name(name) => name,
            Label::Nameless(nameless) => trace.strings.intern(nameless.words()),
        };
        let category = categories[step.bound as usize];
        trace.regions.push(Region {
            name,
            category,
            start: step.start,
            end: step.end,
            process,
            thread,
            ..Region::default()
        });
    }
    // Launches are linked again when the tables are sorted.
    let links = &trace.links;
    let keep: Vec<bool> = links.kind.iter().map(|&kind| kind != LinkKind::Launch).collect();
    trace.links.retain(|link| keep[link]);
    trace.finish();
    trace
}

#[cfg(test)]
mod tests {
    use super::super::NONE;
    use super::super::walk::{Nameless, SegmentLocation};
    use super::*;

    #[test]
    fn any_range_of_steps_is_found_whatever_the_chunks() {
        let segment = |start: i64| Segment {
            start,
            end: start + 1,
            bound: Bound::Host,
            label: Label::Nameless(Nameless::Elsewhere),
            place: SegmentLocation::Nowhere,
            work: NONE,
        };
        let chunks = [vec![], vec![0, 1, 2], vec![], vec![3], vec![4, 5], vec![]];
        let steps = PathSteps::of(chunks.map(|chunk| chunk.into_iter().map(segment).collect()).into());
        assert_eq!(steps.len(), 6);
        let starts = |numbers: Range<usize>| steps.range(numbers).map(|step| step.start as usize);
        for from in 0..=6 {
            for to in from..=6 {
                assert!(starts(from..to).eq(from..to), "{from}..{to}");
            }
        }
        assert!(PathSteps::default().is_empty() && PathSteps::default().range(0..0).next().is_none());
    }
}
