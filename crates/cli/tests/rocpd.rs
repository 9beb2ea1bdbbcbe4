//! `summary` and `query` on rocpd databases equal the same figures computed by plain SQL on the tables.

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{files, json, stdout, synth};
use rusqlite::Connection;

/// Databases of a run of two ranks.
fn ranks(folder: &Path) -> Vec<PathBuf> {
    synth(folder, &["--scenario", "training", "--ranks", "2", "--steps", "3", "--to", "rocpd"]);
    files(folder, ".db")
}

/// A table's real name.
fn table(db: &Connection, name: &str) -> String {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ?1 || '\\_%' ESCAPE '\\' \
               ORDER BY length(name) LIMIT 1";
    db.query_row(sql, [name.replace('_', "\\_")], |row| row.get(0)).expect("the table is there")
}

type Totals = BTreeMap<String, (i64, i64, i64, i64)>;

/// Name → (calls, total, min, max) by plain SQL.
fn by_sql(db: &Connection, sql: &str) -> Totals {
    let mut statement = db.prepare(sql).expect("plain SQL");
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))))
        .expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn reported(report: &serde_json::Value, table: &str) -> Totals {
    let number = |value: &serde_json::Value| value.as_i64().expect("a whole number");
    let rows = report["tables"][table].as_array().expect("a table");
    rows.iter()
        .map(|row| {
            let name = row["name"].as_str().expect("a name").to_string();
            (
                name,
                (
                    number(&row["calls"]),
                    number(&row["total_ns"]),
                    number(&row["min_ns"]),
                    number(&row["max_ns"]),
                ),
            )
        })
        .collect()
}

/// It once passed `--strict` without any of its kernels.
#[test]
fn strict_fails_on_a_database_cut_in_half() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &ranks(folder.path())[0];
    let bytes = std::fs::read(database).expect("a database");
    let half = folder.path().join("half.db");
    std::fs::write(&half, &bytes[..bytes.len() / 2]).expect("a file");
    let strict = |path: &Path| common::run(&["summary".as_ref(), "--strict".as_ref(), path.as_os_str()]);
    assert_eq!(strict(database).status.code(), Some(0));
    let output = strict(&half);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("the file is cut") && errors.contains(" lost "), "{errors}");
}

#[test]
fn summary_equals_plain_sql() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &ranks(folder.path())[0];
    let report = json("summary", &[database], &[]);
    let db = Connection::open(database).expect("a database");
    let (kernels, symbols) = (table(&db, "rocpd_kernel_dispatch"), table(&db, "rocpd_info_kernel_symbol"));
    let (regions, strings) = (table(&db, "rocpd_region"), table(&db, "rocpd_string"));
    let figures = "count(*), sum(d.end - d.start), min(d.end - d.start), max(d.end - d.start)";
    let sql = format!(
        "SELECT s.display_name, {figures} FROM {kernels} d JOIN {symbols} s ON s.id = d.kernel_id GROUP BY 1"
    );
    let expected = by_sql(&db, &sql);
    assert!(expected.len() > 3, "a run of several kernels");
    assert_eq!(reported(&report, "kernels"), expected);
    let sql = format!(
        "SELECT s.string, {figures} FROM {regions} d JOIN {strings} s ON s.id = d.name_id GROUP BY 1"
    );
    let expected = by_sql(&db, &sql);
    assert!(expected.len() > 2, "several calls");
    assert_eq!(reported(&report, "regions"), expected);
    let copies = table(&db, "rocpd_memory_copy");
    let (count, bytes): (i64, i64) = db
        .query_row(&format!("SELECT count(*), coalesce(sum(size), 0) FROM {copies}"), [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .expect("copies");
    let rows = report["tables"]["memory_copies"].as_array().cloned().unwrap_or_default();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_i64().unwrap_or(0)).sum::<i64>();
    assert_eq!((sum("calls"), sum("bytes")), (count, bytes));
}

#[test]
fn medians_and_spread_equal_their_definitions() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &ranks(folder.path())[0];
    let report = json("summary", &[database], &[]);
    let db = Connection::open(database).expect("a database");
    let (kernels, symbols) = (table(&db, "rocpd_kernel_dispatch"), table(&db, "rocpd_info_kernel_symbol"));
    let sql = format!(
        "SELECT s.display_name, d.end - d.start FROM {kernels} d JOIN {symbols} s ON s.id = d.kernel_id"
    );
    let mut durations: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let mut statement = db.prepare(&sql).expect("plain SQL");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    for (name, duration) in rows.map(|row| row.expect("a row")) {
        durations.entry(name).or_default().push(duration);
    }
    for row in report["tables"]["kernels"].as_array().expect("kernels") {
        let of = durations.get_mut(row["name"].as_str().expect("a name")).expect("the same kernels");
        of.sort_unstable();
        let middle = of.len() / 2;
        let median = if of.len() % 2 == 1 { of[middle] } else { (of[middle - 1] + of[middle]) / 2 };
        assert_eq!(row["median_ns"].as_i64(), Some(median));
        let mean = of.iter().sum::<i64>() as f64 / of.len() as f64;
        assert_eq!(row["mean_ns"].as_i64(), Some(mean.round() as i64));
        let squares: f64 = of.iter().map(|d| (*d as f64 - mean).powi(2)).sum();
        let stddev = (squares / (of.len() as f64 - 1.0)).sqrt().round() as i64;
        match row["stddev_ns"].as_i64() {
            Some(found) => assert!((found - stddev).abs() <= 1, "{found} against {stddev}"),
            None => assert_eq!(of.len(), 1, "only one call has no spread"),
        }
    }
}

