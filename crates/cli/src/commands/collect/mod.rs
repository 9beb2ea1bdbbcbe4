//! `collect`

mod slurm_options;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use collect::command::Mode;
use collect::presets::{self, Document, Preset};
use collect::profiler::Profiler;
use collect::run::{CollectError, CollectRequest, Events, LauncherChoice, Prepared, Run, Tool};
use collect::slurm;
use report::{Column, HealthCheck, HealthStatus, InputFact, Report, Table, Unit, Value};
use serde_json::{Map, json};
use trace::Needs;

use self::slurm_options::SlurmArgs;
use super::panels::choose_counters;
use super::presets::plan_report;
use crate::console::Console;
use crate::failure::Failure;
use crate::output::OutputArgs;

/// Recorded when nothing else is asked for.
const DEFAULT_PRESET: &str = "lightweight";

/// Rows of kernels in the summary.
const TOP: usize = 5;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf collect -- ./app --size 4096
  rocm-perf collect --preset compute --dry-run -- ./app
  rocm-perf collect --preset memory-bound --monitor power,vram --out run1 -- python train.py
  rocm-perf collect --counters SQ_WAVES,FETCH_SIZE --arch gfx942 -- ./app
  rocm-perf collect --preset panels --block 2 -- ./app     # then: rocm-perf panels RUN -b 2
  rocm-perf collect --config rocprofv3_compute_bound.json -- ./app
  rocm-perf collect --preset multi-gpu -- torchrun --nproc_per_node=4 train.py
  rocm-perf collect --preset multi-node --slurm --nodes 2 --ntasks-per-node 4 --dry-run -- python train.py

