//! A part of a trace: rows kept or dropped whole, with everything that refers to them.

use crate::ids::{AgentId, ProcessId, StreamId};
use crate::links::{LinkKind, RowRef, Table};
use crate::trace::Trace;
use crate::window::Windows;
use crate::{Map, Ns, Status};

/// A subset of numbered items, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subset(Option<Vec<bool>>);

impl Subset {
    /// All items.
    pub fn all() -> Self {
        Self(None)
    }

    /// The items below `count` for which `wanted` is true.
    pub fn of(count: usize, wanted: impl FnMut(usize) -> bool) -> Self {
        Self(Some((0..count).map(wanted).collect()))
    }

    /// Whether it keeps everything without a filter.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether it contains item `i`.
    pub fn has(&self, i: usize) -> bool {
        self.0.as_ref().is_none_or(|held| held.get(i).copied().unwrap_or(false))
    }

    /// Whether it contains an item that may be unknown; unknown items belong only to the full set.
    pub fn has_known(&self, i: Option<usize>) -> bool {
        self.is_all() || i.is_some_and(|i| self.has(i))
    }

    /// Whether it contains the item, or there is no item.
    pub fn has_or_none(&self, i: Option<usize>) -> bool {
        i.is_none_or(|i| self.has(i))
    }

    /// The intersection.
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Self(Some(a.iter().zip(&b).map(|(a, b)| *a && *b).collect())),
            (a, b) => Self(a.or(b)),
        }
    }
}

/// Which rows of one trace are wanted; all of them by default.
///
/// A filter applies only to rows that have the property. Agents and streams, like `kernels` and
/// `memory_copies`, select GPU work and leave host rows alone; processes and the window select among all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The request, in words.
    pub label: String,
    /// In this time.
    pub windows: Windows,
    /// Of these processes.
    pub processes: Subset,
    /// On these agents.
    pub agents: Subset,
    /// On these streams.
    pub streams: Subset,
    /// These rows of `kernels`.
    pub kernels: Subset,
    /// These rows of `memory_copies`.
    pub memory_copies: Subset,
    /// These rows of `regions`.
    pub regions: Subset,
}

impl Selection {
    /// Whether a kernel is wanted.
    pub fn wants_kernel(&self, trace: &Trace, row: usize) -> bool {
        let table = &trace.kernels;
        self.in_time(table.process[row], table.start[row], table.end[row])
            && self.of_process(table.process[row])
            && self.wants_kernel_itself(trace, row)
    }

    /// Whether a kernel is wanted, whenever it ran and whatever launched it.
    fn wants_kernel_itself(&self, trace: &Trace, row: usize) -> bool {
        let table = &trace.kernels;
        self.agents.has_known(table.agent[row].get())
            && self.streams.has_known(table.stream[row].get())
            && self.kernels.has(row)
    }

    /// Whether a copy or fill is wanted: copies from or to an agent count as on it.
    pub fn wants_copy(&self, trace: &Trace, row: usize) -> bool {
        let table = &trace.memory_copies;
        self.in_time(table.process[row], table.start[row], table.end[row])
            && self.of_process(table.process[row])
            && [table.src[row], table.dst[row]].iter().any(|agent| self.agents.has_known(agent.get()))
            && self.streams.has_known(table.stream[row].get())
            && self.memory_copies.has(row)
    }

    /// Whether a row of GPU work is wanted.
    pub fn wants_work(&self, trace: &Trace, row: RowRef) -> bool {
        match row.get() {
            Some((Table::Kernels, row)) => self.wants_kernel(trace, row),
            Some((Table::MemoryCopies, row)) => self.wants_copy(trace, row),
            _ => false,
        }
    }

