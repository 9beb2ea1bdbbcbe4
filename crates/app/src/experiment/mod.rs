//! Experiments: named sets of trials in a store, what was attached to them, and whether they got worse.

mod analyses;
mod archive;
mod attach;
mod compare;
mod conclusion;
mod deltas;
mod demo;
mod gate;
mod importance;
mod known;
mod metrics;
mod present;
mod push;
mod receive;
mod steps;
mod target;
mod watch;

use std::path::{Path, PathBuf};

use report::{Report, Table};
use store::{Link, Location, Store, StoreError};

use crate::failure::Failure;

pub use self::attach::{AttachRequest, attach};
pub use self::compare::{compare, compare_trials};
pub use self::demo::fill_demo;
pub use self::gate::{GateRequest, acknowledge, alerts, gate, set_limit, suppress};
pub use self::metrics::metric_of_text;
pub use self::present::REQUIRED;
pub use self::push::{PushRequest, address_part, push};
pub use self::receive::{Received, Refused, receive};
pub use self::target::Target;
pub use self::watch::{Watch, Watched};
pub use store::{Limit, Metric, SeriesKey};

/// The command name in reports.
const COMMAND: &str = "experiment";

/// Where the store is.
#[derive(Clone, Debug, Default)]
pub struct StoreLocation {
    /// A file, or `postgres://…` [default: in the user's data].
    pub database: Option<String>,
    /// The folder of artifact files [default: next to the database].
    pub artifacts: Option<PathBuf>,
}

impl StoreLocation {
    fn open(&self) -> Result<Store, Failure> {
        Ok(Store::open(&Location::find(self.database.as_deref(), self.artifacts.as_deref()))?)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let help = match &error {
            StoreError::NoExperiment(_) => Some("list the experiments, or create a new one"),
            StoreError::NoTrial(..) => Some("show the experiment to see its trials"),
            StoreError::Exists(_) => Some("attach trials to it, or choose another name"),
            StoreError::Removed(_) => Some("restore it, or collect the garbage to free its name"),
            StoreError::Differs { .. } => Some("choose another trial, or ask to replace the existing one"),
            StoreError::Newer { .. } => Some("use a newer rocm-perf"),
            StoreError::NoAlert(_) => Some("list the alerts: they are named by their first bad trial"),
            _ => None,
        };
        let failure = match &error {
            StoreError::Database(_) | StoreError::Unreachable(_) => Failure::tool(error.to_string()),
            _ => Failure::input(error.to_string()),
        };
        failure.with_remedy(help)
    }
}

fn report(tables: Vec<Table>, notes: Vec<String>) -> Report {
    Report {
        command: COMMAND.into(),
        tables,
        notes: notes.into_iter().map(Into::into).collect(),
        ..Report::default()
    }
}

/// Makes an experiment.
pub fn new_experiment(place: &StoreLocation, name: &str, description: &str) -> Result<Report, Failure> {
    let mut store = place.open()?;
    store.new_experiment(name, description)?;
    Ok(report(vec![present::experiments(&[store.experiment(name)?])], Vec::new()))
}

/// All experiments or the removed ones, optionally only those with a tag.
pub fn list(place: &StoreLocation, removed: bool, tag: Option<&str>) -> Result<Report, Failure> {
    let mut rows = place.open()?.experiments(removed)?;
    rows.retain(|row| tag.is_none_or(|tag| row.tags.iter().any(|has| has == tag)));
    let notes = rows.is_empty().then(|| "there are no such experiments".to_string());
    Ok(report(vec![present::experiments(&rows)], notes.into_iter().collect()))
}

/// An experiment with its trials, or one trial with all that was attached.
pub fn show(place: &StoreLocation, name: &str, trial: Option<&str>) -> Result<Report, Failure> {
    let mut store = place.open()?;
    if let Some(trial) = trial {
        let trial = store.trial(name, trial)?;
        return Ok(report(present::trial(&trial), present::missing(&trial)));
    }
    let mut tables = vec![
        present::experiments(&[store.experiment(name)?]),
        present::trials(&store.trials(name, false)?),
        present::series(&store.series(name)?),
    ];
    let alerts = store.alerts(name)?;
    tables.extend((!alerts.is_empty()).then(|| present::alerts(&alerts)));
    tables.extend(present::remarks(&store.notes(name, None)?, &store.links(name, None)?));
    Ok(report(tables, Vec::new()))
}

/// Adds tags to an experiment or a trial, and takes others away.
pub fn tag(
    place: &StoreLocation,
    name: &str,
    trial: Option<&str>,
    add: &[String],
    remove: &[String],
) -> Result<Report, Failure> {
    let tags = place.open()?.tag(name, trial, add, remove)?;
    Ok(report(vec![present::tags(&tags)], Vec::new()))
}

/// Writes a note, optionally with an address.
pub fn note(
    place: &StoreLocation,
    name: &str,
    trial: Option<&str>,
    text: &str,
    link: Option<&str>,
) -> Result<Report, Failure> {
    let mut store = place.open()?;
    match link {
        Some(url) => store.add_link(name, trial, &Link { url: url.into(), text: text.into() })?,
        None => store.add_note(name, trial, text)?,
    }
    Ok(report(present::remarks(&store.notes(name, trial)?, &store.links(name, trial)?), Vec::new()))
}

/// Removes an experiment or a trial; it can be restored until garbage is collected.
pub fn remove(place: &StoreLocation, name: &str, trial: Option<&str>) -> Result<Report, Failure> {
    place.open()?.remove(name, trial)?;
    let what =
        trial.map_or_else(|| format!("experiment `{name}`"), |trial| format!("trial `{trial}` of `{name}`"));
    Ok(report(Vec::new(), vec![format!("removed {what}; it can be restored until garbage is collected")]))
}

/// Brings a removed experiment or trial back.
pub fn restore(place: &StoreLocation, name: &str, trial: Option<&str>) -> Result<Report, Failure> {
    place.open()?.restore(name, trial)?;
    show(place, name, trial)
}

/// Deletes what was removed, and files that nothing refers to.
pub fn collect_garbage(place: &StoreLocation) -> Result<Report, Failure> {
    Ok(report(vec![present::collected(&place.open()?.collect()?)], Vec::new()))
}

/// Writes an experiment to a folder that `import` takes, with its optimisation steps as JSON lines.
pub fn export(place: &StoreLocation, name: &str, folder: &Path) -> Result<Report, Failure> {
    let mut store = place.open()?;
    let steps = steps::steps(&mut store, name)?;
    let bundle = store.export(name, folder, &[(steps::FILE, steps::lines(&steps).as_bytes())])?;
    let artifacts = bundle.trials.iter().map(|trial| trial.artifacts.len()).sum();
    let shown = folder.display().to_string();
    Ok(report(vec![present::exported(&shown, bundle.trials.len(), artifacts, steps.len())], Vec::new()))
}

/// Imports an exported experiment, optionally under another name.
pub fn import(place: &StoreLocation, folder: &Path, name: Option<&str>) -> Result<Report, Failure> {
    let mut store = place.open()?;
    let (name, attached) = store.import(folder, name)?;
    let new = attached.iter().filter(|attached| attached.new_trial).count();
    let notes = vec![format!("{new} of {} trials are new", attached.len())];
    Ok(report(vec![present::experiments(&[store.experiment(&name)?])], notes))
}
