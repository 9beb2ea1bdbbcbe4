//! `experiment`

use std::path::PathBuf;

use app::experiment::{
    self, AttachRequest, GateRequest, Limit, Metric, PushRequest, SeriesKey, metric_of_text,
};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::store::StoreArgs;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf experiment new decode --description 'Qwen3 on one MI300X'
  rocm-perf experiment attach decode t1 run/ --branch main --testbed mi300x-1
  rocm-perf experiment attach decode t2 --metric latency=12.1±0.4ms
  rocm-perf experiment show decode
  rocm-perf experiment compare decode t1 t2
  rocm-perf experiment gate decode            # exits with 1 if the last got worse
  rocm-perf experiment push decode t2 --to https://perf.example.org

An experiment is a set of trials. Attach folders of artifacts, traces and
metrics to a trial: known artifacts are checked, traces are analysed, and all
of it is stored or nothing. `triage`, `profile`, `collect`, `capture`,
`compare`, `ranks`, `autotune` and `optimize` attach by themselves with
`--experiment E --trial T`. The gate judges a trial by the noise of the trials
before it; what it cannot judge fails. `push` sends trials to a server that
`rocm-perf serve` runs; its token is read from a file or ROCM_PERF_TOKEN.")]
pub struct ExperimentCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Make an experiment
    New(NewArgs),
    /// Attach files, folders, traces and metrics to a trial
    Attach(AttachArgs),
    /// List experiments
    List(ListArgs),
    /// Show an experiment, or one of its trials
    Show(OneArgs),
    /// Compare two trials: comparability first, then their metrics
    Compare(CompareArgs),
    /// Add or remove tags
    Tag(TagArgs),
    /// Add a note or a link
    Note(NoteArgs),
    /// Remove an experiment or a trial; `restore` brings it back until `gc`
    Rm(OneArgs),
    /// Bring back what was removed
    Restore(OneArgs),
    /// Delete for good what was removed, and files that nothing uses
    Gc(StoreOnlyArgs),
    /// Write an experiment to a folder, with its steps as JSON lines
    Export(ExportArgs),
    /// Read an exported experiment
    Import(ImportArgs),
    /// Send trials to a server
    Push(PushArgs),
    /// List what got worse, and since which trial
    Alerts(NameArgs),
    /// Mark alerts as known: they no longer close the gate
    Acknowledge(AcknowledgeArgs),
    /// Ignore alerts of a metric
    Suppress(SuppressArgs),
    /// Set the least and most that a metric may be
    Limit(LimitArgs),
    /// Exit with 1 unless every metric of a trial passes
    Gate(GateArgs),
}

#[derive(Args, Debug)]
struct StoreOnlyArgs {
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Args, Debug)]
struct NameArgs {
    /// Experiment
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Args, Debug)]
struct OneArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Trial [default: the experiment itself]
    #[arg(value_name = "TRIAL")]
    trial: Option<String>,
}

#[derive(Args, Debug)]
struct NewArgs {
    #[command(flatten)]
    of: NameArgs,

    /// What it is about
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
}

#[derive(Args, Debug)]
struct AttachArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Trial; made if it is new
    #[arg(value_name = "TRIAL")]
    trial: String,

    /// Files and folders
    #[arg(value_name = "DIR|FILE")]
    paths: Vec<PathBuf>,

    /// Branch of the code that ran
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Machine or machines that it ran on
    #[arg(long, value_name = "NAME")]
    testbed: Option<String>,

    /// A metric: latency=12.1±0.4ms; `+throughput=812tok/s` if higher is better; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = metric_of_text)]
    metric: Vec<Metric>,

    /// Replace files of the same name
    #[arg(long)]
    replace: bool,

    /// Store traces without analysing them
    #[arg(long)]
    no_analyses: bool,
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Those that were removed
    #[arg(long)]
    removed: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Args, Debug)]
struct CompareArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Trial to compare with
    #[arg(value_name = "BASE")]
    base: String,

    /// Trial to compare
    #[arg(value_name = "CANDIDATE")]
    candidate: String,
}

#[derive(Args, Debug)]
struct TagArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Tags to add
    #[arg(value_name = "TAG")]
    tags: Vec<String>,

    /// Tag to remove; may be repeated
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,

    /// Tag this trial, not the experiment
    #[arg(long, value_name = "NAME")]
    trial: Option<String>,
}

#[derive(Args, Debug)]
struct NoteArgs {
    #[command(flatten)]
    of: NameArgs,

    /// What to write
    #[arg(value_name = "TEXT")]
    text: String,

    /// Write it to this trial, not the experiment
    #[arg(long, value_name = "NAME")]
    trial: Option<String>,

    /// Make it a link to this address
    #[arg(long, value_name = "URL")]
    link: Option<String>,
}

#[derive(Args, Debug)]
struct ExportArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Folder to write
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Args, Debug)]
struct ImportArgs {
    /// Exported folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Name of the experiment [default: as it was exported]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Args, Debug)]
struct PushArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Trials [default: all]
    #[arg(value_name = "TRIAL")]
    trials: Vec<String>,

    /// Address of the server
    #[arg(long, value_name = "URL")]
    to: String,

    /// File with the server's token [default: $ROCM_PERF_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificates to trust [default: the system's]
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,

    /// Replace files of the same name there
    #[arg(long)]
    replace: bool,

    /// Tries after a failure that may pass
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
}

#[derive(Args, Debug)]
struct AcknowledgeArgs {
    #[command(flatten)]
    of: NameArgs,

    /// First bad trial of the alert
    #[arg(value_name = "TRIAL")]
    trial: String,

