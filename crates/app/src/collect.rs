//! Running an application under the profiler.

use std::path::{Path, PathBuf};
use std::time::Duration;

use collect::launcher::holds_secrets;
use collect::presets::{self, Document, Preset};
use collect::profiler::Profiler;
use collect::run::{CollectError, CollectRequest, LauncherChoice, Prepared, Run};
use collect::slurm;
use report::{Column, HealthCheck, HealthStatus, InputFact, Note, Remedy, Report, Table, Unit, Value};
use serde_json::{Map, json};
use trace::Needs;

use crate::Answer;
use crate::failure::Failure;
use crate::observer::{ForwardedEvents, Observer};
use crate::panels::choose_counters;
use crate::presets::plan_report;

pub use collect::command::Mode;
pub use collect::run::{Attach, Tool};
pub use collect::slurm::SlurmOptions;

/// The default preset.
const DEFAULT_PRESET: &str = "lightweight";

/// Rows of kernels in the summary.
const TOP: usize = 5;

/// A madengine configuration.
#[derive(Clone, Debug)]
pub enum Config {
    /// A JSON file.
    File(PathBuf),
    /// JSON, and its name in messages.
    Text {
        /// Where it came from.
        name: &'static str,
        /// The JSON.
        text: String,
    },
}

/// What to run and what to record.
#[derive(Clone, Debug)]
pub struct RecordRequest {
    /// The application and its arguments.
    pub application: Vec<String>,
    /// Or a running process to attach to.
    pub attach: Option<Attach>,
    /// Name of a preset, or a TOML file.
    pub preset: Option<String>,
    /// A configuration instead.
    pub config: Option<Config>,
    /// Counters, or files of them.
    pub counters: Vec<String>,
    /// Panels whose counters the preset `panels` collects.
    pub blocks: Vec<String>,
    /// More traces.
    pub traces: Vec<String>,
    /// Formats of the files.
    pub formats: Vec<String>,
    /// What to watch while it runs.
    pub monitors: Vec<String>,
    /// Seconds between two samples of the monitors.
    pub monitor_interval: Option<f64>,
    /// Libraries whose calls are logged.
    pub library_calls: Vec<String>,
    /// Architecture of the GPU.
    pub arch: Option<String>,
    /// Which profiler records.
    pub tool: Tool,
    /// Folder of the run.
    pub folder: Option<PathBuf>,
    /// Whether to add a run without counters, for times.
    pub timing: bool,
    /// Longest pass.
    pub timeout: Option<Duration>,
    /// Exit with the application's own code.
    pub exit_with_app: bool,
    /// Container image, for run.json.
    pub base_image: Option<String>,
    /// Class of the machine, for run.json.
    pub resource_class: Option<String>,
    /// What starts the ranks.
    pub launcher: Option<String>,
    /// How many ranks.
    pub ranks: Option<u32>,
    /// Run as a SLURM job.
    pub slurm: Option<SlurmOptions>,
}

/// Records a run; the answer has the run's report even if something failed.
pub fn collect(request: &RecordRequest, observer: &dyn Observer) -> Result<Answer, Failure> {
    let prepared = request.checked(observer)?;
    let events = ForwardedEvents { observer, output: true };
    let run = match request.slurm {
        Some(_) => slurm::run(&prepared, &prepared_anywhere(&prepared)?, &events)?,
        None => collect::run::run(&prepared, &events)?,
    };
    let report = report(&run, &prepared);
    let failure = run.failure.map(|failure| {
        let own = failure.application_code().filter(|_| request.exit_with_app);
        let code = own.and_then(|code| u8::try_from(code).ok());
        let failure = Failure::from(failure);
        match code {
            Some(code) => failure.with_code(code),
            None => failure,
        }
    });
    Ok(Answer { report, failure })
}

/// What would be run.
pub enum Plan {
    /// The passes.
    Passes(Box<Report>),
    /// The script of a job, and its files.
    Script(String),
}

