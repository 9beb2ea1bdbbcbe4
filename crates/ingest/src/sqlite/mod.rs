//! A read-only reader of SQLite files that goes straight to the pages: mapped, on all cores, only the
//! requested columns. It never takes a lock or writes a byte, applies a `-wal` and undoes a hot `-journal`,
//! and counts damaged pages instead of failing on them.
//!
//! ```text
//! Pager (file + overlay) ─► schema ─► table ─► leaves ─► rows, decoded in parallel
//! ```

mod btree;
mod create;
mod overlay;
mod pager;
mod record;

use std::path::Path;

pub(crate) use btree::ROWS_OF_CHUNK;
pub use btree::Scanned;
pub use create::Column;
pub use record::{Col, Row, Value};

use pager::Pager;

/// Why a file is not a readable database.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be opened.
    Io(std::io::Error),
    /// It has no bytes.
    Empty,
    /// It does not begin like a SQLite file.
    NotSqlite,
    /// The header or the list of tables is invalid.
    Damaged(String),
}

/// A table in the schema.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    root: u32,
    /// Columns in the order of the CREATE statement.
    pub columns: Vec<Column>,
    /// WITHOUT ROWID tables and virtual tables have no b-tree of rows.
    pub has_rows: bool,
}

impl Table {
    /// Where a column is, by name in any case.
    pub fn column(&self, name: &str) -> Col {
        match self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)) {
            Some(i) => self.columns[i].place,
            None => Col::ABSENT,
        }
    }
}

/// An open database.
pub struct Database {
    pager: Pager,
    /// Tables, without the `sqlite_…` ones.
    pub tables: Vec<Table>,
    /// Names of views.
    pub views: Vec<String>,
    /// Damaged pages in the list of tables.
    pub damaged_schema: u64,
    /// The last id that SQLite assigned in each AUTOINCREMENT table.
    last_ids: Vec<(String, i64)>,
}

impl Database {
    /// Opens a file, with its write-ahead log or rollback journal if there is one.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let pager = Pager::open(path)?;
        let (tables, views, last_ids) = (Vec::new(), Vec::new(), Vec::new());
        let mut database = Self { pager, tables, views, damaged_schema: 0, last_ids };
        database.read_schema()?;
        Ok(database)
    }

    /// Pages that the file should have but does not.
    pub fn missing_pages(&self) -> u64 {
        self.pager.missing_pages()
    }

    /// Whether rows came from a `-wal` or were restored from a `-journal`.
    pub fn companion(&self) -> Option<&'static str> {
        self.pager.companion()
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name.eq_ignore_ascii_case(name))
    }

    /// The most rows a table should have, by the last id assigned in it; `None` if unknown.
    pub fn promised_rows(&self, table: &str) -> Option<u64> {
        let last = self.last_ids.iter().find(|(name, _)| name.eq_ignore_ascii_case(table))?;
        u64::try_from(last.1).ok()
    }

    /// Whether a table is known to be empty.
    pub fn is_empty(&self, table: &Table) -> bool {
        !table.has_rows || btree::is_empty(&self.pager, table.root)
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.pager.bytes()
    }

    fn read_schema(&mut self) -> Result<(), OpenError> {
        let master = Table { name: "sqlite_master".into(), root: 1, columns: Vec::new(), has_rows: true };
        let (kind, name, root, sql) = (Col::at(0), Col::at(1), Col::at(3), Col::at(4));
        let mut entries: Vec<(String, String, i64, String)> = Vec::new();
        let scanned = self.scan(
            &master,
            &[sql],
            Vec::new,
            |rows: &mut Vec<_>, row| {
                let text = |col| row.text(col).unwrap_or_default().into_owned();
                rows.push((text(kind), text(name), row.int(root).unwrap_or(0), text(sql)));
            },
            |rows| entries.extend(rows),
        );
        if entries.is_empty() && scanned.damaged > 0 {
            return Err(OpenError::Damaged("cannot read its list of tables".into()));
        }
        self.damaged_schema = scanned.damaged;
        for (kind, name, root, sql) in entries {
            if name == "sqlite_sequence" {
                self.read_last_ids(u32::try_from(root).unwrap_or(0));
            }
            if name.starts_with("sqlite_") {
                continue;
            }
            match kind.as_str() {
                "view" => self.views.push(name),
                "table" => {
                    let created = create::parse(&sql);
                    let root = u32::try_from(root).unwrap_or(0);
                    let has_rows = !created.without_rowid && root > 0;
                    self.tables.push(Table { name, root, columns: created.columns, has_rows });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_last_ids(&mut self, root: u32) {
        let table = Table { name: "sqlite_sequence".into(), root, columns: Vec::new(), has_rows: root > 0 };
        let (name, last) = (Col::at(0), Col::at(1));
        let mut found = Vec::new();
        let each = |rows: &mut Vec<_>, row: &Row<'_>| {
            rows.push((row.text(name).unwrap_or_default().into_owned(), row.int(last).unwrap_or(0)));
        };
        self.scan(&table, &[last], Vec::new, each, |rows| found.extend(rows));
        self.last_ids = found;
    }

    /// Reads all rows of a table: `each` is called on workers with a fresh `start()` for every few hundred
    /// pages, `merge` gets the results in row order. `wanted` are the columns that `each` reads.
    pub fn scan<T: Send>(
        &self,
        table: &Table,
        wanted: &[Col],
        start: impl Fn() -> T + Sync,
        each: impl Fn(&mut T, &Row<'_>) + Sync,
        mut merge: impl FnMut(T),
    ) -> Scanned {
        self.scan_expecting(table, wanted, start, each, |state, _| merge(state))
    }

    /// [`Self::scan`], where `merge` also gets about how many rows the whole table has, to reserve memory at once.
    pub fn scan_expecting<T: Send>(
        &self,
        table: &Table,
        wanted: &[Col],
        start: impl Fn() -> T + Sync,
        each: impl Fn(&mut T, &Row<'_>) + Sync,
        merge: impl FnMut(T, usize),
    ) -> Scanned {
        btree::scan(&self.pager, table, wanted, start, each, merge)
    }

    /// Reads columns by name: `take` gets the result of `read` for each row, in row order; nothing if the
    /// table is missing. A table without a column `id` is numbered by its rows.
    pub fn each<const N: usize, T: Send>(
        &self,
        table: &str,
        columns: [&str; N],
        read: impl Fn(&Row<'_>, [Col; N]) -> Option<T> + Sync,
        mut take: impl FnMut(T),
    ) -> Scanned {
        let Some(table) = self.table(table).filter(|table| table.has_rows) else { return Scanned::default() };
        let places = columns.map(|name| match table.column(name) {
            absent if !absent.is_present() && name == "id" => Col::ROWID,
            found => found,
        });
        let each = |rows: &mut Vec<T>, row: &Row<'_>| rows.extend(read(row, places));
        self.scan(table, &places, Vec::new, each, |rows| rows.into_iter().for_each(&mut take))
    }
}

#[cfg(test)]
mod tests;
