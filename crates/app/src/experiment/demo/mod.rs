//! Fills a store with simulated experiments, to show the dashboard before you have runs of your own.
//!
//! Everything goes through the same steps as real runs: traces are analysed, searches run. Only the machines
//! are made up, and every experiment says so.

mod tuning;

use std::path::{Path, PathBuf};

use report::Report;
use serde_json::json;
use stats::random::Random;
use store::{Attachment, Link, Metric, Store};

use super::attach::Prepared;
use super::{StoreLocation, analyses, present, report};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::synth::{GenerateOptions, Options, OutputFormat, Scenario};

/// A tag of every simulated experiment.
const TAG: &str = "simulated";

/// An experiment with a history of measurements.
struct History {
    name: &'static str,
    description: &'static str,
    testbed: &'static str,
    tags: &'static [&'static str],
    trials: usize,
    latency_ms: f64,
    noise: f64,
    /// The trial from which on it is slower, and by which share.
    step: Option<(usize, f64)>,
    /// Why it was accepted.
    accepted: Option<&'static str>,
    /// The trace behind its last two trials.
    scenario: Option<&'static str>,
    machine: Option<Machine>,
}

#[derive(Clone, Copy)]
struct Machine {
    arch: &'static str,
    product: &'static str,
    compute_units: u32,
}

const MI355X: Machine = Machine { arch: "gfx950", product: "AMD Instinct MI355X", compute_units: 256 };

const HISTORIES: [History; 4] = [
    History {
        name: "serving-mi300x",
        description: "SGLang-like serving on one MI300X, every night (simulated)",
        testbed: "mi300x-01",
        tags: &["nightly", "serving"],
        trials: 24,
        latency_ms: 11.8,
        noise: 0.008,
        step: Some((19, 0.062)),
        accepted: None,
        scenario: Some("serving"),
        machine: None,
    },
    History {
        name: "serving-mi355x",
        description: "the same on one MI355X (simulated)",
        testbed: "mi355x-03",
        tags: &["nightly", "serving"],
        trials: 20,
        latency_ms: 7.4,
        noise: 0.007,
        step: None,
        accepted: None,
        scenario: Some("serving"),
        machine: Some(MI355X),
    },
    History {
        name: "training-step",
        description: "a training step, every night (simulated)",
        testbed: "mi300x-02",
        tags: &["nightly", "training"],
        trials: 30,
        latency_ms: 212.0,
        noise: 0.01,
        step: Some((14, 0.048)),
        accepted: Some("gradient clipping was switched on"),
        scenario: Some("training"),
        machine: None,
    },
    History {
        name: "eager-model",
        description: "a model that is not tuned yet (simulated)",
        testbed: "mi300x-01",
        tags: &["new"],
        trials: 2,
        latency_ms: 38.5,
        noise: 0.01,
        step: None,
        accepted: None,
        scenario: Some("launch-bound"),
        machine: None,
    },
];

/// Fills a store with simulated experiments; their traces are kept in `folder`. Existing ones stay.
pub fn fill_demo(place: &StoreLocation, folder: &Path, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut store = place.open()?;
    for history in &HISTORIES {
        if make(&mut store, history.name, history.description, history.tags)? {
            observer.step(&format!("simulating {}", history.name));
            fill(&mut store, history, folder, observer)?;
        }
    }
    tuning::fill(&mut store, observer)?;
    make(&mut store, "next-release", "trials of the next release go here", &[])?;
    let note = "SIMULATED: these experiments are of made-up machines, not measurements".to_string();
    Ok(report(vec![present::experiments(&store.experiments(false)?)], vec![note]))
}

/// Creates an experiment unless it exists; returns whether it is new.
fn make(store: &mut Store, name: &str, description: &str, tags: &[&str]) -> Result<bool, Failure> {
    if store.has_experiment(name)? {
        return Ok(false);
    }
    store.new_experiment(name, description)?;
    let tags: Vec<String> = tags.iter().chain([&TAG]).map(|tag| tag.to_string()).collect();
    store.tag(name, None, &tags, &[])?;
    Ok(true)
}