    /// Whether any row other than GPU work is wanted.
    pub fn wants_host_row(&self, trace: &Trace) -> bool {
        let host = [
            (&trace.regions.start, &trace.regions.end, &trace.regions.process, &self.regions),
            (&trace.samples.start, &trace.samples.end, &trace.samples.process, &Subset(None)),
            (&trace.syncs.start, &trace.syncs.end, &trace.syncs.process, &Subset(None)),
            (
                &trace.memory_allocations.start,
                &trace.memory_allocations.end,
                &trace.memory_allocations.process,
                &Subset(None),
            ),
        ];
        host.iter().any(|(start, end, process, rows)| {
            (0..start.len()).any(|i| {
                self.in_time(process[i], start[i], end[i]) && self.of_process(process[i]) && rows.has(i)
            })
        })
    }

    fn in_time(&self, process: ProcessId, start: Ns, end: Ns) -> bool {
        self.windows.hold(process, start, end)
    }

    fn of_process(&self, process: ProcessId) -> bool {
        self.processes.has_known(process.get())
    }

    /// Host rows are on no agent and no stream.
    fn on_lane(&self, agent: AgentId, stream: StreamId) -> bool {
        self.agents.has_or_none(agent.get()) && self.streams.has_or_none(stream.get())
    }
}

/// A part and its whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptCount {
    /// Amount kept.
    pub kept: i64,
    /// Total amount.
    pub of: i64,
}

impl KeptCount {
    /// In percent, unless the total is zero.
    pub fn pct(&self) -> Option<f64> {
        (self.of > 0).then(|| 100.0 * self.kept as f64 / self.of as f64)
    }
}

/// What a selection kept of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Kernels.
    pub kernels: KeptCount,
    /// Copies and fills.
    pub memory_copies: KeptCount,
    /// Time of kernels, copies and fills, summed.
    pub gpu_ns: KeptCount,
    /// Host regions.
    pub regions: KeptCount,
    /// Rows of all tables with a time.
    pub rows: KeptCount,
    /// Kernels that were kept while the call that launched them was not.
    pub lost_launches: i64,
}

const GONE: u32 = u32::MAX;

/// New row numbers of each table.
struct Moves([Vec<u32>; Table::COUNT]);

impl Moves {
    /// The new row, unless it was dropped. `NONE` stays `NONE`.
    fn follow(&self, row: RowRef) -> Option<RowRef> {
        let Some((table, old)) = row.get() else { return Some(row) };
        let new = self.0[table as usize].get(old).copied().filter(|&new| new != GONE)?;
        Some(RowRef::new(table, new as usize))
    }

    fn keeps(&self, table: Table, row: usize) -> bool {
        self.0[table as usize][row] != GONE
    }
}

impl Trace {
    /// Keeps the selected rows of a finished trace and reports their share in its health.
    ///
    /// Rows are kept or dropped whole, in their order; arguments, counters, collectives and links follow their
    /// rows. Facts about the machine and the run stay, as do the checks made when the trace was read. Linear
    /// in the number of rows.
    pub fn restrict(&mut self, selection: &Selection) -> Kept {
        let moves = self.moves(selection);
        let kept = self.report_part(selection, &moves);
        self.drop_rows(selection, &moves);
        self.drop_references(selection, &moves);
        kept
    }

    /// Reports the share of a selection in the health, but drops nothing: for analyses that report on some
    /// rows and need the others for context.
    pub fn mark(&mut self, selection: &Selection) -> Kept {
        let moves = self.moves(selection);
        self.report_part(selection, &moves)
    }

    fn report_part(&mut self, selection: &Selection, moves: &Moves) -> Kept {
        let kept = self.measure(moves);
        self.health.report("selection", Status::Pass, kept.gpu_ns.pct(), kept.message(selection));
        kept
    }

