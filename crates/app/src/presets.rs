//! What can be recorded, and what a preset runs.

use std::path::{Path, PathBuf};

use collect::presets::{self, Preset};
use collect::profiler::{self, Places, Profiler};
use collect::run::{CollectRequest, LauncherChoice, Prepared};
use report::{Column, Note, Remedy, Report, Table, Unit, Value};

use crate::failure::Failure;
use crate::input::write;
use crate::panels::choose_counters;

/// Output folder in the shown commands; nothing is written.
const SHOWN_FOLDER: &str = "rocprof_output/TIME";

/// Which preset to show, for which machine.
#[derive(Clone, Debug, Default)]
pub struct PresetRequest {
    /// Name of a preset, or a TOML file.
    pub preset: String,
    /// Architecture [default: that of the first GPU here].
    pub arch: Option<String>,
    /// Panels, tables or metrics of the preset `panels`.
    pub blocks: Vec<String>,
    /// ROCm release whose options are shown.
    pub rocm: Option<String>,
    /// Whether to add a run without counters, for times.
    pub timing: bool,
}

/// All presets.
pub fn presets() -> Report {
    let columns = vec![
        Column::text("name").key(),
        Column::text("kind").key(),
        Column::text("title"),
        Column::int("counters", Unit::None),
        Column::text("monitors").detail(),
        Column::text("overhead").detail(),
    ];
    let mut table = Table::new("presets", "Presets", columns);
    for preset in presets::builtin() {
        let whole = presets::find(&preset.name).unwrap_or_else(|_| preset.clone());
        table.push(vec![
            Value::from(whole.name.as_str()),
            Value::from(whole.kind.name()),
            Value::from(whole.title.as_str()),
            match whole.panels {
                true => Value::absent("they follow from the GPU and the panels"),
                false => Value::Int(whole.counters.len() as i64),
            },
            Value::from(whole.monitors.join(", ").as_str()),
            Value::from(whole.overhead.as_str()),
        ]);
    }
    let notes = vec![Note::new("what a preset runs depends on the GPU", Remedy::ShowPreset)];
    Report { command: "presets".into(), tables: vec![table], notes, ..Report::default() }
}

/// What a preset runs: commands, passes, counters with replacements, cost, files.
pub fn preset(request: &PresetRequest) -> Result<Report, Failure> {
    request.answer()
}

/// Writes a preset's file for the user to change; returns its path.
pub fn copy_preset(name: &str, file: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(text) = presets::source(name) else {
        let mistake = presets::find(name).err();
        return Err(Failure::input(format!("there is no preset `{name}`"))
            .with_remedy(mistake.and_then(|mistake| mistake.help)));
    };
    let path = file.map_or_else(|| format!("{name}.toml").into(), Path::to_path_buf);
    if path.exists() {
        return Err(Failure::input(format!("`{}` already exists", path.display()))
            .with_help("name another file, or remove it first"));
    }
    write(&path, text.as_bytes())?;
    Ok(path)
}

impl PresetRequest {
    fn answer(&self) -> Result<Report, Failure> {
        let mut preset = presets::find(&self.preset).map_err(collect::run::CollectError::from)?;
        choose_counters(&mut preset, self.arch.as_deref(), &self.blocks)?;
        let profiler = self.profiler()?;
        let mut request = CollectRequest::new(vec!["APP".into()], preset);
        request.arch.clone_from(&self.arch);
        request.timing = self.timing;
        request.launcher = LauncherChoice::None;
        let prepared = Prepared::with(&request, profiler)?;
        plan_report("presets", &request.preset, &prepared, Path::new(SHOWN_FOLDER))
    }

    fn profiler(&self) -> Result<Profiler, Failure> {
        let Some(text) = &self.rocm else {
            return Ok(profiler::find(&Places::of_environment()).unwrap_or_else(|_| Profiler::assumed()));
        };
        let version = collect::command::Version::parse(text).ok_or_else(|| {
            Failure::input(format!("`{text}` is not a release of ROCm")).with_help("write it as `7.0`")
        })?;
        Ok(Profiler { version, version_from: "the request".into(), ..Profiler::assumed() })
    }
}

