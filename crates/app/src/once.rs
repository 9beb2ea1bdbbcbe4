//! Reads files once for several analyses: each gets a copy with the tables that it needs.

use std::cell::RefCell;
use std::path::PathBuf;

use trace::{ArgNeeds, Needs, Trace};

use crate::failure::Failure;

thread_local! {
    /// The files that this thread reads once.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

struct Kept {
    paths: Vec<PathBuf>,
    needs: Needs,
    /// With Python frames, and without: frames are most of a trace, and rows that refer to others differ without them.
    traces: [Option<Trace>; 2],
    reads: usize,
}

/// Runs `work` while these files, read with `needs`, are kept; also returns how often they were read.
pub(crate) fn reading_once<T>(paths: &[PathBuf], needs: Needs, work: impl FnOnce() -> T) -> (T, usize) {
    let kept = Kept { paths: paths.to_vec(), needs, traces: [None, None], reads: 0 };
    let before = KEPT.replace(Some(kept));
    let result = work();
    let kept = KEPT.replace(before);
    (result, kept.map_or(0, |kept| kept.reads))
}

/// Runs `work` as if nothing were kept: for analyses that a wider trace would change.
pub(crate) fn reading_anew<T>(work: impl FnOnce() -> T) -> T {
    let kept = KEPT.take();
    let result = work();
    KEPT.set(kept);
    result
}

/// A copy of the kept files with the needed tables; `None` if they are not kept. Calls `read` the first time.
pub(crate) fn kept(
    paths: &[PathBuf],
    needs: &Needs,
    read: impl FnOnce(&Needs) -> Result<Trace, Failure>,
) -> Option<Result<Trace, Failure>> {
    let wide = KEPT.with_borrow(|kept| {
        let kept = kept.as_ref().filter(|kept| kept.paths == paths && covers(&kept.needs, needs))?;
        Some(Needs { python_frames: needs.python_frames, ..kept.needs.clone() })
    })?;
    let place = usize::from(needs.python_frames);
    let copy = |place: usize| {
        KEPT.with_borrow(|kept| kept.as_ref()?.traces[place].as_ref().map(|trace| narrowed(trace, needs)))
    };
    if let Some(trace) = copy(place) {
        return Some(Ok(trace));
    }
    // Outside of the borrow: `read` may call back.
    let trace = match read(&wide) {
        Ok(trace) => trace,
        Err(failure) => return Some(Err(failure)),
    };
    let has_frames = trace.sources.iter().any(|source| source.frames_skipped > 0)
        || trace.strings.find("python_function").is_some();
    KEPT.with_borrow_mut(|kept| {
        if let Some(kept) = kept {
            kept.reads += 1;
            if !has_frames {
                kept.traces[1 - place] = Some(trace.clone());
            }
            kept.traces[place] = Some(trace);
        }
    });
    copy(place).map(Ok)
}

/// Whether a trace that was read with `wide` has everything needed.
fn covers(wide: &Needs, asked: &Needs) -> bool {
    let args = match (&wide.args, &asked.args) {
        (ArgNeeds::All, _) | (_, ArgNeeds::None) => true,
        (ArgNeeds::Keys(wide), ArgNeeds::Keys(asked)) => asked.iter().all(|key| wide.contains(key)),
        _ => false,
    };
    let args =
        args && (!wide.only_kernel_args || asked.only_kernel_args || matches!(asked.args, ArgNeeds::None));
    let pairs = [
        (wide.kernels, asked.kernels),
        (wide.shapes, asked.shapes),
        (wide.memory_copies, asked.memory_copies),
        (wide.memory_allocations, asked.memory_allocations),
        (wide.regions, asked.regions),
        (wide.python_frames, asked.python_frames),
        (wide.counters, asked.counters),
        // Rows and columns of counters are alternatives: a reader of one does not find the other.
        (wide.counter_columns || !asked.counters, asked.counter_columns),
        (!wide.counter_columns || asked.counter_columns || !asked.counters, true),
        (wide.samples, asked.samples),
        (wide.syncs, asked.syncs),
        (wide.collectives, asked.collectives),
        (wide.graph_nodes, asked.graph_nodes),
        (wide.graph_columns, asked.graph_columns),
        (wide.links, asked.links),
        (wide.forward_backward, asked.forward_backward),
    ];
    args && pairs.iter().all(|(wide, asked)| *wide || !*asked)
}

/// A copy without the tables that were not requested: some analyses depend on which tables a trace has.
fn narrowed(trace: &Trace, needs: &Needs) -> Trace {
    let mut trace = trace.clone();
    if !needs.memory_allocations {
        trace.memory_allocations = Default::default();
    }
    if !needs.counters {
        trace.counter_kinds = Default::default();
        trace.counters = Default::default();
        trace.counter_columns = Default::default();
    }
    if !needs.samples {
        trace.samples = Default::default();
    }
    if !needs.syncs {
        trace.syncs = Default::default();
    }
    if !needs.collectives {
        trace.collectives = Default::default();
    }
    trace
}
