//! Tables of any version in SQL: with the columns of schema 3, wherever their values are.

use formats::lz4;
use formats::rocpd::table;
use formats::rocpd::versions::{self, COMPRESSED, COMPRESSION, ColumnSource};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::recordings::{qualified, quoted};

/// Names of event categories, from whichever table has them: (id, guid, string).
pub const CATEGORIES: &str = "rocpd_event_category";

/// Columns of [`CATEGORIES`].
pub const CATEGORY_COLUMNS: [&str; 3] = ["id", "guid", "string"];

/// The function that decompresses JSON, under the vendor's name.
const UNPACK: &str = "lz4_decompress";

/// The tables of one recording, as SQL sees them.
pub trait Tables {
    /// The real name of a table, with its database if there are several.
    fn name(&self, plain: &str) -> Option<String>;
    /// Whether a table has a column.
    fn has(&self, plain: &str, column: &str) -> bool;
    /// Whether its JSON is compressed.
    fn is_compressed(&self) -> bool;
}

/// The expression for a column of a table; `None` if no table has it. For use in a SELECT from that table
/// alone.
pub fn expression(tables: &dyn Tables, plain: &str, column: &str) -> Option<String> {
    match versions::place(plain, column, &|table, column| tables.has(table, column)) {
        ColumnSource::Own
            if tables.is_compressed() && COMPRESSED.iter().any(|c| c.eq_ignore_ascii_case(column)) =>
        {
            Some(format!("CAST({UNPACK}({}) AS TEXT)", quoted(column)))
        }
        ColumnSource::Own => Some(quoted(column)),
        ColumnSource::Elsewhere(other) => {
            let name = tables.name(other.table)?;
            // A lookup by rowid, only done if the column is used.
            Some(format!(
                "(SELECT T.{} FROM {name} T WHERE T.id = {})",
                quoted(other.value),
                quoted(other.key)
            ))
        }
        ColumnSource::Nowhere => None,
    }
}

/// Where the rows of [`CATEGORIES`] are, and the column with the name.
pub fn categories(tables: &dyn Tables) -> (&'static str, &'static str) {
    versions::categories(&|table, column| tables.has(table, column))
}

/// Whether the metadata of a recording marks its JSON as compressed.
pub fn is_compressed(connection: &Connection, database: &str, metadata: Option<&str>) -> bool {
    let Some(metadata) = metadata else { return false };
    let sql = format!("SELECT 1 FROM {} WHERE tag = ?1", qualified(database, metadata));
    connection.query_row(&sql, [COMPRESSION], |_| Ok(())).is_ok()
}

/// A warning about the version in the metadata of a recording; `None` if it is fully supported.
pub fn doubt(connection: &Connection, database: &str, metadata: Option<&str>) -> Option<String> {
    let sql = format!("SELECT value FROM {} WHERE tag = 'schema_version'", qualified(database, metadata?));
    let told: String = connection.query_row(&sql, [], |row| row.get(0)).ok()?;
    versions::doubt(&told)
}

/// Registers the function that decompresses JSON.
pub fn register(connection: &Connection) -> Result<()> {
    let pure =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(UNPACK, 1, pure, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Blob(bytes) if lz4::is_frame(bytes) => {
                lz4::decompress(bytes).map_or(Value::Null, Value::Blob)
            }
            // The default of such a column is an empty blob.
            ValueRef::Blob([]) => Value::Text("{}".into()),
            other => Value::try_from(other).unwrap_or(Value::Null),
        })
    })
}

/// Whether any table has a version with a separate table of categories.
pub fn has_category_table(has: &dyn Fn(&str, &str) -> bool) -> bool {
    versions::categories(has).0 != table::STRING
}
