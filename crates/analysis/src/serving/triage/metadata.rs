//! `profile_metadata.json`: what a profile is of. Each fact names its source; nothing is guessed.

use formats::secrets::redact_json;
use serde_json::{Map as JsonMap, Value as Json, json};

use crate::subject::{Architecture, TARGET_ARCH, framework};
use model::Run;
use model::stages::Stage;

/// Version of the artifacts; incremented when their meaning changes.
pub const SCHEMA_VERSION: u32 = 1;

/// What the caller states about a profile.
#[derive(Clone, Debug, Default)]
pub struct StatedFacts {
    /// Fields by name, from the command line.
    pub flags: JsonMap<String, Json>,
    /// Fields by name, from a file.
    pub file: JsonMap<String, Json>,
    /// The server's arguments and the file they come from.
    pub server_args: Option<(String, JsonMap<String, Json>)>,
    /// Facts about the machine that was profiled, with their source.
    pub machine: Vec<(String, Json, String)>,
    /// The target architecture; [`TARGET_ARCH`] if absent.
    pub target_arch: Option<String>,
    /// Relative paths of the traces.
    pub source_paths: Vec<String>,
    /// The requested stage.
    pub stage: Option<Stage>,
}

/// A stated field of the wrong kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` must be {needed}")]
pub struct WrongField {
    /// Its name.
    pub field: String,
    /// The kind it must be.
    pub needed: &'static str,
}

/// The kind of a field.
#[derive(Clone, Copy)]
enum FieldKind {
    Text,
    Flag,
    Numbers,
    Clocks,
    Object,
}

impl FieldKind {
    fn fits(self, value: &Json) -> bool {
        match self {
            FieldKind::Text => value.is_string(),
            FieldKind::Flag => value.is_boolean(),
            FieldKind::Object => value.is_object(),
            FieldKind::Numbers => value.as_array().is_some_and(|list| list.iter().all(Json::is_u64)),
            FieldKind::Clocks => value.as_object().is_some_and(|clocks| {
                clocks.iter().all(|(id, mhz)| id.parse::<u32>().is_ok() && mhz.is_u64())
            }),
        }
    }

    fn needed(self) -> &'static str {
        match self {
            FieldKind::Text => "text",
            FieldKind::Flag => "true or false",
            FieldKind::Object => "an object",
            FieldKind::Numbers => "a list of whole numbers",
            FieldKind::Clocks => "an object of device numbers and whole MHz",
        }
    }
}

/// The fields of the contract in order, with their kind and why they may be missing.
const FIELDS: &[(&str, FieldKind, &str)] = &[
    ("experiment_id", FieldKind::Text, "no experiment id was given"),
    ("trial_id", FieldKind::Text, "no trial id was given"),
    ("model_name", FieldKind::Text, "no model was given, and no server_args.json beside the trace names it"),
    ("profile_stage", FieldKind::Text, ""),
    ("observed_arch", FieldKind::Text, ""),
    ("arch_match", FieldKind::Text, ""),
    ("hardware_relevance_reason", FieldKind::Text, ""),
    ("rocm_version", FieldKind::Text, "no ROCm version was given, and the trace does not say"),
    ("base_image", FieldKind::Text, "no base image was given"),
    ("resource_class", FieldKind::Text, "no resource class was given"),
    ("gpu_device_ids", FieldKind::Numbers, "no GPU ids were given, and the trace does not say"),
    ("gpu_clocks_mhz", FieldKind::Clocks, "no GPU clocks were given"),
    ("preflight_passed", FieldKind::Flag, "nobody said whether the preflight checks passed"),
    (
        "server_flags",
        FieldKind::Object,
        "no server arguments were given, and no server_args.json is beside the trace",
    ),
    ("benchmark_config_hash", FieldKind::Text, "no benchmark configuration was given"),
    ("source_trace_path", FieldKind::Text, ""),
];

