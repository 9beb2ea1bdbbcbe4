//! What can be queried: tables and views with their columns.

use rusqlite::Connection;

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// `table`, `view`, `virtual`.
    pub kind: String,
    /// Its columns in order.
    pub columns: Vec<RelationColumn>,
}

/// A column of a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    /// Its name.
    pub name: String,
    /// Its declared type; empty if it has none.
    pub declared: String,
}

/// Every table and view that a query may name, sorted. Names with `@` or a double underscore are the
/// session's own parts of unions.
pub(crate) fn list(connection: &Connection) -> rusqlite::Result<Vec<Relation>> {
    let mut names = connection.prepare(
        "SELECT name, min(type) FROM pragma_table_list
         WHERE schema IN ('temp', 'main') AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND instr(name, '@') = 0
         GROUP BY name ORDER BY name",
    )?;
    let found: Vec<(String, String)> =
        names.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let mut columns = connection.prepare("SELECT name, type FROM pragma_table_info(?1)")?;
    let mut relations = Vec::with_capacity(found.len());
    for (name, kind) in found {
        let columns = columns
            .query_map([&name], |row| Ok(RelationColumn { name: row.get(0)?, declared: row.get(1)? }))?
            .collect::<Result<_, _>>();
        // One of the user's own views may be broken; it is listed without columns.
        relations.push(Relation { name, kind, columns: columns.unwrap_or_default() });
    }
    Ok(relations)
}
