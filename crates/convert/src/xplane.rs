//! `.xplane.pb`: a trace as an XSpace of JAX's profiler. For tests and simulated runs.
//!
//! ```text
//! /device:GPU:N ─ a line per stream ─ kernels, copies, fills with their HLO op and module
//! /host:CPU ───── a line per thread ─ calls, annotations, Python frames
//! ```
//!
//! The op of a kernel is the framework's op around its launch. Ops themselves are not events, as in JAX's own
//! files. Times are picoseconds from the start of a line. A plane is held in memory until its length is
//! known.

use std::io::{self, Write};
use std::path::Path;

use files::OutputFile;
use trace::{
    AgentId, AgentKind, CopyKind, Graph, LaunchShape, Map, ProcessId, StrId, StreamId, ThreadId, Trace,
};

use crate::protobuf::{bytes, double, int, message, uint};

/// The name of the program that all ops belong to.
const MODULE: &str = "jit_step";

/// Writes a finished trace, and returns the size of the file. Counters, samples and allocations are left out.
pub fn write(trace: &Trace, target: &Path) -> io::Result<u64> {
    let mut file = OutputFile::create(target)?;
    let ops = Ops::of(trace);
    let mut number = 1;
    let mut add = |plane: Plane| -> io::Result<u64> {
        let mut encoded = Vec::new();
        bytes(&mut encoded, 1, &plane.encode(number));
        number += 1;
        file.write_all(&encoded)?;
        Ok(encoded.len() as u64)
    };
    let mut written = 0;
    for agent in (0..trace.agents.len()).filter(|&agent| trace.agents[agent].kind == AgentKind::Gpu) {
        written += add(gpu(trace, AgentId::at(agent), &ops))?;
    }
    written += add(host(trace))?;
    written += add(environment(trace))?;
    file.commit()?;
    Ok(written)
}

/// Strings of a plane by number, in order of first use.
#[derive(Default)]
struct Texts {
    numbers: Map<String, u64>,
    all: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.all.push(text.to_string());
        self.numbers.insert(text.to_string(), self.all.len() as u64);
        self.all.len() as u64
    }

    /// Writes them as a table: number and entry, which repeats the number and has the text.
    fn encode(&self, out: &mut Vec<u8>, field: u32) {
        for (number, text) in (1..).zip(&self.all) {
            message(out, field, |out| {
                uint(out, 1, number);
                message(out, 2, |out| {
                    uint(out, 1, number);
                    bytes(out, 2, text.as_bytes());
                });
            });
        }
    }
}

/// A plane under construction.
struct Plane {
    name: String,
    lines: Vec<u8>,
    events: Texts,
    stats: Texts,
    facts: Vec<u8>,
    /// Names of events that were already used, by the trace's string id.
    known: Map<StrId, u64>,
}

/// The value of a stat.
enum Stat<'t> {
    Number(i64),
    Float(f64),
    /// Text that is stored once in the plane.
    Text(&'t str),
}

/// One event of a line.
struct Event<'t> {
    name: u64,
    start: i64,
    end: i64,
    stats: Vec<(&'static str, Stat<'t>)>,
}

impl Plane {
    fn named(name: String) -> Self {
        Self {
            name,
            lines: Vec::new(),
            events: Texts::default(),
            stats: Texts::default(),
            facts: Vec::new(),
            known: Map::default(),
        }
    }

    fn event_name(&mut self, trace: &Trace, name: StrId) -> u64 {
        match self.known.get(&name) {
            Some(number) => *number,
            None => {
                let number = self.events.number(trace.strings.get(name));
                self.known.insert(name, number);
                number
            }
        }
    }

    fn fact(&mut self, name: &str, value: Stat) {
        let mut facts = std::mem::take(&mut self.facts);
        self.stat(&mut facts, 6, name, &value);
        self.facts = facts;
    }

    fn stat(&mut self, out: &mut Vec<u8>, field: u32, name: &str, value: &Stat) {
        let name = self.stats.number(name);
        let text = match value {
            Stat::Text(text) => self.stats.number(text),
            _ => 0,
        };
        message(out, field, |out| {
            uint(out, 1, name);
            match value {
                Stat::Number(number) => int(out, 4, *number),
                Stat::Float(number) => double(out, 2, *number),
                Stat::Text(_) => uint(out, 7, text),
            }
        });
    }

    /// Adds a line with its events, in time order.
    fn line(&mut self, id: i64, name: &str, events: &[Event]) {
        let Some(first) = events.first().map(|event| event.start) else { return };
        let mut line = Vec::with_capacity(events.len() * 48);
        int(&mut line, 1, id);
        bytes(&mut line, 2, name.as_bytes());
        int(&mut line, 3, first);
        let mut encoded = Vec::new();
        for event in events {
            encoded.clear();
            uint(&mut encoded, 1, event.name);
            int(&mut encoded, 2, (event.start - first) * 1000);
            int(&mut encoded, 3, (event.end - event.start) * 1000);
            for (name, value) in &event.stats {
                self.stat(&mut encoded, 4, name, value);
            }
            bytes(&mut line, 4, &encoded);
        }
        bytes(&mut self.lines, 3, &line);
    }

