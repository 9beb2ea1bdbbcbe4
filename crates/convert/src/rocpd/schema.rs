//! rocpd's schema 3 in all its revisions: `schema.sql` has the data, this selects the lines of one revision.

use std::fmt;
use std::sync::OnceLock;

const TEXT: &str = include_str!("schema.sql");

/// A revision of schema 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaVersion {
    /// ROCm 7.0 and 7.1; files say just `3`.
    #[default]
    V3_0_0,
    /// Network cards are agents.
    V3_0_1,
    /// Graph columns and `rocpd_graph_launch`.
    V3_0_2,
    /// Dimensions of counters, streaming counters.
    V3_0_3,
    /// `rocpd_hip_event`.
    V3_0_4,
    /// `replay_pass`, more dimensions.
    V3_0_5,
}

impl SchemaVersion {
    /// All revisions, oldest first.
    pub const ALL: [SchemaVersion; 6] = [
        SchemaVersion::V3_0_0,
        SchemaVersion::V3_0_1,
        SchemaVersion::V3_0_2,
        SchemaVersion::V3_0_3,
        SchemaVersion::V3_0_4,
        SchemaVersion::V3_0_5,
    ];

    /// The newest revision.
    pub const NEWEST: SchemaVersion = SchemaVersion::V3_0_5;

    /// The version in the database's metadata: the first revision is plain `3`.
    pub fn tag(self) -> String {
        match self {
            SchemaVersion::V3_0_0 => "3".into(),
            other => other.to_string(),
        }
    }

    /// The revision written as `3`, `3.0.2` …
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.to_string() == text || v.tag() == text)
    }
}

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.0.{}", *self as u8)
    }
}

/// A table of one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Name without suffix, `rocpd_region`.
    pub name: &'static str,
    /// Columns in order, `id` first.
    pub columns: Vec<&'static str>,
    sql: String,
}

impl TableDef {
    /// The CREATE statement with suffix and guid filled in.
    pub fn create(&self, suffix: &str, guid: &str) -> String {
        // SQL ends at a NUL character, so a guid with one is written as bytes.
        let guid = match guid.contains('\0') {
            true => {
                format!("(CAST(x'{}' AS TEXT))", guid.bytes().map(|b| format!("{b:02x}")).collect::<String>())
            }
            false => format!("'{}'", guid.replace('\'', "''")),
        };
        self.sql.replace("{{suffix}}", suffix).replace("'{{guid}}'", &guid)
    }
}

/// The tables of a revision, ordered so that references point backwards if possible.
pub fn tables(version: SchemaVersion) -> Vec<TableDef> {
    let mut tables = Vec::new();
    let mut current: Option<TableDef> = None;
    for line in TEXT.lines() {
        let (line, tag) = line.split_once(" -- ").map_or((line, ""), |(line, tag)| (line, tag));
        let wanted = stands(tag, version);
        let quoted = line.split('"').nth(1);
        if let (true, Some(name)) = (line.starts_with("CREATE TABLE"), quoted) {
            let name = name.trim_end_matches("{{suffix}}");
            current = wanted.then(|| TableDef { name, columns: Vec::new(), sql: format!("{line}\n") });
        } else if let Some(table) = &mut current
            && wanted
        {
            if line.starts_with(')') {
                table.sql.push(')');
                tables.extend(current.take());
            } else if let Some(column) = quoted {
                table.columns.push(column);
                table.sql.push_str(line);
                table.sql.push('\n');
            }
        }
    }
    tables
}

/// Whether the newest revision of schema 3 has a column.
pub fn newest_has(table: &str, column: &str) -> bool {
    static NEWEST: OnceLock<Vec<TableDef>> = OnceLock::new();
    let newest = NEWEST.get_or_init(|| tables(SchemaVersion::NEWEST));
    newest.iter().any(|t| t.name == table && t.columns.contains(&column))
}

fn stands(tag: &str, version: SchemaVersion) -> bool {
    let revision = |text: &str| SchemaVersion::parse(text.trim());
    match tag.split_once(' ') {
        Some(("since", from)) => revision(from).is_none_or(|from| version >= from),
        Some(("until", to)) => revision(to).is_none_or(|to| version <= to),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_guid_with_a_nul_character_or_a_quote_makes_valid_tables() {
        for guid in ["ab\0cd", "a'b", "plain"] {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            for table in tables(SchemaVersion::NEWEST) {
                connection.execute_batch(&table.create("_x", guid)).unwrap();
            }
            connection.execute_batch("INSERT INTO rocpd_string_x (string) VALUES ('s')").unwrap();
            let hex: String =
                connection.query_row("SELECT hex(guid) FROM rocpd_string_x", [], |row| row.get(0)).unwrap();
            assert_eq!(hex, guid.bytes().map(|b| format!("{b:02X}")).collect::<String>());
        }
    }

    #[test]
    fn every_revision_is_valid_sql_with_its_own_columns() {
        for version in SchemaVersion::ALL {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            for table in tables(version) {
                connection.execute_batch(&table.create("_x", "it's")).unwrap();
                let select = format!("SELECT * FROM \"{}_x\"", table.name);
                let statement = connection.prepare(&select).unwrap();
                assert_eq!(statement.column_names().collect::<Vec<_>>(), table.columns, "{}", table.name);
            }
        }
        let has = |version, table: &str, column: &str| {
            tables(version).iter().any(|t| t.name == table && t.columns.contains(&column))
        };
        assert_eq!(tables(SchemaVersion::V3_0_0).len(), 20);
        assert!(!has(SchemaVersion::V3_0_1, "rocpd_kernel_dispatch", "graph_exec_id"));
        assert!(has(SchemaVersion::V3_0_2, "rocpd_kernel_dispatch", "graph_exec_id"));
        assert!(!has(SchemaVersion::V3_0_2, "rocpd_pmc_event", "xcc"));
        assert!(has(SchemaVersion::V3_0_4, "rocpd_hip_event", "hip_event_handle"));
        assert!(has(SchemaVersion::V3_0_5, "rocpd_kernel_dispatch", "replay_pass"));
        assert_eq!(SchemaVersion::parse("3"), Some(SchemaVersion::V3_0_0));
        assert_eq!(SchemaVersion::parse("3.0.4"), Some(SchemaVersion::V3_0_4));
        assert_eq!(SchemaVersion::parse("4"), None);
    }
}
