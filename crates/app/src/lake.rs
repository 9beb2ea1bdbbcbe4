//! Lakes: traces of many ranks as one dataset, and SQL on it here or on a cluster.

use std::path::{Path, PathBuf};

use analysis::timeline::compare::MeasuredRun;
use lake::rows::{Cell, Piece};
use lake::{Cluster, Engine, Error};
use model::classify::Classifier;
use report::{Column, InputFact, Remedy, Report, Table, Unit, Value};

use crate::failure::Failure;
use crate::input::Input;
use crate::query::distinct;

pub use lake::Address;

#[cfg(feature = "lake")]
pub use self::here::{lake_build, lake_check, lake_info};
#[cfg(not(feature = "lake"))]
pub use self::nowhere::{lake_build, lake_check, lake_info};

/// What to put into a lake.
#[derive(Clone, Debug)]
pub struct LakeBuildRequest {
    /// Files and folders with traces.
    pub inputs: Vec<PathBuf>,
    /// The lake: a folder, or `s3://BUCKET/FOLDER`.
    pub lake: String,
    /// The run's name; that of the inputs' folder if none is given.
    pub run: Option<String>,
    /// The node's name, if the traces do not have it.
    pub node: Option<String>,
    /// The rank of a single input, if nothing else says it.
    pub rank: Option<i64>,
    /// Whether the lake must exist already.
    pub existing: bool,
}

/// A lake to query.
#[derive(Clone, Debug)]
pub struct LakeSource {
    /// Where it is.
    pub address: Address,
    /// The scheduler of the cluster that reads it; `None`: this process reads it.
    pub cluster: Option<String>,
}

impl LakeSource {
    /// The lake that an input is, if it is one.
    pub fn of(input: &Input, cluster: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(address) = input.paths.iter().find_map(|path| Address::of_lake(path)) else {
            return match cluster {
                Some(_) => Err(Failure::input("a cluster queries lakes, and the input is not a lake")
                    .with_help(Remedy::MakeLake)),
                None => Ok(None),
            };
        };
        if input.paths.len() > 1 {
            return Err(Failure::input("a lake must be the only input")
                .with_help(Remedy::AddToLake(address.to_string())));
        }
        if !input.filters.is_empty() {
            return Err(
                Failure::input("windows and filters do not work on a lake").with_help(Remedy::LakeInSql)
            );
        }
        Ok(Some(Self { address, cluster: cluster.map(str::to_string) }))
    }

    /// Opens an engine for SQL on it, with its known problems.
    fn open(&self) -> Result<(Box<dyn Engine>, Vec<report::HealthCheck>), Failure> {
        match &self.cluster {
            Some(url) => Ok((Box::new(Cluster::new(self.address.clone(), url)), Vec::new())),
            None => open_here(&self.address),
        }
    }

    fn report(&self, command: &str, health: Vec<report::HealthCheck>) -> Report {
        let input =
            InputFact { path: self.address.to_string(), format: "lake".into(), ..InputFact::default() };
        Report { command: command.into(), inputs: vec![input], health, ..Report::default() }
    }
}

/// The digests of a lake, with the names of their files.
#[cfg(feature = "lake")]
pub(crate) fn digests(address: &Address) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    Ok(lake::check::digests(address)?)
}

/// This build cannot: see [`lake::AVAILABLE`].
#[cfg(not(feature = "lake"))]
pub(crate) fn digests(_: &Address) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    Err(Error::NoEngine.into())
}

#[cfg(feature = "lake")]
fn open_here(address: &Address) -> Result<(Box<dyn Engine>, Vec<report::HealthCheck>), Failure> {
    let session = lake::Session::open(address)?;
    let health = lake::present::half_written_check(session.unfinished());
    Ok((Box::new(session), health.into_iter().collect()))
}

#[cfg(not(feature = "lake"))]
fn open_here(_: &Address) -> Result<(Box<dyn Engine>, Vec<report::HealthCheck>), Failure> {
    Err(Error::NoEngine.into())
}

