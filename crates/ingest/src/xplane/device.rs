//! GPU planes: every event of a stream line is a kernel, a copy or a fill.

use trace::{
    Agent, AgentId, AgentKind, CopyKind, Graph, Kernel, Map, MemoryCopy, OptI64, ShapeId, StrId, Stream,
    StreamId,
};

use super::plane::{Line, Plane, Stat};
use super::{Reader, details, ops};

/// What the stats of an event say.
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

impl<'a> Facts<'a> {
    fn take(&mut self, name: &str, value: Stat<'a>) {
        match (name, value) {
            ("correlation_id", Stat::Number(id)) => self.correlation = id,
            ("kernel_details", Stat::Text(text)) => self.kernel = Some(text),
            ("memcpy_details", Stat::Text(text)) => self.copy = Some(text),
            ("memset_details", Stat::Text(text)) => self.fill = Some(text),
            ("hlo_op", Stat::Text(text)) => self.op = text,
            ("hlo_module", Stat::Text(text)) => self.module = text,
            ("name", Stat::Text(text)) => self.path = text,
            ("tf_op", Stat::Text(text)) if self.path.is_empty() => self.path = text,
            ("cuda_graph_id" | "hip_graph_id", _) => self.graph = true,
            _ => {}
        }
    }
}

/// What a piece of GPU work is.
enum Work {
    Kernel,
    Copy,
    Fill,
}

impl Work {
    /// Told by its details; by the words of its name where there are none.
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
        for line in plane.lines().filter(is_stream) {
            let name = self.trace.strings.intern(line.name);
            let id = stream_number(line.name).unwrap_or(line.id);
            // Streams of two GPUs have equal numbers and are two streams.
            let stream = self.trace.add_stream(Stream { process: self.process, id, name });
            self.stream(plane, &line, agent, stream, is_amd);
        }
    }

    fn stream(&mut self, plane: &Plane, line: &Line, agent: AgentId, stream: StreamId, is_amd: bool) {
        let mut names: Map<u64, StrId> = Map::default();
        let mut shapes: Map<&str, ShapeId> = Map::default();
        for event in line.events().filter(|event| !event.is_sum) {
            let Some(text) = plane.events.get(&event.name) else {
                self.damaged += 1;
                continue;
            };
            let name = *names.entry(event.name).or_insert_with(|| self.trace.strings.intern(text));
            let mut facts = Facts::default();
            plane.stats(event).for_each(|(name, value)| facts.take(name, value));
            let (start, end) = line.times(&event);
            let graph = if facts.graph { Graph::Replayed } else { Graph::Unknown };
            if !facts.op.is_empty() {
                self.ops.push(ops::Launched::of(&facts_of(&facts), &mut self.trace.strings, start));
            }
            let op = if facts.op.is_empty() { StrId::EMPTY } else { self.trace.strings.intern(facts.op) };
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

fn facts_of<'a>(facts: &Facts<'a>) -> ops::Op<'a> {
    ops::Op { correlation: facts.correlation, op: facts.op, module: facts.module, path: facts.path }
}

/// Lines of steps, modules and ops repeat what streams hold.
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
