//! HLO ops as host regions: an op covers consecutive calls on one thread that launch its kernels.
//!
//! A profile names the op and the module of GPU work, but not when the host issued them. The launches show
//! it: those of one op below one annotation are one region, and the kernels below it belong to the op.

use trace::{Arg, Map, OptI64, Region, RowRef, StrId, Strings, ThreadId};

use super::{INPUT_DIMS, INPUT_TYPES, Reader};

/// What an event records about its op.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Op<'a> {
    pub op: &'a str,
    pub module: &'a str,
    pub path: &'a str,
}

/// The names of an op.
#[derive(Clone, Copy)]
pub(super) struct OpNames {
    /// The op and its path in the program.
    op: StrId,
    /// The op alone.
    pub plain: StrId,
    module: StrId,
}

/// The op of one piece of GPU work.
#[derive(Clone, Copy)]
pub(super) struct Launched {
    pub correlation: i64,
    pub named: OpNames,
    /// When its work starts.
    pub start: i64,
}

impl Op<'_> {
    pub fn named(&self, strings: &mut Strings) -> OpNames {
        // The path in the program says more than the op, if there is one.
        let op = match self.path {
            "" | "XlaModule:" => strings.intern(self.op),
            path => strings.intern(&format!("{} ({path})", self.op)),
        };
        OpNames { op, plain: strings.intern(self.op), module: strings.intern(self.module) }
    }
}

/// A launch below its op, and the annotations that cover it.
#[derive(Clone, Copy)]
struct Call {
    start: i64,
    end: i64,
    launched: Launched,
    /// The innermost annotation, as a row of `regions`.
    inner: u32,
    /// The outermost.
    outer: u32,
}

/// No annotation.
const NONE: u32 = u32::MAX;

/// An op or a module under construction.
struct Open {
    name: StrId,
    launched: Launched,
    within: u32,
    start: i64,
    end: i64,
}

impl Reader<'_> {
    /// Adds a region for every series of launches of one op, and of one module, below one annotation.
    pub(super) fn lay_ops(&mut self) {
        if !self.needs.regions {
            return;
        }
        let regions = &self.trace.regions;
        let mut by_thread: Map<ThreadId, Vec<Call>> = Map::default();
        for &launched in &self.ops {
            let Some(&call) = self.calls.get(&launched.correlation) else { continue };
            let (start, end) = (regions.start[call as usize], regions.end[call as usize]);
            let calls = by_thread.entry(regions.thread[call as usize]).or_default();
            calls.push(Call { start, end, launched, inner: NONE, outer: NONE });
        }
        let mut annotations: Map<ThreadId, Vec<u32>> = Map::default();
        for row in 0..regions.len() {
            if regions.correlation[row] == 0 && by_thread.contains_key(&regions.thread[row]) {
                annotations.entry(regions.thread[row]).or_default().push(row as u32);
            }
        }
        let mut threads: Vec<_> = by_thread.into_iter().collect();
        threads.sort_by_key(|(thread, _)| *thread);
        for (thread, mut calls) in threads {
            // Work of one launch (a graph) is sorted by when it ran.
            calls.sort_by_key(|call| (call.start, call.end, call.launched.start));
            calls.dedup_by_key(|call| (call.start, call.launched.named.op));
            self.cover(&mut calls, annotations.remove(&thread).unwrap_or_default());
            self.lay(thread, &calls, "cpu_op", |call| (call.launched.named.op, call.inner));
            self.lay(thread, &calls, "hlo_module", |call| (call.launched.named.module, call.outer));
        }
    }

    /// Finds the annotations that cover each call; both come in time order.
    fn cover(&self, calls: &mut [Call], mut annotations: Vec<u32>) {
        let regions = &self.trace.regions;
        let time = |row: u32| (regions.start[row as usize], regions.end[row as usize]);
        annotations.sort_by_key(|&row| (time(row).0, std::cmp::Reverse(time(row).1)));
        let (mut next, mut open): (usize, Vec<u32>) = (0, Vec::new());
        for call in calls {
            while let Some(&row) = annotations.get(next).filter(|&&row| time(row).0 <= call.start) {
                open.retain(|&outer| time(outer).1 >= time(row).1);
                open.push(row);
                next += 1;
            }
            open.retain(|&row| time(row).1 >= call.end);
            call.inner = open.last().copied().unwrap_or(NONE);
            call.outer = open.first().copied().unwrap_or(NONE);
        }
    }

    fn lay(
        &mut self,
        thread: ThreadId,
        calls: &[Call],
        category: &str,
        name: impl Fn(&Call) -> (StrId, u32),
    ) {
        let mut found: Vec<Open> = Vec::new();
        for call in calls {
            let (named, within) = name(call);
            match found.last_mut() {
                Some(open) if open.name == named && open.within == within && within != NONE => {
                    open.end = open.end.max(call.end);
                }
                _ => found.push(Open {
                    name: named,
                    launched: call.launched,
                    within,
                    start: call.start,
                    end: call.end,
                }),
            }
        }
        let is_op = category == "cpu_op";
        let category = self.trace.strings.intern(category);
        for open in found.into_iter().filter(|open| open.name != StrId::EMPTY) {
            if is_op {
                self.add_shapes(&open.launched);
            }
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

    /// Gives the next region the shapes of its op's inputs.
    fn add_shapes(&mut self, launched: &Launched) {
        if self.shapes.is_empty() {
            return;
        }
        let strings = &self.trace.strings;
        let key =
            (strings.get(launched.named.module).to_string(), strings.get(launched.named.plain).to_string());
        let Some(inputs) = self.shapes.get(&key).cloned() else { return };
        let owner = RowRef::region(self.trace.regions.len());
        let both = [(INPUT_DIMS, &inputs.dims), (INPUT_TYPES, &inputs.types)];
        for (position, (name, value)) in
            both.into_iter().enumerate().filter(|(_, (name, _))| self.needs.args.wants(name))
        {
            let (name, value) = (self.trace.strings.intern(name), self.trace.strings.intern(value));
            self.trace.args.push(Arg { owner, position: position as u32, ty: StrId::EMPTY, name, value });
        }
    }
}
