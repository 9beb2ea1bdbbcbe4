//! Global definitions: names, machines, processes, devices, regions, metrics and locations.

use std::io;
use std::path::PathBuf;

use trace::{AgentId, Map, ProcessId, StrId, Trace};

use super::record::{Chunks, UNDEFINED, number, record, text};
use crate::timeline::{Lane, LaneKey, Names};

/// Chunk size of definitions.
pub(super) const CHUNK_SIZE: usize = 4 << 20;
/// Longer names are cut: a record must fit into a chunk.
const LONGEST_NAME: usize = 1 << 16;

/// Kinds of records.
mod kind {
    pub const CLOCK: u8 = 0x05;
    pub const STRING: u8 = 0x0a;
    pub const ATTRIBUTE: u8 = 0x0b;
    pub const TREE_NODE: u8 = 0x0c;
    pub const GROUP: u8 = 0x0d;
    pub const LOCATION: u8 = 0x0e;
    pub const REGION: u8 = 0x0f;
    pub const METRIC_MEMBER: u8 = 0x13;
    pub const METRIC_CLASS: u8 = 0x14;
}

/// Types of values.
pub(super) mod value {
    pub const INT64: u8 = 0x08;
    pub const DOUBLE: u8 = 0x0a;
    pub const STRING: u8 = 0x0b;
}

/// The role of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Role {
    Function = 0x01,
    DataTransfer = 0x1e,
    Allocate = 0x23,
    Deallocate = 0x24,
}

/// The programming model of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum Paradigm {
    Unknown = 0x00,
    User = 0x01,
    Hip = 0x17,
}

/// The kind of a location.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(super) enum LocationKind {
    Thread = 0x01,
    Stream = 0x02,
    Metric = 0x03,
}

/// Kinds of location groups.
const PROCESS: u8 = 0x01;
const ACCELERATOR: u8 = 0x02;

/// Definitions, written on first use.
pub(super) struct Definitions<'a> {
    trace: &'a Trace,
    names: Names<'a>,
    chunks: Chunks,
    count: u64,
    texts: Map<String, u64>,
    /// References of the trace's strings; `u64::MAX` if there is none yet.
    strings: Vec<u64>,
    nodes: Map<StrId, u64>,
    groups: Map<(ProcessId, AgentId), u64>,
    regions: Map<(StrId, Role, Paradigm), u64>,
    attributes: Map<(StrId, u8), u64>,
    attribute_count: u64,
    metrics: Map<(StrId, StrId), u64>,
    locations: u64,
    /// Number of names that had to be cut.
    pub cut: u64,
    body: Vec<u8>,
}

impl<'a> Definitions<'a> {
    pub fn new(trace: &'a Trace, path: PathBuf) -> io::Result<Self> {
        let mut definitions = Self {
            trace,
            names: Names::of(trace),
            chunks: Chunks::new(path, CHUNK_SIZE),
            count: 0,
            texts: Map::default(),
            strings: vec![u64::MAX; trace.strings.len()],
            nodes: Map::default(),
            groups: Map::default(),
            regions: Map::default(),
            attributes: Map::default(),
            attribute_count: 0,
            metrics: Map::default(),
            locations: 0,
            cut: 0,
            body: Vec::new(),
        };
        definitions.clock()?;
        definitions.text("")?;
        Ok(definitions)
    }

    /// Definitions so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Locations so far.
    pub fn locations(&self) -> u64 {
        self.locations
    }

    /// Writes the rest; returns the size of the file.
    pub fn finish(&mut self) -> io::Result<u64> {
        self.chunks.finish()
    }

    fn define(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.body.clear();
        fill(&mut self.body);
        let (chunk, _) = self.chunks.room(self.body.len() + 10)?;
        record(chunk, kind, &self.body);
        self.count += 1;
        Ok(())
    }

    fn clock(&mut self) -> io::Result<()> {
        let (first, last) = self.trace.span().unwrap_or((0, 0));
        let (first, last) = (first.max(0), last.max(0));
        self.define(kind::CLOCK, |out| {
            number(out, 1_000_000_000);
            number(out, first as u64);
            number(out, (last - first) as u64);
            // The wall-clock time of the first event is unknown.
            out.push(UNDEFINED);
        })
    }

    /// The reference of a string.
    pub fn text(&mut self, wanted: &str) -> io::Result<u64> {
        if let Some(&known) = self.texts.get(wanted) {
            return Ok(known);
        }
        let reference = self.texts.len() as u64;
        self.texts.insert(wanted.to_string(), reference);
        let mut end = wanted.len().min(LONGEST_NAME);
        while !wanted.is_char_boundary(end) {
            end -= 1;
        }
        self.cut += u64::from(end < wanted.len());
        self.define(kind::STRING, |out| {
            number(out, reference);
            text(out, &wanted[..end]);
        })?;
        Ok(reference)
    }

    /// The reference of one of the trace's strings.
    #[inline]
    pub fn string(&mut self, id: StrId) -> io::Result<u64> {
        match self.strings[id.0 as usize] {
            u64::MAX => {
                let reference = self.text(self.trace.strings.get(id))?;
                self.strings[id.0 as usize] = reference;
                Ok(reference)
            }
            known => Ok(known),
        }
    }

