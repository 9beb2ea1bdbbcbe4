//! Checks parts of a trace against a simple filter over every row, and every reference against its row.

use proptest::prelude::*;
use rocm_perf_trace::{
    AgentId, Arg, Collective, Counter, Kernel, MemoryAllocation, MemoryCopy, OptI64, Process, ProcessId,
    Region, RowRef, Sample, Selection, Source, Status, Stream, StreamId, Subset, Sync, Table, Trace, Window,
    Windows,
};

/// One row of any table, with its own name.
#[derive(Clone, Debug)]
struct Row {
    table: usize,
    start: i64,
    length: i64,
    process: u32,
    agent: u32,
    stream: u32,
    /// The call that launched it, by index among the regions.
    correlation: i64,
}

const NONE: u32 = u32::MAX;

fn id() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..3, 1 => Just(NONE)]
}

fn row() -> impl Strategy<Value = Row> {
    (0usize..6, 0i64..100, 0i64..40, 0u32..3, id(), id(), 0i64..8).prop_map(
        |(table, start, length, process, agent, stream, correlation)| Row {
            table,
            start,
            length,
            process,
            agent,
            stream,
            correlation,
        },
    )
}

fn subset(size: usize) -> impl Strategy<Value = Option<Vec<bool>>> {
    proptest::option::of(proptest::collection::vec(any::<bool>(), size))
}

fn chosen(flags: &Option<Vec<bool>>) -> Subset {
    match flags {
        None => Subset::all(),
        Some(flags) => Subset::of(flags.len(), |i| flags[i]),
    }
}

/// A trace of these rows. Row `i` is named `i`, in whichever text column its table has.
fn trace(rows: &[Row]) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("t", "test"));
    for pid in 0..3 {
        let guid = trace.strings.intern(&format!("guid {pid}"));
        let process = trace.add_process(Process { guid, ..Process::new(source, pid) });
        trace.add_stream(Stream { process, id: pid, ..Stream::default() });
    }
    let key = trace.strings.intern("tag");
    for (i, row) in rows.iter().enumerate() {
        let name = trace.strings.intern(&format!("row {i}"));
        let (start, end) = (row.start, row.start + row.length);
        let (process, correlation) = (ProcessId(row.process), row.correlation);
        let (agent, stream) = (AgentId(row.agent), StreamId(row.stream));
        let owner = match row.table {
            0 => {
                let kernel =
                    Kernel { name, start, end, process, agent, stream, correlation, ..Kernel::default() };
                trace.kernels.push(kernel);
                let owner = RowRef::kernel(trace.kernels.len() - 1);
                trace.counters.push(Counter { kernel: owner, value: i as f64, ..Counter::default() });
                trace.collectives.push(Collective {
                    operation: name,
                    row: owner,
                    process,
                    ..Collective::default()
                });
                owner
            }
            1 => {
                let dst = agent;
                let copy = MemoryCopy {
                    name,
                    start,
                    end,
                    process,
                    dst,
                    stream,
                    correlation,
                    ..MemoryCopy::default()
                };
                trace.memory_copies.push(copy);
                RowRef::new(Table::MemoryCopies, trace.memory_copies.len() - 1)
            }
            2 => {
                let kind = name;
                let allocation = MemoryAllocation {
                    kind,
                    start,
                    end,
                    process,
                    agent,
                    stream,
                    correlation,
                    ..MemoryAllocation::default()
                };
                trace.memory_allocations.push(allocation);
                RowRef::new(Table::MemoryAllocations, trace.memory_allocations.len() - 1)
            }
            3 => {
                trace.regions.push(Region { name, start, end, process, correlation, ..Region::default() });
                RowRef::region(trace.regions.len() - 1)
            }
            4 => {
                let end = start;
                trace.samples.push(Sample { name, start, end, process, agent, ..Sample::default() });
                RowRef::new(Table::Samples, trace.samples.len() - 1)
            }
            _ => {
                trace.syncs.push(Sync { kind: name, start, end, process, stream, ..Sync::default() });
                RowRef::new(Table::Syncs, trace.syncs.len() - 1)
            }
        };
        trace.args.push(Arg { owner, name: key, value: name, ..Arg::default() });
    }
    trace.finish();
    trace
}