The application follows `--` and runs once per pass. All that is recorded goes to one folder with a run.json, which
any command reads: `rocm-perf summary run1`. Passes are merged: counters of all of them on the dispatches of the first.
Exit code: 0 when all went well; 3 when the application, the profiler or a job failed or nothing was recorded (what there is
is kept; run.json has the application's own code, `--exit-with-app` exits with it); 2 for mistakes; 130 when interrupted.")]
pub struct CollectArgs {
    /// What to record: a name of `rocm-perf presets`, or a TOML file [default: lightweight]
    #[arg(short, long, value_name = "PRESET")]
    preset: Option<String>,

    /// A madengine configuration (JSON)
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    config: Option<PathBuf>,

    /// The same as text: '{"tools": [{"name": "rocprofv3_compute"}]}'
    #[arg(long, value_name = "JSON", conflicts_with_all = ["preset", "config"])]
    additional_context: Option<String>,

    /// Counters, or files of them (pmc .txt, .json, .yaml); may be repeated
    #[arg(long, value_name = "NAMES|FILE")]
    counters: Vec<String>,

    /// Panels, tables or metrics whose counters `--preset panels` collects: 2, 7.1 [default: all]
    #[arg(short, long, value_name = "BLOCK", value_delimiter = ',')]
    block: Vec<String>,

    /// More traces: kernel, hip, hsa, memory-copy, rccl, marker …
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    trace: Vec<String>,

    /// Formats of the files: rocpd, json, csv, pftrace, otf2 [default: as the preset says]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    output_format: Vec<String>,

    /// Watch while it runs: power, vram, clocks, temperature, utilisation
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    monitor: Vec<String>,

    /// Seconds between two samples of the monitors [default: 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    monitor_interval: Option<f64>,

    /// Log calls of libraries: rocblas, hipblaslt, miopen
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    library_calls: Vec<String>,

    /// Architecture of the GPU [default: that of the first one here]
    #[arg(long, value_name = "GFX")]
    arch: Option<String>,

    /// Who records: rocprofv3, or rocprof-sys (ROCm Systems Profiler: call stacks and the whole process)
    #[arg(long, value_enum, default_value_t, value_name = "TOOL")]
    tool: ToolName,

    /// How rocprof-sys watches the process
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    mode: ModeName,

    /// Folder of the run [default: rocprof_output/TIME]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// A run of its own without counters, for true timings
    #[arg(long)]
    timing: bool,

    /// Stop a pass that takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Show what would be run, and run nothing
    #[arg(long)]
    dry_run: bool,

    /// Exit with the application's own code when it fails
    #[arg(long)]
    exit_with_app: bool,

    /// Container image with its tag, for run.json
    #[arg(long, value_name = "IMAGE")]
    base_image: Option<String>,

    /// single-gpu, multi-gpu or full-node, for run.json
    #[arg(long, value_name = "NAME")]
    resource_class: Option<String>,

    /// Start ranks with torchrun, mpirun or srun; none takes the command as it is [default: as the command begins]
    #[arg(long, value_name = "NAME", help_heading = "Ranks")]
    launcher: Option<String>,

    /// How many ranks `--launcher` starts
    #[arg(long, value_name = "N", requires = "launcher", help_heading = "Ranks")]
    ranks: Option<u32>,

    #[command(flatten)]
    slurm: SlurmArgs,

    /// The application and its arguments
    #[arg(last = true, value_name = "APP", num_args = 0..)]
    application: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ToolName {
    #[default]
    Rocprofv3,
    RocprofSys,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// Sample call stacks
    #[default]
    Sample,
    /// Rewrite the program first
    Instrument,
    /// Run it as it is
    Run,
}

impl CollectArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = self.request()?;
        let events = Console { quiet: output.quiet, output: !output.quiet };
        if self.slurm.slurm && !request.preset.monitors.is_empty() {
            let monitors = request.preset.monitors.join(", ");
            events.warn(&format!("{monitors} is not watched in jobs: the run will hold no samples of it"));
        }
        if self.dry_run {
            return self.show(&request, output);
        }
        let run = if self.slurm.slurm {
            let prepared = prepared_anywhere(&request)?;
            slurm::run(&request, &prepared, &events)?
        } else {
            collect::run::run(&request, &events)?
        };
        output.show(report(&run, &request))?;
        match run.failure {
            None => Ok(()),
            Some(failure) => {
                let own = failure.application_code().filter(|_| self.exit_with_app);
                let code = own.and_then(|code| u8::try_from(code).ok());
                let failure = Failure::from(failure);
                Err(code.map_or(failure.clone(), |code| failure.with_code(code)))
            }
        }
    }

    fn request(&self) -> Result<CollectRequest, Failure> {
        let mut notes = Vec::new();
        let mut preset = self.preset(&mut notes).map_err(CollectError::from)?;
        choose_counters(&mut preset, self.arch.as_deref(), &self.block)?;
        let counters = presets::counters(&self.counters).map_err(CollectError::from)?;
        notes.extend(counters.notes);
        if !self.output_format.is_empty() {
            preset.formats.clone_from(&self.output_format);
        }
        let own = Preset {
            trace: self.trace.clone(),
            monitors: self.monitor.clone(),
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
        let mut slurm = self.slurm.options();
        slurm.take(&preset.slurm);
        preset.slurm = slurm;
        let mut facts = Map::new();
        for (key, value) in [("base_image", &self.base_image), ("resource_class", &self.resource_class)] {
            if let Some(value) = value {
                facts.insert(key.into(), json!(value));
            }
        }
        let mut request = CollectRequest::new(self.application.clone(), preset);
        request.counters = counters.counters;
        request.arch.clone_from(&self.arch);
        request.folder.clone_from(&self.out);
        request.tool = match (self.tool, self.mode) {
            (ToolName::Rocprofv3, _) => Tool::Profiler,
            (_, ModeName::Sample) => Tool::Systems(Mode::Sample),
            (_, ModeName::Instrument) => Tool::Systems(Mode::Instrument),
            (_, ModeName::Run) => Tool::Systems(Mode::Run),
        };
        request.timing = self.timing;
        request.timeout = self.timeout;
        request.notes = notes;
        request.facts = facts;
        request.launcher = match &self.launcher {
            Some(name) if name == "none" => LauncherChoice::None,
            Some(name) => LauncherChoice::Named(name.clone(), self.ranks.unwrap_or(1)),
            // In a job SLURM itself starts the ranks.
            None if self.slurm.slurm => {
                request.preset.launcher = None;
                LauncherChoice::Auto
            }
            None => LauncherChoice::Auto,
        };
        if request.application.is_empty() {
            let why = "nothing follows `--`".to_string();
            return Err(CollectError::NoApplication { word: String::new(), why }.into());
        }
        Ok(request)
    }

    fn preset(&self, notes: &mut Vec<String>) -> Result<Preset, presets::Mistake> {
        let config = match (&self.config, &self.additional_context) {
            (Some(path), _) => Some(presets::from_json_file(path)?),
            (_, Some(text)) => Some(presets::from_json(&Document { name: "--additional-context", text })?),
            _ => None,
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

    fn show(&self, request: &CollectRequest, output: &OutputArgs) -> Result<(), Failure> {
        let prepared = prepared_anywhere(request)?;
        let folder = self.out.clone().unwrap_or_else(|| "rocprof_output/TIME".into());
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        if self.slurm.slurm {
            let job = slurm::script(&prepared, &request.preset.slurm, &folder)?;
            let mut text = job.text;
            for (path, content) in job.files {
                text.push_str(&format!("\n# {}\n{content}", path.display()));
            }
            return crate::output::print(&text);
        }
        output.show(plan_report("collect", &request.preset, &prepared, &folder)?)
    }
}

/// With the profiler of this machine, or an assumed one: jobs run elsewhere, and a dry run not at all.
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
    let mut notes = vec![format!("preset {}: everything is in `{folder}`", request.preset.name)];
    if run.kernels() > 0 {
        notes.push(format!("read it with `rocm-perf summary {folder}`"));
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

/// The kernels that took most time, when the traces can be read.
fn top_kernels(run: &Run) -> Option<Table> {
    let needs = Needs { kernels: true, ..Needs::nothing() };
    let trace = ingest::read(&run.traces, &needs, &ingest::Progress::default()).ok()?;
    let summary = analysis::summary(&trace, &analysis::SummaryOptions::default());
    let mut table = summary.tables.into_iter().find(|table| table.name == "kernels")?;
    table.limit(TOP);
    Some(table)
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        let failure = match error.exit_code() {
            2 => Failure::input(error.to_string()),
            code => Failure::tool(error.to_string()).with_code(code),
        };
        match error.help() {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "a number of seconds is needed".into())
}

fn interval(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|n| (0.001..=3600.0).contains(n))
        .ok_or_else(|| "seconds from 0.001 to 3600 are needed".into())
}