fn fill(store: &mut Store, history: &History, folder: &Path, observer: &dyn Observer) -> Result<(), Failure> {
    let mut random = Random::new(stats::random::seed_of(&[history.name]));
    for trial in 0..history.trials {
        let slower = history.step.filter(|(first, _)| trial >= *first).map_or(0.0, |(_, by)| by);
        let latency = history.latency_ms * (1.0 + slower) * (1.0 + history.noise * random.normal());
        let mut attachment = Attachment {
            experiment: history.name.into(),
            trial: format!("night-{:02}", trial + 1),
            branch: Some("main".into()),
            testbed: Some(history.testbed.into()),
            metrics: vec![
                metric("latency", "ms", latency, history.noise, false),
                metric("throughput", "tok/s", 64e3 / latency, history.noise, true),
            ],
            ..Attachment::default()
        };
        // The two trials that a reader compares first have everything a profile has.
        if let Some(scenario) = history.scenario.filter(|_| trial + 2 >= history.trials) {
            if observer.cancelled() {
                return Err(Failure::cancelled());
            }
            let folder = folder.join(history.name).join(&attachment.trial);
            let trace = simulate(scenario, history.machine, trial as u64, &folder)?;
            let prepared = profile(history, &attachment.trial, &trace, observer)?;
            let told = std::mem::take(&mut attachment.metrics);
            attachment = Attachment {
                experiment: attachment.experiment,
                trial: attachment.trial,
                branch: attachment.branch,
                testbed: attachment.testbed,
                ..prepared.attachment()
            };
            attachment.metrics.extend(told);
        }
        store.attach(&attachment)?;
    }
    if let (Some((first, _)), Some(reason)) = (history.step, history.accepted) {
        let first = format!("night-{:02}", first + 1);
        let alerts = store.alerts(history.name)?;
        for alert in alerts.iter().filter(|alert| alert.state == store::AlertState::Open) {
            store.acknowledge(history.name, &alert.first_trial, None, reason)?;
        }
        store.add_note(history.name, Some(&first), reason)?;
    }
    let link = Link { url: "https://rocm.docs.amd.com/".into(), text: "ROCm documentation".into() };
    store.add_link(history.name, None, &link)?;
    Ok(())
}

fn metric(name: &str, unit: &str, value: f64, noise: f64, higher_is_better: bool) -> Metric {
    let half = value * noise * 0.8;
    Metric {
        name: name.into(),
        unit: unit.into(),
        value,
        low: Some(value - half),
        high: Some(value + half),
        higher_is_better,
    }
}

/// A trace of a simulated run.
fn simulate(name: &str, machine: Option<Machine>, seed: u64, folder: &Path) -> Result<PathBuf, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::input(error.to_string());
    let mut scenario = Scenario::builtin(name).map_err(|error| wrong(&error))?;
    if let Some(machine) = machine {
        scenario.machine.arch = machine.arch.into();
        scenario.machine.product = machine.product.into();
        scenario.machine.compute_units = machine.compute_units;
        // Library kernels carry the architecture that they were built for.
        let isa = format!("_ISA{}_", machine.arch.trim_start_matches("gfx"));
        for kernel in scenario.kernels.values_mut() {
            kernel.name = kernel.name.replace("_ISA942_", &isa);
        }
    }
    let options = GenerateOptions {
        options: Options { seed, ..Options::default() },
        force: folder.join("scenario.toml").is_file(),
        ..GenerateOptions::new(scenario, folder, OutputFormat::Torch)
    };
    let generated = synth::generate(&options).map_err(|error| wrong(&error))?;
    let run = generated.files.iter().find(|file| file.format.is_some() && file.role.is_none());
    run.map(|file| file.path.clone()).ok_or_else(|| Failure::input("the simulator wrote no trace"))
}

/// The trace, what analyses say about it, and the facts of the run.
fn profile(
    history: &History,
    trial: &str,
    trace: &Path,
    observer: &dyn Observer,
) -> Result<Prepared, Failure> {
    let mut prepared = Prepared::default();
    let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    prepared.add_file(&name, trace)?;
    let (made, _) = analyses::of_traces(&[trace.to_path_buf()], &[], observer)?;
    for (name, bytes) in made {
        prepared.add_bytes(&name, bytes)?;
    }
    let arch = history.machine.map_or("gfx942", |machine| machine.arch);
    let exact = arch == "gfx950";
    let metadata = json!({
        "schema_version": 1,
        "experiment_id": history.name,
        "trial_id": trial,
        "model_name": "simulated/model-7b",
        "profile_stage": "all",
        "observed_arch": arch,
        "target_arch": "gfx950",
        "arch_match": if exact { "exact" } else { "compatible" },
        "hardware_relevance_reason": match exact {
            true => "observed and target are gfx950".to_string(),
            false => format!("observed {arch} and target gfx950 share an instruction set; some kernels differ"),
        },
        "rocm_version": "7.2.0",
        "base_image": "rocm/simulated:7.2.0",
        "resource_class": "single-gpu",
        "gpu_device_ids": [0],
        "gpu_clocks_mhz": { "0": 2100 },
        "preflight_passed": true,
        "server_flags": { "attention_backend": "aiter", "tp_size": 1 },
        "benchmark_config_hash": format!("sha256:{}", store::sha256(history.name.as_bytes())),
        "source_trace_path": name,
        "field_sources": { "model_name": "simulated", "server_flags": "simulated" },
        "absent": {},
    });
    prepared.add_bytes(formats::run::PROFILE_METADATA_FILE, metadata.to_string().into_bytes())?;
    Ok(prepared)
}
