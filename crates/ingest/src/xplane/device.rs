//! GPU planes: every event of a stream line is a kernel, a copy or a fill.

use trace::{
    Agent, AgentId, AgentKind, CopyKind, Graph, Kernel, Map, MemoryCopy, OptI64, ShapeId, StrId, Stream,
    StreamId,
};

use super::ops::{self, Op};
use super::plane::{ByNumber, Line, Plane, Stat};
use super::{Reader, details};
use crate::times::are_believable;

/// The stats of an event.
#[derive(Default)]
struct Facts<'a> {
    correlation: i64,
    kernel: Option<&'a str>,
    copy: Option<&'a str>,
    fill: Option<&'a str>,
    op: &'a str,
    module: &'a str,
    path: &'a str,
    graph: bool,
}

/// The meaning of a stat.
#[derive(Clone, Copy, Default)]
enum Key {
    Correlation,
    Kernel,
    Copy,
    Fill,
    Op,
    Module,
    Path,
    TfOp,
    Graph,
    #[default]
    Other,
}

impl Key {
    fn of(name: Option<&str>) -> Self {
        match name.unwrap_or_default() {
            "correlation_id" => Key::Correlation,
            "kernel_details" => Key::Kernel,
            "memcpy_details" => Key::Copy,
            "memset_details" => Key::Fill,
            "hlo_op" => Key::Op,
            "hlo_module" => Key::Module,
            "name" => Key::Path,
            "tf_op" => Key::TfOp,
            "cuda_graph_id" | "hip_graph_id" => Key::Graph,
            _ => Key::Other,
        }
    }
}

impl<'a> Facts<'a> {
    #[inline]
    fn take(&mut self, key: Key, value: Stat<'a>) {
        match (key, value) {
            (Key::Correlation, Stat::Number(id)) => self.correlation = id,
            (Key::Kernel, Stat::Text(text)) => self.kernel = Some(text),
            (Key::Copy, Stat::Text(text)) => self.copy = Some(text),
            (Key::Fill, Stat::Text(text)) => self.fill = Some(text),
            (Key::Op, Stat::Text(text)) => self.op = text,
            (Key::Module, Stat::Text(text)) => self.module = text,
            (Key::Path, Stat::Text(text)) => self.path = text,
            (Key::TfOp, Stat::Text(text)) if self.path.is_empty() => self.path = text,
            (Key::Graph, _) => self.graph = true,
            _ => {}
        }
    }
}

/// The kind of a piece of GPU work.
enum Work {
    Kernel,
    Copy,
    Fill,
}

impl Work {
    /// Decided by its details; without any, by the words of its name.
    fn of(name: &str, facts: &Facts) -> Self {
        let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
        match (facts.fill, facts.copy, facts.kernel) {
            (Some(_), _, _) => Work::Fill,
            (_, Some(_), _) => Work::Copy,
            (_, _, Some(_)) => Work::Kernel,
            _ if starts(&["Memset", "FillBuffer", "MemorySet"]) => Work::Fill,
            _ if starts(&["Memcpy", "CopyDeviceTo", "CopyHostTo", "MemcpyD2", "MemcpyH2"]) => Work::Copy,
            _ => Work::Kernel,
        }
    }
}

/// Where the work of a line runs.
struct DeviceStream {
    agent: AgentId,
    stream: StreamId,
    is_amd: bool,
}

