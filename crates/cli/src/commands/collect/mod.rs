//! `collect`

mod slurm_options;

use std::path::PathBuf;
use std::time::Duration;

use app::collect::{Attach, Config, Mode, Plan, RecordRequest, Tool};
use app::experiment::{Watch, Watched};
use clap::{Args, ValueEnum};

use self::slurm_options::SlurmArgs;
use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::store::{TrialArgs, attach};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf collect -- ./app --size 4096
  rocm-perf collect --preset compute --dry-run -- ./app
  rocm-perf collect --preset memory-bound --monitor power,vram --out run1 -- python train.py
  rocm-perf collect --counters SQ_WAVES,FETCH_SIZE --arch gfx942 -- ./app
  rocm-perf collect --preset panels --block 2 -- ./app     # then: rocm-perf panels RUN -b 2
  rocm-perf collect --config rocprofv3_compute_bound.json -- ./app
  rocm-perf collect --attach 4711 --attach-for 5           # a process that runs already
  rocm-perf collect --preset multi-gpu -- torchrun --nproc_per_node=4 train.py
  rocm-perf collect --preset multi-node --slurm --nodes 2 --ntasks-per-node 4 --dry-run -- python train.py

Put the application after `--`; it runs once per pass. Everything goes to one
folder with a run.json that any command reads: `rocm-perf summary run1`.
Passes are merged: the dispatches of the first get the counters of all of
them.
Exit code: 0 on success; 2 for wrong usage; 3 if the application, the profiler
or a job failed, or nothing was recorded; 130 if interrupted. What was
recorded is kept. run.json holds the application's own exit code;
`--exit-with-app` exits with it.")]
pub struct CollectArgs {
    /// What to record: a preset (`rocm-perf presets` lists them) or a TOML file [default: lightweight]
    #[arg(short, long, value_name = "PRESET")]
    preset: Option<String>,

    /// madengine configuration (JSON file)
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    config: Option<PathBuf>,

    /// madengine configuration as text: '{"tools": [{"name": "rocprofv3_compute"}]}'
    #[arg(long, value_name = "JSON", conflicts_with_all = ["preset", "config"])]
    additional_context: Option<String>,

    /// Counters, or files that list them (pmc .txt, .json, .yaml); may be repeated
    #[arg(long, value_name = "NAMES|FILE")]
    counters: Vec<String>,

    /// With `--preset panels`: the panels, tables or metrics to collect for, such as 2 or 7.1 [default: all]
    #[arg(short, long, value_name = "BLOCK", value_delimiter = ',')]
    block: Vec<String>,

    /// Traces to record besides the preset's: kernel, hip, hsa, memory-copy, rccl, marker …
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    trace: Vec<String>,

    /// File formats: rocpd, json, csv, pftrace, otf2 [default: the preset's]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    output_format: Vec<String>,

    /// Sample during the run: power, vram, clocks, temperature, utilisation
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    monitor: Vec<String>,

    /// Seconds between two monitor samples [default: 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    monitor_interval: Option<f64>,

    /// Log library calls: rocblas, hipblaslt, miopen
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    library_calls: Vec<String>,

    /// GPU architecture [default: the first GPU of this machine]
    #[arg(long, value_name = "GFX")]
    arch: Option<String>,

    /// Profiler: rocprofv3, or rocprof-sys (ROCm Systems Profiler: call stacks and the whole process)
    #[arg(long, value_enum, default_value_t, value_name = "TOOL")]
    tool: ToolName,

    /// How rocprof-sys watches the process
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    mode: ModeName,

    /// Attach to a running process (rocprofv3 of ROCm 7.1 or later, rocprof-sys) instead of starting an application
    #[arg(long, value_name = "PID", conflicts_with_all = ["application", "launcher", "slurm", "timing", "mode"])]
    attach: Option<u32>,

    /// How long to stay attached
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10", requires = "attach")]
    attach_for: Duration,

    /// Output folder [default: rocprof_output/TIME]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Add a run without counters, for undisturbed timings
    #[arg(long)]
    timing: bool,

    /// Stop a pass after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Show what would run, without running it
    #[arg(long)]
    dry_run: bool,

    /// If the application fails, exit with its own code
    #[arg(long)]
    exit_with_app: bool,

    /// Container image with its tag, for run.json
    #[arg(long, value_name = "IMAGE")]
    base_image: Option<String>,

    /// single-gpu, multi-gpu or full-node, for run.json
    #[arg(long, value_name = "NAME")]
    resource_class: Option<String>,

    /// Start the ranks with torchrun, mpirun, srun, or `none` to run the command as it is [default: detected from the command]
    #[arg(long, value_name = "NAME", help_heading = "Ranks")]
    launcher: Option<String>,

    /// Number of ranks that `--launcher` starts
    #[arg(long, value_name = "N", requires = "launcher", help_heading = "Ranks")]
    ranks: Option<u32>,

    #[command(flatten)]
    slurm: SlurmArgs,

    #[command(flatten)]
    trial: TrialArgs,

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
    /// Instrument the binary first
    Instrument,
    /// Run the program as it is
    Run,
}

impl CollectArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        if !self.dry_run {
            return self.record(output);
        }
        match app::collect_plan(&self.request(), output)? {
            Plan::Passes(report) => output.show(*report),
            Plan::Script(text) => crate::output::print(&text),
        }
    }

    fn record(&self, output: &OutputArgs) -> Result<(), Failure> {
        let target = self.trial.target("collect")?;
        let watched = Watched { observer: output, watch: Watch::begin(target.as_ref(), "collect") };
        let answer = app::collect(&self.request(), &watched);
        drop(watched);
        let mut answer = answer?;
        // A failed run is not a trial to compare with others.
        if answer.failure.is_none() {
            attach(target.as_ref(), &mut answer.report, &[], output)?;
        }
        output.answer(answer)
    }

    fn request(&self) -> RecordRequest {
        let config = self.config.clone().map(Config::File);
        let text = self.additional_context.clone();
        RecordRequest {
            application: self.application.clone(),
            attach: self.attach.map(|pid| Attach { pid, duration: self.attach_for }),
            preset: self.preset.clone(),
            config: config.or(text.map(|text| Config::Text { name: "--additional-context", text })),
            counters: self.counters.clone(),
            blocks: self.block.clone(),
            traces: self.trace.clone(),
            formats: self.output_format.clone(),
            monitors: self.monitor.clone(),
            monitor_interval: self.monitor_interval,
            library_calls: self.library_calls.clone(),
            arch: self.arch.clone(),
            tool: match (self.tool, self.mode) {
                (ToolName::Rocprofv3, _) => Tool::Profiler,
                (_, ModeName::Sample) => Tool::Systems(Mode::Sample),
                (_, ModeName::Instrument) => Tool::Systems(Mode::Instrument),
                (_, ModeName::Run) => Tool::Systems(Mode::Run),
            },
            folder: self.out.clone(),
            timing: self.timing,
            timeout: self.timeout,
            exit_with_app: self.exit_with_app,
            base_image: self.base_image.clone(),
            resource_class: self.resource_class.clone(),
            launcher: self.launcher.clone(),
            ranks: self.ranks,
            slurm: self.slurm.slurm.then(|| self.slurm.options()),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| "expected a number of seconds".into())
}

fn interval(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|n| (0.001..=3600.0).contains(n))
        .ok_or_else(|| "expected seconds from 0.001 to 3600".into())
}
