//! Which parts of a trace a query needs, so that a query on kernels does not read Python frames.

use model::memory::COUNTED;
use trace::{ArgNeeds, Needs};

/// Parts of names of tables and views that show arguments.
const ARGUMENTS: &[&str] = &["arg"];
/// Parts of names of tables and views that show host regions, and with them Python frames.
const REGIONS: &[&str] = &["region", "event", "sample", "string", "thread", "marker", "arg", "memory_blocks"];
/// The table that is replayed from allocations and what they count.
const MEMORY: &[&str] = &["memory_blocks"];
/// The view that counts regions without saying so in its name.
const REGIONS_TOO: &[&str] = &["top"];

/// Parts of names that show which graph replayed a row: the column's and those of the tables that have it.
const GRAPHS: &[&str] = &["graph", "kernel_dispatch", "memory_copy"];

/// Tables that refer to rows of a trace by their numbers, which rows of a database do not have.
const NUMBERED: &[&str] = &["collectives"];

/// Whether statements name a table whose rows can only be joined with those of a trace.
pub(crate) fn names_rows_of_trace(sql: &str) -> bool {
    let lower = sql.to_lowercase();
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| NUMBERED.contains(&word))
}

/// What the tables need that stand beside those of databases.
pub(crate) fn made() -> Needs {
    let args = ArgNeeds::Keys(COUNTED.map(String::from).to_vec());
    Needs {
        args,
        graph_nodes: false,
        graph_columns: false,
        counters: false,
        samples: false,
        ..Needs::everything()
    }
}

/// What to read for some statements; everything when they are not known yet.
pub(crate) fn of(sql: Option<&str>) -> Needs {
    let everything = Needs::everything();
    let Some(sql) = sql else { return everything };
    let lower = sql.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let names = |parts: &[&str]| words.iter().any(|word| parts.iter().any(|part| word.contains(part)));
    // The catalogue lists tables by names that the text need not hold.
    if names(&["sqlite_", "pragma"]) {
        return everything;
    }
    let frames = names(REGIONS) || words.iter().any(|word| REGIONS_TOO.contains(word));
    let args = match (names(ARGUMENTS), names(MEMORY)) {
        (true, _) => ArgNeeds::All,
        (false, true) => ArgNeeds::Keys(COUNTED.map(String::from).to_vec()),
        (false, false) => ArgNeeds::None,
    };
    let graph_nodes = names(GRAPHS);
    Needs { python_frames: frames, args, graph_nodes, graph_columns: graph_nodes, ..everything }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_is_read() {
        let cases = [
            ("SELECT * FROM top_kernels", false, false),
            ("select count(*) from KERNELS where name like '%gemm%'", false, false),
            ("SELECT * FROM top", true, false),
            ("SELECT name FROM rocpd_region", true, false),
            ("SELECT k.name FROM kernels k JOIN regions r USING (guid, stack_id)", true, false),
            ("SELECT * FROM region_args", true, true),
            ("SELECT * FROM events_args", true, true),
            ("SELECT name FROM sqlite_schema", true, true),
            ("SELECT line FROM memory_blocks", true, false),
        ];
        for (sql, frames, args) in cases {
            let needs = of(Some(sql));
            assert_eq!((needs.python_frames, needs.args == ArgNeeds::All), (frames, args), "{sql}");
        }
        assert!(of(Some("SELECT graph_exec_id FROM rocpd_kernel_dispatch")).graph_nodes);
        assert!(!of(Some("SELECT name FROM kernels")).graph_nodes);
        assert_eq!(of(None), Needs::everything());
    }
}
