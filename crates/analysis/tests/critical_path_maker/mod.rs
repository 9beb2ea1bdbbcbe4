//! Hand-made traces, and their `critical-path` results.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::sync::LazyLock;

use model::classify::Classifier;
use report::{Report, Table, Value};
use rocm_perf_analysis::causes::critical_path::{PathRows, PathSteps, compute, present};
use rocm_perf_analysis::{CriticalPathError, CriticalPathOptions};
use trace::{
    Agent, AgentId, AgentKind, Collective, Kernel, MemoryCopy, OptI64, Process, ProcessId, Region, RowRef,
    Source, Stream, StreamId, Sync, Thread, ThreadId, Trace,
};

/// A trace under construction.
pub struct Maker {
    pub trace: Trace,
    correlation: i64,
    streams: Vec<(ProcessId, i64, StreamId)>,
}

impl Maker {
    pub fn new() -> Self {
        Self { trace: Trace::default(), correlation: 0, streams: Vec::new() }
    }

    pub fn process(&mut self, rank: u32) -> ProcessId {
        let source = Source { rank: Some(rank), ..Source::named(&format!("rank{rank}"), "rocpd") };
        let source = self.trace.add_source(source);
        let guid = self.trace.strings.intern(&format!("guid {rank}"));
        self.trace.add_process(Process {
            guid,
            rank: Some(rank),
            ..Process::new(source, 100 + i64::from(rank))
        })
    }

    pub fn thread(&mut self, process: ProcessId, tid: i64) -> ThreadId {
        self.trace.add_thread(Thread { process, tid, ..Thread::default() })
    }

    pub fn gpu(&mut self, process: ProcessId, index: i64) -> AgentId {
        let absolute_index = OptI64::some(index);
        self.trace.add_agent(Agent { process, kind: AgentKind::Gpu, absolute_index, ..Agent::default() })
    }

    pub fn stream(&mut self, process: ProcessId, id: i64) -> StreamId {
        if let Some(known) = self.streams.iter().find(|known| (known.0, known.1) == (process, id)) {
            return known.2;
        }
        let stream = self.trace.add_stream(Stream { process, id, ..Stream::default() });
        self.streams.push((process, id, stream));
        stream
    }

    /// A runtime call; returns its correlation id.
    pub fn call(&mut self, thread: ThreadId, name: &str, start: i64, end: i64) -> i64 {
        self.correlation += 1;
        let process = self.trace.threads[thread.0 as usize].process;
        let region = Region {
            name: self.trace.strings.intern(name),
            category: self.trace.strings.intern("HIP_RUNTIME_API"),
            start,
            end,
            process,
            thread,
            correlation: self.correlation,
            ..Region::default()
        };
        self.trace.regions.push(region);
        self.correlation
    }

    /// A host region that is not a call.
    pub fn op(&mut self, thread: ThreadId, name: &str, start: i64, end: i64) {
        let correlation = self.call(thread, name, start, end);
        let last = self.trace.regions.len() - 1;
        self.trace.regions.correlation[last] = 0;
        assert_eq!(correlation, self.correlation);
    }

    pub fn kernel(
        &mut self,
        process: ProcessId,
        stream: i64,
        name: &str,
        start: i64,
        end: i64,
        correlation: i64,
    ) -> usize {
        let stream = self.stream(process, stream);
        let name = self.trace.strings.intern(name);
        self.trace.kernels.push(Kernel {
            name,
            start,
            end,
            process,
            stream,
            correlation,
            ..Kernel::default()
        });
        self.trace.kernels.len() - 1
    }

    pub fn copy(
        &mut self,
        process: ProcessId,
        stream: i64,
        name: &str,
        start: i64,
        end: i64,
        correlation: i64,
    ) {
        let stream = self.stream(process, stream);
        let name = self.trace.strings.intern(name);
        self.trace.memory_copies.push(MemoryCopy {
            name,
            start,
            end,
            process,
            stream,
            correlation,
            ..MemoryCopy::default()
        });
    }

    /// The stream and event recorded for a call.
    pub fn sync(
        &mut self,
        thread: ThreadId,
        name: &str,
        start: i64,
        end: i64,
        stream: Option<i64>,
        event: Option<i64>,
    ) {
        let correlation = self.call(thread, name, start, end);
        let process = self.trace.threads[thread.0 as usize].process;
        let stream = stream.map_or(StreamId::NONE, |id| self.stream(process, id));
        let kind = self.trace.strings.intern(name);
        let event = OptI64::from(event);
        self.trace.syncs.push(Sync {
            kind,
            start,
            end,
            process,
            thread,
            stream,
            event,
            correlation,
            ..Sync::default()
        });
    }