    fn encode(self, number: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.lines.len() + (64 << 10));
        uint(&mut out, 1, number);
        bytes(&mut out, 2, self.name.as_bytes());
        out.extend_from_slice(&self.lines);
        self.events.encode(&mut out, 4);
        self.stats.encode(&mut out, 5);
        out.extend_from_slice(&self.facts);
        out
    }
}

/// The framework's op around each launch, by process and correlation id.
struct Ops(Map<(ProcessId, i64), StrId>);

impl Ops {
    fn of(trace: &Trace) -> Self {
        let regions = &trace.regions;
        let is_op = trace.strings.find("cpu_op");
        let mut by_external: Map<(ProcessId, i64), StrId> = Map::default();
        for row in 0..regions.len() {
            if let (true, Some(id)) = (Some(regions.category[row]) == is_op, regions.external[row].get()) {
                by_external.insert((regions.process[row], id), regions.name[row]);
            }
        }
        let mut ops = Map::default();
        for row in 0..regions.len() {
            let op = regions.external[row].get().and_then(|id| by_external.get(&(regions.process[row], id)));
            if let (Some(op), true) = (op, regions.correlation[row] != 0) {
                ops.insert((regions.process[row], regions.correlation[row]), *op);
            }
        }
        Self(ops)
    }

    /// Op and module of GPU work, as stats.
    fn stats<'t>(
        &self,
        trace: &'t Trace,
        process: ProcessId,
        correlation: i64,
    ) -> Vec<(&'static str, Stat<'t>)> {
        let mut stats = vec![("correlation_id", Stat::Number(correlation))];
        if let Some(op) = self.0.get(&(process, correlation)) {
            stats.push(("hlo_op", Stat::Text(trace.strings.get(*op))));
            stats.push(("hlo_module", Stat::Text(MODULE)));
        }
        stats
    }
}

/// The plane of one GPU.
fn gpu(trace: &Trace, agent: AgentId, ops: &Ops) -> Plane {
    let about = &trace.agents[agent.0 as usize];
    let index = about.absolute_index.get().or(about.type_index.get()).unwrap_or(i64::from(agent.0));
    let mut plane = Plane::named(format!("/device:GPU:{index}"));
    plane.fact("device_vendor", Stat::Text("AMD"));
    plane.fact("gpu_device_name", Stat::Text(trace.strings.get(about.product)));
    if let Some((major, minor)) = capability(trace.strings.get(about.name)) {
        plane.fact("compute_cap_major", Stat::Number(major));
        plane.fact("compute_cap_minor", Stat::Number(minor));
    }
    for (key, value) in [("core_count", about.compute_units), ("memory_size", about.memory_bytes)] {
        if let Some(value) = value.get() {
            plane.fact(key, Stat::Number(value));
        }
    }
    let shapes: Vec<String> = trace.shapes.iter().map(kernel_details).collect();
    let copies = copy_details(trace);
    let mut lines: Map<StreamId, Vec<Event>> = Map::default();
    let kernels = &trace.kernels;
    for row in (0..kernels.len()).filter(|&row| kernels.agent[row] == agent) {
        let mut stats = ops.stats(trace, kernels.process[row], kernels.correlation[row]);
        let details = shapes.get(kernels.shape[row].0 as usize).filter(|text| !text.is_empty());
        stats.push(("kernel_details", Stat::Text(details.map_or("occ_pct:0", String::as_str))));
        if kernels.graph[row] == Graph::Replayed {
            stats.push(("hip_graph_id", Stat::Number(1)));
        }
        let name = plane.event_name(trace, kernels.name[row]);
        let event = Event { name, start: kernels.start[row], end: kernels.end[row], stats };
        lines.entry(kernels.stream[row]).or_default().push(event);
    }
    let moved = &trace.memory_copies;
    for (row, details) in copies.iter().enumerate() {
        let gpus = [moved.dst[row], moved.src[row]];
        let is_gpu = |agent: &&AgentId| agent.get().is_some_and(|a| trace.agents[a].kind == AgentKind::Gpu);
        if gpus.iter().find(is_gpu) != Some(&agent) {
            continue;
        }
        let mut stats = ops.stats(trace, moved.process[row], moved.correlation[row]);
        stats.push(match moved.kind[row] {
            CopyKind::Fill => ("memset_details", Stat::Text(details)),
            _ => ("memcpy_details", Stat::Text(details)),
        });
        if moved.graph[row] == Graph::Replayed {
            stats.push(("hip_graph_id", Stat::Number(1)));
        }
        let name = plane.event_name(trace, moved.name[row]);
        let event = Event { name, start: moved.start[row], end: moved.end[row], stats };
        lines.entry(moved.stream[row]).or_default().push(event);
    }
    let mut lines: Vec<(i64, Vec<Event>)> = lines
        .into_iter()
        .map(|(stream, events)| (stream.get().map_or(0, |stream| trace.streams[stream].id), events))
        .collect();
    lines.sort_by_key(|(id, _)| *id);
    for (id, mut events) in lines {
        events.sort_by_key(|event| (event.start, event.end));
        plane.line(id, &format!("Stream #{id}(Compute)"), &events);
    }
    plane
}

