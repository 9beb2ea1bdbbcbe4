//! `lake`

use app::lake::LakeBuildRequest;
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::input::PathArgs;
use crate::output::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf lake build ranks/ --out LAKE
  srun rocm-perf lake build /tmp/traces --out /shared/LAKE --run $SLURM_JOB_ID
  rocm-perf lake build ranks/ --out s3://traces/4711
  rocm-perf lake info LAKE
  rocm-perf query LAKE --sql 'SELECT rank, sum(duration) FROM kernels GROUP BY rank'

A lake is a folder (or a place in an object store) of Parquet files, divided
by run, node and rank. A rank is in it whole or not at all, so you can stop
and repeat `build`: it keeps what is there and writes the rest. Every node can
build at the same time. Object stores use the usual variables:
AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
Only builds with the feature `lake` have this command's engine.")]
pub struct LakeArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Put traces into a lake; make the lake if there is none
    #[command(after_help = "Example:\n  rocm-perf lake build ranks/ --out LAKE")]
    Build(BuildArgs),
    /// Put more traces into a lake that exists
    #[command(after_help = "Example:\n  rocm-perf lake add ranks/ --lake LAKE --run second")]
    Add(AddArgs),
    /// Show runs, ranks and tables of a lake
    #[command(after_help = "Example:\n  rocm-perf lake info LAKE")]
    Info(PlaceArgs),
    /// Check that all files are there and readable; exit with 1 if not
    #[command(after_help = "Example:\n  rocm-perf lake check LAKE --every-byte")]
    Check(CheckArgs),
}

#[derive(Args, Debug)]
struct BuildArgs {
    #[command(flatten)]
    input: PathArgs,

    /// The lake: a folder, or s3://BUCKET/FOLDER
    #[arg(short, long, value_name = "LAKE")]
    out: String,

    #[command(flatten)]
    names: NameArgs,
}

#[derive(Args, Debug)]
struct AddArgs {
    #[command(flatten)]
    input: PathArgs,

    /// The lake: a folder, or s3://BUCKET/FOLDER
    #[arg(long, value_name = "LAKE")]
    lake: String,

    #[command(flatten)]
    names: NameArgs,
}

#[derive(Args, Clone, Debug)]
struct NameArgs {
    /// Name of the run [default: the name of the inputs' folder]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,

    /// Name of the node, if the traces do not record it
    #[arg(long, value_name = "NAME")]
    node: Option<String>,

    /// Rank of a single trace, if nothing else says it
    #[arg(long, value_name = "N")]
    rank: Option<i64>,
}

#[derive(Args, Debug)]
struct PlaceArgs {
    /// The lake: a folder, or s3://BUCKET/FOLDER
    #[arg(value_name = "LAKE")]
    lake: String,
}

#[derive(Args, Debug)]
struct CheckArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Read every byte and compare checksums
    #[arg(long)]
    every_byte: bool,
}

impl LakeArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let answer = match &self.action {
            Action::Build(args) => {
                app::lake_build(&args.names.request(&args.input, &args.out, false)?, output)?
            }
            Action::Add(args) => {
                app::lake_build(&args.names.request(&args.input, &args.lake, true)?, output)?
            }
            Action::Info(args) => return output.show(app::lake_info(&args.lake)?),
            Action::Check(args) => app::lake_check(&args.place.lake, args.every_byte)?,
        };
        output.answer(answer)
    }
}

impl NameArgs {
    fn request(&self, input: &PathArgs, lake: &str, existing: bool) -> Result<LakeBuildRequest, Failure> {
        Ok(LakeBuildRequest {
            inputs: input.paths()?,
            lake: lake.to_string(),
            run: self.run.clone(),
            node: self.node.clone(),
            rank: self.rank,
            existing,
        })
    }
}
