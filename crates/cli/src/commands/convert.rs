//! `convert`

use std::path::PathBuf;

use app::convert::ConvertRequest;
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf convert 4711_results.db --to pftrace                  # writes 4711_results.pftrace
  rocm-perf convert trace.json.gz --to rocpd --out trace.db       # torch trace for any rocpd tool
  rocm-perf convert ranks/ --to csv,chrome --gzip --out converted/
  rocm-perf convert -i 4711_results.db -f csv pftrace -d out -o run   # rocpd's options

Files have rocpd's names: NAME_kernel_trace.csv and so on,
NAME_results.pftrace, NAME_results.otf2 (with NAME_results.def and
NAME_results/), NAME_results.json (chrome), NAME_results.db,
NAME_kernels.parquet and so on. Times are exact in every format; convert
reports what a format cannot hold.")]
pub struct ConvertArgs {
    #[command(flatten)]
    input: InputArgs,

    /// Formats to write, separated by commas
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        value_delimiter = ',',
        required_unless_present = "also_to"
    )]
    to: Vec<Target>,

    /// rocpd's spelling of `--to`
    #[arg(short = 'f', long = "output-format", id = "also_to", value_enum, value_name = "FORMAT", num_args = 1.., hide = true)]
    also_to: Vec<Target>,

    /// File for one format, or folder for several; with `-d`, the prefix of the file names [default: current folder]
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Folder to write to
    #[arg(short = 'd', long, value_name = "DIR")]
    output_path: Option<PathBuf>,

    /// Prefix of the file names [default: the input's name]
    #[arg(long, value_name = "NAME", conflicts_with = "out")]
    output_file: Option<String>,

    /// Compress pftrace and chrome
    #[arg(long)]
    gzip: bool,

    /// In pftrace, show HSA queues instead of HIP streams as tracks
    #[arg(long)]
    group_by_queue: bool,

    /// Name kernels after the marker region they were launched in, if there is one
    #[arg(long)]
    kernel_rename: bool,

    /// How csv numbers agents: among all agents, among those the process sees, or by kind (`GPU 0`)
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    agent_index_value: AgentIndex,

    /// Overwrite existing files
    #[arg(long)]
    force: bool,
}

/// How agents are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AgentIndex {
    #[default]
    Absolute,
    Relative,
    TypeRelative,
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// rocprofv3's CSV files, with the columns of rocpd
    Csv,
    /// Perfetto's protobuf, with flows, counters and annotations
    #[value(alias = "perfetto")]
    Pftrace,
    /// OTF2 archive for Vampir and other HPC tools
    Otf2,
    /// Chrome JSON for Perfetto, chrome://tracing and torch's tools
    #[value(alias = "json")]
    Chrome,
    /// rocpd database
    #[value(alias = "db")]
    Rocpd,
    /// Parquet, a file per table (in builds with the feature `parquet`)
    Parquet,
}

impl From<Target> for app::convert::Target {
    fn from(target: Target) -> Self {
        match target {
            Target::Csv => Self::Csv,
            Target::Pftrace => Self::Pftrace,
            Target::Otf2 => Self::Otf2,
            Target::Chrome => Self::Chrome,
            Target::Rocpd => Self::Rocpd,
            Target::Parquet => Self::Parquet,
        }
    }
}

impl From<AgentIndex> for app::convert::AgentIndex {
    fn from(index: AgentIndex) -> Self {
        match index {
            AgentIndex::Absolute => Self::Absolute,
            AgentIndex::Relative => Self::Relative,
            AgentIndex::TypeRelative => Self::TypeRelative,
        }
    }
}

impl ConvertArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let request = ConvertRequest {
            input: self.input.request()?,
            to: self.to.iter().chain(&self.also_to).map(|&target| target.into()).collect(),
            out: self.out.clone(),
            folder: self.output_path.clone(),
            name: self.output_file.clone(),
            gzip: self.gzip,
            by_queue: self.group_by_queue,
            kernel_rename: self.kernel_rename,
            agents: self.agent_index_value.into(),
            replace: self.force,
        };
        output.show(app::convert(&request, output)?)
    }
}
