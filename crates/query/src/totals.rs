//! `totals_by(guid, id, start, end)`: calls, nanoseconds, first start and last end of every (guid, id), as JSON.
//!
//! SQLite groups by sorting; a hash table is faster for a million rows of a few dozen kernels. The result is
//! an array of `[guid, id, calls, ns, first, last]` that `json_each` turns into rows.

use std::fmt::Write;

use rusqlite::Result;
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::ValueRef;
use trace::Map;

/// The aggregate function.
pub(crate) struct TotalsBy;

#[derive(Clone, Copy)]
struct Total {
    calls: i64,
    ns: i128,
    first: i64,
    last: i64,
}

/// Totals so far. Rows come database by database, so the last guid is nearly always the right one.
#[derive(Default)]
pub(crate) struct Totals {
    guids: Vec<Option<Vec<u8>>>,
    guid: usize,
    by_id: Map<(usize, Option<i64>), Total>,
}

impl Totals {
    fn find_guid(&mut self, guid: ValueRef<'_>) -> usize {
        let bytes = match guid {
            ValueRef::Text(text) | ValueRef::Blob(text) => Some(text),
            _ => None,
        };
        if self.guids.get(self.guid).is_some_and(|last| last.as_deref() == bytes) {
            return self.guid;
        }
        self.guid = self.guids.iter().position(|known| known.as_deref() == bytes).unwrap_or_else(|| {
            self.guids.push(bytes.map(<[u8]>::to_vec));
            self.guids.len() - 1
        });
        self.guid
    }
}

impl Aggregate<Totals, String> for TotalsBy {
    fn init(&self, _: &mut Context<'_>) -> Result<Totals> {
        Ok(Totals::default())
    }

    fn step(&self, context: &mut Context<'_>, totals: &mut Totals) -> Result<()> {
        let number = |i| match context.get_raw(i) {
            ValueRef::Integer(value) => Some(value),
            ValueRef::Real(value) => Some(value as i64),
            _ => None,
        };
        let (id, start, end) = (number(1), number(2).unwrap_or(0), number(3).unwrap_or(0));
        let guid = totals.find_guid(context.get_raw(0));
        let ns = i128::from(end) - i128::from(start);
        let total =
            totals.by_id.entry((guid, id)).or_insert(Total { calls: 0, ns: 0, first: start, last: end });
        total.calls += 1;
        total.ns += ns;
        total.first = total.first.min(start);
        total.last = total.last.max(end);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, totals: Option<Totals>) -> Result<String> {
        let totals = totals.unwrap_or_default();
        let mut rows: Vec<_> = totals.by_id.iter().collect();
        rows.sort_by_key(|(key, _)| **key);
        let mut json = String::from("[");
        for (i, ((guid, id), total)) in rows.into_iter().enumerate() {
            json.push_str(if i == 0 { "[" } else { ",[" });
            match &totals.guids[*guid] {
                Some(text) => quote(&String::from_utf8_lossy(text), &mut json),
                None => json.push_str("null"),
            }
            let id = id.map_or("null".to_string(), |id| id.to_string());
            let Total { calls, ns, first, last } = total;
            // Writing to a string cannot fail.
            let _ = write!(json, ",{id},{calls},{ns},{first},{last}]");
        }
        json.push(']');
        Ok(json)
    }
}

/// Appends a text as JSON.
pub(crate) fn quote(text: &str, json: &mut String) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(json, "\\u{:04x}", c as u32);
            }
            c => json.push(c),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    #[test]
    fn totals_equal_group_by() {
        let connection = Connection::open_in_memory().unwrap();
        crate::functions::register(&connection).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t(guid, id, start, \"end\");
                 INSERT INTO t WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s LIMIT 500)
                 SELECT iif(i % 3, 'a\"b', 'c'), nullif(i % 7, 0), i, i * 3 FROM s",
            )
            .unwrap();
        let rows = |sql: &str| -> Vec<(String, Option<i64>, i64, i64, i64, i64)> {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement
                .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?)));
            rows.unwrap().map(Result::unwrap).collect()
        };
        let grouped = rows(
            "SELECT guid, id, count(*), sum(\"end\" - start), min(start), max(\"end\") FROM t GROUP BY 1, 2 ORDER BY 1, 2",
        );
        let hashed = rows(
            "SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5
             FROM json_each((SELECT totals_by(guid, id, start, \"end\") FROM t)) ORDER BY 1, 2",
        );
        assert_eq!(grouped.len(), 14);
        assert_eq!(grouped, hashed);
        assert!(rows("SELECT value->>0, 1, 1, 1, 1, 1 FROM json_each((SELECT totals_by(1, 1, 1, 1) FROM t WHERE 0))").is_empty());
    }
}
