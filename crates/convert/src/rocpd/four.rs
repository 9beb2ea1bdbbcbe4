//! A trace as a database of schema 4: written as schema 3, then converted table by table. For tests and
//! simulated runs; conversions write schema 3.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use files::{OutputFile, TemporaryFolder};
use formats::rocpd::table;
use rusqlite::{Connection, Result};
use trace::Trace;

use super::recordings::{Suffixes, qualified, quoted, texts, united};
use super::{Error, Options, Written};

const TEXT: &str = include_str!("schema_4.sql");

/// A version of schema 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FourVersion {
    /// Times are ids of `rocpd_timestamp`.
    V4_0,
    /// Times are times.
    V4_1,
}

impl fmt::Display for FourVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FourVersion::V4_0 => "4.0",
            FourVersion::V4_1 => "4.1",
        })
    }
}

/// Name of the attached source database.
const THREE: &str = "three";

/// Tables whose rows have a place and times, with the place columns.
const PLACED: [(&str, &[&str]); 4] = [
    (table::REGION, &["nid", "pid", "tid"]),
    (table::KERNEL_DISPATCH, &["nid", "pid", "tid", "agent_id", "queue_id", "stream_id"]),
    (table::MEMORY_COPY, &["nid", "pid", "tid", "queue_id", "stream_id"]),
    (table::MEMORY_ALLOCATE, &["nid", "pid", "tid", "agent_id", "queue_id", "stream_id"]),
];

/// Columns of a place.
const PLACE: [&str; 6] = ["nid", "pid", "tid", "agent_id", "queue_id", "stream_id"];

/// Columns of schema 3 that do not exist in schema 4: our writer leaves them empty.
const GONE: [&str; 3] = ["call_stack", "line_info", "user_name"];

/// Writes a finished trace as one database of schema 4.
pub fn write(
    trace: &Trace,
    target: &Path,
    version: FourVersion,
    options: &Options,
) -> std::result::Result<Written, Error> {
    let folder = TemporaryFolder::beside(target).map_err(|e| Error::write(target, &e))?;
    let three = folder.path().join("schema-3.db");
    let written = super::write(trace, &three, &Options { views: false, ..options.clone() })?;
    let output = OutputFile::reserve(target).map_err(|e| Error::write(target, &e))?;
    move_all(&three, output.partial(), version).map_err(|e| Error::write(target, &e))?;
    let bytes = std::fs::metadata(output.partial()).map_err(|e| Error::write(target, &e))?.len();
    output.commit().map_err(|e| Error::write(target, &e))?;
    Ok(Written { bytes, ..written })
}

fn move_all(three: &Path, target: &Path, version: FourVersion) -> Result<()> {
    let connection = Connection::open(target)?;
    connection.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; \
         PRAGMA temp_store = MEMORY;",
    )?;
    connection.execute("ATTACH ?1 AS three", [three.to_string_lossy()])?;
    let names =
        texts(&connection, "SELECT name FROM three.sqlite_master WHERE type = 'table' ORDER BY rowid")?;
    let suffixes = Suffixes::of(names.iter().map(String::as_str));
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (plain, suffix) in names.iter().filter_map(|name| suffixes.split(name)) {
        groups.entry(suffix).or_default().push(plain);
    }
    connection.execute_batch("BEGIN")?;
    for (suffix, tables) in &groups {
        Mover { connection: &connection, suffix, version }.run(tables)?;
    }
    let own = texts(&connection, "SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY rowid")?;
    let plain: BTreeSet<&str> =
        own.iter().filter_map(|name| suffixes.split(name)).map(|(plain, _)| plain).collect();
    for name in plain {
        let parts: Vec<String> = groups
            .keys()
            .map(|suffix| format!("SELECT * FROM {}", quoted(&format!("{name}{suffix}"))))
            .collect();
        connection.execute_batch(&format!("CREATE VIEW {} AS {}", quoted(name), united(&parts)))?;
    }
    connection.execute_batch("COMMIT; DETACH three")
}

/// Converts the tables of one recording.
struct Mover<'a> {
    connection: &'a Connection,
    suffix: &'a str,
    version: FourVersion,
}

