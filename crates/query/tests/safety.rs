//! Queries never change a trace, and errors say what is wrong and where.

use crate::common;

use common::{database, nth, number, rows, together};
use rocm_perf_query::{Error, Session, SqlError, Value};

fn sql_error(session: &Session, sql: &str) -> SqlError {
    let failed = match session.run(sql) {
        Ok(mut result) => result.collect().map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    match failed {
        Error::Sql(error) => error,
        other => panic!("{sql}: {other}"),
    }
}

#[test]
fn every_writing_statement_is_refused_and_the_file_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path(), 0);
    let before = std::fs::read(&path).unwrap();
    let listed = || {
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let files = listed();
    let session = Session::open(std::slice::from_ref(&path), &Default::default()).unwrap();
    let table =
        match &rows(&session, "SELECT name FROM db0.sqlite_master WHERE name LIKE 'rocpd_region_%'")[0][0] {
            Value::Text(name) => name.clone(),
            other => panic!("{other:?}"),
        };
    let other = folder.path().join("new.db").display().to_string();
    for sql in [
        format!("INSERT INTO db0.{table}(nid) VALUES (1)"),
        format!("UPDATE db0.{table} SET start = 0"),
        format!("DELETE FROM db0.{table}"),
        format!("DROP TABLE db0.{table}"),
        format!("ALTER TABLE db0.{table} RENAME TO x"),
        format!("CREATE INDEX db0.i ON {table}(start)"),
        format!("CREATE TEMP TRIGGER t AFTER INSERT ON {table} BEGIN SELECT 1; END"),
        "CREATE TABLE db0.t(x)".to_string(),
        "CREATE TABLE t(x)".to_string(),
        "CREATE VIEW db0.v AS SELECT 1".to_string(),
        "DROP VIEW db0.kernels".to_string(),
        format!("ATTACH '{other}' AS other"),
        "DETACH db0".to_string(),
        format!("VACUUM INTO '{other}'"),
        "VACUUM db0".to_string(),
        "REINDEX".to_string(),
        "ANALYZE".to_string(),
        "PRAGMA db0.user_version = 7".to_string(),
        "PRAGMA writable_schema = ON".to_string(),
        "PRAGMA db0.journal_mode = WAL".to_string(),
        "PRAGMA trusted_schema = ON".to_string(),
        "SELECT load_extension('x')".to_string(),
        "CREATE VIRTUAL TABLE temp.x USING fts5(a)".to_string(),
    ] {
        let error = sql_error(&session, &sql);
        assert!(!error.message.is_empty(), "{sql}");
    }
    assert_eq!(number(&session, "SELECT count(*) FROM kernels"), common::KERNELS as i64);
    drop(session);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(listed(), files);
}

#[test]
fn the_session_may_have_tables_of_its_own() {
    let session = Session::of_trace(together([nth(0)])).unwrap();
    let sql = "CREATE TEMP TABLE mine AS SELECT name, duration FROM kernels;
               INSERT INTO mine VALUES ('more', 1);
               CREATE TEMP VIEW longest AS SELECT max(duration) AS ns FROM mine;
               SELECT ns, (SELECT count(*) FROM mine) FROM longest;";
    assert_eq!(rows(&session, sql), [[Value::Integer(500), Value::Integer(common::KERNELS as i64 + 1)]]);
    assert_eq!(rows(&session, "PRAGMA table_info(kernels)").len(), 38);
    assert!(!rows(&session, "EXPLAIN QUERY PLAN SELECT * FROM kernels").is_empty());
}

#[test]
fn a_script_gives_every_result_in_turn() {
    let session = Session::of_trace(together([nth(0)])).unwrap();
    let mut script = session.script("SELECT 1 AS a; SELECT ';' AS b, 2 AS c; -- done").unwrap();
    let mut seen = Vec::new();
    while let Some(mut result) = script.next().unwrap() {
        let names: Vec<String> = result.columns().iter().map(|c| c.name.clone()).collect();
        seen.push((names, result.collect().unwrap().len()));
    }
    assert_eq!(seen, [(vec!["a".to_string()], 1), (vec!["b".to_string(), "c".to_string()], 1)]);
}

#[test]
fn columns_carry_their_declared_types() {
    let session = Session::of_trace(together([nth(0)])).unwrap();
    let result = session.run("SELECT name, start, start + 1 FROM kernels").unwrap();
    let declared: Vec<Option<&str>> = result.columns().iter().map(|c| c.declared.as_deref()).collect();
    assert_eq!(declared, [Some("TEXT"), Some("BIGINT"), None]);
}

#[test]
fn bad_sql_names_the_place_and_the_nearest_name() {
    let folder = tempfile::tempdir().unwrap();
    let database = Session::open(&[database(folder.path(), 0)], &Default::default()).unwrap();
    let trace = Session::of_trace(together([nth(0)])).unwrap();
    for session in [&database, &trace] {
        let error = sql_error(session, "SELECT 1;\nSELECT name\nFORM kernels");
        assert_eq!(error.to_string(), "bad SQL: near \"kernels\": syntax error (line 3, column 6)");
        assert_eq!(error.place.unwrap().picture(), "FORM kernels\n     ^^^^^^^");
        let error = sql_error(session, "SELECT nmae FROM kernels");
        assert_eq!(error.to_string(), "bad SQL: no such column: nmae (line 1, column 8)");
        assert_eq!(error.hint.as_deref(), Some("did you mean `name`?"));
        let error = sql_error(session, "SELECT * FROM top_kernel");
        assert_eq!(error.message, "no such table: top_kernel");
        assert_eq!(error.hint.as_deref(), Some("did you mean `top_kernels`?"));
        let error = sql_error(session, "SELECT medain(duration) FROM kernels");
        assert_eq!(error.hint.as_deref(), Some("did you mean `median`?"));
        let error = sql_error(session, "SELECT (1");
        assert_eq!(error.place.map(|p| (p.line, p.column)), Some((1, 10)));
        assert_eq!(sql_error(session, " -- nothing").message, "no SQL statement given");
        let error = sql_error(session, "SELECT 1;\n  DELETE FROM kernels");
        assert!(error.to_string().contains("line 2, column 3"), "{error}");
    }
}

#[test]
fn the_catalogue_lists_tables_and_views_with_columns() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [database(folder.path(), 0), database(folder.path(), 1)];
    let two = Session::open(&paths, &Default::default()).unwrap().relations();
    let one = Session::open(&paths[..1], &Default::default()).unwrap().relations();
    let trace = Session::of_trace(together([nth(0)])).unwrap().relations();
    let names = |list: &[rocm_perf_query::Relation]| -> Vec<(String, usize)> {
        list.iter().map(|r| (r.name.clone(), r.columns.len())).collect()
    };
    assert_eq!(names(&one), names(&two));
    assert_eq!(names(&one), names(&trace));
    for made in ["collectives", "memory_blocks", "memory_events", "memory_segments"] {
        assert!(one.iter().any(|r| r.name == made), "{made}");
    }
    assert!(one.iter().any(|r| r.name == "kernels" && r.columns.len() == 38));
    assert!(one.iter().any(|r| r.name == "rocpd_graph_launch"));
}
