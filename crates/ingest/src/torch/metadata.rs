//! What a trace records about itself: top-level keys, devices, rank, base time.

use serde_json::Value;
use trace::{Map, OptI64, SourceId, Trace};

use crate::json::{self, Text};

/// Facts that the reader needs.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Nanoseconds that all times are relative to.
    pub base_ns: i64,
    pub rank: Option<u32>,
    pub trace_id: String,
    pub devices: Vec<Device>,
}

/// An entry of `deviceProperties`.
#[derive(Debug)]
pub(super) struct Device {
    pub id: i64,
    pub name: String,
    pub compute_units: OptI64,
    pub memory_bytes: OptI64,
    pub json: String,
}

/// The devices that a trace lists.
pub(super) struct Devices<'t> {
    by_number: Map<i64, &'t Device>,
    /// The first device, if all are alike.
    alike: Option<&'t Device>,
}

impl<'t> Devices<'t> {
    /// Whether the trace lists this number.
    pub fn lists(&self, id: i64) -> bool {
        self.by_number.contains_key(&id)
    }

    /// A device by its number; if events and properties number differently, what all devices have in common.
    pub fn get(&self, id: i64) -> Option<&'t Device> {
        self.by_number.get(&id).copied().or(self.alike)
    }
}

impl Facts {
    /// The devices by number.
    pub fn devices(&self) -> Devices<'_> {
        let mut by_number: Map<i64, &Device> = Map::default();
        for device in &self.devices {
            by_number.entry(device.id).or_insert(device);
        }
        let alike = self.devices.split_first().and_then(|(first, rest)| {
            let same = |d: &Device| d.name == first.name && d.compute_units == first.compute_units;
            rest.iter().all(same).then_some(first)
        });
        Devices { by_number, alike }
    }

    /// The end of the guid: files that differ only in the middle still differ in their trace id.
    pub fn suffix(&self) -> String {
        if self.trace_id.is_empty() { String::new() } else { format!("-{}", self.trace_id) }
    }

    /// Stores top-level keys and values, as written in the file, in the trace and the facts.
    pub fn take(&mut self, entries: &[(Vec<u8>, Vec<u8>)], source: SourceId, trace: &mut Trace) {
        for (key, value) in entries {
            let key = Text::of(key).text();
            let text = match &value[..] {
                [b'"', inner @ .., b'"'] => Text::of(inner).text(),
                other => String::from_utf8_lossy(other),
            };
            match &*key {
                "baseTimeNanoseconds" => self.base_ns = json::integer(text.as_bytes()).unwrap_or(0),
                "trace_id" => self.trace_id = text.to_string(),
                "distributedInfo" => self.rank = rank(&text),
                "deviceProperties" => self.devices = devices(&text),
                _ => {}
            }
            trace.add_metadata(source, &key, &text);
        }
    }
}

fn rank(text: &str) -> Option<u32> {
    let info: Value = serde_json::from_str(text).ok()?;
    u32::try_from(info.get("rank")?.as_u64()?).ok()
}

fn devices(text: &str) -> Vec<Device> {
    let Ok(Value::Array(list)) = serde_json::from_str(text) else { return Vec::new() };
    list.iter()
        .filter_map(|device| {
            let number = |key: &str| OptI64::from(device.get(key).and_then(Value::as_i64));
            Some(Device {
                id: device.get("id")?.as_i64()?,
                name: device.get("name").and_then(Value::as_str).unwrap_or_default().to_string(),
                compute_units: number("numSms"),
                memory_bytes: number("totalGlobalMem"),
                json: device.to_string(),
            })
        })
        .collect()
}

/// Sets the architecture of agents from kernel names: Tensile writes `_ISA942_`.
pub(super) fn name_architectures(trace: &mut Trace) {
    let mut without = vec![false; trace.strings.len()];
    for (name, agent) in trace.kernels.name.iter().zip(&trace.kernels.agent) {
        let Some(agent) = agent.get() else { continue };
        if without[name.0 as usize] || !trace.agents[agent].name.is_empty() {
            continue;
        }
        match isa(trace.strings.get(*name)).map(|isa| format!("gfx{isa}")) {
            Some(gfx) => trace.agents[agent].name = trace.strings.intern(&gfx),
            None => without[name.0 as usize] = true,
        }
    }
}

fn isa(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once("_ISA")?;
    let (isa, _) = rest.split_once('_')?;
    let known = isa.len() <= 4 && isa.len() >= 3 && isa.bytes().all(|b| b.is_ascii_hexdigit());
    known.then_some(isa)
}