    fn moves(&self, selection: &Selection) -> Moves {
        let (allocations, samples, syncs) = (&self.memory_allocations, &self.samples, &self.syncs);
        let other_dispatches = self.dispatches_left_out(selection);
        let no_stream = StreamId::NONE;
        Moves([
            renumber(self.kernels.len(), |i| selection.wants_kernel(self, i)),
            renumber(self.memory_copies.len(), |i| selection.wants_copy(self, i)),
            renumber(allocations.len(), |i| {
                selection.in_time(allocations.process[i], allocations.start[i], allocations.end[i])
                    && selection.of_process(allocations.process[i])
                    && selection.on_lane(allocations.agent[i], allocations.stream[i])
            }),
            renumber(self.regions.len(), |i| {
                selection.in_time(self.regions.process[i], self.regions.start[i], self.regions.end[i])
                    && selection.of_process(self.regions.process[i])
                    && selection.regions.has(i)
            }),
            renumber(samples.len(), |i| {
                let dispatch = samples.dispatch[i].get().map(|dispatch| (samples.process[i], dispatch));
                selection.in_time(samples.process[i], samples.start[i], samples.end[i])
                    && selection.of_process(samples.process[i])
                    && selection.on_lane(samples.agent[i], no_stream)
                    && dispatch.is_none_or(|dispatch| !other_dispatches.contains_key(&dispatch))
            }),
            renumber(syncs.len(), |i| {
                selection.in_time(syncs.process[i], syncs.start[i], syncs.end[i])
                    && selection.of_process(syncs.process[i])
                    && (selection.streams.has_or_none(syncs.stream[i].get())
                        || (syncs.waits_for[i].is_some()
                            && selection.streams.has_known(syncs.waits_for[i].get())))
            }),
        ])
    }

    /// Dispatches left out for reasons other than time: PC samples taken in them are dropped too.
    fn dispatches_left_out(&self, selection: &Selection) -> Map<(ProcessId, i64), ()> {
        let sampled = self.samples.dispatch.iter().any(|dispatch| dispatch.get().is_some());
        let mut left_out = Map::default();
        if sampled {
            for row in 0..self.kernels.len() {
                if let Some(dispatch) = self.kernels.dispatch[row].get()
                    && !selection.wants_kernel_itself(self, row)
                {
                    left_out.insert((self.kernels.process[row], dispatch), ());
                }
            }
        }
        left_out
    }

    fn measure(&self, moves: &Moves) -> Kept {
        let mut kept = Kept::default();
        for (number, rows) in moves.0.iter().enumerate() {
            let part = KeptCount {
                kept: rows.iter().filter(|&&row| row != GONE).count() as i64,
                of: rows.len() as i64,
            };
            kept.rows.kept += part.kept;
            kept.rows.of += part.of;
            match number {
                n if n == Table::Kernels as usize => kept.kernels = part,
                n if n == Table::MemoryCopies as usize => kept.memory_copies = part,
                n if n == Table::Regions as usize => kept.regions = part,
                _ => {}
            }
        }
        let gpu = [
            (Table::Kernels, &self.kernels.start, &self.kernels.end),
            (Table::MemoryCopies, &self.memory_copies.start, &self.memory_copies.end),
        ];
        for (table, start, end) in gpu {
            for row in 0..start.len() {
                let duration = end[row].saturating_sub(start[row]);
                kept.gpu_ns.of += duration;
                kept.gpu_ns.kept += if moves.keeps(table, row) { duration } else { 0 };
            }
        }
        for i in 0..self.links.len() {
            let (LinkKind::Launch, Some(kernel)) =
                (self.links.kind[i], self.links.to[i].row_of(Table::Kernels))
            else {
                continue;
            };
            let lost = moves.keeps(Table::Kernels, kernel) && moves.follow(self.links.from[i]).is_none();
            kept.lost_launches += i64::from(lost);
        }
        kept
    }

