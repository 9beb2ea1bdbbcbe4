//! rocpd databases, queried directly: attached up to SQLite's limit, walked by virtual tables beyond it.

mod discover;
mod file;
mod shards;
mod unions;

use std::path::PathBuf;

use convert::rocpd::part::ExcludedRows;
use rusqlite::Connection;
use rusqlite::limits::Limit;
use trace::{Health, Map, Status};

use crate::error::Error;
pub(crate) use unions::create_totals;

use discover::Group;
use file::File;

/// SQLite was built for this many attached databases, its maximum.
const MOST_ATTACHED: i32 = 125;

/// SQLite joins at most 500 SELECTs into one; a merged file holds several groups.
const MOST_GROUPS: usize = 400;

/// Databases that are ready to be queried.
pub(crate) struct Opened {
    pub health: Health,
    pub copies: Vec<tempfile::TempDir>,
}

/// Registers the tables and views of all databases with a connection, without the rows `part` leaves out.
pub(crate) fn open(
    connection: &mut Connection,
    paths: Vec<PathBuf>,
    part: &ExcludedRows,
) -> Result<Opened, Error> {
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, MOST_ATTACHED).map_err(|e| set_up(&paths, e))?;
    let limit = connection.limit(Limit::SQLITE_LIMIT_ATTACHED).unwrap_or(0) as usize;
    let mut health = Health::default();
    let mut files = Vec::with_capacity(paths.len());
    for path in &paths {
        files.push(File::find(path, &mut health)?);
    }
    let mut databases = Vec::with_capacity(files.len());
    let attach = files.len() <= limit;
    for (number, file) in files.iter().enumerate() {
        let groups = if attach {
            file.attach(connection, &format!("db{number}"))?
        } else {
            discover::groups(&file.open()?, "main").map_err(|e| file.error(e))?
        };
        if groups.is_empty() {
            let why = "a SQLite database without rocpd tables".to_string();
            return Err(ingest::Error::NotATrace { path: file.path.clone(), why }.into());
        }
        for doubt in groups.iter().filter_map(|group| group.doubt.as_ref()) {
            health.report("schema", Status::Warn, None, format!("`{}`: {doubt}", file.path.display()));
        }
        databases.push(groups);
    }
    drop_duplicates(&files, &mut databases, &mut health);
    let attachable = attach && databases.iter().map(Vec::len).sum::<usize>() <= MOST_GROUPS;
    if !attachable && !part.is_whole() {
        return Err(Error::TooManyForPart { most: limit.min(MOST_GROUPS) });
    }
    let made = if attachable {
        let groups: Vec<(String, &Group)> = (0..)
            .zip(&databases)
            .flat_map(|(number, groups)| groups.iter().map(move |group| (format!("db{number}"), group)))
            .collect();
        unions::create(connection, &groups, part).and_then(|()| create_totals(connection))
    } else {
        let copies = files.iter().map(|file| file.uri.clone()).zip(databases).collect();
        shards::create(connection, copies)
    };
    made.map_err(|e| set_up(&paths, e))?;
    Ok(Opened { health, copies: files.into_iter().filter_map(|file| file.copy).collect() })
}

fn set_up(paths: &[PathBuf], error: rusqlite::Error) -> Error {
    let path = paths.first().cloned().unwrap_or_default();
    Error::Open { path, why: error.to_string() }
}

/// Keeps only the first database of every recording: a recording is identified by its guid, not its path.
fn drop_duplicates(files: &[File], databases: &mut [Vec<Group>], health: &mut Health) {
    let mut seen: Map<String, (usize, [i64; 3])> = Map::default();
    for (number, (file, groups)) in files.iter().zip(databases).enumerate() {
        groups.retain(|group| {
            let Some((guid, (first, rows))) = group.guids.iter().find_map(|guid| seen.get_key_value(guid))
            else {
                seen.extend(group.guids.iter().map(|guid| (guid.clone(), (number, group.last_ids))));
                return true;
            };
            let (path, first) = (file.path.display(), files[*first].path.display());
            let message = if *rows == group.last_ids {
                format!("skipped `{path}`: it has the same recording as `{first}` (guid {guid})")
            } else {
                format!(
                    "`{path}` and `{first}` have the same guid ({guid}) but different rows; only `{first}` is used"
                )
            };
            health.report("duplicate_input", Status::Warn, None, message);
            false
        });
    }
}
