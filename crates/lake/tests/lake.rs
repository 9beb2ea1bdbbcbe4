//! Lakes in folders: what is built, kept, refused and found.

mod common;

use std::path::Path;

use common::{build_all, build_one, request, rows};
use rocm_perf_lake::build::Problem;
use rocm_perf_lake::check::{FaultKind, check};
use rocm_perf_lake::{Address, Error, Session};
use testing::lake::{KERNELS, RANKS, run_sql_tests, sql_folder};

fn lake_in(folder: &Path) -> Address {
    Address::Folder(folder.join("lake"))
}

fn kernels(lake: &Address) -> Vec<String> {
    rows(&Session::open(lake).unwrap(), "SELECT rank, count(*) FROM kernels GROUP BY rank ORDER BY rank")
        .unwrap()
}

#[test]
fn queries_give_what_sqlite_computed_from_the_formulas() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake_in(folder.path());
    build_all(&folder.path().join("job"), &lake);
    let session = Session::open(&lake).unwrap();
    let count = run_sql_tests(&sql_folder().join("lake.slt"), |sql| rows(&session, sql));
    assert!(count >= 20, "{count} queries");
}

#[test]
fn views_have_the_columns_and_rows_that_query_shows_of_the_traces() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    build_all(&traces, &lake);
    let (here, there) =
        (Session::open(&lake).unwrap(), query::Session::open(&[traces], &Default::default()).unwrap());
    for view in
        ["kernels", "regions", "memory_copies", "memory_allocations", "samples", "region_args", "processes"]
    {
        let relations = there.relations();
        let wanted = &relations.iter().find(|relation| relation.name == view).unwrap().columns;
        let found = rocm_perf_lake::rows::collect(&here, &format!("SELECT * FROM {view} LIMIT 0")).unwrap();
        for column in wanted {
            assert!(found.columns.contains(&column.name), "{view} has no {}", column.name);
        }
    }
    for sql in [
        "SELECT name, start, \"end\", duration, grid_x, workgroup_x, stack_id, pid FROM kernels ORDER BY start, name, pid",
        "SELECT name, category, start, duration, stack_id, tid FROM regions ORDER BY start, tid",
        "SELECT name, size, start, duration FROM memory_copies ORDER BY start, size",
        "SELECT name, total_calls, total_duration, average FROM top_kernels ORDER BY name",
        "SELECT name, total_calls, total_duration, percentage FROM top ORDER BY name",
        "SELECT name, calls, \"DURATION (nsec)\", \"MIN (nsec)\", \"MAX (nsec)\" FROM kernel_summary ORDER BY name",
    ] {
        let mut result = there.run(sql).unwrap();
        let wanted = result.collect().unwrap();
        let show = |value: &query::Value| match value {
            query::Value::Null => "NULL".to_string(),
            query::Value::Integer(number) => number.to_string(),
            query::Value::Real(number) => format!("{number:?}"),
            query::Value::Text(text) => text.clone(),
            query::Value::Blob(_) => "blob".into(),
        };
        let wanted: Vec<String> =
            wanted.iter().map(|row| row.iter().map(show).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(rows(&here, sql).unwrap(), wanted, "{sql}");
    }
}

#[test]
fn a_summary_of_a_lake_equals_that_of_its_traces() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    build_all(&traces, &lake);
    let session = Session::open(&lake).unwrap();
    let trace = ingest::read(&[traces], &trace::Needs::summary(), &Default::default()).unwrap();
    for by_rank in [false, true] {
        let options = analysis::SummaryOptions { by_rank, region_categories: None };
        let (names, found) = rocm_perf_lake::summary::summary(&session, &options, false).unwrap();
        let (found, wanted) = (
            analysis::timeline::summary::present(&names, &found),
            analysis::timeline::summary::summary(&trace, &options),
        );
        assert_eq!(found.tables, wanted.tables);
    }
}

#[test]
fn ranks_that_are_there_are_kept_and_changed_ones_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    let built = build_all(&traces, &lake);
    assert!(built.iter().flat_map(|built| &built.ranks).all(|rank| !rank.kept));
    let node = traces.join("n0");
    let again = build_one(&request(std::slice::from_ref(&node), &lake, "n0"));
    assert_eq!(again.ranks.len(), 2);
    assert!(again.ranks.iter().all(|rank| rank.kept));
    let changed = std::fs::read_to_string(node.join("rank1.json")).unwrap().replace("gemm", "gemv");
    std::fs::write(node.join("rank1.json"), changed + " ").unwrap();
    let again = build_one(&request(&[node], &lake, "n0"));
    assert_eq!(again.ranks.iter().map(|rank| rank.kept).collect::<Vec<_>>(), [true, false]);
    let session = Session::open(&lake).unwrap();
    let sql = "SELECT rank, count(*) FROM kernels WHERE name = 'gemv' GROUP BY rank";
    assert_eq!(rows(&session, sql).unwrap(), ["1 16"]);
}

