//! The path as a separate thread in its trace, to show next to the recorded threads.

use trace::{LinkKind, Process, Region, Source, Thread, Trace};

use super::walk::{Bound, Label};

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

/// The trace with the path as the only thread of a process `critical path`.
pub fn draw(mut trace: Trace, steps: &[PathStep]) -> Trace {
    let source = trace.add_source(Source::named("critical path", "rocm-perf"));
    let (name, guid) =
        (trace.strings.intern("critical path"), trace.strings.intern("rocm-perf critical path"));
    let process = trace.add_process(Process { guid, command: name, ..Process::new(source, 0) });
    let thread = trace.add_thread(Thread { process, tid: 0, name });
    let categories = Bound::ALL.map(|bound| trace.strings.intern(bound.name()));
    for step in steps {
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
