//! Options that say which store and which trial: `experiment`, and commands that attach their own result.

use std::path::PathBuf;

use app::experiment::{StoreLocation, Target};
use clap::Args;

use crate::failure::Failure;
use crate::output::OutputArgs;

/// Names the store if no option does: addresses with a password do not belong on a command line.
const DATABASE_VARIABLE: &str = "ROCM_PERF_DB";

/// Which store.
#[derive(Args, Clone, Debug, Default)]
pub struct StoreArgs {
    /// Store: a file or postgres://… [default: $ROCM_PERF_DB, else ~/.local/share/rocm-perf/experiments.db]
    #[arg(long, value_name = "PATH|URL")]
    db: Option<String>,

    /// Folder of the stored files [default: beside the database]
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
}

impl StoreArgs {
    /// The selected store.
    pub fn place(&self) -> StoreLocation {
        let named = std::env::var(DATABASE_VARIABLE).ok().filter(|name| !name.is_empty());
        StoreLocation { database: self.db.clone().or(named), artifacts: self.artifacts.clone() }
    }
}

/// The trial that a command attaches its result to.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Experiment")]
pub struct TrialArgs {
    /// Experiment to attach the result to; made if it is new
    #[arg(long, alias = "experiment-id", value_name = "NAME")]
    pub experiment: Option<String>,

    /// Trial of the experiment
    #[arg(long, alias = "trial-id", value_name = "NAME")]
    pub trial: Option<String>,

    #[command(flatten)]
    store: AttachArgs,
}

/// How a result is attached.
#[derive(Args, Clone, Debug, Default)]
pub struct AttachArgs {
    /// Branch of the code that ran
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Machine or machines that it ran on
    #[arg(long, value_name = "NAME")]
    testbed: Option<String>,

    /// Replace what the trial already has of this command
    #[arg(long)]
    replace_artifacts: bool,

    #[command(flatten)]
    store: StoreArgs,
}

impl TrialArgs {
    /// The trial, checked before the work begins; `None` if no trial is named.
    pub fn target(&self, command: &str) -> Result<Option<Target>, Failure> {
        let (Some(experiment), Some(trial)) = (&self.experiment, &self.trial) else { return Ok(None) };
        let target = Target {
            place: self.store.store.place(),
            experiment: experiment.clone(),
            trial: trial.clone(),
            branch: self.store.branch.clone(),
            testbed: self.store.testbed.clone(),
            replace: self.store.replace_artifacts,
        };
        target.check(command)?;
        Ok(Some(target))
    }
}

/// Attaches a report and files if a trial is named.
pub fn attach(
    target: Option<&Target>,
    report: &mut report::Report,
    files: &[PathBuf],
    output: &OutputArgs,
) -> Result<(), Failure> {
    target.map_or(Ok(()), |target| target.attach(report, files, output))
}
