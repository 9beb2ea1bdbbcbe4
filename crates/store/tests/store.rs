//! What a store keeps, on both databases.

mod common;

use common::{Server, attachment, file, files_below, latency, new_store, on_both, raw};
use rocm_perf_store::{Link, Location, Store, StoreError};
use serde_json::json;

fn open(location: &Location) -> Store {
    let mut store = Store::open(location).expect("a store");
    store.new_experiment("serving", "decode on one GPU").expect("an experiment");
    store
}

#[test]
fn what_was_attached_is_there_and_a_second_time_changes_nothing() {
    on_both(|location| {
        let mut store = open(location);
        let mut first = attachment("t1", vec![file("a.json", "[1]"), file("logs/b.txt", "b")]);
        first.branch = Some("main".into());
        first.testbed = Some("mi300x-1".into());
        first.metadata.insert("gpu_device_ids".into(), json!([0, 1]));
        first.metadata.insert("base_image".into(), json!(null));
        first.metrics.push(latency(12.5));
        let attached = store.attach(&first).expect("attached");
        assert!(attached.new_trial);
        assert_eq!(attached.added, ["a.json", "logs/b.txt"]);
        let trial = store.trial("serving", "t1").expect("a trial");
        assert_eq!(trial.metadata["gpu_device_ids"], json!([0, 1]));
        assert_eq!(trial.metadata["base_image"], json!(null));
        assert_eq!((trial.row.branch.as_str(), trial.row.testbed.as_str()), ("main", "mi300x-1"));
        assert_eq!(trial.row.metrics, [latency(12.5)]);
        assert_eq!(store.content(&trial.artifacts[0].sha256).expect("bytes"), b"[1]");
        let again = store.attach(&first).expect("attached again");
        assert_eq!((again.new_trial, again.added.len(), again.unchanged.len()), (false, 0, 2));
        assert_eq!(store.trial("serving", "t1").expect("a trial").artifacts, trial.artifacts);
    });
}

#[test]
fn an_attach_that_fails_leaves_nothing() {
    on_both(|location| {
        let mut store = open(location);
        store.attach(&attachment("t1", vec![file("a.json", "old")])).expect("attached");
        let mut mixed = attachment("t1", vec![file("new.json", "new"), file("a.json", "other")]);
        mixed.metrics.push(latency(1.0));
        let error = store.attach(&mixed).expect_err("another file of that name");
        assert!(matches!(&error, StoreError::Differs { path, .. } if path == "a.json"), "{error}");
        let trial = store.trial("serving", "t1").expect("a trial");
        assert_eq!(trial.artifacts.len(), 1);
        assert!(trial.row.metrics.is_empty());
        mixed.replace = true;
        assert_eq!(store.attach(&mixed).expect("replaced").replaced, ["a.json"]);
        let missing = common::attachment(
            "t2",
            vec![
                file("x", "x"),
                rocm_perf_store::NewArtifact {
                    path: "y".into(),
                    content: rocm_perf_store::Content::File("/no/such/file".into()),
                    schema: None,
                },
            ],
        );
        assert!(store.attach(&missing).is_err());
        assert!(matches!(store.trial("serving", "t2"), Err(StoreError::NoTrial(..))));
        for path in ["../x", "/etc/passwd", "a//b", "", "a\\b", "a/\u{0}"] {
            assert!(
                matches!(store.attach(&attachment("t3", vec![file(path, "")])), Err(StoreError::BadName(..))),
                "{path:?}"
            );
        }
        let unknown = rocm_perf_store::Attachment { experiment: "nope".into(), ..attachment("t", vec![]) };
        assert!(matches!(store.attach(&unknown), Err(StoreError::NoExperiment(_))));
    });
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 6;
    const TRIALS: usize = 8;
    on_both(|location| {
        drop(open(location));
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    let mut store = Store::open(location).expect("a store");
                    for trial in 0..TRIALS {
                        // The same trials and one common file from all writers; a separate file from each.
                        let own = file(&format!("{writer}.txt"), &format!("{writer} {trial}"));
                        let attached = store
                            .attach(&attachment(&format!("t{trial}"), vec![file("common", "same"), own]));
                        attached.expect("attached");
                        store.tag("serving", None, &["shared".into()], &[]).expect("tagged");
                    }
                });
            }
        });
        let mut store = Store::open(location).expect("a store");
        let trials = store.trials("serving", false).expect("trials");
        assert_eq!(trials.len(), TRIALS);
        assert!(trials.iter().all(|trial| trial.artifacts == WRITERS as i64 + 1), "{trials:?}");
        assert_eq!(store.experiment("serving").expect("it").tags, ["shared"]);
    });
}

