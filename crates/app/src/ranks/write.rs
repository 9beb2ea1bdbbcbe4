//! Digests as files: one for each rank, written atomically; existing ones are kept.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use files::write_each;
use ranks::digest::{self, Digest};
use report::{Column, HealthCheck, HealthStatus, InputFact, Remedy, Report, Table, Unit, Value};
use stats::random::seed_of;
use trace::Map;

use super::find::{self, ENDING, RankSources, Source};
use crate::failure::Failure;
use crate::observer::Observer;

/// Which ranks to digest.
#[derive(Clone, Debug, Default)]
pub struct DigestRequest {
    /// Traces, or folders of them.
    pub paths: Vec<PathBuf>,
    /// The folder for the digests.
    pub out: PathBuf,
    /// The share of the inputs that this process handles.
    pub part: Option<WorkShare>,
    /// Digest inputs again that already have a digest.
    pub force: bool,
}

/// One of several equal shares of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkShare {
    /// Which one, from 0.
    pub number: usize,
    /// Number of shares.
    pub of: usize,
}

impl FromStr for WorkShare {
    type Err = String;

    /// `0/8`
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if number < of => Ok(WorkShare { number, of }),
            _ => Err("write it as NUMBER/OF, such as 0/8 for the first of eight".into()),
        }
    }
}

/// Writes the digests of all ranks; lists them.
pub fn digest(request: &DigestRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    let mut found = find::find(&request.paths)?;
    found.sources.retain(|source| matches!(source, Source::Trace { .. }));
    if let Some(part) = request.part {
        let mut place = 0;
        found.sources.retain(|_| {
            place += 1;
            (place - 1) % part.of == part.number
        });
    }
    std::fs::create_dir_all(&request.out).map_err(|error| cannot_write(&request.out, &error))?;
    let mut table = table();
    let mut report = Report { command: "digest".into(), ..Report::default() };
    let there = if request.force { Map::default() } else { already_there(&request.out) };
    let (kept, todo): (Vec<Source>, Vec<Source>) =
        found.sources.into_iter().partition(|source| is_done(source, &there));
    for source in &kept {
        for (path, digest) in there.get(&key(source)).into_iter().flatten() {
            table.push(row(path, digest, "kept"));
        }
        report.inputs.push(input(source));
    }
    let mut failed: Vec<(String, String)> = found.unusable;
    let todo = RankSources { sources: todo, unusable: Vec::new() };
    super::each_digest(&todo, observer, |source, digests| {
        match digests {
            Ok(digests) => {
                let key = key(source);
                let paths: Vec<PathBuf> =
                    digests.iter().map(|digest| request.out.join(name(&key, digest))).collect();
                let encoded = digests.iter().map(digest::encode);
                write_each(paths.iter().cloned().zip(encoded))
                    .map_err(|(path, error)| cannot_write(&path, &error))?;
                for (path, digest) in paths.iter().zip(&digests) {
                    table.push(row(path, digest, "written"));
                }
            }
            Err(why) => failed.push((source.path().display().to_string(), why)),
        }
        report.inputs.push(input(source));
        Ok(())
    })?;
    if table.rows.is_empty() {
        // A share may be empty if there are few inputs.
        if let Some((path, why)) = failed.first() {
            return Err(Failure::input(format!("`{path}`: {why}")));
        }
        if request.part.is_none() {
            return Err(Failure::input("the inputs hold no trace").with_help(Remedy::NameInput));
        }
    }
    for (path, why) in failed {
        let message = format!("`{path}` is left out: {why}");
        report.health.push(HealthCheck {
            id: "left_out".into(),
            status: HealthStatus::Warn,
            value: None,
            message,
        });
    }
    table.sort_by("file");
    report.tables = vec![table];
    Ok(report)
}

fn table() -> Table {
    let columns = vec![
        Column::text("file"),
        Column::int("rank", Unit::None).key(),
        Column::text("host").normal(),
        Column::int("steps", Unit::None),
        Column::int("collectives", Unit::None),
        Column::int("kernels", Unit::None),
        Column::text("state"),
        Column::text("source").detail(),
    ];
    Table::new("digests", "Digests", columns)
}

fn row(path: &Path, digest: &Digest, state: &str) -> Vec<Value> {
    let host = digest.identity.host.as_str();
    vec![
        Value::Text(path.display().to_string()),
        Value::int_or(digest.identity.rank.map(i64::from), "the input does not record a rank"),
        if host.is_empty() { Value::absent("the input has no host name") } else { Value::from(host) },
        Value::from(digest.steps.len()),
        Value::from(digest.collectives.len()),
        Value::Int(digest.kernels.iter().map(|kernel| kernel.count as i64).sum()),
        Value::from(state),
        Value::from(digest.identity.source.as_str()),
    ]
}

fn input(source: &Source) -> InputFact {
    let format = match source {
        Source::Trace { input, .. } => input.format.name().to_string(),
        Source::Digest { .. } => ENDING.to_string(),
    };
    InputFact { path: source.path().display().to_string(), format, bytes: source.bytes(), rank: None }
}

/// Identifies an input in digest names: by its path, which should be the same on every node.
fn key(source: &Source) -> String {
    let path = source.path();
    let full = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    format!("{:08x}", seed_of(&[&full.to_string_lossy()]) as u32)
}

/// `rank-000012-1a2b3c4d.digest`
fn name(key: &str, digest: &Digest) -> String {
    let identity = &digest.identity;
    let who = match (identity.rank, identity.gpu) {
        (Some(rank), None) => format!("rank-{rank:06}"),
        (Some(rank), Some(gpu)) => format!("rank-{rank:06}-gpu-{gpu}"),
        (None, Some(gpu)) => format!("pid-{}-gpu-{gpu}", identity.pid),
        (None, None) => format!("pid-{}", identity.pid),
    };
    format!("{who}-{key}.{ENDING}")
}

/// The digests in a folder, by input.
fn already_there(folder: &Path) -> Map<String, Vec<(PathBuf, Digest)>> {
    let mut there: Map<String, Vec<(PathBuf, Digest)>> = Map::default();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let Some((_, key)) =
            stem.rsplit_once('-').filter(|_| path.extension().is_some_and(|end| end == ENDING))
        else {
            continue;
        };
        // Damaged digests are written again.
        if let Some(digest) = std::fs::read(&path).ok().and_then(|bytes| digest::decode(&bytes).ok()) {
            there.entry(key.to_string()).or_default().push((path.clone(), digest));
        }
    }
    there
}

/// Whether all digests of an input exist and the input has not changed since.
fn is_done(source: &Source, there: &Map<String, Vec<(PathBuf, Digest)>>) -> bool {
    let Source::Trace { input, modified_ns } = source else { return false };
    there.get(&key(source)).is_some_and(|digests| {
        let same = |digest: &Digest| {
            (digest.identity.bytes, digest.identity.modified_ns) == (input.bytes, *modified_ns)
        };
        let parts = digests.first().map_or(1, |(_, digest)| digest.identity.parts as usize);
        digests.len() >= parts && digests.iter().all(|(_, digest)| same(digest))
    })
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot write `{}`: {error}", path.display())).with_help(Remedy::OtherPlace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_below_their_count() {
        assert_eq!("2/8".parse(), Ok(WorkShare { number: 2, of: 8 }));
        for wrong in ["8/8", "1", "a/b", "-1/2"] {
            assert!(wrong.parse::<WorkShare>().is_err(), "{wrong}");
        }
    }
}
