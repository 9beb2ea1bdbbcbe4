//! `run.json`: how a run was made and its outcome, so that it can be repeated, compared and checked.

use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use files::OutputFile;
use formats::run::{COLLECT, TOOL, field};
use formats::secrets::{redact_json, redact_words};
use serde_json::{Map, Value, json};

use super::error::CollectError;
use super::files::{FileFact, folder_error};
use super::request::{CollectRequest, Prepared};
use super::{PassRecord, machine, time};
use crate::doctor::{self, Machine};
use crate::environment;
use crate::monitor::Recorded;
use crate::passes::Agreement;

/// The file's name.
pub const FILE: &str = formats::run::RUN_FILE;

/// Version of its keys.
const SCHEMA: u64 = 1;

/// What is known about a run.
pub(super) struct Record<'a> {
    pub request: &'a CollectRequest,
    pub prepared: &'a Prepared,
    pub started: SystemTime,
    pub status: &'a str,
    pub passes: &'a [PassRecord],
    pub agreements: &'a [Agreement],
    pub traces: &'a [String],
    pub monitor: Option<&'a Recorded>,
    pub files: &'a [FileFact],
    pub notes: &'a [String],
    pub failure: Option<&'a CollectError>,
}

impl Record<'_> {
    /// Writes it into the run's folder, whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<(), CollectError> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(&self.json(folder)).unwrap_or_default() + "\n";
        let write = || {
            let mut file = OutputFile::create(&path)?;
            file.write_all(text.as_bytes())?;
            file.commit()
        };
        write().map_err(|error| folder_error(&path, &error))
    }

    fn json(&self, folder: &Path) -> Value {
        let Self { request, prepared, .. } = self;
        let profiler = &prepared.profiler;
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
            })
            .chain(prepared.env.iter().cloned());
        let environment = environment::recorded(variables);
        let image = environment::container_image(|name| std::env::var(name).ok());
        let gpus = machine::gpus(&request.root);
        let last = self.passes.last();
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_string(), value);
        put(field::TOOL, json!(TOOL));
        put("version", json!(env!("CARGO_PKG_VERSION")));
        put("schema", json!(SCHEMA));
        put(field::KIND, json!(COLLECT));
        put("status", json!(self.status));
        put("started", json!(time::iso(self.started)));
        put("seconds", json!(self.started.elapsed().map_or(0.0, |time| time.as_secs_f64())));
        put("wall_minus_boot_ns", json!(time::wall_minus_boot_ns()));
        put("command", json!(redact_words(&request.application)));
        put("working_directory", json!(std::env::current_dir().ok().map(|path| path.display().to_string())));
        put("exit_code", json!(last.map(|pass| pass.exit_code)));
        put("failure", json!(self.failure.map(ToString::to_string)));
        put("preset", json!(request.preset.name));
        put(
            "profiler",
            json!({
                "name": profiler.kind.name(),
                "path": profiler.path.display().to_string(),
                "version": profiler.version_text,
                "version_from": profiler.version_from,
            }),
        );
        put("rocm_version", json!(profiler.version.to_string()));
        put("observed_arch", json!(prepared.arch));
        put("gpu_device_ids", machine::device_ids(&gpus));
        put("base_image", json!(image));
        let machine = Machine::at(&request.root, folder);
        let known = doctor::facts(&machine, &doctor::preflight(&machine));
        for (name, value) in known.into_iter().filter(|(name, _)| name != "base_image") {
            put(&name, value);
        }
        for unknown in ["resource_class", "server_flags", "benchmark_config_hash", "profile_stage"] {
            put(unknown, Value::Null);
        }
        for (key, value) in &request.facts {
            put(key, redact_json(&json!({ key: value })).0[key.as_str()].take());
        }
        put("gpus", gpus);
        put("host", machine::host(&request.root));
        put("environment", json!(environment));
        put("passes", Value::Array(self.passes.iter().map(pass).collect()));
        let replaced = prepared.plan.replaced.iter();
        put("replaced", replaced.map(|r| json!({"counter": r.counter, "by": r.by, "why": r.why})).collect());
        let left_out = prepared.plan.left_out.iter();
        put("left_out", left_out.map(|l| json!({"counter": l.counter, "why": l.why})).collect());
        put("agreement", Value::Array(self.agreements.iter().map(agreement).collect()));
        put("monitor", json!(self.monitor.map(monitor)));
        put("notes", json!(self.notes));
        put(field::TRACES, json!(self.traces));
        put("files", Value::Array(self.files.iter().map(file).collect()));
        Value::Object(object)
    }
}

fn pass(pass: &PassRecord) -> Value {
    json!({
        "pass": pass.number,
        "folder": pass.folder,
        "command": redact_words(&pass.command),
        "counters": pass.counters,
        "anchors": pass.anchors,
        "exit_code": pass.exit_code,
        "ended": pass.how,
        "seconds": pass.wall.as_secs_f64(),
        "kernels": pass.kernels,
        "ranks": pass.ranks.iter().map(|rank| json!({
            "rank": rank.rank,
            "host": rank.host,
            "exit_code": rank.exit_code,
            "wall_minus_boot_ns": rank.wall_minus_boot_ns,
        })).collect::<Vec<_>>(),
        "messages": pass.messages,
    })
}

fn monitor(recorded: &Recorded) -> Value {
    json!({
        "source": recorded.source,
        "gpus": recorded.gpus,
        "readings": recorded.readings,
        "missed": recorded.missed,
        "absent": recorded.absent,
    })
}

fn agreement(agreement: &Agreement) -> Value {
    json!({
        "pass": agreement.pass,
        "dispatches": agreement.dispatches,
        "matched": agreement.matched,
        "extra": agreement.extra,
        "waves_checked": agreement.checked,
        "waves_differ": agreement.disagreeing,
    })
}

fn file(file: &FileFact) -> Value {
    json!({"path": file.path, "bytes": file.bytes, "sha256": file.sha256})
}
