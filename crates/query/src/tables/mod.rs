//! A trace as rocpd's tables and views: virtual tables declared as data.
//!
//! Tables and row views are virtual tables directly over the trace's columns, so that no view is a join of
//! virtual tables; the few that describe the run, and the totals, are rocpd's own views over them.

mod composed;
mod definition;
mod events;
mod host;
mod index;
mod info;
mod memory;
mod model;
mod virtual_table;
mod work;

use std::sync::Arc;

use convert::rocpd::views::{self, Scope};
use rusqlite::Connection;
use rusqlite::vtab::Module;
use trace::Trace;

use definition::TableDef;
use model::Model;
use virtual_table::{SharedModel, TraceTable};

const MODULE: &Module<'static, TraceTable> = &Module::read_only_module();

/// Every virtual table.
fn definitions() -> impl Iterator<Item = &'static TableDef> {
    [info::TABLES, events::TABLES, work::TABLES, host::TABLES, composed::TABLES, memory::TABLES]
        .into_iter()
        .flatten()
}

/// Registers the tables and views of a trace with a connection.
pub(crate) fn create(connection: &mut Connection, trace: Trace) -> rusqlite::Result<()> {
    let shared = Arc::new(SharedModel::new(Model::new(trace)));
    connection.create_module(c"rocm_trace", MODULE, Some(shared))?;
    let mut sql = String::from("BEGIN;");
    for table in definitions() {
        sql.push_str(&format!("CREATE VIRTUAL TABLE temp.\"{}\" USING rocm_trace;\n", table.name));
    }
    for view in views::known().iter().filter(|v| v.scope == Scope::Rows) {
        if let (None, Some(select)) = (
            definitions().find(|table| table.name == view.name),
            view.select(&convert::rocpd::schema::newest_has),
        ) {
            sql.push_str(&format!("CREATE TEMP VIEW \"{}\" AS {select};\n", view.name));
        }
    }
    sql.push_str("COMMIT;");
    connection.execute_batch(&sql)?;
    crate::databases::create_totals(connection)
}

/// Registers the tables that rocpd does not have next to rocpd databases. Their trace is read when a
/// statement first uses them.
pub(crate) fn create_made(
    connection: &mut Connection,
    read: impl Fn() -> Result<Trace, String> + Send + Sync + 'static,
) -> rusqlite::Result<()> {
    let shared = SharedModel::later(Box::new(move || Ok(Model::new(read()?).beside_databases())));
    connection.create_module(c"rocm_trace", MODULE, Some(Arc::new(shared)))?;
    for table in memory::TABLES {
        // If the files have such a table, it comes first.
        let sql = format!("CREATE VIRTUAL TABLE IF NOT EXISTS temp.\"{}\" USING rocm_trace", table.name);
        connection.execute_batch(&sql)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use convert::rocpd::schema::{self, SchemaVersion};

    #[test]
    fn every_table_of_the_newest_schema_is_there_with_its_columns() {
        for table in schema::tables(SchemaVersion::NEWEST) {
            let ours = definitions().find(|d| d.name == table.name);
            let ours = ours.unwrap_or_else(|| panic!("{} is missing", table.name));
            let columns: Vec<&str> = ours.columns.iter().map(|c| c.name).collect();
            assert_eq!(columns, table.columns, "{}", table.name);
        }
    }
}