/// Shows what would run, and runs nothing.
pub fn collect_plan(request: &RecordRequest, observer: &dyn Observer) -> Result<Plan, Failure> {
    let own = request.checked(observer)?;
    let prepared = prepared_anywhere(&own)?;
    let folder = request.folder.clone().unwrap_or_else(|| "rocprof_output/TIME".into());
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    if request.slurm.is_none() {
        return Ok(Plan::Passes(Box::new(plan_report("collect", &own.preset, &prepared, &folder)?)));
    }
    let job = slurm::script(&prepared, &own.preset.slurm, &folder)?;
    let mut text = job.text;
    for (path, content) in job.files {
        let content = if holds_secrets(&path) { "# secrets, not shown\n" } else { &content };
        text.push_str(&format!("\n# {}\n{content}", path.display()));
    }
    Ok(Plan::Script(text))
}

impl RecordRequest {
    fn checked(&self, observer: &dyn Observer) -> Result<CollectRequest, Failure> {
        let request = self.prepare()?;
        if self.slurm.is_some() && !request.preset.monitors.is_empty() {
            let monitors = request.preset.monitors.join(", ");
            observer.warn(&format!(
                "{monitors} is not monitored in SLURM jobs: the run will have no samples of it"
            ));
        }
        Ok(request)
    }

    fn prepare(&self) -> Result<CollectRequest, Failure> {
        let mut notes = Vec::new();
        let mut preset = self.preset(&mut notes).map_err(CollectError::from)?;
        choose_counters(&mut preset, self.arch.as_deref(), &self.blocks)?;
        let counters = presets::counters(&self.counters).map_err(CollectError::from)?;
        notes.extend(counters.notes);
        if !self.formats.is_empty() {
            preset.formats.clone_from(&self.formats);
        }
        let own = Preset {
            trace: self.traces.clone(),
            monitors: self.monitors.clone(),
            library_calls: self.library_calls.clone(),
            ..Preset::default()
        };
        for (words, known, what) in [
            (&preset.formats, presets::FORMATS.to_vec(), "format"),
            (&own.trace, presets::traces(), "trace"),
            (&own.monitors, presets::MONITORS.to_vec(), "monitor"),
            (&own.library_calls, presets::LIBRARIES.to_vec(), "library"),
        ] {
            if let Some(word) = words.iter().find(|word| !known.contains(&word.as_str())) {
                return Err(Failure::input(format!("there is no {what} `{word}`"))
                    .with_help(format!("it is {}", presets::one_of(known))));
            }
        }
        preset.take(&own);
        preset.monitor_interval = self.monitor_interval.or(preset.monitor_interval);
        let mut slurm = self.slurm.clone().unwrap_or_default();
        slurm.take(&preset.slurm);
        preset.slurm = slurm;
        let mut facts = Map::new();
        for (key, value) in [("base_image", &self.base_image), ("resource_class", &self.resource_class)] {
            if let Some(value) = value {
                facts.insert(key.into(), json!(value));
            }
        }
        if let Some(attach) = &self.attach {
            facts.insert("attached_pid".into(), json!(attach.pid));
        }
        let mut request = CollectRequest::new(self.application.clone(), preset);
        request.attach = self.attach;
        request.counters = counters.counters;
        request.arch.clone_from(&self.arch);
        request.folder.clone_from(&self.folder);
        request.tool = self.tool;
        request.timing = self.timing;
        request.timeout = self.timeout;
        request.notes = notes;
        request.facts = facts;
        request.launcher = match &self.launcher {
            Some(name) if name == "none" => LauncherChoice::None,
            Some(name) => LauncherChoice::Named(name.clone(), self.ranks.unwrap_or(1)),
            // In a job SLURM itself starts the ranks.
            None if self.slurm.is_some() => {
                request.preset.launcher = None;
                LauncherChoice::Auto
            }
            None => LauncherChoice::Auto,
        };
        if self.attach.is_some() {
            request.launcher = LauncherChoice::None;
        } else if request.application.is_empty() {
            let why = "none is given".to_string();
            return Err(CollectError::NoApplication { word: String::new(), why }.into());
        }
        Ok(request)
    }

    fn preset(&self, notes: &mut Vec<String>) -> Result<Preset, presets::Mistake> {
        let config = match &self.config {
            Some(Config::File(path)) => Some(presets::from_json_file(path)?),
            Some(Config::Text { name, text }) => Some(presets::from_json(&Document { name, text })?),
            None => None,
        };
        if let Some(config) = config {
            notes.extend(config.notes);
            return Ok(config.preset);
        }
        match &self.preset {
            Some(name) => presets::find(name),
            None if !self.counters.is_empty() => Ok(Preset::of("counters", &["kernel"], &[])),
            None => presets::find(DEFAULT_PRESET),
        }
    }
}