/// The texts of every row of a table, in order.
fn names(trace: &Trace, table: usize) -> Vec<String> {
    let ids = match table {
        0 => &trace.kernels.name,
        1 => &trace.memory_copies.name,
        2 => &trace.memory_allocations.kind,
        3 => &trace.regions.name,
        4 => &trace.samples.name,
        _ => &trace.syncs.kind,
    };
    ids.iter().map(|&id| trace.strings.get(id).to_string()).collect()
}

fn name_of(trace: &Trace, row: RowRef) -> String {
    let (table, row) = row.get().expect("a row");
    names(trace, table as usize)[row].clone()
}

fn links(trace: &Trace) -> Vec<(String, String)> {
    let links = &trace.links;
    (0..links.len()).map(|i| (name_of(trace, links.from[i]), name_of(trace, links.to[i]))).collect()
}

/// The documented rules for each kind of row, one row at a time.
fn wanted(row: &Row, selection: &Choice) -> bool {
    let end = if row.table == 4 { row.start } else { row.start + row.length };
    let in_time = match selection.window {
        None => true,
        Some((first, last, true)) => row.start <= last && end >= first,
        Some((first, last, false)) => first <= row.start && end <= last,
    };
    let held = |flags: &Option<Vec<bool>>, i: u32, absent: bool| match flags {
        None => true,
        Some(flags) => flags.get(i as usize).copied().unwrap_or(absent),
    };
    let gpu_work = row.table < 2;
    let lane = match row.table {
        0..=2 => {
            held(&selection.agents, row.agent, !gpu_work) && held(&selection.streams, row.stream, !gpu_work)
        }
        4 => held(&selection.agents, row.agent, true),
        5 => held(&selection.streams, row.stream, true),
        _ => true,
    };
    in_time && held(&selection.processes, row.process, false) && lane
}

#[derive(Clone, Debug)]
struct Choice {
    window: Option<(i64, i64, bool)>,
    processes: Option<Vec<bool>>,
    agents: Option<Vec<bool>>,
    streams: Option<Vec<bool>>,
}

fn choice() -> impl Strategy<Value = Choice> {
    let window = (0i64..120, 0i64..80, any::<bool>())
        .prop_map(|(start, length, touching)| (start, start + length, touching));
    (proptest::option::of(window), subset(3), subset(3), subset(3))
        .prop_map(|(window, processes, agents, streams)| Choice { window, processes, agents, streams })
}

impl Choice {
    fn selection(&self) -> Selection {
        let one = |(start, end, overlapping)| Windows::One(Window { start, end, overlapping });
        let windows = self.window.map_or(Windows::All, one);
        Selection {
            label: "a part".into(),
            windows,
            processes: chosen(&self.processes),
            agents: chosen(&self.agents),
            streams: chosen(&self.streams),
            ..Selection::default()
        }
    }
}

proptest! {
    #[test]
    fn a_part_is_what_a_plain_look_keeps(rows in proptest::collection::vec(row(), 0..60), choice in choice()) {
        let whole = trace(&rows);
        let mut part = whole.clone();
        let kept = part.restrict(&choice.selection());
        let keeps = |name: &str| wanted(&rows[name[4..].parse::<usize>().expect("a number")], &choice);
        for table in 0..6 {
            let expected: Vec<String> = names(&whole, table).into_iter().filter(|name| keeps(name)).collect();
            prop_assert_eq!(names(&part, table), expected, "table {}", table);
        }
        let expected: Vec<_> = links(&whole).into_iter().filter(|(a, b)| keeps(a) && keeps(b)).collect();
        prop_assert_eq!(links(&part), expected);
        for i in 0..part.args.len() {
            prop_assert_eq!(part.strings.get(part.args.value[i]), name_of(&part, part.args.owner[i]));
        }
        let rows_kept: usize = (0..6).map(|table| names(&part, table).len()).sum();
        prop_assert_eq!(part.args.len(), rows_kept, "every row keeps its argument");
        for i in 0..part.counters.len() {
            let name = format!("row {}", part.counters.value[i]);
            prop_assert_eq!(name_of(&part, part.counters.kernel[i]), name);
        }
        for i in 0..part.collectives.len() {
            let name = part.strings.get(part.collectives.operation[i]);
            prop_assert_eq!(name_of(&part, part.collectives.row[i]), name);
        }
        prop_assert_eq!((part.counters.len(), part.collectives.len()), (part.kernels.len(), part.kernels.len()));
        // The order that look-ups rely on still holds.
        let mut sorted = part.clone();
        sorted.links.sort();
        sorted.args.sort();
        prop_assert_eq!(&sorted.links.to, &part.links.to);
        prop_assert_eq!(&sorted.args.owner, &part.args.owner);
        // The share is relative to the original time.
        let time = |t: &Trace| -> i64 {
            let kernels = t.kernels.rows().map(|k| k.end - k.start).sum::<i64>();
            kernels + t.memory_copies.rows().map(|c| c.end - c.start).sum::<i64>()
        };
        prop_assert_eq!((kept.gpu_ns.kept, kept.gpu_ns.of), (time(&part), time(&whole)));
        prop_assert_eq!((kept.rows.kept, kept.rows.of), (rows_kept as i64, rows.len() as i64));
    }

    #[test]
    fn a_part_of_a_part_is_the_same_part(rows in proptest::collection::vec(row(), 0..40), choice in choice()) {
        let mut once = trace(&rows);
        once.restrict(&choice.selection());
        let mut twice = once.clone();
        twice.restrict(&choice.selection());
        for table in 0..6 {
            prop_assert_eq!(names(&once, table), names(&twice, table));
        }
        prop_assert_eq!(links(&once), links(&twice));
    }
}