    /// Only the alert of this metric
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,

    /// Why it is accepted
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Args, Debug)]
struct SeriesArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Metric
    #[arg(value_name = "METRIC")]
    metric: String,

    /// Only on this branch
    #[arg(long, value_name = "NAME", default_value = "")]
    branch: String,

    /// Only on this testbed
    #[arg(long, value_name = "NAME", default_value = "")]
    testbed: String,
}

impl SeriesArgs {
    fn key(&self) -> SeriesKey {
        SeriesKey { branch: self.branch.clone(), testbed: self.testbed.clone(), metric: self.metric.clone() }
    }
}

#[derive(Args, Debug)]
struct SuppressArgs {
    #[command(flatten)]
    series: SeriesArgs,

    /// Why it is ignored
    #[arg(long, value_name = "TEXT", required_unless_present = "off")]
    reason: Option<String>,

    /// Show its alerts again
    #[arg(long, conflicts_with = "reason")]
    off: bool,
}

#[derive(Args, Debug)]
struct LimitArgs {
    #[command(flatten)]
    series: SeriesArgs,

    /// Least that passes
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    least: Option<f64>,

    /// Most that passes; without both, the limit is removed
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    most: Option<f64>,
}

#[derive(Args, Debug)]
struct GateArgs {
    #[command(flatten)]
    of: NameArgs,

    /// Trial [default: the latest]
    #[arg(value_name = "TRIAL")]
    trial: Option<String>,

    /// Judge this metric; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
}

impl ExperimentCommand {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        output.show(match &self.action {
            Action::New(args) => {
                experiment::new_experiment(&args.of.store.place(), &args.of.name, &args.description)?
            }
            Action::Attach(args) => experiment::attach(&args.request(), output)?,
            Action::List(args) => experiment::list(&args.store.place(), args.removed, args.tag.as_deref())?,
            Action::Show(args) => {
                experiment::show(&args.of.store.place(), &args.of.name, args.trial.as_deref())?
            }
            Action::Compare(args) => {
                experiment::compare(&args.of.store.place(), &args.of.name, &args.base, &args.candidate)?
            }
            Action::Tag(args) => {
                let (place, trial) = (args.of.store.place(), args.trial.as_deref());
                experiment::tag(&place, &args.of.name, trial, &args.tags, &args.remove)?
            }
            Action::Note(args) => {
                let (place, trial) = (args.of.store.place(), args.trial.as_deref());
                experiment::note(&place, &args.of.name, trial, &args.text, args.link.as_deref())?
            }
            Action::Rm(args) => {
                experiment::remove(&args.of.store.place(), &args.of.name, args.trial.as_deref())?
            }
            Action::Restore(args) => {
                experiment::restore(&args.of.store.place(), &args.of.name, args.trial.as_deref())?
            }
            Action::Gc(args) => experiment::collect_garbage(&args.store.place())?,
            Action::Export(args) => experiment::export(&args.of.store.place(), &args.of.name, &args.folder)?,
            Action::Import(args) => {
                experiment::import(&args.store.place(), &args.folder, args.name.as_deref())?
            }
            Action::Push(args) => experiment::push(&args.request()?, output)?,
            Action::Alerts(args) => experiment::alerts(&args.store.place(), &args.name)?,
            Action::Acknowledge(args) => {
                let (place, metric) = (args.of.store.place(), args.metric.as_deref());
                experiment::acknowledge(&place, &args.of.name, &args.trial, metric, &args.reason)?
            }
            Action::Suppress(args) => {
                let of = &args.series.of;
                experiment::suppress(&of.store.place(), &of.name, &args.series.key(), args.reason.as_deref())?
            }
            Action::Limit(args) => {
                let of = &args.series.of;
                let limit = Limit { key: args.series.key(), least: args.least, most: args.most };
                experiment::set_limit(&of.store.place(), &of.name, &limit)?
            }
            Action::Gate(args) => {
                let request = GateRequest {
                    place: args.of.store.place(),
                    experiment: args.of.name.clone(),
                    trial: args.trial.clone(),
                    metrics: args.metric.clone(),
                };
                return output.answer(experiment::gate(&request)?);
            }
        })
    }
}

/// Holds the server's token if no file does: a token does not belong on a command line.
const TOKEN_VARIABLE: &str = "ROCM_PERF_TOKEN";

impl PushArgs {
    fn request(&self) -> Result<PushRequest, Failure> {
        Ok(PushRequest {
            place: self.of.store.place(),
            url: self.to.clone(),
            experiment: self.of.name.clone(),
            trials: self.trials.clone(),
            token: self.token()?,
            certificates: self.cacert.clone(),
            replace: self.replace,
            retries: self.retries,
        })
    }

    fn token(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.token_file else {
            return Ok(std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()));
        };
        let wrong =
            |why: String| Failure::input(format!("cannot read the token in `{}`: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string().to_lowercase()))?;
        // The server's own file has a role before each token.
        let own = text.lines().find_map(|line| line.trim().strip_prefix("write "));
        match own.unwrap_or(&text).trim() {
            "" => Err(wrong("the file is empty".into())),
            token => Ok(Some(token.to_string())),
        }
    }
}

impl AttachArgs {
    fn request(&self) -> AttachRequest {
        AttachRequest {
            place: self.of.store.place(),
            experiment: self.of.name.clone(),
            trial: self.trial.clone(),
            paths: self.paths.clone(),
            branch: self.branch.clone(),
            testbed: self.testbed.clone(),
            metrics: self.metric.clone(),
            replace: self.replace,
            without_analyses: self.no_analyses,
        }
    }
}