    pub fn collective(&mut self, kernel: usize, sequence: i64) {
        self.collective_of(kernel, Some(sequence));
    }

    /// A collective, with or without a sequence number in its group.
    pub fn collective_of(&mut self, kernel: usize, sequence: Option<i64>) {
        let group = self.trace.strings.intern("world");
        let operation = self.trace.strings.intern("allreduce");
        let process = self.trace.kernels.process[kernel];
        let row = RowRef::kernel(kernel);
        let sequence = OptI64::from(sequence);
        self.trace.collectives.push(Collective {
            group,
            operation,
            sequence,
            row,
            process,
            ..Collective::default()
        });
    }

    pub fn finish(mut self) -> Trace {
        self.trace.finish();
        self.trace
    }
}

/// The built-in rules, created once.
pub fn classifier() -> &'static Classifier {
    static CLASSIFIER: LazyLock<Classifier> = LazyLock::new(Classifier::builtin);
    &CLASSIFIER
}

/// A path, and its report as the user sees it.
#[derive(Debug)]
pub struct Shown {
    pub report: Report,
    pub steps: PathSteps,
}

/// The path of a trace with options.
pub fn show(trace: &Trace, options: &CriticalPathOptions) -> Result<Shown, CriticalPathError> {
    let path = compute(trace, classifier(), options)?;
    Ok(Shown { report: present(trace, &path, PathRows::default()), steps: path.steps })
}

/// The path with what-if questions.
pub fn path_of(trace: &Trace, what_if: &[&str]) -> Shown {
    let what_if = what_if.iter().map(|text| text.parse().unwrap()).collect();
    let options = CriticalPathOptions { what_if, ..CriticalPathOptions::default() };
    let found = show(trace, &options).unwrap();
    check(&found.report);
    found
}

/// The rows of `path`: (kind, name, duration).
pub fn segments(found: &Shown) -> Vec<(String, String, i64)> {
    let table = table(&found.report, "path");
    let rows = 0..table.rows.len();
    rows.map(|i| (text(table, i, "kind").into(), text(table, i, "name").into(), int(table, i, "duration_ns")))
        .collect()
}

pub fn table<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.table(name).unwrap_or_else(|| panic!("no table `{name}`"))
}

pub fn int(table: &Table, row: usize, key: &str) -> i64 {
    match &table.rows[row][table.column(key).unwrap()] {
        Value::Int(number) => *number,
        other => panic!("`{key}` is {other:?}"),
    }
}

pub fn text<'a>(table: &'a Table, row: usize, key: &str) -> &'a str {
    match &table.rows[row][table.column(key).unwrap()] {
        Value::Text(text) => text,
        other => panic!("`{key}` is {other:?}"),
    }
}

/// A number of a kernel's row.
pub fn of_kernel(found: &Shown, name: &str, key: &str) -> i64 {
    let table = table(&found.report, "kernels");
    let row = (0..table.rows.len()).find(|&row| text(table, row, "name") == name).unwrap();
    int(table, row, key)
}

pub fn span(found: &Shown) -> i64 {
    found.steps.iter().map(|step| step.end - step.start).sum()
}

/// The span that a question predicts.
pub fn predicted(found: &Shown, question: usize) -> i64 {
    int(table(&found.report, "what_if"), question, "predicted_span_ns")
}

/// Properties of every report: segments have no gaps, bounds and places add up to the span, and slack is
/// never negative and is zero for everything on the path.
pub fn check(report: &Report) {
    let path = table(report, "path");
    let mut until = None;
    let mut span = 0;
    for row in 0..path.rows.len() {
        let (start, end) = (int(path, row, "start_ns"), int(path, row, "end_ns"));
        assert_eq!(int(path, row, "index"), row as i64);
        assert!(until.is_none_or(|until| until == start), "segment {row} begins where the one before ends");
        assert!(end > start);
        assert_eq!(int(path, row, "duration_ns"), end - start);
        assert_eq!(int(path, row, "at_ns"), span);
        until = Some(end);
        span += end - start;
    }
    for name in ["bounds", "places"] {
        let total: i64 =
            (0..table(report, name).rows.len()).map(|row| int(table(report, name), row, "total_ns")).sum();
        assert_eq!(total, span, "{name}");
    }
    for name in ["kernels", "copies"] {
        let Some(kernels) = report.table(name) else { continue };
        for row in 0..kernels.rows.len() {
            let slack = int(kernels, row, "slack_ns");
            assert!(slack >= 0 && int(kernels, row, "free_slack_ns") >= 0);
            assert!(int(kernels, row, "free_slack_ns") <= slack);
            if int(kernels, row, "on_path_ns") > 0 {
                assert_eq!(slack, 0, "{} is on the path", text(kernels, row, "name"));
            }
        }
    }
}
