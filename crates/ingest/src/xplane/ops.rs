//! HLO ops as host regions: an op covers the calls that launched its kernels, one after the other on one thread.
//!
//! XLA tells the op and the module of GPU work, not when the host issued them. The launches do: those of one op follow each
//! other, so they are one region, and the kernels below it belong to the op.

use trace::{Map, OptI64, Region, StrId, Strings, ThreadId};

use super::Reader;

/// What an event says of its op.
pub(super) struct Op<'a> {
    pub correlation: i64,
    pub op: &'a str,
    pub module: &'a str,
    pub path: &'a str,
    pub program: i64,
}

/// The op of one piece of GPU work.
#[derive(Clone, Copy)]
pub(super) struct Launched {
    correlation: i64,
    op: StrId,
    module: StrId,
    program: i64,
    /// When its work starts.
    start: i64,
}

impl Launched {
    pub fn of(op: &Op, strings: &mut Strings, start: i64) -> Self {
        // The path in the program says more than the op, where there is one.
        let named = match op.path {
            "" | "XlaModule:" => op.op.to_string(),
            path => format!("{} ({path})", op.op),
        };
        Self {
            correlation: op.correlation,
            op: strings.intern(&named),
            module: strings.intern(op.module),
            program: op.program,
            start,
        }
    }
}

/// An op or a module in the making.
struct Open {
    name: StrId,
    program: i64,
    start: i64,
    end: i64,
}

impl Reader<'_> {
    /// Adds a region for every run of launches of one op, and of one module.
    pub(super) fn lay_ops(&mut self) {
        if !self.needs.regions {
            return;
        }
        let regions = &self.trace.regions;
        let mut by_thread: Map<ThreadId, Vec<(i64, i64, Launched)>> = Map::default();
        for launched in &self.ops {
            let Some(&call) = self.calls.get(&launched.correlation) else { continue };
            let call = call as usize;
            let calls = by_thread.entry(regions.thread[call]).or_default();
            calls.push((regions.start[call], regions.end[call], *launched));
        }
        let mut threads: Vec<_> = by_thread.into_iter().collect();
        threads.sort_by_key(|(thread, _)| *thread);
        for (thread, mut calls) in threads {
            // Work of one launch (a graph) comes in the order in which it ran.
            calls.sort_by_key(|(start, end, launched)| (*start, *end, launched.start));
            calls.dedup_by_key(|(start, _, launched)| (*start, launched.op));
            self.lay(thread, &calls, "cpu_op", |launched| launched.op);
            self.lay(thread, &calls, "hlo_module", |launched| launched.module);
        }
    }

    fn lay(
        &mut self,
        thread: ThreadId,
        calls: &[(i64, i64, Launched)],
        category: &str,
        name: impl Fn(&Launched) -> StrId,
    ) {
        let mut found: Vec<Open> = Vec::new();
        for (start, end, launched) in calls {
            let named = name(launched);
            match found.last_mut() {
                Some(open) if open.name == named && open.program == launched.program => {
                    open.end = open.end.max(*end);
                }
                _ => found.push(Open { name: named, program: launched.program, start: *start, end: *end }),
            }
        }
        let category = self.trace.strings.intern(category);
        for open in found.into_iter().filter(|open| open.name != StrId::EMPTY) {
            self.trace.regions.push(Region {
                name: open.name,
                category,
                start: open.start,
                end: open.end,
                process: self.process,
                thread,
                external: OptI64::NONE,
                ..Region::default()
            });
        }
    }
}