impl Reader<'_> {
    pub(super) fn device(&mut self, plane: &Plane) {
        let facts: Map<&str, Stat> = plane.facts().collect();
        let number = |key: &str| facts.get(key).and_then(|value| value.number());
        let vendor = facts.get("device_vendor").and_then(|value| value.words()).unwrap_or_default();
        let is_amd = vendor.eq_ignore_ascii_case("AMD");
        let product = facts.get("gpu_device_name").and_then(|value| value.words()).unwrap_or_default();
        let optional = |value: Option<i64>| value.map_or(OptI64::NONE, OptI64::some);
        let index = optional(plane.gpu());
        let agent = Agent {
            process: self.process,
            kind: AgentKind::Gpu,
            absolute_index: index,
            logical_index: index,
            type_index: index,
            name: self.trace.strings.intern(&architecture(is_amd, &number)),
            product: self.trace.strings.intern(product),
            compute_units: optional(number("core_count")),
            memory_bytes: optional(number("memory_size")),
            ..Agent::default()
        };
        let agent = self.trace.add_agent(agent);
        let keys = plane.texts.map(Key::of);
        for line in plane.lines().filter(is_stream) {
            let name = self.trace.strings.intern(line.name);
            let id = stream_number(line.name).unwrap_or(line.id);
            // Streams of two GPUs may have equal numbers but are different streams.
            let stream = self.trace.add_stream(Stream { process: self.process, id, name });
            self.stream(plane, &keys, &line, DeviceStream { agent, stream, is_amd });
        }
    }

    fn stream(&mut self, plane: &Plane, keys: &ByNumber<Key>, line: &Line, place: DeviceStream) {
        let DeviceStream { agent, stream, is_amd } = place;
        let mut names: ByNumber<Option<StrId>> = ByNumber::default();
        let mut shapes: Map<&str, ShapeId> = Map::default();
        let mut ops: Map<Op, ops::OpNames> = Map::default();
        for event in line.events() {
            let Some(text) = plane.events.get(event.name) else {
                self.damaged += 1;
                continue;
            };
            let name = names.get(event.name).unwrap_or_else(|| {
                let name = self.trace.strings.intern(text);
                names.set(event.name, Some(name));
                name
            });
            let Some(event) = line.timed(event) else { continue };
            let mut facts = Facts::default();
            plane.stats(&event).for_each(|(name, value)| facts.take(keys.get(name), value));
            let (start, end) = (event.start, event.end);
            if !are_believable(start, end) {
                self.timeless += 1;
                continue;
            }
            let graph = if facts.graph { Graph::Replayed } else { Graph::Unknown };
            let mut op = StrId::EMPTY;
            if !facts.op.is_empty() {
                let key = Op { op: facts.op, module: facts.module, path: facts.path };
                let named = *ops.entry(key).or_insert_with_key(|op| op.named(&mut self.trace.strings));
                self.ops.push(ops::Launched { correlation: facts.correlation, named, start });
                op = named.plain;
            }
            match Work::of(text, &facts) {
                Work::Kernel if self.needs.kernels => {
                    let shape = match facts.kernel.filter(|_| self.needs.shapes) {
                        None => ShapeId::default(),
                        Some(details) => *shapes
                            .entry(details)
                            .or_insert_with(|| self.trace.shapes.intern(details::shape(details, is_amd))),
                    };
                    self.trace.kernels.push(Kernel {
                        name,
                        start,
                        end,
                        process: self.process,
                        agent,
                        stream,
                        correlation: facts.correlation,
                        shape,
                        region: op,
                        graph,
                        ..Kernel::default()
                    });
                }
                kind @ (Work::Copy | Work::Fill) if self.needs.memory_copies => {
                    let (kind, details) = match kind {
                        Work::Fill => (CopyKind::Fill, facts.fill),
                        _ => (CopyKind::Copy, facts.copy),
                    };
                    let (bytes, _) = details.map(details::copy).unwrap_or_default();
                    self.trace.memory_copies.push(MemoryCopy {
                        name,
                        kind,
                        start,
                        end,
                        bytes: bytes.map_or(OptI64::NONE, OptI64::some),
                        process: self.process,
                        src: agent,
                        dst: agent,
                        stream,
                        correlation: facts.correlation,
                        graph,
                        ..MemoryCopy::default()
                    });
                }
                _ => {}
            }
        }
    }
}

/// Lines of steps, modules and ops repeat the contents of streams.
fn is_stream(line: &Line) -> bool {
    line.name.starts_with("Stream #") || line.name.starts_with("Context #")
}

/// `Stream #8(MemcpyOther)`
fn stream_number(name: &str) -> Option<i64> {
    let rest = &name[name.find("Stream #")? + "Stream #".len()..];
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// The profiler writes an AMD architecture as 9.4 without its stepping; 9.4 and 9.5 each have one product line today.
fn architecture(is_amd: bool, number: &dyn Fn(&str) -> Option<i64>) -> String {
    match (number("compute_cap_major"), number("compute_cap_minor")) {
        (Some(major), Some(minor)) if !is_amd => format!("sm_{major}{minor}"),
        (Some(9), Some(4)) => "gfx942".into(),
        (Some(9), Some(5)) => "gfx950".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_known_by_their_number() {
        assert_eq!(stream_number("Stream #8(MemcpyOther)"), Some(8));
        assert_eq!(stream_number("Context #1 Stream #14(Compute)"), Some(14));
        assert_eq!(stream_number("XLA Ops"), None);
    }
}