/// What a preset will run.
pub(crate) fn plan_report(
    command: &str,
    preset: &Preset,
    prepared: &Prepared,
    folder: &Path,
) -> Result<Report, Failure> {
    let plan = &prepared.plan;
    let mut passes = Table::new(
        "passes",
        "Passes",
        vec![
            Column::int("pass", Unit::None).key(),
            Column::text("records"),
            Column::int("counters", Unit::None).key(),
            Column::text("command").data(),
        ],
    );
    let mut notes = prepared.notes.clone();
    let mut commands = Vec::new();
    for pass in &plan.passes {
        let built = prepared.command(folder, pass)?;
        let line: Vec<String> = built.words.iter().map(|word| collect::launcher::quote(word)).collect();
        let line = line.join(" ");
        built.notes.into_iter().for_each(|note| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        });
        let mut records: Vec<String> = pass.wanted.trace.clone();
        if let Some(sampling) = &pass.wanted.pc_sampling {
            records
                .push(format!("{} samples every {} {}", sampling.method, sampling.interval, sampling.unit));
        }
        passes.push(vec![
            Value::Int(pass.number as i64),
            Value::from(records.join(" ").as_str()),
            Value::Json(pass.wanted.counters.clone().into()),
            Value::from(line.as_str()),
        ]);
        commands.push(line);
    }
    let mut counters = Table::new(
        "counters",
        "Counters",
        vec![
            Column::text("counter"),
            Column::text("pass").key(),
            Column::text("counted_as"),
            Column::text("why").data(),
        ],
    );
    for (name, counted, why) in counter_rows(preset, prepared) {
        let in_pass: Vec<String> = plan
            .passes
            .iter()
            .filter(|pass| counted.iter().any(|name| pass.wanted.counters.contains(name)))
            .map(|pass| pass.number.to_string())
            .collect();
        counters.push(vec![
            Value::from(name.as_str()),
            if in_pass.is_empty() {
                Value::absent("not collected")
            } else {
                Value::from(in_pass.join(" ").as_str())
            },
            Value::from(if counted == [name.clone()] { String::new() } else { counted.join(" ") }.as_str()),
            Value::from(why.as_str()),
        ]);
    }
    let mut all = Vec::new();
    let runs = if plan.passes.len() == 1 { "once".into() } else { format!("{} times", plan.passes.len()) };
    let version = &prepared.profiler.version;
    let arch = prepared.arch.as_deref().unwrap_or("any GPU");
    all.push(format!(
        "{}: the application runs {runs} on {arch} with {} of ROCm {version}",
        preset.name,
        prepared.profiler.kind.name()
    ));
    if !preset.overhead.is_empty() {
        all.push(format!("cost: {}", preset.overhead));
    }
    all.push(format!("files: {}", outputs(preset, prepared, folder)));
    for (name, value) in &prepared.env {
        all.push(format!("sets {name}={value}"));
    }
    all.extend(reasons(prepared));
    all.append(&mut notes);
    all.extend(commands.iter().enumerate().map(|(at, line)| format!("pass {}: {line}", at + 1)));
    let mut tables = vec![passes];
    if !counters.rows.is_empty() {
        tables.push(counters);
    }
    Ok(Report {
        command: command.into(),
        tables,
        notes: all.into_iter().map(Note::from).collect(),
        ..Report::default()
    })
}

/// Why counters are replaced, each reason once.
fn reasons(prepared: &Prepared) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for replaced in &prepared.plan.replaced {
        match reasons.iter_mut().find(|(why, _)| *why == replaced.why) {
            Some((_, names)) => names.push(&replaced.counter),
            None => reasons.push((&replaced.why, vec![&replaced.counter])),
        }
    }
    reasons.iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
}

/// Each counter of the preset with the counters collected for it, and why those differ.
fn counter_rows(preset: &Preset, prepared: &Prepared) -> Vec<(String, Vec<String>, String)> {
    let plan = &prepared.plan;
    let mut rows: Vec<(String, Vec<String>, String)> = Vec::new();
    for name in &preset.counters {
        let replaced = plan.replaced.iter().find(|replaced| replaced.counter == *name);
        let left_out = plan.left_out.iter().find(|left| left.counter == *name);
        rows.push(match (replaced, left_out) {
            (Some(replaced), _) => (name.clone(), replaced.by.clone(), replaced.why.clone()),
            (_, Some(left)) => (name.clone(), Vec::new(), left.why.clone()),
            _ => (name.clone(), vec![name.clone()], String::new()),
        });
    }
    let anchors = plan.passes.iter().flat_map(|pass| &pass.anchors);
    for anchor in anchors {
        if !rows.iter().any(|(name, _, _)| name == anchor) {
            let why = "added: checks that all passes ran the same work".to_string();
            rows.push((anchor.clone(), vec![anchor.clone()], why));
        }
    }
    rows
}

/// The files that will be written.
fn outputs(preset: &Preset, prepared: &Prepared, folder: &Path) -> String {
    let several = prepared.plan.passes.len() > 1;
    let below = if several { "pass_N/" } else { "" };
    let process = if prepared.launched.is_some() { "rankR_HOST_PID" } else { "HOST_PID" };
    let formats = prepared.plan.passes.first().map_or(&[][..], |pass| &pass.wanted.formats);
    let mut files = vec![formats::run::RUN_FILE.to_string()];
    files.extend(several.then(|| "merged_results.db".to_string()));
    for format in formats {
        files.push(match format.as_str() {
            "rocpd" => format!("{below}{process}_results.db"),
            "csv" => format!("{below}{process}_*.csv"),
            other => format!("{below}{process}_results.{other}"),
        });
    }
    let monitors = preset.monitors.iter().filter(|name| ["power", "vram"].contains(&name.as_str()));
    files.extend(monitors.map(|name| format!("{below}gpu_info_{name}_profiler_output.csv")));
    files.extend((!preset.library_calls.is_empty()).then(|| format!("{below}library_trace.csv")));
    format!("{} in `{}`", files.join(", "), folder.display())
}