/// Runs one statement; the report has the first `limit` rows (0: all).
pub fn lake_query(source: &LakeSource, sql: &str, limit: usize) -> Result<Report, Failure> {
    let (engine, health) = source.open()?;
    let mut table = Table::default();
    engine.run(sql, &mut |piece| {
        if table.columns.is_empty() {
            table = empty_table(&piece);
        }
        for row in piece.rows {
            if limit > 0 && table.rows.len() == limit {
                table.hidden += 1;
            } else {
                table.push(row.into_iter().map(value).collect());
            }
        }
        true
    })?;
    for (i, column) in table.columns.iter_mut().enumerate() {
        column.text = table.rows.iter().any(|row| matches!(row[i], Value::Text(_)));
    }
    let mut report = source.report("query", health);
    report.tables.push(table);
    Ok(report)
}

/// Runs one statement and passes its rows on in pieces as they arrive; returning false ends it.
pub fn lake_query_pieces(
    source: &LakeSource,
    sql: &str,
    most_rows: usize,
    show: &mut dyn FnMut(&Table, bool) -> bool,
) -> Result<(), Failure> {
    let (engine, _) = source.open()?;
    let (mut first, mut given) = (true, 0);
    engine.run(sql, &mut |piece| {
        let mut table = empty_table(&piece);
        let left = if most_rows == 0 { usize::MAX } else { most_rows - given };
        for row in piece.rows.into_iter().take(left) {
            table.push(row.into_iter().map(value).collect());
        }
        given += table.rows.len();
        // The first piece has the columns, even if it has no rows.
        let wanted = show(&table, first);
        first = false;
        wanted && (most_rows == 0 || given < most_rows)
    })?;
    Ok(())
}

/// `summary` of a lake.
pub(crate) fn summary(
    source: &LakeSource,
    options: &analysis::SummaryOptions,
    python: bool,
) -> Result<Report, Failure> {
    let (engine, health) = source.open()?;
    let (names, found) = lake::summary::summary(engine.as_ref(), options, python)?;
    let tables = analysis::timeline::summary::present(&names, &found);
    let mut report = source.report("summary", health);
    report.tables = tables.tables;
    report.notes = tables.notes;
    Ok(report)
}

/// The lake, and the run in it if the path names one: `LAKE`, or `LAKE/run=NAME`.
fn lake_and_run(path: &Path) -> Option<(Address, Option<String>)> {
    if let Some(run) = path.file_name().and_then(|name| name.to_str()?.strip_prefix("run=")) {
        return Some((Address::of_lake(path.parent()?)?, Some(run.to_string())));
    }
    Some((Address::of_lake(path)?, None))
}

/// Whether every path is a lake or a run of one; a mix with traces is refused.
pub(crate) fn are_lakes(paths: &[PathBuf]) -> Result<bool, Failure> {
    let lakes = paths.iter().filter(|path| lake_and_run(path).is_some()).count();
    if lakes != 0 && lakes != paths.len() {
        return Err(Failure::input("lakes and traces cannot be compared with each other")
            .with_help("put the traces into a separate lake, then compare the lakes"));
    }
    Ok(lakes != 0)
}

/// The runs of lakes, as measured runs.
pub(crate) fn measured(
    paths: &[PathBuf],
    cluster: Option<&str>,
    classifier: &Classifier,
) -> Result<Vec<MeasuredRun>, Failure> {
    let mut all = Vec::new();
    for (address, run) in paths.iter().filter_map(|path| lake_and_run(path)) {
        let source = LakeSource { address, cluster: cluster.map(str::to_string) };
        let (engine, health) = source.open()?;
        for mut run in lake::compare::runs(engine.as_ref(), &source.address, run.as_deref())? {
            run.health = health.clone();
            all.push(MeasuredRun::of_blocks(run, classifier));
        }
    }
    Ok(all)
}

fn empty_table(piece: &Piece) -> Table {
    let names: Vec<&str> = piece.columns.iter().map(String::as_str).collect();
    let columns = distinct(&names).iter().map(|name| Column::int(name, Unit::Exact).key()).collect();
    Table::new("result", "Result", columns)
}

