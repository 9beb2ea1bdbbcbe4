//! Differences between versions of rocpd, for readers, queries and merges. No other code knows versions.
//!
//! Columns decide, not the number: a database's columns show where a value is.

use super::table;

/// A version of the schema: `3`, `3.0.4`, `4.1.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Changes what tables mean.
    pub major: u32,
    /// Changes tables.
    pub minor: u32,
    /// Adds columns.
    pub patch: u32,
}

/// The newest supported version of each line.
const NEWEST: [Version; 2] =
    [Version { major: 3, minor: 0, patch: 5 }, Version { major: 4, minor: 1, patch: u32::MAX }];

impl Version {
    /// The version written as `4`, `4.1` or `4.1.0`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.').map(|part| part.trim().parse().ok());
        let major = parts.next()??;
        Some(Self { major, minor: parts.next().unwrap_or(Some(0))?, patch: parts.next().unwrap_or(Some(0))? })
    }

    /// Whether all of its tables are known. From other versions only known tables are read.
    pub fn is_known(self) -> bool {
        let newest = NEWEST.iter().find(|newest| newest.major == self.major);
        newest.is_some_and(|newest| self <= *newest)
    }
}

/// The newest supported version, in words.
const NEWEST_KNOWN: &str = "4.1";

/// The warning for a database with this version; `None` if it is fully supported.
pub fn doubt(told: &str) -> Option<String> {
    let known = told.trim().is_empty() || Version::parse(told).is_some_and(Version::is_known);
    (!known).then(|| {
        format!(
            "rocpd schema {told} is not known (the newest that is: {NEWEST_KNOWN}); it was read as far as its tables \
             and columns are known"
        )
    })
}

/// A value of another table, found by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Column with the id.
    pub key: &'static str,
    /// The other table.
    pub table: &'static str,
    /// Its column with the value.
    pub value: &'static str,
}

/// Where a column of schema 3 is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// In the table itself.
    Own,
    /// In another table.
    Elsewhere(Elsewhere),
    /// Nowhere: read as empty.
    Nowhere,
}

const fn track(value: &'static str) -> Elsewhere {
    Elsewhere { key: "track_id", table: table::TRACK, value }
}

const fn timestamp(key: &'static str) -> Elsewhere {
    Elsewhere { key, table: table::TIMESTAMP, value: "value" }
}

/// Columns of schema 3 that are elsewhere in schema 4.
const MOVED: [(&str, Elsewhere); 9] = [
    ("nid", track("nid")),
    ("pid", track("pid")),
    ("tid", track("tid")),
    ("agent_id", track("agent_id")),
    ("queue_id", track("queue_id")),
    ("stream_id", track("stream_id")),
    ("start", timestamp("start_id")),
    ("end", timestamp("end_id")),
    ("timestamp", timestamp("timestamp_id")),
];

/// Where a column of a table is; `has` says whether a table has a column.
pub fn place(table: &str, column: &str, has: &dyn Fn(&str, &str) -> bool) -> ColumnSource {
    if has(table, column) {
        return ColumnSource::Own;
    }
    let moved = MOVED.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
    match moved {
        Some((_, to)) if has(table, to.key) && has(to.table, to.value) => ColumnSource::Elsewhere(*to),
        _ => ColumnSource::Nowhere,
    }
}

/// The table and column with the categories of events: schema 4.1 has a separate table.
pub fn categories(has: &dyn Fn(&str, &str) -> bool) -> (&'static str, &'static str) {
    if has(table::INFO_CATEGORY, "name") { (table::INFO_CATEGORY, "name") } else { (table::STRING, "string") }
}

/// Tag of `rocpd_metadata` that names a compression.
pub const COMPRESSION: &str = "compression";

/// JSON columns that a compressed database holds as LZ4 frames.
pub const COMPRESSED: [&str; 3] = ["extdata", "call_stack", "line_info"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_numbers() {
        let known = |text: &str| Version::parse(text).map(Version::is_known);
        assert!(["3", "3.0.5", "4", "4.0.0", "4.1", "4.1.7"].iter().all(|text| known(text) == Some(true)));
        assert!(["3.0.10", "3.1", "4.2.0", "4.10", "5", "2"].iter().all(|text| known(text) == Some(false)));
        assert_eq!(Version::parse("four"), None);
        assert_eq!(Version::parse(""), None);
        assert_eq!(doubt("4.1.0"), None);
        assert!(doubt("4.2.0").is_some_and(|text| text.contains("4.2.0")));
    }

    #[test]
    fn columns_decide_where_a_value_is() {
        let has = |columns: &'static [(&str, &str)]| {
            move |table: &str, column: &str| columns.contains(&(table, column))
        };
        let three = has(&[(table::REGION, "pid"), (table::REGION, "start")]);
        assert_eq!(place(table::REGION, "pid", &three), ColumnSource::Own);
        let four = has(&[
            (table::REGION, "track_id"),
            (table::REGION, "start_id"),
            (table::TRACK, "pid"),
            (table::TIMESTAMP, "value"),
        ]);
        assert_eq!(place(table::REGION, "pid", &four), ColumnSource::Elsewhere(track("pid")));
        assert_eq!(place(table::REGION, "start", &four), ColumnSource::Elsewhere(timestamp("start_id")));
        assert_eq!(place(table::REGION, "stream_id", &four), ColumnSource::Nowhere);
    }
}