/// Uses this machine's profiler, or an assumed one: jobs run elsewhere, and a dry run not at all.
fn prepared_anywhere(request: &CollectRequest) -> Result<Prepared, Failure> {
    match Prepared::of(request) {
        Err(CollectError::NoProfiler { .. }) => Ok(Prepared::with(request, Profiler::assumed())?),
        prepared => Ok(prepared?),
    }
}

fn report(run: &Run, request: &CollectRequest) -> Report {
    let columns = vec![
        Column::int("pass", Unit::None).key(),
        Column::int("kernels", Unit::None).key(),
        Column::int("counters", Unit::None),
        Column::int("duration_ns", Unit::Ns),
        Column::int("exit_code", Unit::Exact).key(),
        Column::text("ended"),
        Column::text("folder").data(),
    ];
    let mut passes = Table::new("passes", "Passes", columns);
    for pass in &run.passes {
        passes.push(vec![
            Value::Int(pass.number as i64),
            Value::Int(pass.kernels as i64),
            Value::Int(pass.counters.len() as i64),
            Value::Int(pass.wall.as_nanos() as i64),
            Value::Int(i64::from(pass.exit_code)),
            Value::from(pass.how.as_str()),
            Value::from(run.folder.join(&pass.folder).display().to_string().as_str()),
        ]);
    }
    let mut tables = vec![passes];
    if run.passes.iter().any(|pass| !pass.ranks.is_empty()) {
        tables.push(ranks(run));
    }
    tables.extend(top_kernels(run));
    let health = run.notes.iter().map(|message| HealthCheck {
        id: "collect".into(),
        status: HealthStatus::Warn,
        value: None,
        message: message.clone(),
    });
    let inputs = run.traces.iter().map(|path| InputFact {
        path: path.display().to_string(),
        format: ingest::detect(path).map_or("", |format| format.name()).into(),
        bytes: path.metadata().map_or(0, |meta| meta.len()),
        rank: path.file_name().and_then(|name| ingest::rank_of_path(Path::new(name))),
    });
    let folder = run.folder.display();
    let text = format!("preset {}: everything is in `{folder}`", request.preset.name);
    let mut notes = vec![match run.kernels() {
        0 => text.into(),
        _ => Note::new(text, Remedy::ReadFolder(folder.to_string())),
    }];
    if run.notes.iter().any(|note| note == collect::run::ONE_AT_A_TIME) {
        notes.push(Note::new("true times need a run without counters", Remedy::TimingRun));
    }
    Report {
        command: "collect".into(),
        inputs: inputs.collect(),
        health: health.collect(),
        tables,
        notes,
        ..Report::default()
    }
}

fn ranks(run: &Run) -> Table {
    let columns = vec![
        Column::int("rank", Unit::None).key(),
        Column::int("pass", Unit::None).key(),
        Column::text("host"),
        Column::int("exit_code", Unit::Exact).key(),
    ];
    let mut table = Table::new("ranks", "Ranks", columns);
    for pass in &run.passes {
        for rank in &pass.ranks {
            table.push(vec![
                Value::Int(i64::from(rank.rank)),
                Value::Int(pass.number as i64),
                Value::from(rank.host.as_str()),
                Value::Int(i64::from(rank.exit_code)),
            ]);
        }
    }
    table
}

/// The kernels that took the most time, if the traces can be read.
fn top_kernels(run: &Run) -> Option<Table> {
    let needs = Needs { kernels: true, ..Needs::nothing() };
    let trace = ingest::read(&run.traces, &needs, &ingest::Progress::default()).ok()?;
    let summary = analysis::timeline::summary::compute(&trace, &analysis::SummaryOptions::default());
    let mut table = summary.kernels_table(&trace);
    table.limit(TOP);
    (!table.rows.is_empty()).then_some(table)
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        let failure = match error.exit_code() {
            2 => Failure::input(error.to_string()),
            3 => Failure::tool(error.to_string()),
            code => Failure::tool(error.to_string()).with_code(code),
        };
        failure.with_remedy(error.help())
    }
}