    fn drop_rows(&mut self, selection: &Selection, moves: &Moves) {
        let keeps = |table: Table| move |row: usize| moves.keeps(table, row);
        let kept: Vec<u32> = (0..self.kernels.len())
            .filter(|&row| moves.keeps(Table::Kernels, row))
            .map(|row| row as u32)
            .collect();
        if kept.len() < self.kernels.len() {
            self.kernels.reorder(&kept);
            self.counter_columns.reorder(&kept);
        }
        self.memory_copies.retain(keeps(Table::MemoryCopies));
        self.memory_allocations.retain(keeps(Table::MemoryAllocations));
        self.regions.retain(keeps(Table::Regions));
        self.samples.retain(keeps(Table::Samples));
        self.syncs.retain(keeps(Table::Syncs));
        // A record of an allocator makes sense only as a whole.
        let of_process = |process: &[ProcessId]| -> Vec<bool> {
            process.iter().map(|process| selection.processes.has_known(process.get())).collect()
        };
        let keep = of_process(&self.allocator_events.process);
        self.allocator_events.retain(|i| keep[i]);
        let keep = of_process(&self.allocator_segments.process);
        self.allocator_segments.retain(|i| keep[i]);
        let keep = of_process(&self.allocator_blocks.process);
        self.allocator_blocks.retain(|i| keep[i]);
    }

    /// Rows keep their order, so tables sorted by the rows they refer to stay sorted.
    fn drop_references(&mut self, selection: &Selection, moves: &Moves) {
        let there = |column: &[RowRef]| -> Vec<bool> {
            column.iter().map(|&row| moves.follow(row).is_some()).collect()
        };
        let follow = |column: &mut Vec<RowRef>| {
            for row in column.iter_mut() {
                *row = moves.follow(*row).unwrap_or(RowRef::NONE);
            }
        };
        let keep = there(&self.counters.kernel);
        self.counters.retain(|i| keep[i]);
        follow(&mut self.counters.kernel);
        let keep = there(&self.args.owner);
        self.args.retain(|i| keep[i]);
        follow(&mut self.args.owner);
        let mut keep = there(&self.collectives.row);
        for (i, keep) in keep.iter_mut().enumerate() {
            // Collectives from a list without a trace refer to no rows.
            *keep |= self.collectives.row[i] == RowRef::NONE;
            *keep &= selection.processes.has_known(self.collectives.process[i].get());
        }
        self.collectives.retain(|i| keep[i]);
        follow(&mut self.collectives.row);
        let keep = there(&self.graph_nodes.row);
        self.graph_nodes.retain(|i| keep[i]);
        follow(&mut self.graph_nodes.row);
        let mut keep = there(&self.links.from);
        for (keep, to) in keep.iter_mut().zip(there(&self.links.to)) {
            *keep &= to;
        }
        self.links.retain(|i| keep[i]);
        follow(&mut self.links.from);
        follow(&mut self.links.to);
    }
}

fn renumber(rows: usize, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut next = 0;
    let number = |row| {
        if !wanted(row) {
            return GONE;
        }
        next += 1;
        next - 1
    };
    (0..rows).map(number).collect()
}

impl Kept {
    /// `window 30 %–60 %: 12,345 of 40,000 kernels, 31.2 % of GPU time, 7 of 9 host regions`.
    fn message(&self, selection: &Selection) -> String {
        let mut parts = Vec::new();
        for (part, what) in [(self.kernels, "kernels"), (self.memory_copies, "copies and fills")] {
            if part.of > 0 {
                parts.push(format!("{} of {} {what}", grouped(part.kept), grouped(part.of)));
            }
        }
        parts.extend(self.gpu_ns.pct().map(|pct| format!("{pct:.1} % of GPU time")));
        if self.regions.of > 0 {
            let KeptCount { kept, of } = self.regions;
            parts.push(format!("{} of {} host regions", grouped(kept), grouped(of)));
        }
        let mut message = format!("{}: {}", selection.label, parts.join(", "));
        if self.lost_launches > 0 {
            let kernels = if self.lost_launches == 1 { "kernel was" } else { "kernels were" };
            message.push_str(&format!("; {} {kernels} launched outside it", grouped(self.lost_launches)));
        }
        message
    }
}

/// A count with commas between thousands.
fn grouped(count: i64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && digit != '-' && (digits.len() - i).is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
