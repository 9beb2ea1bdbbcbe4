//! The process and its devices.

use rapidhash::v3::rapidhash_v3;
use trace::{Agent, AgentId, AgentKind, Map, OptI64, Process, ProcessId, SourceId, Trace};

use super::record::{each, number};
use crate::json::{Cursor, Damage};

/// Creates the process of a `metadata` section.
pub(super) fn process(trace: &mut Trace, source: SourceId, section: &[u8]) -> ProcessId {
    let mut process = Process::new(source, 0);
    let mut json = Cursor::new(section);
    // Fields that are cut off stay unknown.
    let _ = read_metadata(&mut json, trace, &mut process);
    // rocprofv3 gives JSON results no guid; these facts distinguish any two recordings.
    let known = format!("{:?}{:?}{:?}", process.pid, process.start, process.end);
    let machine = trace.strings.get(process.machine);
    let guid = format!("json-{:016x}", rapidhash_v3(format!("{machine}/{known}").as_bytes()));
    process.guid = trace.strings.intern(&guid);
    trace.add_process(process)
}

fn read_metadata(json: &mut Cursor<'_>, trace: &mut Trace, process: &mut Process) -> Result<(), Damage> {
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"pid" => process.pid = number(json)?.unwrap_or(0),
            b"ppid" => process.ppid = number(json)?.into(),
            b"init_time" => process.start = number(json)?,
            b"fini_time" => process.end = number(json)?,
            b"command" => process.command = command(json, trace)?,
            b"node" if json.peek() == Some(b'{') => read_node(json, trace, process)?,
            b"config" => {
                let text = String::from_utf8_lossy(json.raw_value()?);
                trace.add_metadata(process.source, "config", &text);
            }
            _ => json.skip_value()?,
        }
    }
    Ok(())
}

fn command(json: &mut Cursor<'_>, trace: &mut Trace) -> Result<trace::StrId, Damage> {
    let mut words = Vec::new();
    if json.peek() == Some(b'"') {
        return Ok(trace.strings.intern(&json.string()?.text()));
    }
    let mut elements = json.array()?;
    while elements.next(json)? {
        words.push(json.string()?.text());
    }
    Ok(trace.strings.intern(&words.join(" ")))
}

fn read_node(json: &mut Cursor<'_>, trace: &mut Trace, process: &mut Process) -> Result<(), Damage> {
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"hash" => process.node = number(json)?.filter(|hash| *hash != 0).into(),
            b"machine_id" => process.machine = trace.strings.intern(&json.string()?.text()),
            b"hostname" => process.hostname = trace.strings.intern(&json.string()?.text()),
            b"system_name" | b"release" | b"version" | b"hardware_name" => {
                let text = json.string()?.text();
                trace.add_metadata(process.source, &key.text(), &text);
            }
            _ => json.skip_value()?,
        }
    }
    Ok(())
}

/// Devices by handle.
#[derive(Default)]
pub(super) struct Devices {
    by_handle: Map<i64, AgentId>,
}

impl Devices {
    /// Reads the `agents` section; damaged ones are counted.
    pub fn read(trace: &mut Trace, process: ProcessId, section: &[u8], damaged: &mut u64) -> Self {
        let mut by_handle = Map::default();
        *damaged += each(section, |json| {
            let start = json.pos();
            let (handle, agent) = device(json, trace)?;
            let extra = String::from_utf8_lossy(&json.bytes()[start..json.pos()]);
            let extra = trace.strings.intern(extra.trim());
            let id = trace.add_agent(Agent { process, extra, ..agent });
            if let Some(handle) = handle {
                by_handle.insert(handle, id);
            }
            Ok(())
        });
        Self { by_handle }
    }

    /// The device with a handle; if it is not described, only its handle is known.
    #[inline]
    pub fn get(
        &mut self,
        trace: &mut Trace,
        process: ProcessId,
        handle: Option<i64>,
        kind: AgentKind,
    ) -> AgentId {
        // A missing device is written as zero or as all ones.
        let Some(handle) = handle.filter(|handle| !matches!(handle, 0 | -1)) else { return AgentId::NONE };
        *self.by_handle.entry(handle).or_insert_with(|| {
            let extra = trace.strings.intern(&format!("{{\"handle\":{}}}", handle as u64));
            trace.add_agent(Agent { process, kind, extra, ..Agent::default() })
        })
    }
}

fn device(json: &mut Cursor<'_>, trace: &mut Trace) -> Result<(Option<i64>, Agent), Damage> {
    let (mut handle, mut agent) = (None, Agent::default());
    let (mut local, mut banks) = (None, None);
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"id" => handle = number(json)?,
            b"type" => agent.kind = device_kind(json.scalar()?),
            b"node_id" => agent.absolute_index = number(json)?.into(),
            b"logical_node_id" => agent.logical_index = number(json)?.into(),
            b"logical_node_type_id" => agent.type_index = number(json)?.into(),
            b"cu_count" => agent.compute_units = number(json)?.into(),
            b"name" => agent.name = trace.strings.intern(&json.string()?.text()),
            b"product_name" => agent.product = trace.strings.intern(&json.string()?.text()),
            b"local_mem_size" => local = number(json)?,
            b"mem_banks" => banks = bank_bytes(json.raw_value()?),
            _ => json.skip_value()?,
        }
    }
    if agent.kind != AgentKind::Gpu {
        agent.compute_units = OptI64::NONE;
    }
    agent.memory_bytes = local.filter(|bytes| *bytes > 0).or(banks).into();
    Ok((handle, agent))
}

fn device_kind(text: &[u8]) -> AgentKind {
    match text {
        b"1" | b"CPU" => AgentKind::Cpu,
        b"2" | b"GPU" => AgentKind::Gpu,
        b"3" | b"NIC" => AgentKind::Nic,
        _ => AgentKind::Unknown,
    }
}

/// Total memory of a device's banks.
fn bank_bytes(list: &[u8]) -> Option<i64> {
    let mut total = None;
    each(list, |json| {
        let mut keys = json.object()?;
        while let Some(key) = keys.next(json)? {
            match key.raw {
                b"size_in_bytes" => {
                    total = number(json)?.map(|bytes| bytes.saturating_add(total.unwrap_or(0)))
                }
                _ => json.skip_value()?,
            }
        }
        Ok(())
    });
    total.filter(|bytes| *bytes > 0)
}
