//! `collect`

mod slurm_options;

use std::path::PathBuf;
use std::time::Duration;

use app::collect::{Config, Mode, Plan, RecordRequest, Tool};
use clap::{Args, ValueEnum};

use self::slurm_options::SlurmArgs;
use crate::failure::Failure;
use crate::output::OutputArgs;

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
        if !self.dry_run {
            return output.answer(app::collect(&self.request(), output)?);
        }
        match app::collect_plan(&self.request(), output)? {
            Plan::Passes(report) => output.show(*report),
            Plan::Script(text) => crate::output::print(&text),
        }
    }

    fn request(&self) -> RecordRequest {
        let config = self.config.clone().map(Config::File);
        let text = self.additional_context.clone();
        RecordRequest {
            application: self.application.clone(),
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
    time.filter(|time| !time.is_zero()).ok_or_else(|| "a number of seconds is needed".into())
}

fn interval(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|n| (0.001..=3600.0).contains(n))
        .ok_or_else(|| "seconds from 0.001 to 3600 are needed".into())
}