/// `gfx942` as 9.4, the profiler's notation.
fn capability(architecture: &str) -> Option<(i64, i64)> {
    let digits = architecture.strip_prefix("gfx")?.as_bytes();
    let (major, rest) = digits.split_at(digits.len().checked_sub(2)?);
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    Some((number(major)?, number(&rest[..1])?))
}

/// Grid in workgroups, the profiler's unit.
fn kernel_details(shape: &LaunchShape) -> String {
    let (Some(grid), Some(block)) = (shape.grid, shape.workgroup) else { return String::new() };
    let groups = [0, 1, 2].map(|axis| grid[axis].div_ceil(block[axis].max(1)));
    let three = |numbers: [u32; 3]| format!("{},{},{}", numbers[0], numbers[1], numbers[2]);
    format!("regs:0 static_shared:0 dynamic_shared:0 grid:{} block:{} occ_pct:0", three(groups), three(block))
}

fn copy_details(trace: &Trace) -> Vec<String> {
    let moved = &trace.memory_copies;
    let details = (0..moved.len()).map(|row| {
        let size = moved.bytes[row].get().unwrap_or(0);
        match moved.kind[row] {
            CopyKind::Fill => format!("kind:Unknown num_bytes:{size} async:1"),
            _ => format!("kind:Unknown size:{size} dest:0 async:1"),
        }
    });
    details.collect()
}

/// The plane of the host's threads.
fn host(trace: &Trace) -> Plane {
    let mut plane = Plane::named("/host:CPU".into());
    if let Some(process) = trace.processes.first() {
        plane.fact("process_id", Stat::Number(process.pid));
    }
    let regions = &trace.regions;
    let category = |name: &str| trace.strings.find(name);
    let (op, frame) = (category("cpu_op"), category("python_function"));
    let mut frames: Map<StrId, u64> = Map::default();
    let mut lines: Map<ThreadId, Vec<Event>> = Map::default();
    // GPU annotations repeat those of the host and have no thread.
    let is_host = |&row: &usize| Some(regions.category[row]) != op && regions.thread[row].get().is_some();
    for row in (0..regions.len()).filter(is_host) {
        let name = regions.name[row];
        let number = if Some(regions.category[row]) == frame {
            *frames.entry(name).or_insert_with(|| plane.events.number(&frame_name(trace.strings.get(name))))
        } else {
            plane.event_name(trace, name)
        };
        let correlation = regions.correlation[row];
        let stats = match correlation {
            0 => Vec::new(),
            id => vec![("correlation_id", Stat::Number(id))],
        };
        let event = Event { name: number, start: regions.start[row], end: regions.end[row], stats };
        lines.entry(regions.thread[row]).or_default().push(event);
    }
    let mut lines: Vec<(ThreadId, Vec<Event>)> = lines.into_iter().collect();
    lines.sort_by_key(|(thread, _)| *thread);
    for (thread, events) in lines {
        let about = thread.get().map(|thread| &trace.threads[thread]);
        let tid = about.map_or(0, |thread| thread.tid);
        let name = about.map_or("", |thread| trace.strings.get(thread.name));
        let name = if name.is_empty() { "python" } else { name };
        plane.line(tid, &format!("{name}/{tid}"), &events);
    }
    plane
}

/// `file.py(12): function` in the profiler's notation: `$file.py:12 function`.
fn frame_name(name: &str) -> String {
    let parts = name.split_once("): ").and_then(|(place, function)| {
        let (file, line) = place.rsplit_once('(')?;
        Some(format!("${file}:{line} {function}"))
    });
    parts.unwrap_or_else(|| format!("${name}"))
}

/// Start and end of the profile.
fn environment(trace: &Trace) -> Plane {
    let mut plane = Plane::named("Task Environment".into());
    if let Some((first, last)) = trace.span() {
        plane.fact("profile_start_time", Stat::Number(first));
        plane.fact("profile_stop_time", Stat::Number(last));
        plane.fact("profile_seconds", Stat::Float((last - first) as f64 / 1e9));
    }
    plane
}