fn kernel_row(start: i64, length: i64, correlation: i64) -> Row {
    Row { table: 0, start, length, process: 0, agent: 0, stream: 0, correlation }
}

#[test]
fn the_share_and_lost_launches_are_said() {
    let call = Row { table: 3, ..kernel_row(0, 5, 1) };
    let mut trace = trace(&[call, kernel_row(10, 10, 1), kernel_row(40, 30, 0)]);
    let selection = Selection {
        label: "window 10 ns–30 ns".into(),
        windows: Windows::One(Window { start: 10, end: 30, overlapping: false }),
        ..Selection::default()
    };
    let kept = trace.restrict(&selection);
    assert_eq!(kept.lost_launches, 1);
    let check = trace.health.checks.iter().find(|check| check.id == "selection").expect("a check");
    assert_eq!((check.status, check.value), (Status::Pass, Some(25.0)));
    assert_eq!(
        check.message,
        "window 10 ns–30 ns: 1 of 2 kernels, 25.0 % of GPU time, 0 of 1 host regions; 1 kernel was launched outside it"
    );
}

#[test]
fn chosen_kernels_keep_their_launches_and_other_host_rows() {
    let call = |correlation| Row { table: 3, ..kernel_row(correlation, 1, correlation) };
    let mut trace = trace(&[call(1), call(2), kernel_row(10, 1, 1), kernel_row(20, 1, 2)]);
    let selection = Selection { kernels: Subset::of(2, |row| row == 1), ..Selection::default() };
    trace.restrict(&selection);
    assert_eq!(
        (names(&trace, 0), names(&trace, 3)),
        (vec!["row 3".into()], vec!["row 0".into(), "row 1".into()])
    );
    assert_eq!(trace.links.launch_of(RowRef::kernel(0)), Some(1));
}

#[test]
fn samples_follow_the_dispatch_they_were_taken_in() {
    let mut trace = trace(&[kernel_row(10, 5, 0), kernel_row(20, 5, 0)]);
    for dispatch in [0, 1] {
        trace.kernels.dispatch[dispatch as usize] = OptI64::some(dispatch);
        let (process, dispatch) = (ProcessId(0), OptI64::some(dispatch));
        trace.samples.push(Sample { start: 30, end: 30, process, dispatch, ..Sample::default() });
    }
    trace.samples.push(Sample { start: 31, end: 31, process: ProcessId(0), ..Sample::default() });
    let selection = Selection { kernels: Subset::of(2, |row| row == 1), ..Selection::default() };
    trace.restrict(&selection);
    let dispatches: Vec<Option<i64>> = trace.samples.dispatch.iter().map(|dispatch| dispatch.get()).collect();
    assert_eq!(dispatches, [Some(1), None]);
}

#[test]
fn bounds_leave_python_frames_out() {
    let mut trace = trace(&[kernel_row(100, 50, 0)]);
    assert_eq!(trace.bounds(), Some((100, 150)));
    let category = trace.strings.intern("python_function");
    trace.regions.push(Region { category, start: 0, end: 1_000, ..Region::default() });
    assert_eq!(trace.bounds(), Some((100, 150)));
    trace.regions.push(Region { start: 0, end: 120, ..Region::default() });
    assert_eq!(trace.bounds(), Some((0, 150)));
    assert_eq!(Trace::default().bounds(), None);
}