#[test]
fn what_was_removed_comes_back_until_it_is_collected() {
    on_both(|location| {
        let mut store = open(location);
        for name in ["t1", "t2"] {
            store.attach(&attachment(name, vec![file("own", name), file("common", "x")])).expect("attached");
        }
        store.remove("serving", Some("t2")).expect("removed");
        assert!(matches!(store.trial("serving", "t2"), Err(StoreError::Removed(_))));
        assert!(matches!(store.attach(&attachment("t2", vec![])), Err(StoreError::Removed(_))));
        store.restore("serving", Some("t2")).expect("restored");
        assert_eq!(store.trial("serving", "t2").expect("it is back").artifacts.len(), 2);
        assert!(matches!(store.restore("serving", Some("t2")), Err(StoreError::NotRemoved(_))));
        let before = store.collect().expect("collected");
        assert_eq!((before.trials, before.files), (0, 0));
        store.remove("serving", Some("t2")).expect("removed");
        let collected = store.collect().expect("collected");
        assert_eq!((collected.trials, collected.files), (1, 1), "the common file is still named");
        assert!(matches!(store.restore("serving", Some("t2")), Err(StoreError::NoTrial(..))));
        store.remove("serving", None).expect("removed");
        assert!(matches!(store.new_experiment("serving", ""), Err(StoreError::Removed(_))));
        assert!(store.experiments(false).expect("a list").is_empty());
        assert_eq!(store.experiments(true).expect("a list").len(), 1);
        let collected = store.collect().expect("collected");
        assert_eq!((collected.experiments, collected.trials, collected.files), (1, 1, 2));
        store.new_experiment("serving", "").expect("the name is free");
    });
}

#[test]
fn a_bundle_makes_the_same_experiment_elsewhere() {
    on_both(|location| {
        let mut store = open(location);
        let mut trial = attachment("t1", vec![file("a.json", "[1]")]);
        trial.metrics.push(latency(3.0));
        trial.metadata.insert("model_name".into(), json!("m"));
        store.attach(&trial).expect("attached");
        store.tag("serving", Some("t1"), &["best".into()], &[]).expect("tagged");
        store.add_note("serving", None, "begun").expect("a note");
        let link = Link { url: "https://example.org/1".into(), text: "ticket".into() };
        store.add_link("serving", Some("t1"), &link).expect("a link");
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("bundle");
        let exported = store.export("serving", &out, &[]).expect("exported");
        store.import(&out, Some("copy")).expect("imported");
        store.import(&out, Some("copy")).expect("imported again");
        let copy = store.bundle("copy").expect("the copy");
        assert_eq!(copy.trials.len(), 1);
        assert_eq!(copy.notes.len(), 1, "a second import writes nothing twice");
        let (a, b) = (&exported.trials[0], &copy.trials[0]);
        assert_eq!(
            (&a.metrics, &a.metadata, &a.tags, &a.links),
            (&b.metrics, &b.metadata, &b.tags, &b.links)
        );
        assert_eq!(a.artifacts[0].sha256, b.artifacts[0].sha256);
        let stored = files_below(&out.join("artifacts")).remove(0);
        std::fs::write(&stored, "[2]").expect("changed");
        let error = store.import(&out, Some("other")).expect_err("a changed file");
        assert!(error.to_string().contains("not the file that was exported"), "{error}");
        assert!(!store.has_experiment("other").expect("asked"));
    });
}

#[test]
fn an_old_store_is_migrated_after_a_backup_and_a_newer_one_refused() {
    on_both(|location| {
        let mut store = open(location);
        store.attach(&attachment("t1", vec![file("a", "a")])).expect("attached");
        drop(store);
        raw(
            location,
            "DROP TABLE acknowledged; DROP TABLE suppressed; DROP TABLE limits; DROP TABLE overview; \
             DROP TABLE places; DROP TABLE progress; DROP INDEX experiments_by_change; \
             DROP INDEX experiments_by_alerts; DROP INDEX experiments_by_trials; DROP INDEX tags_by_name; \
             ALTER TABLE trials DROP COLUMN conclusion; ALTER TABLE experiments DROP COLUMN status; \
             ALTER TABLE experiments DROP COLUMN open_alerts; ALTER TABLE experiments DROP COLUMN trial_count; \
             ALTER TABLE experiments DROP COLUMN artifact_count; ALTER TABLE experiments DROP COLUMN last_trial; \
             UPDATE store SET version = 1;",
        );
        let mut store = Store::open(location).expect("migrated");
        assert_eq!(store.trials("serving", false).expect("trials").len(), 1);
        assert!(store.alerts("serving").expect("the new tables are there").is_empty());
        assert_eq!(store.experiment("serving").expect("it").trials, 1, "the overview was written");
        let check = "SELECT * FROM experiments WHERE 1 = 0";
        match location {
            Location::Sqlite { path, .. } => {
                let backup = path.with_file_name("experiments.db.v1.backup");
                let backup = rusqlite::Connection::open(backup).expect("a backup");
                let read = |sql: &str| backup.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a row");
                assert_eq!(read("SELECT version FROM store"), 1);
                assert_eq!(read("SELECT count(*) FROM artifacts"), 1);
                raw(location, check);
            }
            Location::PostgreSql { .. } => {
                raw(location, "SELECT 1 / count(*) FROM rocm_perf_backup_v1.artifacts");
            }
        }
        drop(store);
        raw(location, "UPDATE store SET version = 99");
        match Store::open(location) {
            Err(StoreError::Newer { found: 99, .. }) => {}
            other => panic!("{:?}", other.err()),
        }
    });
}

#[test]
fn a_server_that_was_away_is_used_again() {
    let Some(server) = Server::start() else { return };
    let location = new_store(&server);
    let mut store = open(&location);
    store.attach(&attachment("t1", vec![file("a", "a")])).expect("attached");
    server.kill();
    assert!(store.attach(&attachment("t2", vec![file("b", "b")])).is_err());
    assert!(store.trials("serving", false).is_err());
    assert!(matches!(Store::open(&location), Err(StoreError::Unreachable(_))));
    server.run();
    store.attach(&attachment("t2", vec![file("b", "b")])).expect("it is back");
    assert_eq!(store.trials("serving", false).expect("trials").len(), 2);
}
