//! Baselines measured in the same run.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// The suffix of a rocpd database's tables.
fn suffix(db: &Connection) -> rusqlite::Result<String> {
    let name: String = db.query_row(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch%'",
        [],
        |row| row.get(0),
    )?;
    Ok(name["rocpd_kernel_dispatch".len()..].to_string())
}

/// One pass of plain SQL over dispatches and one over regions with their events: count, sum, min, max and
/// sum of squares by id. Less than `summary` does: no names, links, medians, self times or copies.
pub fn one_pass_sql(path: &Path) -> rusqlite::Result<()> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let suffix = suffix(&db)?;
    let kernels = format!(
        "SELECT kernel_id, COUNT(*), SUM(end - start), MIN(end - start), MAX(end - start), \
         SUM((end - start) * (end - start)) FROM rocpd_kernel_dispatch{suffix} GROUP BY kernel_id"
    );
    let regions = format!(
        "SELECT E.category_id, R.name_id, COUNT(*), SUM(R.end - R.start), MIN(R.end - R.start), \
         MAX(R.end - R.start), SUM((R.end - R.start) * (R.end - R.start)) FROM rocpd_region{suffix} R \
         JOIN rocpd_event{suffix} E ON E.id = R.event_id GROUP BY 1, 2"
    );
    for sql in [kernels, regions] {
        let mut statement = db.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}
