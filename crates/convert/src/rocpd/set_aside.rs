//! Sets definitions and last ids aside while creating the tables of many recordings.
//!
//! For each table it creates, SQLite scans all definitions in the file, and for each AUTOINCREMENT table it
//! fills, all last ids. A file with a thousand recordings has twenty thousand of both, so finished ones wait
//! outside the file until all tables exist. Their pages stay where they are.

use rusqlite::types::Value;
use rusqlite::{Connection, Result, params_from_iter};

/// What is temporarily removed from the file.
#[derive(Default)]
pub(crate) struct SetAside {
    /// Rows of `sqlite_master`, in order.
    definitions: Vec<[Value; 5]>,
    /// Rows of `sqlite_sequence`.
    last_ids: Vec<[Value; 2]>,
}

/// The table that SQLite creates for AUTOINCREMENT.
const LAST_IDS: &str = "sqlite_sequence";

impl SetAside {
    /// Removes definitions and last ids of tables from the file, except those to keep. No transaction may be
    /// open.
    pub fn take(&mut self, connection: &Connection, keep: &dyn Fn(&str) -> bool) -> Result<()> {
        connection.execute_batch("PRAGMA writable_schema = ON; BEGIN")?;
        self.take_last_ids(connection)?;
        let mut statement = connection
            .prepare("SELECT rowid, tbl_name, type, name, tbl_name, rootpage, sql FROM sqlite_master")?;
        let mut rows = statement.query([])?;
        let mut taken: Vec<i64> = Vec::new();
        while let Some(row) = rows.next()? {
            let table: String = row.get(1)?;
            if table == LAST_IDS || keep(&table) {
                continue;
            }
            taken.push(row.get(0)?);
            self.definitions.push([row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?]);
        }
        drop(rows);
        drop(statement);
        let mut delete = connection.prepare("DELETE FROM sqlite_master WHERE rowid = ?1")?;
        for row in taken {
            delete.execute([row])?;
        }
        drop(delete);
        // SQLite's cached definitions are dropped with them.
        connection.execute_batch("COMMIT; PRAGMA writable_schema = RESET")
    }

    /// Removes the last ids of all tables from the file.
    pub fn take_last_ids(&mut self, connection: &Connection) -> Result<()> {
        if !connection.table_exists(Some("main"), LAST_IDS)? {
            return Ok(());
        }
        let mut statement = connection.prepare("SELECT name, seq FROM sqlite_sequence")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.last_ids.push([row.get(0)?, row.get(1)?]);
        }
        drop(rows);
        connection.execute("DELETE FROM sqlite_sequence", []).map(|_| ())
    }

    /// Puts everything back. No transaction may be open.
    pub fn put_back(self, connection: &Connection) -> Result<()> {
        connection.execute_batch("PRAGMA writable_schema = ON; BEGIN")?;
        let mut insert = connection.prepare("INSERT INTO sqlite_master VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for definition in &self.definitions {
            insert.execute(params_from_iter(definition))?;
        }
        drop(insert);
        self.put_back_last_ids(connection)?;
        connection.execute_batch("COMMIT; PRAGMA writable_schema = RESET")
    }

    /// Puts last ids back.
    pub fn put_back_last_ids(&self, connection: &Connection) -> Result<()> {
        if self.last_ids.is_empty() {
            return Ok(());
        }
        let mut insert = connection.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)")?;
        for last_id in &self.last_ids {
            insert.execute(params_from_iter(last_id))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_is_there_again_as_if_nothing_had_been() {
        let make = |aside: bool| {
            let connection = Connection::open_in_memory().unwrap();
            let mut out = SetAside::default();
            for i in 0..5 {
                connection
                    .execute_batch(&format!(
                        "CREATE TABLE t{i} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE);
                         CREATE INDEX i{i} ON t{i} (name);
                         INSERT INTO t{i} (name) VALUES ('a'), ('b'), ('{i}');
                         DELETE FROM t{i} WHERE id = 3;"
                    ))
                    .unwrap();
                if aside {
                    out.take(&connection, &|table| table == "t1").unwrap();
                    assert!(connection.prepare("SELECT * FROM t0").is_err());
                    assert_eq!(connection.prepare("SELECT * FROM t1").is_ok(), i > 0);
                }
            }
            out.put_back(&connection).unwrap();
            let list = |sql: &str| -> Vec<Vec<Value>> {
                let mut statement = connection.prepare(sql).unwrap();
                let columns = statement.column_count();
                let rows = statement.query_map([], |row| (0..columns).map(|c| row.get(c)).collect());
                rows.unwrap().collect::<Result<_>>().unwrap()
            };
            assert_eq!(list("PRAGMA integrity_check"), [[Value::Text("ok".into())]]);
            let ids = list("SELECT name, seq FROM sqlite_sequence ORDER BY 1");
            connection.execute("INSERT INTO t4 (name) VALUES ('next')", []).unwrap();
            let rows = list("SELECT * FROM t4 ORDER BY name");
            (list("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2"), ids, rows)
        };
        assert_eq!(make(true), make(false));
    }
}
