//! Sequences of launches that replays are compared with: captured graphs, and steps of a graph-off run.

use std::borrow::Cow;

use rayon::prelude::*;
use trace::{CopyKind, Map, RowRef, StrId, Trace};

use super::forest::Forest;
use super::rows::{GpuRow, GpuRows, all_rows, gpu_row};
use crate::ROWS_AT_ONCE;
use crate::calls::{CallFacts, Calls, Launches};
use crate::steps::{Annotations, Steps};

/// A kernel name as a number; equal names have equal numbers in both traces.
pub(super) type Token = u32;

/// Any copy: the direction is not always known on both sides.
pub(super) const COPY: Token = 0;
/// Any fill, whether a fill node or a kernel that fills.
pub(super) const FILL: Token = 1;
/// A launch that does not say what it launched.
pub(super) const UNKNOWN: Token = 2;

/// Runtime kernels that run the copy or fill node of a graph.
const BLITS: &[(&str, Token)] = &[("__amd_rocclr_fillBuffer", FILL), ("__amd_rocclr_copyBuffer", COPY)];

/// Numbers for the kernel names of all traces in a join.
#[derive(Default)]
pub(super) struct Tokens {
    numbers: Map<String, Token>,
}

impl Tokens {
    pub fn of(&mut self, name: &str) -> Token {
        if let Some((_, token)) = BLITS.iter().find(|(blit, _)| name.starts_with(blit)) {
            return *token;
        }
        if let Some(&token) = self.numbers.get(name) {
            return token;
        }
        let token = UNKNOWN + 1 + self.numbers.len() as Token;
        self.numbers.insert(name.to_string(), token);
        token
    }
}

/// Tokens of one trace's strings, each looked up once.
pub(super) struct TokenMemo {
    names: Vec<Token>,
}

const UNSEEN: Token = u32::MAX;

impl TokenMemo {
    pub fn new(trace: &Trace) -> Self {
        Self { names: vec![UNSEEN; trace.strings.len()] }
    }

    fn of_text(&mut self, trace: &Trace, id: StrId, tokens: &mut Tokens) -> Token {
        let slot = &mut self.names[id.0 as usize];
        if *slot == UNSEEN {
            *slot = tokens.of(&plain(trace.strings.get(id)));
        }
        *slot
    }

    pub fn of_row(&mut self, trace: &Trace, row: &GpuRow, tokens: &mut Tokens) -> Token {
        match row.copy {
            Some(CopyKind::Copy) => COPY,
            Some(CopyKind::Fill) => FILL,
            None => self.of_text(trace, row.name, tokens),
        }
    }
}

/// A JSON string without its quotes and escapes; anything else unchanged.
fn plain(text: &str) -> Cow<'_, str> {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        Some(_) => serde_json::from_str(text).map_or(Cow::Borrowed(text), |text: String| Cow::Owned(text)),
        None => Cow::Borrowed(text),
    }
}

/// Launches in the order the host made them.
#[derive(Default)]
pub(super) struct Sequence {
    pub tokens: Vec<Token>,
    /// Rows of `regions` of the trace it comes from.
    pub launches: Vec<u32>,
    pub batch: Option<u64>,
    pub mode: Option<String>,
}