/// The document, with fields in the order of the contract.
pub fn metadata(context: &Run, told: &StatedFacts) -> Result<Json, WrongField> {
    let mut known =
        SettledFacts { told, values: JsonMap::new(), sources: JsonMap::new(), absent: JsonMap::new() };
    check(&told.flags)?;
    check(&told.file)?;
    let observed = known.observed(context);
    let mut document = JsonMap::new();
    document.insert("schema_version".into(), SCHEMA_VERSION.into());
    document.insert("tool".into(), format!("rocm-perf {}", env!("CARGO_PKG_VERSION")).into());
    for (field, _, why) in FIELDS {
        known.settle(field, observed.iter().filter(|(name, ..)| name == field), why);
    }
    document.append(&mut known.values);
    document.insert("target_arch".into(), told.target_arch.as_deref().unwrap_or(TARGET_ARCH).into());
    document.insert("framework".into(), framework(context).map_or(Json::Null, Json::from));
    document.insert("source_trace_paths".into(), told.source_paths.clone().into());
    for (name, value) in told.file.iter().filter(|(name, _)| !document_has(name)) {
        let (value, _) = redact_json(&json!({ name: value }));
        document.extend(value.as_object().cloned().unwrap_or_default());
    }
    document.insert("field_sources".into(), known.sources.into());
    document.insert("absent".into(), known.absent.into());
    Ok(Json::Object(document))
}

/// Whether the document sets a field with this name itself.
fn document_has(name: &str) -> bool {
    const OWN: [&str; 7] = [
        "schema_version",
        "tool",
        "target_arch",
        "framework",
        "source_trace_paths",
        "field_sources",
        "absent",
    ];
    OWN.contains(&name) || FIELDS.iter().any(|(field, ..)| *field == name)
}

fn check(fields: &JsonMap<String, Json>) -> Result<(), WrongField> {
    for (field, kind, _) in FIELDS {
        if let Some(value) = fields.get(*field)
            && !value.is_null()
            && !kind.fits(value)
        {
            return Err(WrongField { field: field.to_string(), needed: kind.needed() });
        }
    }
    Ok(())
}

/// A fact from the trace, the server or the machine: (field, value, source, overrides stated values).
type Fact = (&'static str, Json, String, bool);

struct SettledFacts<'a> {
    told: &'a StatedFacts,
    values: JsonMap<String, Json>,
    sources: JsonMap<String, Json>,
    absent: JsonMap<String, Json>,
}

