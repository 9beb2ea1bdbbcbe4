//! The tables, and their migration from older versions.

use crate::database::Database;
use crate::error::StoreError;
use crate::overview;

/// The version that this program writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// What each version added. `{id}` is the type of a number that the database assigns.
const MIGRATIONS: [&str; 3] = [
    "
CREATE TABLE experiments (
    id {id}, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL,
    created_ns BIGINT NOT NULL, changed_ns BIGINT NOT NULL, removed_ns BIGINT
);
CREATE TABLE trials (
    id {id}, experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    name TEXT NOT NULL, branch TEXT NOT NULL, testbed TEXT NOT NULL,
    created_ns BIGINT NOT NULL, changed_ns BIGINT NOT NULL, removed_ns BIGINT,
    UNIQUE (experiment_id, name)
);
CREATE TABLE artifacts (
    trial_id BIGINT NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    path TEXT NOT NULL, sha256 TEXT NOT NULL, bytes BIGINT NOT NULL, schema_name TEXT, attached_ns BIGINT NOT NULL,
    PRIMARY KEY (trial_id, path)
);
CREATE INDEX artifacts_by_content ON artifacts (sha256);
CREATE TABLE metadata (
    trial_id BIGINT NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    field TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (trial_id, field)
);
CREATE TABLE metrics (
    trial_id BIGINT NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    name TEXT NOT NULL, unit TEXT NOT NULL, value DOUBLE PRECISION NOT NULL,
    low DOUBLE PRECISION, high DOUBLE PRECISION, higher_is_better BIGINT NOT NULL,
    PRIMARY KEY (trial_id, name)
);
CREATE TABLE tags (
    experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    trial_id BIGINT REFERENCES trials(id) ON DELETE CASCADE, tag TEXT NOT NULL
);
CREATE INDEX tags_of_experiment ON tags (experiment_id);
CREATE TABLE notes (
    id {id}, experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    trial_id BIGINT REFERENCES trials(id) ON DELETE CASCADE,
    created_ns BIGINT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX notes_of_experiment ON notes (experiment_id);
CREATE TABLE links (
    id {id}, experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    trial_id BIGINT REFERENCES trials(id) ON DELETE CASCADE,
    url TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX links_of_experiment ON links (experiment_id);
",
    "
CREATE TABLE acknowledged (
    experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    branch TEXT NOT NULL, testbed TEXT NOT NULL, metric TEXT NOT NULL,
    first_trial_id BIGINT NOT NULL REFERENCES trials(id) ON DELETE CASCADE,
    reason TEXT NOT NULL, acknowledged_ns BIGINT NOT NULL,
    PRIMARY KEY (experiment_id, branch, testbed, metric, first_trial_id)
);
CREATE TABLE suppressed (
    experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    branch TEXT NOT NULL, testbed TEXT NOT NULL, metric TEXT NOT NULL,
    reason TEXT NOT NULL, suppressed_ns BIGINT NOT NULL,
    PRIMARY KEY (experiment_id, branch, testbed, metric)
);
CREATE TABLE limits (
    experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    branch TEXT NOT NULL, testbed TEXT NOT NULL, metric TEXT NOT NULL,
    least DOUBLE PRECISION, most DOUBLE PRECISION,
    PRIMARY KEY (experiment_id, branch, testbed, metric)
);
",
    "
ALTER TABLE trials ADD COLUMN conclusion TEXT;
ALTER TABLE experiments ADD COLUMN status TEXT NOT NULL DEFAULT 'empty';
ALTER TABLE experiments ADD COLUMN open_alerts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN trial_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN artifact_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN last_trial TEXT;
CREATE INDEX experiments_by_change ON experiments (changed_ns, id);
CREATE INDEX experiments_by_alerts ON experiments (open_alerts, changed_ns, id);
CREATE INDEX experiments_by_trials ON experiments (trial_count, changed_ns, id);
CREATE INDEX tags_by_name ON tags (tag, experiment_id);
CREATE TABLE overview (
    experiment_id BIGINT PRIMARY KEY REFERENCES experiments(id) ON DELETE CASCADE, summary TEXT NOT NULL
);
CREATE TABLE places (
    experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    branch TEXT NOT NULL, testbed TEXT NOT NULL, PRIMARY KEY (experiment_id, branch, testbed)
);
CREATE INDEX places_by_branch ON places (branch, experiment_id);
CREATE INDEX places_by_testbed ON places (testbed, experiment_id);
CREATE TABLE progress (
    experiment_id BIGINT NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,
    trial TEXT NOT NULL, kind TEXT NOT NULL, done BIGINT NOT NULL, total BIGINT, message TEXT NOT NULL,
    at_ns BIGINT NOT NULL, ended BIGINT NOT NULL, PRIMARY KEY (experiment_id, trial, kind)
);
CREATE INDEX progress_by_time ON progress (at_ns);
",
];

/// Tables of each version, for its backup.
const TABLES: [&[&str]; 3] = [
    &["store", "experiments", "trials", "artifacts", "metadata", "metrics", "tags", "notes", "links"],
    &["acknowledged", "suppressed", "limits"],
    &["overview", "places", "progress"],
];

/// The first version with an overview.
const OVERVIEW: i64 = 3;

/// Makes the current tables, from nothing or from those of an older version.
pub fn prepare(database: &mut dyn Database) -> Result<(), StoreError> {
    // Usually there is nothing to do, and nobody has to wait for that.
    if database.has_table("store")? && version(database)? == VERSION {
        return Ok(());
    }
    migrate_to(database, VERSION)
}

/// Brings the tables to a version.
pub(crate) fn migrate_to(database: &mut dyn Database, target: i64) -> Result<(), StoreError> {
    database.begin()?;
    match migrate(database, target) {
        Ok(()) => database.commit(),
        Err(error) => {
            let _ = database.rollback();
            Err(error)
        }
    }
}

fn migrate(database: &mut dyn Database, target: i64) -> Result<(), StoreError> {
    database.lock_schema()?;
    let found = match database.has_table("store")? {
        true => version(database)?,
        false => {
            database.batch("CREATE TABLE store (version BIGINT NOT NULL); INSERT INTO store VALUES (0);")?;
            0
        }
    };
    if found > VERSION {
        return Err(StoreError::Newer { found, known: VERSION });
    }
    if found > 0 && found < target {
        let tables: Vec<&str> =
            TABLES[..found as usize].iter().flat_map(|list| list.iter().copied()).collect();
        database.backup(found, &tables)?;
    }
    for step in found..target {
        let sql = MIGRATIONS[step as usize].replace("{id}", database.identity());
        database.batch(&sql)?;
    }
    if found < OVERVIEW && target >= OVERVIEW {
        overview::refresh_all(database)?;
    }
    database.query("UPDATE store SET version = $1", &[target.max(found).into()])?;
    Ok(())
}

fn version(database: &mut dyn Database) -> Result<i64, StoreError> {
    let rows = database.query("SELECT version FROM store", &[])?;
    let found = rows.first().map(|row| row[0].int());
    let found = found.ok_or_else(|| StoreError::Malformed("the store does not record its version".into()))?;
    if found > VERSION {
        return Err(StoreError::Newer { found, known: VERSION });
    }
    Ok(found)
}
