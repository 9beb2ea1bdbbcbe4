//! Which tables of a database belong to one recording: those with one suffix, found by name; and whose rows
//! they hold.

use formats::rocpd::table;
use std::collections::{BTreeMap, BTreeSet};

use formats::rocpd::BEGINNING;
use rusqlite::{Connection, Result};

use super::schema::{self, SchemaVersion};

/// This many tables with one ending make it a suffix; so does a single metadata table.
const ENOUGH_TABLES: usize = 3;

/// The suffixes that group the tables of a database.
pub struct Suffixes(BTreeSet<String>);

impl Suffixes {
    /// The suffixes of metadata tables, and those that several tables share.
    pub fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let known = schema::tables(SchemaVersion::NEWEST);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in names {
            let plain = known.iter().map(|t| t.name).filter(|plain| name.starts_with(plain));
            if let Some(plain) = plain.max_by_key(|plain| plain.len()) {
                let count = counts.entry(&name[plain.len()..]).or_default();
                *count += if plain == table::METADATA { ENOUGH_TABLES } else { 1 };
            }
        }
        let enough = counts.values().copied().max().unwrap_or(0).min(ENOUGH_TABLES);
        let suffixes = counts.into_iter().filter(|(_, count)| *count >= enough);
        Self(suffixes.map(|(suffix, _)| suffix.to_string()).collect())
    }

    /// A table's plain name and the suffix of its recording; `None` for a table of no recording. Uses the
    /// longest matching suffix: the empty one always matches.
    pub fn split<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str)> {
        let rest = name.strip_prefix(BEGINNING)?;
        let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        ends.map(|at| name.split_at(BEGINNING.len() + at)).find(|(_, suffix)| self.0.contains(*suffix))
    }
}

/// The guids in the rows of a recording; that of the metadata may be an unfilled placeholder. `table` returns
/// the real name of a table that has all the columns, by its plain name.
pub fn guids<'t>(
    connection: &Connection,
    database: &str,
    table: &dyn Fn(&str, &[&str]) -> Option<&'t str>,
) -> Result<Vec<String>> {
    let small = [table::INFO_PROCESS, table::INFO_NODE, table::INFO_AGENT];
    let large = [table::KERNEL_DISPATCH, table::REGION, table::STRING];
    let selects = small.map(|t| (t, "DISTINCT", "")).into_iter().chain(large.map(|t| (t, "", " LIMIT 1")));
    for (plain, distinct, limit) in selects {
        let Some(name) = table(plain, &["guid"]) else { continue };
        let found =
            texts(connection, &format!("SELECT {distinct} guid FROM {}{limit}", qualified(database, name)))?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let Some(metadata) = table(table::METADATA, &["tag", "value"]) else { return Ok(Vec::new()) };
    texts(connection, &format!("SELECT value FROM {} WHERE tag = 'guid'", qualified(database, metadata)))
}

/// Strings of a query's first column; skips other types, empty strings and unfilled placeholders.
pub(crate) fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if let Ok(text) = row.get_ref(0)?.as_str()
            && !text.is_empty()
            && !text.starts_with("{{")
        {
            found.push(text.to_string());
        }
    }
    Ok(found)
}

/// SQLite joins at most 500 SELECTs into one.
const MOST_SELECTS: usize = 500;

/// SELECTs of several recordings as one; more than SQLite can join at once are joined in two steps.
pub(crate) fn united(selects: &[String]) -> String {
    if selects.len() <= MOST_SELECTS {
        return selects.join("\nUNION ALL ");
    }
    let joined = |some: &[String]| format!("SELECT * FROM ({})", some.join("\nUNION ALL "));
    selects.chunks(MOST_SELECTS).map(joined).collect::<Vec<_>>().join("\nUNION ALL ")
}

/// `"source"."rocpd_region_0000"`
pub fn qualified(database: &str, table: &str) -> String {
    format!("{}.{}", quoted(database), quoted(table))
}

/// A name in double quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'n>(names: &[&'n str]) -> Vec<Option<(&'n str, &'n str)>> {
        let suffixes = Suffixes::of(names.iter().copied());
        names.iter().map(|name| suffixes.split(name)).collect()
    }

    #[test]
    fn suffixes_are_found_with_and_without_metadata() {
        assert_eq!(
            split(&[
                "rocpd_metadata_ab_1",
                "rocpd_event_ab_1",
                "rocpd_event_operation_ab_1",
                "rocpd_news_ab_1"
            ]),
            [
                Some(("rocpd_metadata", "_ab_1")),
                Some(("rocpd_event", "_ab_1")),
                Some(("rocpd_event_operation", "_ab_1")),
                Some(("rocpd_news", "_ab_1"))
            ]
        );
        assert_eq!(
            split(&["rocpd_stringX", "rocpd_regionX", "rocpd_info_nodeX", "rocpd_event_operationX"]),
            [
                Some(("rocpd_string", "X")),
                Some(("rocpd_region", "X")),
                Some(("rocpd_info_node", "X")),
                Some(("rocpd_event_operation", "X"))
            ]
        );
        assert_eq!(split(&["rocpd_region"]), [Some(("rocpd_region", ""))]);
        let two = split(&["rocpd_metadata_a", "rocpd_region_a", "rocpd_metadata_b_a", "rocpd_region_b_a"]);
        assert_eq!(two[1], Some(("rocpd_region", "_a")));
        assert_eq!(two[3], Some(("rocpd_region", "_b_a")), "the longest that fits");
        assert_eq!(split(&["rocpd_metadata_a", "rocpd_notes", "other"])[1..], [None, None]);
        assert_eq!(split(&["other"]), [None]);
    }
}
