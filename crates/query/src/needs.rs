//! Which parts of a trace a query needs, so that a query on kernels does not read Python frames.

use model::memory::COUNTED;
use trace::{ArgNeeds, Needs};

/// Parts of the names of tables and views with arguments.
const ARGUMENTS: &[&str] = &["arg"];
/// Parts of the names of tables and views with host regions, and so Python frames.
const REGIONS: &[&str] = &["region", "event", "sample", "string", "thread", "marker", "arg", "memory_blocks"];
/// The table that is computed from allocations and their counts.
const MEMORY: &[&str] = &["memory_blocks"];
/// The view that counts regions although its name does not say so.
const REGIONS_TOO: &[&str] = &["top"];

/// Parts of names about the graph that replayed a row: the column's and those of its tables.
const GRAPHS: &[&str] = &["graph", "kernel_dispatch", "memory_copy"];

/// Tables that refer to rows of a trace by number, which does not work for rows of a database.
const NUMBERED: &[&str] = &["collectives"];

/// Whether statements name a table that can be joined only with rows of a trace.
pub(crate) fn names_rows_of_trace(sql: &str) -> bool {
    let lower = sql.to_lowercase();
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| NUMBERED.contains(&word))
}

/// Needs of the extra tables next to those of databases.
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

/// What to read for some statements; everything if they are not known yet.
pub(crate) fn of(sql: Option<&str>) -> Needs {
    let everything = Needs::everything();
    let Some(sql) = sql else { return everything };
    let lower = sql.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let names = |parts: &[&str]| words.iter().any(|word| parts.iter().any(|part| word.contains(part)));
    // The catalogue lists tables that the text does not have to name.
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
