//! Names of processes, threads, devices and lanes, as in AMD's tools.

use std::path::Path;

use formats::perfetto::process_name;
use trace::{AgentId, AgentKind, Map, ProcessId, Thread, ThreadId, Trace};

use super::{Lane, LaneKey};

/// Names from a trace's facts.
pub(crate) struct Names<'a> {
    trace: &'a Trace,
    /// Distinguishes each process from those of other recordings.
    labels: Vec<String>,
    /// The number of each thread among those of its process.
    thread_numbers: Vec<usize>,
}

impl<'a> Names<'a> {
    /// Names of things of this trace.
    pub fn of(trace: &'a Trace) -> Self {
        let mut counts: Map<ProcessId, usize> = Map::default();
        let number = |thread: &Thread| {
            let count = counts.entry(thread.process).or_default();
            *count += 1;
            *count - 1
        };
        let thread_numbers = trace.threads.iter().map(number).collect();
        Self { trace, labels: trace.process_labels(), thread_numbers }
    }

    /// The program's file name: `python` for `/usr/bin/python train.py`.
    fn program(&self, process: ProcessId) -> &'a str {
        let command = process.get().map_or("", |p| self.trace.strings.get(self.trace.processes[p].command));
        // Variables may precede it, including secrets.
        let word = command.split_whitespace().find(|word| !word.contains('=')).unwrap_or("");
        Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
    }

    /// A process: its rank and its program.
    pub fn process(&self, process: ProcessId) -> String {
        let program = match self.program(process) {
            "" => "process",
            program => program,
        };
        let label =
            process.get().and_then(|process| self.labels.get(process)).filter(|label| !label.is_empty());
        let rank = || self.trace.rank_of(process).map(|rank| format!("rank {rank}"));
        process_name(&label.cloned().or_else(rank).unwrap_or_default(), program)
    }

    /// A thread: its name, the program for the main thread, its number among the process's threads.
    pub fn thread(&self, process: ProcessId, thread: ThreadId) -> String {
        let Some(row) = thread.get() else { return "no thread".into() };
        let about = &self.trace.threads[row];
        let name = self.trace.strings.get(about.name);
        let pid = process.get().map(|p| self.trace.processes[p].pid);
        if !name.is_empty() {
            name.to_string()
        } else if pid == Some(about.tid) && !self.program(process).is_empty() {
            self.program(process).to_string()
        } else {
            format!("THREAD {}", self.thread_numbers[row])
        }
    }

    /// A device: `GPU 0 AMD Instinct MI300X [Agent 1]`.
    pub fn agent(&self, agent: AgentId) -> String {
        let Some(about) = agent.get().map(|a| &self.trace.agents[a]) else { return "no device".into() };
        let kind = if about.kind == AgentKind::Unknown { "Agent" } else { about.kind.name() };
        let index = about.type_index.get().or(about.absolute_index.get());
        let index = index.map_or(String::new(), |index| format!(" {index}"));
        let known = [about.product, about.name].into_iter().find(|name| !name.is_empty());
        let product = known.map_or(String::new(), |name| format!(" {}", self.trace.strings.get(name)));
        let absolute = about.type_index.get().and(about.absolute_index.get());
        let absolute = absolute.map_or(String::new(), |index| format!(" [Agent {index}]"));
        format!("{kind}{index}{product}{absolute}")
    }

    /// Other facts about a device: `gfx942, 304 compute units, 206158430208 bytes`.
    pub fn agent_facts(&self, agent: AgentId) -> String {
        let Some(about) = agent.get().map(|a| &self.trace.agents[a]) else { return String::new() };
        let counted = |number: Option<i64>, of: &str| number.map(|number| format!("{number} {of}"));
        let facts = [
            Some(self.trace.strings.get(about.name).to_string()).filter(|arch| arch.starts_with("gfx")),
            counted(about.compute_units.get(), "compute units"),
            counted(about.memory_bytes.get(), "bytes"),
        ];
        facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// A lane; its device and process have separate tracks.
    pub fn lane(&self, lane: &Lane) -> String {
        let strings = &self.trace.strings;
        let given = |name, id: i64, what: &str| match strings.get(name) {
            "" => format!("{what} {id}"),
            name => name.to_string(),
        };
        let name = match lane.place {
            LaneKey::Thread(process, thread) => self.thread(process, thread),
            LaneKey::Stream(_, _, stream) => stream.get().map_or("Kernels".into(), |s| {
                let stream = &self.trace.streams[s];
                given(stream.name, stream.id, "Stream")
            }),
            LaneKey::Queue(_, _, queue) => queue.get().map_or("Kernels".into(), |q| {
                let queue = &self.trace.queues[q];
                given(queue.name, queue.id, "Queue")
            }),
            LaneKey::Copies(..) => "Copies".into(),
            LaneKey::Allocations(..) => "Allocations".into(),
            LaneKey::Waits(_, stream) => match stream.get() {
                Some(s) => format!("Waits of stream {}", self.trace.streams[s].id),
                None => "Waits".into(),
            },
        };
        if lane.beside == 0 { name } else { format!("{name} ({})", lane.beside + 1) }
    }
}