    /// The reference of a region.
    pub fn region(&mut self, name: StrId, role: Role, paradigm: Paradigm) -> io::Result<u64> {
        if let Some(&known) = self.regions.get(&(name, role, paradigm)) {
            return Ok(known);
        }
        let reference = self.regions.len() as u64;
        let text = self.string(name)?;
        self.define(kind::REGION, |out| {
            number(out, reference);
            number(out, text);
            out.push(0);
            number(out, 0);
            out.push(UNDEFINED);
            number(out, 0);
            number(out, 0);
            number(out, text);
            out.push(role as u8);
            out.push(paradigm as u8);
            number(out, 0);
        })?;
        self.regions.insert((name, role, paradigm), reference);
        Ok(reference)
    }

    /// The reference of an attribute of events.
    pub fn attribute(&mut self, name: StrId, value: u8) -> io::Result<u64> {
        if let Some(&known) = self.attributes.get(&(name, value)) {
            return Ok(known);
        }
        let text = self.string(name)?;
        let reference = self.new_attribute(text, 0, value)?;
        self.attributes.insert((name, value), reference);
        Ok(reference)
    }

    /// Defines an attribute that is not in the trace.
    pub fn own_attribute(&mut self, name: &str, description: &str, value: u8) -> io::Result<u64> {
        let (text, description) = (self.text(name)?, self.text(description)?);
        self.new_attribute(text, description, value)
    }

    fn new_attribute(&mut self, text: u64, description: u64, value: u8) -> io::Result<u64> {
        let reference = self.attribute_count;
        self.attribute_count += 1;
        self.define(kind::ATTRIBUTE, |out| {
            number(out, reference);
            number(out, text);
            out.push(value);
            number(out, description);
        })?;
        Ok(reference)
    }

    /// The reference of a metric with one member.
    pub fn metric(&mut self, name: StrId, unit: StrId) -> io::Result<u64> {
        if let Some(&known) = self.metrics.get(&(name, unit)) {
            return Ok(known);
        }
        let reference = self.metrics.len() as u64;
        let (name_text, unit_text) = (self.string(name)?, self.string(unit)?);
        const OTHER: u8 = 0;
        const ABSOLUTE_POINT: u8 = 0x11;
        const DECIMAL: u8 = 1;
        self.define(kind::METRIC_MEMBER, |out| {
            number(out, reference);
            number(out, name_text);
            number(out, 0);
            out.extend_from_slice(&[OTHER, ABSOLUTE_POINT, value::DOUBLE, DECIMAL]);
            number(out, 0);
            number(out, unit_text);
        })?;
        const ASYNCHRONOUS: u8 = 2;
        self.define(kind::METRIC_CLASS, |out| {
            number(out, reference);
            out.push(1);
            number(out, reference);
            out.extend_from_slice(&[ASYNCHRONOUS, 0]);
        })?;
        self.metrics.insert((name, unit), reference);
        Ok(reference)
    }

    /// The machine that a process ran on.
    fn node(&mut self, process: ProcessId) -> io::Result<u64> {
        let host = process.get().map_or(StrId::EMPTY, |p| self.trace.processes[p].hostname);
        if let Some(&known) = self.nodes.get(&host) {
            return Ok(known);
        }
        let reference = self.nodes.len() as u64;
        let name = if host.is_empty() { self.text("host")? } else { self.string(host)? };
        let class = self.text("node")?;
        self.define(kind::TREE_NODE, |out| {
            number(out, reference);
            number(out, name);
            number(out, class);
            out.push(UNDEFINED);
        })?;
        self.nodes.insert(host, reference);
        Ok(reference)
    }

    /// The group of a process's threads, or of a device's streams.
    fn group(&mut self, process: ProcessId, agent: AgentId) -> io::Result<u64> {
        if let Some(&known) = self.groups.get(&(process, agent)) {
            return Ok(known);
        }
        let (name, kind, creator) = if agent.is_some() {
            (self.names.agent(agent), ACCELERATOR, Some(self.group(process, AgentId::NONE)?))
        } else {
            (self.names.process(process), PROCESS, None)
        };
        let (name, node) = (self.text(&name)?, self.node(process)?);
        let reference = self.groups.len() as u64;
        self.define(kind::GROUP, |out| {
            number(out, reference);
            number(out, name);
            out.push(kind);
            number(out, node);
            match creator {
                Some(creator) => number(out, creator),
                None => out.push(UNDEFINED),
            }
        })?;
        self.groups.insert((process, agent), reference);
        Ok(reference)
    }

    /// Defines the location of a lane and the number of its events.
    pub fn lane(&mut self, number: u64, lane: &Lane, events: u64) -> io::Result<()> {
        let name = self.names.lane(lane);
        let (kind, agent) = match lane.place {
            LaneKey::Thread(..) => (LocationKind::Thread, AgentId::NONE),
            place => (LocationKind::Stream, place.agent().unwrap_or(AgentId::NONE)),
        };
        self.location(number, &name, kind, (lane.place.process(), agent), events)
    }

    /// Defines the location of the samples of a device or process.
    pub fn samples(&mut self, number: u64, whose: (ProcessId, AgentId), events: u64) -> io::Result<()> {
        self.location(number, "Samples", LocationKind::Metric, whose, events)
    }

    fn location(
        &mut self,
        reference: u64,
        name: &str,
        kind: LocationKind,
        (process, agent): (ProcessId, AgentId),
        events: u64,
    ) -> io::Result<()> {
        let (name, group) = (self.text(name)?, self.group(process, agent)?);
        self.locations += 1;
        self.define(kind::LOCATION, |out| {
            number(out, reference);
            number(out, name);
            out.push(kind as u8);
            number(out, events);
            number(out, group);
        })
    }
}