#[test]
fn two_ranks_add_up_and_stand_apart_by_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = ranks(folder.path());
    assert_eq!(databases.len(), 2);
    let calls = |report: &serde_json::Value| -> i64 {
        let rows = report["tables"]["kernels"].as_array().expect("kernels");
        rows.iter().map(|row| row["calls"].as_i64().expect("calls")).sum()
    };
    let each: Vec<i64> = databases.iter().map(|db| calls(&json("summary", &[db], &[]))).collect();
    let together = json("summary", &[&databases[0], &databases[1]], &[]);
    assert_eq!(calls(&together), each.iter().sum::<i64>());
    let by_rank = json("summary", &[folder.path()], &["--by-rank"]);
    let rows = by_rank["tables"]["kernels"].as_array().expect("kernels");
    for (rank, calls) in each.iter().enumerate() {
        let of_rank = rows.iter().filter(|row| row["rank"] == rank.to_string().as_str());
        assert_eq!(
            of_rank.map(|row| row["calls"].as_i64().expect("calls")).sum::<i64>(),
            *calls,
            "rank {rank}"
        );
        let shares = rows.iter().filter(|row| row["rank"] == rank.to_string().as_str());
        let share: f64 = shares.map(|row| row["share_pct"].as_f64().expect("a share")).sum();
        assert!((share - 100.0).abs() < 1e-6, "shares of a rank add up");
    }
}

#[test]
fn the_same_database_twice_is_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &ranks(folder.path())[0];
    let copy = folder.path().join("copy.db");
    std::fs::copy(database, &copy).expect("a copy");
    let once = json("summary", &[database], &[]);
    let twice = json("summary", &[database, &copy], &[]);
    assert_eq!(once["tables"]["kernels"], twice["tables"]["kernels"]);
    let checks = twice["health"]["checks"].as_array().expect("checks");
    assert!(checks.iter().any(|check| check["id"] == "duplicate_input"), "{checks:?}");
}

/// The views of the rocpd sheet, §2.1 to §2.5.
const VIEWS: &[&str] = &[
    "code_objects",
    "kernel_symbols",
    "processes",
    "threads",
    "pmc_info",
    "regions",
    "region_args",
    "samples",
    "sample_regions",
    "regions_and_samples",
    "events_args",
    "stream_args",
    "kernels",
    "pmc_events",
    "counters_collection",
    "memory_copies",
    "memory_allocations",
    "scratch_memory",
    "top_kernels",
    "busy",
    "top",
    "kernel_summary",
    "kernel_summary_region",
    "memory_copy_summary",
    "memory_allocation_summary",
];

/// Rows of a query's result.
fn query(inputs: &[&Path], sql: &str) -> Vec<serde_json::Value> {
    let report = json("query", inputs, &["--sql", sql]);
    report["tables"]["result"].as_array().expect("a result").clone()
}

fn count(inputs: &[&Path], view: &str) -> i64 {
    query(inputs, &format!("SELECT count(*) AS n FROM {view}"))[0]["n"].as_i64().expect("a count")
}

#[test]
fn every_view_answers_on_one_database_on_two_and_on_a_torch_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let databases = ranks(&folder.path().join("rocpd"));
    let (one, two) = ([databases[0].as_path()], [databases[0].as_path(), databases[1].as_path()]);
    let torch = folder.path().join("torch");
    synth(&torch, &["--scenario", "training", "--ranks", "1", "--steps", "3", "--no-stacks"]);
    let torch = &files(&torch, ".rank0.json")[0];
    for view in VIEWS {
        let single = count(&one, view);
        let both = count(&two, view);
        count(&[torch], view);
        let per_row = !["top_kernels", "busy", "top"].contains(view) && !view.contains("summary");
        if per_row {
            assert!(both >= single, "{view}");
        }
    }
    for view in ["kernels", "regions", "memory_copies"] {
        let other = count(&[databases[1].as_path()], view);
        assert_eq!(count(&two, view), count(&one, view) + other, "{view} of two databases");
        assert!(count(&one, view) > 0 && count(&[torch], view) > 0, "{view}");
    }
    let shares = query(&[torch], "SELECT sum(percentage) AS p FROM top_kernels");
    assert!((shares[0]["p"].as_f64().expect("a sum") - 100.0).abs() < 1e-6);
}

#[test]
fn a_query_never_changes_a_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = &ranks(folder.path())[0];
    let before = std::fs::read(database).expect("a database");
    let beside = files(folder.path(), "");
    query(&[database], "CREATE TEMP TABLE t AS SELECT * FROM kernels; SELECT count(*) AS n FROM t");
    let refused =
        common::run(&["query", database.to_str().expect("a path"), "--sql", "DROP TABLE rocpd_string"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read(database).expect("a database"), before);
    assert_eq!(files(folder.path(), ""), beside, "no file was made or removed");
}

#[test]
fn csv_of_a_query_is_plain() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = ranks(folder.path())[0].display().to_string();
    let sql = "SELECT 1 AS a, 'x,\"y\"' AS b, NULL AS c UNION ALL SELECT 2, 'z', 0.5";
    let text = stdout(&["query", &database, "--sql", sql, "--format", "csv"]);
    assert_eq!(text, "a,b,c\n1,\"x,\"\"y\"\"\",\n2,z,0.5\n");
}
