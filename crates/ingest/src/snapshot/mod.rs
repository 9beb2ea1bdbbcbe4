//! `.pickle`: memory snapshots of torch (`torch.cuda.memory._dump_snapshot`).
//!
//! ```text
//! bytes ─► pickle machine (data only) ─► dictionaries told by their keys ─► events, segments, blocks, distinct stacks
//! ```
//!
//! Nothing in the file is ever called: an opcode that names or calls anything ends the read with an error
//! that names it. The file is read through a window and folded as it arrives, so memory use follows the
//! number of events, not the file size.

mod pickle;
mod rows;
mod value;
mod values;

use trace::{
    Agent, AgentId, AgentKind, Map, Needs, OptI64, Process, ProcessId, Region, Source, Stacks, Status,
    Stream, Thread, Trace,
};

use self::pickle::{Fill, Stop};
use self::rows::{Annotation, KEYS};
use self::value::Value;
use self::values::Values;
use crate::bytes::{self, open_stream};
use crate::{Error, Input, Progress};

/// Category of the program parts that a snapshot names.
const ANNOTATION: &str = "user_annotation";

/// Devices beyond this are damage.
const MOST_DEVICES: i64 = 4096;

impl Fill for bytes::Stream<'_> {
    fn fill(&mut self, into: &mut [u8]) -> usize {
        self.fill_slice(into).0
    }
}

/// Reads a file.
pub fn read(input: &Input, _: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let mut stream = open_stream(&input.path, progress)?;
    let mut values = Values::new();
    let ended = pickle::run(&mut stream, &mut values);
    values.finish();
    let path = || input.path.clone();
    let early = match ended {
        Ok(()) => None,
        Err(Stop::Refused { opcode, asks, at }) => {
            return Err(Error::Refused { path: path(), asks, opcode, at });
        }
        Err(Stop::Cut) => Some(stream.damage.take().unwrap_or_else(|| "the file is cut off".into())),
        Err(Stop::Malformed { why, at }) => Some(format!("at byte {at}, {why}")),
    };
    let rows = &values.rows;
    let nothing = rows.events.is_empty() && rows.segments.is_empty();
    if nothing && (early.is_some() || !rows.has_segments && rows.device_traces.is_none()) {
        return Err(match early {
            Some(why) => Error::Damaged { path: path(), format: "a memory snapshot", why },
            None => {
                let why = "it is a Python pickle, but not a memory snapshot of torch".into();
                Error::NotATrace { path: path(), why }
            }
        });
    }
    let mut trace = into_trace(values, input);
    if let Some(why) = early {
        let message = format!(
            "`{}` stops early ({why}): {} events and {} segments were read",
            input.path.display(),
            trace.allocator_events.len(),
            trace.allocator_segments.len()
        );
        trace.health.report("truncated", Status::Warn, None, message);
    }
    Ok(trace)
}

/// Whether the first bytes are those of a pickled snapshot; if not, why.
pub(crate) fn looks_like_snapshot(mut head: &[u8]) -> Result<(), String> {
    let has = |name: &str| head.windows(name.len()).any(|part| part == name.as_bytes());
    if ["segments", "device_traces", "segment_type"].into_iter().any(has) {
        return Ok(());
    }
    match pickle::run(&mut head, &mut Values::new()) {
        Err(Stop::Refused { opcode, asks, at }) => {
            Err(format!("a Python pickle that loads {asks} ({opcode} at byte {at}); nothing was executed"))
        }
        _ => Err("a Python pickle, but not a memory snapshot of torch".into()),
    }
}

/// Whether a file begins like a pickle that this reader supports.
pub(crate) fn is_pickle(head: &[u8]) -> bool {
    matches!(head, [0x80, protocol, ..] if pickle::PROTOCOLS.contains(protocol))
}