impl Mover<'_> {
    fn run(&self, tables: &[&str]) -> Result<()> {
        let guid = self.texts("SELECT value FROM {rocpd_metadata} WHERE tag = 'guid'")?;
        self.define(guid.first().map_or("", String::as_str))?;
        self.execute(
            "CREATE TEMP TABLE categories AS SELECT row_number() OVER (ORDER BY id) AS id, id AS string, S.string AS \
             name FROM {rocpd_string} S WHERE id IN (SELECT category_id FROM {rocpd_event}); \
             CREATE UNIQUE INDEX temp.by_string ON categories(string);",
        )?;
        self.tracks()?;
        let mut times = 0;
        for plain in tables {
            match *plain {
                table::TRACK => continue,
                _ if self.columns("main", plain)?.is_empty() => self.copy_whole(plain)?,
                _ => times = self.copy(plain, times)?,
            }
        }
        self.execute(
            "INSERT INTO [rocpd_info_category](id, name) SELECT id, name FROM temp.categories; \
             UPDATE [rocpd_metadata] SET value = '{version}.0' WHERE tag = 'schema_version'; \
             DROP TABLE temp.categories; DROP TABLE temp.tracks;",
        )
    }

    /// Creates the tables of the version.
    fn define(&self, guid: &str) -> Result<()> {
        let version = self.version.to_string();
        let mut sql = String::new();
        let mut skipping = false;
        for line in TEXT.lines() {
            let (line, tag) = line.split_once(" -- only ").unwrap_or((line, ""));
            let stands = tag.is_empty() || tag == version;
            skipping |= line.starts_with("CREATE TABLE") && !stands;
            if stands && !skipping && !line.starts_with("--") {
                sql.push_str(line);
                sql.push('\n');
            }
            skipping &= !line.starts_with(')');
        }
        self.connection.execute_batch(
            &sql.replace("{{suffix}}", self.suffix).replace("{{guid}}", &guid.replace('\'', "''")),
        )
    }

    /// Every place of a row becomes a track, after the tracks of samples.
    fn tracks(&self) -> Result<()> {
        self.execute(
            "CREATE TEMP TABLE tracks (id INTEGER PRIMARY KEY, nid, pid, tid, agent_id, queue_id, stream_id, name_id); \
             INSERT INTO temp.tracks(id, nid, pid, tid, name_id) SELECT id, nid, pid, tid, name_id FROM {rocpd_track};",
        )?;
        for (plain, columns) in PLACED {
            let list = columns.join(", ");
            self.execute(&format!(
                "INSERT INTO temp.tracks({list}, name_id) SELECT DISTINCT {list}, -1 FROM {{{plain}}} ORDER BY {list};"
            ))?;
        }
        // Rows of several tables may share a place.
        self.execute(&format!(
            "DELETE FROM temp.tracks WHERE name_id = -1 AND id NOT IN (SELECT min(id) FROM temp.tracks \
             WHERE name_id = -1 GROUP BY {}); CREATE INDEX temp.by_place ON tracks({}, name_id); \
             INSERT INTO [rocpd_track](id, nid, pid, tid, agent_id, queue_id, stream_id, name_id) \
             SELECT id, nid, pid, tid, agent_id, queue_id, stream_id, nullif(name_id, -1) FROM temp.tracks;",
            PLACE.join(", "),
            PLACE.join(", ")
        ))
    }

    /// Copies a table that schema 4 does not define.
    fn copy_whole(&self, plain: &str) -> Result<()> {
        let sql = "SELECT sql FROM three.sqlite_master WHERE name = ?1";
        let definition: String =
            self.connection.query_row(sql, [format!("{plain}{}", self.suffix)], |row| row.get(0))?;
        self.connection.execute_batch(&definition)?;
        self.execute(&format!("INSERT INTO [{plain}] SELECT * FROM {{{plain}}};"))
    }

    /// Copies a table of both schemas, with columns that later revisions of schema 3 added to it. Times get
    /// ids from `times` on.
    fn copy(&self, plain: &str, times: i64) -> Result<i64> {
        let placed = PLACED.iter().find(|(name, _)| *name == plain).map(|(_, columns)| *columns);
        let (old, mut new) = (self.columns(THREE, plain)?, self.columns("main", plain)?);
        let moved = |column: &str| {
            GONE.contains(&column)
                || (placed.is_some() && PLACE.contains(&column))
                || new.contains(&format!("{column}_id"))
        };
        let added: Vec<String> =
            old.iter().filter(|column| !new.contains(column) && !moved(column)).cloned().collect();
        for column in added {
            self.execute(&format!("ALTER TABLE [{plain}] ADD COLUMN {};", quoted(&column)))?;
            new.push(column);
        }
        let track = placed.map(|columns| {
            let same: Vec<String> = PLACE
                .iter()
                .map(|column| match columns.contains(column) {
                    true => format!("T.{column} IS R.{column}"),
                    false => format!("T.{column} IS NULL"),
                })
                .collect();
            format!("(SELECT T.id FROM temp.tracks T WHERE {} AND T.name_id = -1)", same.join(" AND "))
        });
        let time = |nth: i64| format!("{times} + 2 * R.id - {}", 1 - nth);
        let value = |column: &String| match (plain, column.as_str()) {
            (_, "track_id") if track.is_some() => track.clone().unwrap_or_default(),
            (_, "start_id" | "timestamp_id") => time(0),
            (_, "end_id") => time(1),
            (table::EVENT, "category_id") => {
                "(SELECT C.id FROM temp.categories C WHERE C.string = R.category_id)".into()
            }
            (table::SAMPLE, "name_id") => {
                "coalesce((SELECT T.name_id FROM {rocpd_track} T WHERE T.id = R.track_id), 1)".into()
            }
            (table::MEMORY_ALLOCATE, "name_id") => "1".into(),
            // A device's display name comes first, its generic name second.
            (table::INFO_AGENT, "name") => "coalesce(nullif(R.user_name, ''), R.name)".into(),
            (table::INFO_AGENT, "generic_name") => "R.name".into(),
            (_, column) if old.iter().any(|own| own == column) => format!("R.{}", quoted(column)),
            _ => String::new(),
        };
        let pairs: Vec<(String, String)> = new.iter().map(|column| (quoted(column), value(column))).collect();
        let pairs: Vec<&(String, String)> = pairs.iter().filter(|(_, value)| !value.is_empty()).collect();
        let list = |part: fn(&(String, String)) -> &String| {
            pairs.iter().map(|pair| part(pair).as_str()).collect::<Vec<_>>().join(", ")
        };
        self.execute(&format!(
            "INSERT INTO [{plain}]({}) SELECT {} FROM {{{plain}}} R ORDER BY R.id;",
            list(|pair| &pair.0),
            list(|pair| &pair.1)
        ))?;
        let columns: &[(&str, i64)] = match plain {
            table::SAMPLE => &[("timestamp", 0)],
            _ if placed.is_some() => &[("start", 0), ("end", 1)],
            _ => return Ok(times),
        };
        if self.version == FourVersion::V4_0 {
            // Both times of a row, then those of the next, in the order of a real writer.
            let selects: Vec<String> = columns
                .iter()
                .map(|(column, nth)| {
                    let phase = if plain == table::SAMPLE { 0 } else { nth + 1 };
                    format!(
                        "SELECT {} AS id, R.{} AS value, {phase} AS phase FROM {{{plain}}} R",
                        time(*nth),
                        quoted(column)
                    )
                })
                .collect();
            self.execute(&format!(
                "INSERT INTO [rocpd_timestamp](id, value, phase) SELECT * FROM ({}) ORDER BY id;",
                selects.join(" UNION ALL ")
            ))?;
        }
        let sql = format!(
            "SELECT coalesce(max(id), 0) FROM {}",
            qualified(THREE, &format!("{plain}{}", self.suffix))
        );
        let last: i64 = self.connection.query_row(&sql, [], |row| row.get(0))?;
        Ok(times + 2 * last)
    }

    fn columns(&self, database: &str, plain: &str) -> Result<Vec<String>> {
        let mut columns = self.connection.prepare("SELECT name FROM pragma_table_info(?1, ?2)")?;
        let name = format!("{plain}{}", self.suffix);
        columns.query_map([name.as_str(), database], |row| row.get(0))?.collect()
    }

    /// Runs statements: `[table]` is one in the new file, `{table}` one in the old.
    fn execute(&self, sql: &str) -> Result<()> {
        self.connection.execute_batch(&self.filled(sql))
    }

    fn texts(&self, sql: &str) -> Result<Vec<String>> {
        texts(self.connection, &self.filled(sql))
    }

    fn filled(&self, sql: &str) -> String {
        let sql = sql.replace("{version}", &self.version.to_string());
        let sql = sql.replace("{rocpd_", "\"three\".\"rocpd_").replace("[rocpd_", "\"main\".\"rocpd_");
        sql.replace(['}', ']'], &format!("{}\"", self.suffix))
    }
}