#[test]
fn a_half_written_rank_is_not_seen_and_is_finished_later() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    build_all(&traces, &lake);
    // What a killed process leaves: the announcement and some files, no manifest.
    let (root, part) = (folder.path().join("lake"), "run=job/node=n0/rank=1");
    std::fs::remove_file(root.join(format!("manifests/{part}.json"))).unwrap();
    std::fs::create_dir_all(root.join("pending/run=job/node=n0")).unwrap();
    std::fs::write(root.join(format!("pending/{part}.json")), "{}").unwrap();
    std::fs::remove_file(root.join(format!("tables/regions/{part}/part.parquet"))).unwrap();
    let without: Vec<String> = [0, 2, 3].iter().map(|rank| format!("{rank} {KERNELS}")).collect();
    assert_eq!(kernels(&lake), without);
    assert_eq!(Session::open(&lake).unwrap().unfinished().len(), 1);
    let checked = check(&lake, false).unwrap();
    assert!(checked.faults.iter().any(|fault| fault.what == FaultKind::HalfWritten));
    let again = build_one(&request(&[traces.join("n0")], &lake, "n0"));
    assert_eq!(again.ranks.iter().map(|rank| rank.kept).collect::<Vec<_>>(), [true, false]);
    assert_eq!(kernels(&lake).len(), RANKS as usize);
    assert!(check(&lake, true).unwrap().faults.is_empty());
}

#[test]
fn two_jobs_in_one_run_are_named_and_not_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    build_all(&traces, &lake);
    let other = folder.path().join("other");
    testing::lake::write_ranks(&other);
    let built = build_one(&request(&[other.join("n0")], &lake, "n0"));
    assert!(built.ranks.is_empty());
    assert_eq!(built.problems.len(), 2);
    assert!(matches!(&built.problems[0], Problem::SameRank { .. }), "{:?}", built.problems);
    assert!(built.problems[0].to_string().contains("both rank"), "{}", built.problems[0]);
    assert_eq!(kernels(&lake)[0], format!("0 {KERNELS}"));
    // Both in one folder.
    std::fs::copy(other.join("n1/rank3.json"), other.join("n1/copy_of_rank3.json")).unwrap();
    let second = Address::Folder(folder.path().join("second"));
    let built = build_one(&request(&[other.join("n1")], &second, "n1"));
    assert_eq!((built.ranks.len(), built.problems.len()), (2, 1));
}

#[test]
fn one_damaged_file_among_many_is_named_and_the_rest_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    let [node, _] = testing::lake::write_ranks(&traces);
    std::fs::write(node.join("rank5.json"), "").unwrap();
    let built = build_one(&request(&[node], &lake, "n0"));
    assert_eq!((built.ranks.len(), built.problems.len()), (2, 1));
    assert!(built.problems[0].to_string().contains("rank5.json"));
    let missing = check(&lake, false).unwrap();
    assert!(missing.faults.is_empty());
}

#[test]
fn a_newer_lake_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lake = lake_in(folder.path());
    build_all(&folder.path().join("job"), &lake);
    let file = folder.path().join("lake/lake.json");
    std::fs::write(&file, r#"{"format":"rocm-perf lake","version":7}"#).unwrap();
    let error = Session::open(&lake).err().expect("refused");
    assert!(matches!(error, Error::Newer { version: 7, .. }), "{error}");
    assert!(error.to_string().contains("version 7"), "{error}");
    std::fs::write(&file, "no JSON").unwrap();
    assert!(matches!(Session::open(&lake).err(), Some(Error::Damaged { .. })));
    std::fs::remove_file(file).unwrap();
    assert!(matches!(Session::open(&lake).err(), Some(Error::NoLake { .. })));
    // A folder with something else in it is left alone.
    let request = request(&[folder.path().join("job")], &lake, "n0");
    let hooks =
        rocm_perf_lake::build::Hooks { progress: &Default::default(), cancelled: &|| false, digests: None };
    let error = rocm_perf_lake::build::build(&request, &hooks).err();
    assert!(matches!(error, Some(Error::NotALake { .. })), "{error:?}");
}

#[test]
fn missing_and_changed_files_and_missing_ranks_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, lake) = (folder.path().join("job"), lake_in(folder.path()));
    build_all(&traces, &lake);
    assert!(check(&lake, true).unwrap().faults.is_empty());
    let file = |table: &str, rank: &str| {
        folder.path().join(format!("lake/tables/{table}/run=job/{rank}/part.parquet"))
    };
    std::fs::remove_file(file("kernels", "node=n0/rank=0")).unwrap();
    let path = file("regions", "node=n0/rank=1");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let path = file("memory_copies", "node=n1/rank=3");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    std::fs::remove_file(folder.path().join("lake/manifests/run=job/node=n1/rank=2.json")).unwrap();
    let kinds = |every_byte: bool| -> Vec<String> {
        let faults = check(&lake, every_byte).unwrap().faults;
        let mut kinds: Vec<String> = faults
            .iter()
            .map(|fault| match &fault.what {
                FaultKind::Foreign => "foreign".into(),
                other => other.words(),
            })
            .collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    let found = kinds(false);
    assert!(found.contains(&"missing".to_string()) && found.contains(&"foreign".to_string()), "{found:?}");
    assert!(found.iter().any(|fault| fault.contains("bytes instead of")), "{found:?}");
    assert!(found.contains(&"run job lacks 1 ranks: 2".to_string()), "{found:?}");
    assert!(kinds(true).contains(&"its bytes have changed".to_string()));
}