fn into_trace(values: Values, input: &Input) -> Trace {
    let Values { strings, mut rows, frames, stack_frames, stack_ends, lists, .. } = values;
    let mut trace = Trace { strings, ..Trace::default() };
    let source = Source {
        bytes: input.bytes,
        // It has facts about a rank, but is not a timeline of one.
        role: Some("memory".into()),
        ..Source::named(&input.path.to_string_lossy(), input.format.name())
    };
    let source = trace.add_source(source);
    let guid = trace.strings.intern(&format!("snapshot-{:016x}", identity(&rows)));
    let process = trace.add_process(Process { guid, ppid: OptI64::NONE, ..Process::new(source, 0) });
    for &id in &rows.streams {
        trace.add_stream(Stream { process, id, ..Stream::default() });
    }
    let mut devices = Devices { agents: Map::default(), process };
    events(&mut rows, &lists, &mut devices, &mut trace);
    segments(&mut rows, &mut devices, &mut trace);
    annotations(&rows.annotations, process, &mut trace);
    for (key, value) in &rows.settings {
        let value = match value {
            Value::Int(number) => number.to_string(),
            Value::Text(text) => trace.strings.get(*text).to_string(),
            _ => continue,
        };
        trace.add_metadata(source, KEYS[*key as usize], &value);
    }
    if rows.damaged > 0 {
        let message = format!("{} dictionaries lack a required field", rows.damaged);
        trace.health.report("damaged_rows", Status::Warn, Some(rows.damaged as f64), message);
    }
    trace.allocator_events = rows.events;
    trace.allocator_segments = rows.segments;
    trace.allocator_blocks = rows.blocks;
    trace.stacks = Stacks::new(frames, stack_frames, stack_ends);
    trace
}

/// A number that is equal for equal recordings.
fn identity(rows: &rows::Rows) -> u64 {
    let mix =
        |hash: u64, value: i64| (hash ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    let events = rows.events.start.iter().chain(rows.segments.address.iter()).chain(&rows.segments.bytes);
    let addresses = rows.events.address.iter().filter_map(|address| address.get());
    addresses.fold(events.fold(0, |hash, value| mix(hash, *value)), mix)
}

/// The GPUs, created when first named.
struct Devices {
    agents: Map<i64, AgentId>,
    process: ProcessId,
}

impl Devices {
    fn agent(&mut self, device: i64, trace: &mut Trace) -> AgentId {
        if !(0..MOST_DEVICES).contains(&device) {
            return AgentId::NONE;
        }
        let process = self.process;
        *self.agents.entry(device).or_insert_with(|| {
            let index = OptI64::some(device);
            let kind = AgentKind::Gpu;
            trace.add_agent(Agent {
                process,
                kind,
                absolute_index: index,
                type_index: index,
                ..Agent::default()
            })
        })
    }
}

/// Events belong to the device whose list they are in.
fn events(rows: &mut rows::Rows, lists: &[Vec<Value>], devices: &mut Devices, trace: &mut Trace) {
    rows.events.process.fill(devices.process);
    let list = |value: Option<&Value>| match value {
        Some(Value::List(list)) => lists[*list as usize].as_slice(),
        _ => &[],
    };
    let traces = list(rows.device_traces.as_ref());
    // A truncated snapshot may have no list of devices around the first device's events.
    for (device, of_device) in traces.iter().enumerate() {
        let items = list(Some(of_device));
        if items.is_empty() {
            continue;
        }
        let agent = devices.agent(device as i64, trace);
        for item in items {
            if let Value::Event(row) = item {
                rows.events.agent[*row as usize] = agent;
            }
        }
    }
}

fn segments(rows: &mut rows::Rows, devices: &mut Devices, trace: &mut Trace) {
    rows.segments.process.fill(devices.process);
    rows.blocks.process.fill(devices.process);
    for segment in 0..rows.segments.len() {
        rows.segments.agent[segment] = devices.agent(rows.segment_device[segment], trace);
    }
    for block in 0..rows.blocks.len() {
        if let Some(segment) =
            Some(rows.block_segment[block] as usize).filter(|row| *row < rows.segments.len())
        {
            rows.blocks.segment[block] = rows.segments.address[segment];
            rows.blocks.agent[block] = rows.segments.agent[segment];
            rows.blocks.stream[block] = rows.segments.stream[segment];
        }
    }
    let lost = rows.block_segment.iter().filter(|segment| **segment == u32::MAX).count();
    if lost > 0 {
        let segments = std::mem::take(&mut rows.block_segment);
        rows.blocks.retain(|block| segments[block] != u32::MAX);
    }
}

/// Named parts of the program, from their starts and ends.
fn annotations(all: &[Annotation], process: ProcessId, trace: &mut Trace) {
    if all.is_empty() {
        return;
    }
    let thread = trace.add_thread(Thread { process, ..Thread::default() });
    let category = trace.strings.intern(ANNOTATION);
    let mut open: Vec<Annotation> = Vec::new();
    for annotation in all {
        if annotation.is_start {
            open.push(*annotation);
        } else if let Some(place) =
            open.iter().rposition(|start| (start.name, start.device) == (annotation.name, annotation.device))
        {
            let start = open.remove(place);
            let (name, start, end) = (start.name, start.at, annotation.at);
            trace.regions.push(Region { name, category, start, end, process, thread, ..Region::default() });
        }
    }
}