/// The captured graphs of a trace, in time order.
pub(super) fn captures(
    trace: &Trace,
    calls: &Calls,
    forest: &Forest,
    memo: &mut TokenMemo,
    tokens: &mut Tokens,
) -> Vec<Sequence> {
    let regions = &trace.regions;
    let kernel_key = trace.strings.find("kernel");
    let mut annotations = Annotations::new(trace);
    let mut found: Vec<Sequence> = Vec::new();
    // (thread, process, index in `found`) of the open captures.
    let mut open: Vec<(trace::ThreadId, trace::ProcessId, usize)> = Vec::new();
    // Most traces have no captures.
    if !calls.any(|call| call.begins_capture) {
        return found;
    }
    let call_of = |row: usize| calls.of_region(trace, row).filter(|call| call.is_of_runtime());
    let rows = (0..regions.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
    let rows: Vec<(usize, &CallFacts)> = rows.filter_map(|row| Some((row, call_of(row)?))).collect();
    for (row, call) in rows {
        if call.begins_capture {
            let mark = forest.chain(row).find_map(|outer| annotations.capture(outer));
            open.push((regions.thread[row], regions.process[row], found.len()));
            found.push(Sequence {
                batch: mark.and_then(|mark| mark.batch),
                mode: mark.map(|mark| mark.mode.to_string()),
                ..Sequence::default()
            });
        } else if call.ends_capture {
            let own = open.iter().rposition(|(thread, _, _)| *thread == regions.thread[row]);
            if let Some(place) = own.or(open.len().checked_sub(1)) {
                open.remove(place);
            }
        }
        if open.is_empty() {
            continue;
        }
        let token = match call.launches {
            Some(Launches::Copy) => COPY,
            Some(Launches::Fill) => FILL,
            Some(Launches::Kernel) => {
                let name = kernel_key.and_then(|key| trace.args.value(RowRef::region(row), key));
                name.map_or(UNKNOWN, |name| memo.of_text(trace, name, tokens))
            }
            _ => continue,
        };
        // With one open capture all threads of its process feed it; with several, each thread feeds its own.
        let mine: Vec<_> = open.iter().filter(|(_, process, _)| *process == regions.process[row]).collect();
        let capture = match mine.as_slice() {
            [only] => Some(only.2),
            several => several.iter().rfind(|(thread, _, _)| *thread == regions.thread[row]).map(|c| c.2),
        };
        if let Some(capture) = capture {
            found[capture].tokens.push(token);
            found[capture].launches.push(row as u32);
        }
    }
    found.retain(|sequence| !sequence.tokens.is_empty());
    found
}

/// The launches of ordinary GPU work: one sequence per step, or a single one if there are no steps.
pub(super) fn eager(
    trace: &Trace,
    rows: &GpuRows,
    memo: &mut TokenMemo,
    tokens: &mut Tokens,
) -> Vec<Sequence> {
    let mut launched: Vec<(u32, Token)> = Vec::new();
    let mut counts: Map<u32, u32> = Map::default();
    for row in all_rows(trace) {
        if let (Some(call), Some(facts)) = (rows.call_of(row), gpu_row(trace, row)) {
            launched.push((call as u32, memo.of_row(trace, &facts, tokens)));
            *counts.entry(call as u32).or_default() += 1;
        }
    }
    // A launch with several rows is a graph launch: it does not name its kernels.
    launched.retain(|(call, _)| counts[call] == 1);
    launched.sort_unstable();
    let (steps, inside) = Steps::of(trace, &rows.launches);
    let step_of = |call: u32| {
        let place = rows.launches.partition_point(|l| *l < call);
        inside[place].map(|step| steps.steps[step as usize])
    };
    let mut by_step: Map<Option<u32>, usize> = Map::default();
    let mut found: Vec<Sequence> = Vec::new();
    for (call, token) in launched {
        let step = step_of(call);
        let place = *by_step.entry(step.map(|s| s.number)).or_insert_with(|| {
            found.push(Sequence { batch: step.and_then(|s| s.batch), ..Sequence::default() });
            found.len() - 1
        });
        found[place].tokens.push(token);
        found[place].launches.push(call);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_equal_plain_ones_and_blits_equal_copies() {
        let mut tokens = Tokens::default();
        let name = tokens.of("void f<\"x\">()");
        assert_eq!(tokens.of(&plain(r#""void f<\"x\">()""#)), name);
        assert_ne!(tokens.of("g"), name);
        assert_eq!(tokens.of("__amd_rocclr_fillBufferAligned.kd"), FILL);
        assert_eq!(tokens.of("__amd_rocclr_copyBuffer"), COPY);
    }
}