impl SettledFacts<'_> {
    fn settle<'f>(&mut self, field: &str, facts: impl Iterator<Item = &'f Fact>, why: &str) {
        let facts: Vec<&Fact> = facts.collect();
        let told = |fields: &JsonMap<String, Json>, by: &str| {
            fields.get(field).filter(|value| !value.is_null()).map(|value| (value.clone(), by.to_string()))
        };
        let certain = facts.iter().find(|fact| fact.3).map(|fact| (fact.1.clone(), fact.2.clone()));
        let found = certain
            .or_else(|| told(&self.told.flags, "command line"))
            .or_else(|| told(&self.told.file, "metadata file"))
            .or_else(|| facts.first().map(|fact| (fact.1.clone(), fact.2.clone())));
        match found {
            Some((value, source)) => {
                let (value, removed) = redact_json(&value);
                for place in removed {
                    let place = [field, place.as_str()].join(".").trim_end_matches('.').to_string();
                    self.absent.insert(place, "left out: it looks like a secret".into());
                }
                self.values.insert(field.into(), value);
                self.sources.insert(field.into(), source.into());
            }
            None => {
                self.values.insert(field.into(), Json::Null);
                self.absent.insert(field.into(), why.into());
            }
        }
    }

    /// Facts from the trace, the server's arguments and the machine.
    fn observed(&self, context: &Run) -> Vec<Fact> {
        let mut facts: Vec<Fact> = Vec::new();
        if let Some((path, args)) = &self.told.server_args {
            let model = ["model_path", "model"].iter().find_map(|key| args.get(*key).and_then(Json::as_str));
            facts.extend(model.map(|model| ("model_name", model.into(), format!("`{path}`"), false)));
            let mut flags = args.clone();
            // The server's state at the time is not one of its flags.
            flags.remove("internal_states");
            facts.push(("server_flags", Json::Object(flags), format!("`{path}`"), false));
        }
        let (stage, by) = stage(context, self.told.stage);
        facts.push(("profile_stage", stage.into(), by.into(), true));
        let architecture = Architecture::of(context.trace);
        let told = self.told.file.get("observed_arch").and_then(Json::as_str);
        let architecture = match told.filter(|_| architecture.observed.is_none() && !architecture.is_foreign)
        {
            Some(arch) => Architecture {
                observed: Some(arch.to_string()),
                evidence: "from the metadata file, the trace does not show it".into(),
                is_foreign: false,
            },
            None => architecture,
        };
        let target = self.told.target_arch.as_deref().unwrap_or(TARGET_ARCH);
        let (matched, reason) = architecture.compare(target);
        facts.push(("observed_arch", architecture.name().into(), architecture.evidence.clone(), true));
        facts.push(("arch_match", matched.name().into(), format!("compared with {target}"), true));
        facts.push(("hardware_relevance_reason", reason.into(), format!("compared with {target}"), true));
        facts.extend(rocm_version(context));
        for (field, value, by) in &self.told.machine {
            if let Some((name, ..)) = FIELDS.iter().find(|(name, ..)| name == field) {
                facts.push((name, value.clone(), by.clone(), false));
            }
        }
        let devices = devices(context);
        if !devices.is_empty() {
            facts.push(("gpu_device_ids", devices.into(), "device numbers in the trace".into(), false));
        }
        if let Some(path) = self.told.source_paths.first() {
            facts.push(("source_trace_path", path.as_str().into(), "the input".into(), true));
        }
        facts
    }
}

/// The only stage in the run, or `all`.
fn stage(context: &Run, asked: Option<Stage>) -> (&'static str, &'static str) {
    if let Some(stage) = asked.filter(|stage| *stage != Stage::Other) {
        return (stage.name(), "asked for");
    }
    let mut stages: Vec<Stage> = context.rows.iter().map(|&row| context.stage(row)).collect();
    stages.sort_unstable();
    stages.dedup();
    // A few launches outside all steps do not change what a decode profile is.
    let named: Vec<Stage> = stages.into_iter().filter(|stage| *stage != Stage::Other).collect();
    match named[..] {
        [stage] => (stage.name(), "annotations, file names or graphs of the trace"),
        [] => ("all", "nothing in the trace shows stages"),
        _ => ("all", "the trace has several stages"),
    }
}

/// ROCm's version according to HIP's: `70051831` is 7.0.
fn rocm_version(context: &Run) -> Option<Fact> {
    let trace = context.trace;
    let value = |key: &str| {
        let fact = trace.metadata.iter().find(|fact| trace.strings.get(fact.key) == key)?;
        trace.strings.get(fact.value).parse::<u64>().ok()
    };
    let (key, version) = ["hip_runtime_version", "hip_driver_version"]
        .into_iter()
        .find_map(|key| Some((key, value(key).filter(|version| *version >= 10_000_000)?)))?;
    let text = format!("{}.{}", version / 10_000_000, version / 100_000 % 100);
    Some(("rocm_version", text.into(), format!("decoded from {key} {version} of the trace"), false))
}

/// Numbers of the GPUs with work, as the source counts them.
fn devices(context: &Run) -> Vec<i64> {
    let mut gpus: Vec<u32> = context
        .rows
        .iter()
        .filter_map(|&row| context.place(row))
        .map(|place| context.work.gpu[place])
        .collect();
    gpus.sort_unstable();
    gpus.dedup();
    let number = |gpu: u32| {
        let agent = context.trace.agents.get(context.work.gpus[gpu as usize].agent.get()?)?;
        agent.type_index.get().or(agent.logical_index.get()).or(agent.absolute_index.get())
    };
    let mut numbers: Vec<i64> = gpus.into_iter().filter_map(number).filter(|n| *n >= 0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
