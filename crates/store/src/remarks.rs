//! Tags, notes and links of experiments and trials.

use serde::{Deserialize, Serialize};

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;
use crate::experiments::{check_name, hold, place};
use crate::{Store, now_ns};

/// A note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// When it was written.
    pub created_ns: i64,
    /// The note.
    pub text: String,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The address.
    pub url: String,
    /// Its text.
    pub text: String,
}

impl Link {
    /// Fails unless a browser can follow it.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.url.starts_with("https://") || self.url.starts_with("http://") {
            true => Ok(()),
            false => Err(StoreError::Malformed(format!(
                "`{}` is not an address: it must begin with https:// or http://",
                self.url
            ))),
        }
    }
}

impl Store {
    /// Adds tags to an experiment or a trial, or takes them away.
    pub fn tag(
        &mut self,
        experiment: &str,
        trial: Option<&str>,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<String>, StoreError> {
        add.iter().try_for_each(|tag| check_name(tag))?;
        self.whole(|database| {
            let (id, trial) = place(database, experiment, trial)?;
            // Nobody else changes these tags in the meantime.
            hold(database, id)?;
            tag_rows(database, id, trial, add, remove)
        })
    }

    /// Writes a note.
    pub fn add_note(&mut self, experiment: &str, trial: Option<&str>, text: &str) -> Result<(), StoreError> {
        let now = now_ns();
        self.whole(|database| {
            let (id, trial) = place(database, experiment, trial)?;
            note_row(database, id, trial, now, text)
        })
    }

    /// Adds a link.
    pub fn add_link(&mut self, experiment: &str, trial: Option<&str>, link: &Link) -> Result<(), StoreError> {
        link.check()?;
        self.whole(|database| {
            let (id, trial) = place(database, experiment, trial)?;
            link_row(database, id, trial, link)
        })
    }

    /// Notes of an experiment or a trial, oldest first.
    pub fn notes(&mut self, experiment: &str, trial: Option<&str>) -> Result<Vec<Note>, StoreError> {
        let rows = self.of_place(experiment, trial, "created_ns, text", "notes")?;
        Ok(rows.into_iter().map(|row| Note { created_ns: row[0].int(), text: row[1].text() }).collect())
    }

    /// Links of an experiment or a trial.
    pub fn links(&mut self, experiment: &str, trial: Option<&str>) -> Result<Vec<Link>, StoreError> {
        let rows = self.of_place(experiment, trial, "url, text", "links")?;
        Ok(rows.into_iter().map(|row| Link { url: row[0].text(), text: row[1].text() }).collect())
    }

    fn of_place(
        &mut self,
        experiment: &str,
        trial: Option<&str>,
        columns: &str,
        table: &str,
    ) -> Result<Vec<Row>, StoreError> {
        let database = self.database.as_mut();
        let select = format!("SELECT {columns} FROM {table} WHERE experiment_id = $1 AND trial_id");
        match place(database, experiment, trial)? {
            (id, Some(trial)) => {
                database.query(&format!("{select} = $2 ORDER BY id"), &[id.into(), trial.into()])
            }
            (id, None) => database.query(&format!("{select} IS NULL ORDER BY id"), &[id.into()]),
        }
    }
}

/// Adds and removes tags; returns the resulting tags.
pub(crate) fn tag_rows(
    database: &mut dyn Database,
    experiment: i64,
    trial: Option<i64>,
    add: &[String],
    remove: &[String],
) -> Result<Vec<String>, StoreError> {
    let of = match trial {
        Some(_) => "experiment_id = $1 AND trial_id = $2",
        None => "experiment_id = $1 AND trial_id IS NULL",
    };
    let values = |tag: Option<&String>| -> Vec<Cell> {
        [Some(Cell::Int(experiment)), trial.map(Cell::Int), tag.map(Cell::from)]
            .into_iter()
            .flatten()
            .collect()
    };
    let at = if trial.is_some() { "$3" } else { "$2" };
    for tag in add.iter().chain(remove) {
        database.query(&format!("DELETE FROM tags WHERE {of} AND tag = {at}"), &values(Some(tag)))?;
    }
    for tag in add {
        database.query(
            "INSERT INTO tags (experiment_id, trial_id, tag) VALUES ($1, $2, $3)",
            &[experiment.into(), trial.into(), tag.into()],
        )?;
    }
    let left = database.query(&format!("SELECT tag FROM tags WHERE {of} ORDER BY tag"), &values(None))?;
    Ok(left.into_iter().map(|row| row[0].text()).collect())
}

/// Writes a note.
pub(crate) fn note_row(
    database: &mut dyn Database,
    experiment: i64,
    trial: Option<i64>,
    now: i64,
    text: &str,
) -> Result<(), StoreError> {
    database.query(
        "INSERT INTO notes (experiment_id, trial_id, created_ns, text) VALUES ($1, $2, $3, $4)",
        &[experiment.into(), trial.into(), now.into(), text.into()],
    )?;
    Ok(())
}

/// Adds a link.
pub(crate) fn link_row(
    database: &mut dyn Database,
    experiment: i64,
    trial: Option<i64>,
    link: &Link,
) -> Result<(), StoreError> {
    database.query(
        "INSERT INTO links (experiment_id, trial_id, url, text) VALUES ($1, $2, $3, $4)",
        &[experiment.into(), trial.into(), (&link.url).into(), (&link.text).into()],
    )?;
    Ok(())
}