fn value(cell: Cell) -> Value {
    match cell {
        // No reason: an `absent` object next to the columns could hide a column of that name.
        Cell::Null => Value::absent(""),
        Cell::Int(number) => Value::Int(number),
        Cell::Real(number) => Value::Float(number),
        Cell::Text(text) => Value::Text(text),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let (failure, help) = match error {
            Error::NoEngine => (Failure::input(message), Some(Remedy::LakeEngine)),
            Error::NoLake { .. } => (Failure::input(message), Some(Remedy::MakeLake)),
            Error::NotALake { .. } => (Failure::input(message), Some("use a separate folder".into())),
            Error::Newer { .. } => (
                Failure::input(message),
                Some("use the version of rocm-perf that wrote it, or a newer one".into()),
            ),
            Error::Damaged { .. } => (Failure::input(message), Some(Remedy::CheckLake)),
            Error::Cluster { .. } => (Failure::tool(message), Some(Remedy::StartCluster)),
            Error::NoClient { .. } => (Failure::tool(message), Some(Remedy::ClusterClient)),
            Error::Store { .. } => (Failure::tool(message), None),
            Error::NoRun { .. } => (Failure::input(message), None),
            Error::Sql { hint, .. } => (Failure::input(message), hint.map(Into::into)),
            Error::Input(error) => return error.into(),
        };
        failure.with_remedy(help)
    }
}

#[cfg(feature = "lake")]
mod here {
    use lake::build::{BuildRequest, Hooks};
    use lake::{Address, Error, Manifest, build, check, present};
    use model::classify::Classifier;
    use ranks::digest;
    use trace::Trace;

    use super::LakeBuildRequest;
    use crate::Answer;
    use crate::failure::Failure;
    use crate::observer::{Observer, watched};
    use report::Report;

    /// Puts traces into a lake; fails at the end if some could not be added.
    pub fn lake_build(request: &LakeBuildRequest, observer: &dyn Observer) -> Result<Answer, Failure> {
        let wanted = BuildRequest {
            inputs: request.inputs.clone(),
            lake: Address::parse(&request.lake),
            run: request.run.clone(),
            node: request.node.clone(),
            rank: request.rank,
            existing: request.existing,
        };
        let built = watched("building", observer, |progress| -> Result<_, Error> {
            let cancelled = || observer.cancelled();
            let classifier = Classifier::builtin();
            let digests = |trace: &Trace, rank: &Manifest| -> Vec<Vec<u8>> {
                let modified = rank.sources.iter().map(|source| source.modified_ns).max().unwrap_or(0);
                let modified = i64::try_from(modified).unwrap_or(0);
                digest::of_trace(trace, &classifier, modified).iter().map(digest::encode).collect()
            };
            build::build(&wanted, &Hooks { progress, cancelled: &cancelled, digests: Some(&digests) })
        })?;
        if built.stopped {
            return Err(Failure::cancelled());
        }
        let failure = (!built.problems.is_empty()).then(|| {
            let count = built.problems.len();
            Failure::input(format!("{count} inputs were not added to the lake; the others were"))
        });
        Ok(Answer { report: present::built(&built), failure })
    }

    /// What is in a lake.
    pub fn lake_info(lake: &str) -> Result<Report, Failure> {
        let address = Address::parse(lake);
        let (ranks, unfinished) = check::contents(&address)?;
        Ok(present::contents(&address, &ranks, &unfinished))
    }

    /// What is wrong with a lake; fails if something is.
    pub fn lake_check(lake: &str, every_byte: bool) -> Result<Answer, Failure> {
        let checked = check::check(&Address::parse(lake), every_byte)?;
        let failure = (!checked.faults.is_empty())
            .then(|| Failure::gate(format!("the lake has {} problems", checked.faults.len())));
        Ok(Answer { report: present::checked(&checked), failure })
    }
}

#[cfg(not(feature = "lake"))]
mod nowhere {
    use lake::Error;
    use report::Report;

    use super::LakeBuildRequest;
    use crate::Answer;
    use crate::failure::Failure;
    use crate::observer::Observer;

    /// This build cannot: see [`lake::AVAILABLE`].
    pub fn lake_build(_: &LakeBuildRequest, _: &dyn Observer) -> Result<Answer, Failure> {
        Err(Error::NoEngine.into())
    }

    /// This build cannot: see [`lake::AVAILABLE`].
    pub fn lake_info(_: &str) -> Result<Report, Failure> {
        Err(Error::NoEngine.into())
    }

    /// This build cannot: see [`lake::AVAILABLE`].
    pub fn lake_check(_: &str, _: bool) -> Result<Answer, Failure> {
        Err(Error::NoEngine.into())
    }
}
