//! rocpd databases of every kind: everything written is read.

use crate::rocpd_example::{
    GUIDS, assert_equal, example, made, problems, read, read_unfinished, said, suffix_of, table_names,
};

use convert::rocpd::{Flavour, Options, SchemaVersion};
use rocm_perf_ingest::rocpd;
use rusqlite::Connection;
use trace::{ArgNeeds, Graph, Needs, OptI64, RowRef};

#[test]
fn every_row_survives_a_round_trip() {
    for processes in [1, 2] {
        let trace = example(processes, 200);
        let made = made(&trace, &Options::default());
        let back = read(&made.path);
        assert_equal(&said(&back), &said(&trace));
        assert_eq!(problems(&back), [""; 0]);
        assert_eq!(rocpd::guids(&made.path).unwrap(), GUIDS[..processes]);
        assert_eq!(rocpd::probe(&made.path).unwrap(), rocpd::Probe::Rocpd);
        assert_eq!(back.sources.len(), 1);
    }
}

#[test]
fn every_revision_is_read() {
    let trace = example(1, 20);
    let only = |lines: Vec<String>, start: &str| -> Vec<String> {
        lines.into_iter().filter(|l| l.starts_with(start)).collect()
    };
    for version in SchemaVersion::ALL {
        let made = made(&trace, &Options { version: Some(version), ..Options::default() });
        let back = read(&made.path);
        for table in ["region", "allocation", "sample"] {
            assert_equal(&only(said(&back), table), &only(said(&trace), table));
        }
        let graph = if version < SchemaVersion::V3_0_2 { Graph::Unknown } else { Graph::Replayed };
        assert_eq!(back.kernels.graph[0], graph);
        assert_eq!(back.syncs.len(), if version < SchemaVersion::V3_0_4 { 0 } else { 20 });
        assert_eq!(back.counters.len(), 40);
        assert_eq!(back.counters.xcc[1].get().is_some(), version >= SchemaVersion::V3_0_3);
        assert_eq!(problems(&back), [""; 0]);
    }
}

#[test]
fn the_flavour_of_rocprof_sys_is_read() {
    let trace = example(2, 30);
    let made = made(&trace, &Options { flavour: Flavour::RocprofSys, ..Options::default() });
    let back = read(&made.path);
    assert_eq!(back.kernels.len(), 60);
    assert_eq!(back.strings.get(back.processes[0].guid), GUIDS[0].replace('-', ""));
    assert_eq!(back.agents[1].absolute_index, OptI64::some(4));
    assert_eq!(back.threads[0].tid, 15);
    assert!(back.strings.find("rocm_hip_api").is_some());
    // The user's text, although categories are spelt differently.
    let step = back.strings.find("step \"7\" é").unwrap();
    assert_eq!(back.regions.name.iter().filter(|n| **n == step).count(), 2);
    assert_eq!(back.samples.value.iter().filter(|v| !v.is_nan()).count(), 60);
    assert_eq!(problems(&back), [""; 0]);
}

#[test]
fn blanks_lose_nothing() {
    let trace = example(1, 40);
    let made = made(&trace, &Options { blank_every: 4, ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let suffix = suffix_of(&db);
    let sql = format!("UPDATE \"rocpd_kernel_dispatch{suffix}\" SET kernel_id = 555 WHERE id = 1");
    db.execute_batch(&sql).unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!(back.kernels.len(), 40);
    assert_eq!(back.kernels.correlation.iter().filter(|c| **c == 0).count(), 10);
    assert_eq!(back.kernels.thread.iter().filter(|t| !t.is_some()).count(), 10);
    assert_eq!(back.memory_copies.len(), 40);
    assert_eq!(back.kernels.name.iter().filter(|n| n.is_empty()).count(), 1);
    assert!(problems(&back).contains(&"lost_names"));
}

#[test]
fn names_without_suffix_and_without_underscore_are_read() {
    let trace = example(1, 12);
    for new in ["", "0000ddb5"] {
        let made = made(&trace, &Options { views: false, ..Options::default() });
        let db = Connection::open(&made.path).unwrap();
        let suffix = suffix_of(&db);
        let names = table_names(&db);
        for name in names {
            let renamed = format!("{}{new}", name.strip_suffix(&suffix).unwrap());
            db.execute_batch(&format!("ALTER TABLE \"{name}\" RENAME TO \"{renamed}\"")).unwrap();
        }
        drop(db);
        assert_equal(&said(&read(&made.path)), &said(&trace));
    }
}

#[test]
fn plain_tables_of_several_recordings_keep_them_apart() {
    let trace = example(2, 12);
    let made = made(&trace, &Options::default());
    let folder = tempfile::tempdir().unwrap();
    let flat = folder.path().join("flat.db");
    let db = Connection::open(&flat).unwrap();
    db.execute("ATTACH ?1 AS run", [made.path.to_str().unwrap()]).unwrap();
    let mut names =
        db.prepare("SELECT name FROM run.sqlite_master WHERE type = 'view' AND name LIKE 'rocpd_%'").unwrap();
    for name in names.query_map([], |r| r.get::<_, String>(0)).unwrap() {
        let name = name.unwrap();
        db.execute_batch(&format!("CREATE TABLE main.{name} AS SELECT * FROM run.{name}")).unwrap();
    }
    drop(names);
    drop(db);
    assert_equal(&said(&read(&flat)), &said(&trace));
}

#[test]
fn views_over_something_else_are_read_through_sqlite() {
    let trace = example(1, 12);
    let made = made(&trace, &Options { views: false, ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    let names = table_names(&db);
    for (i, name) in names.iter().enumerate() {
        let base = name.strip_suffix(&suffix).unwrap();
        let sql = format!(
            "ALTER TABLE \"{name}\" RENAME TO hidden_{i}; CREATE VIEW {base} AS SELECT * FROM hidden_{i}"
        );
        db.execute_batch(&sql).unwrap();
    }
    drop(db);
    let before = std::fs::read(&made.path).unwrap();
    assert_equal(&said(&read(&made.path)), &said(&trace));
    assert_eq!(std::fs::read(&made.path).unwrap(), before);
    assert_eq!(rocpd::probe(&made.path).unwrap(), rocpd::Probe::Rocpd);
}

#[test]
fn needs_are_honoured() {
    let trace = example(1, 30);
    let made = made(&trace, &Options::default());
    let summary = read_unfinished(&made.path, &Needs::summary()).unwrap();
    assert_eq!((summary.kernels.len(), summary.regions.len(), summary.args.len()), (30, 60, 0));
    // Instant markers are samples, and `summary` counts them.
    assert_eq!(
        (summary.counters.len(), summary.samples.len(), summary.syncs.len()),
        (0, trace.samples.len(), 0)
    );
    let nothing = read_unfinished(&made.path, &Needs::nothing()).unwrap();
    assert_eq!((nothing.kernels.len(), nothing.regions.len(), nothing.processes.len()), (0, 0, 1));
    let args = ArgNeeds::Keys(vec!["stream".into()]);
    let some = read_unfinished(&made.path, &Needs { args, ..Needs::summary() }).unwrap();
    assert_eq!(some.args.len(), 30);
}

#[test]
fn the_environment_is_not_kept() {
    let made = made(&example(1, 3), &Options::default());
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    let sql = format!("UPDATE \"rocpd_info_process{suffix}\" SET environment = ?1");
    db.execute(&sql, [r#"{"SLURM_PROCID":"5","AWS_SECRET":"hunter2"}"#]).unwrap();
    drop(db);
    let back = read(&made.path);
    assert_eq!(back.processes[0].rank, Some(5));
    assert!(back.strings.iter().all(|s| !s.contains("hunter2")));
}

#[test]
fn metrics_of_several_gpus_share_an_event() {
    let made = made(&example(1, 3), &Options { version: Some(SchemaVersion::V3_0_5), ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let s = suffix_of(&db);
    let sql = format!(
        "INSERT INTO \"rocpd_string{s}\" (id, string) VALUES (9001, 'Busy'), (9002, 'Temp'), (9003, 'spm');
         INSERT INTO \"rocpd_info_pmc{s}\" (id, nid, pid, agent_id, name, symbol, units) VALUES
            (801, 1000, 14, 0, 'Busy', 'Busy', '%'), (802, 1000, 14, 4, 'Busy', 'Busy', '%'), (803, 1000, 14, 4, 'Temp', 'Temp', 'C');
         INSERT INTO \"rocpd_track{s}\" (id, nid, pid, name_id) VALUES (701, 1000, 14, 9001), (702, 1000, 14, 9002), (703, 1000, 14, 9003);
         INSERT INTO \"rocpd_event{s}\" (id, category_id) VALUES (5001, 9003);
         INSERT INTO \"rocpd_sample{s}\" (id, track_id, timestamp, event_id) VALUES
            (601, 702, 12345, 5001), (602, 701, 12345, 5001), (603, 703, 777, NULL);
         INSERT INTO \"rocpd_pmc_event{s}\" (event_id, pmc_id, value, sample_id, xcc) VALUES
            (5001, 801, 11, NULL, NULL), (5001, 802, 22, NULL, NULL), (5001, 803, 33, NULL, NULL),
            (NULL, 802, 44, 603, 0), (NULL, 802, 55, 603, 1)"
    );
    db.execute_batch(&sql).unwrap();
    drop(db);
    let back = read(&made.path);
    let mut found: Vec<_> = back
        .samples
        .rows()
        .filter(|s| [12345, 777].contains(&s.start))
        .map(|s| {
            let index = s.agent.get().and_then(|a| back.agents[a].absolute_index.get());
            let text = |id| back.strings.get(id).to_string();
            (s.start, text(s.name), index, s.value as i64, text(s.unit), text(s.location))
        })
        .collect();
    found.sort();
    let row = |t, name: &str, agent, value, unit: &str, at: &str| {
        (t, name.to_string(), Some(agent), value, unit.to_string(), at.to_string())
    };
    assert_eq!(
        found,
        [
            row(777, "Busy", 4, 44, "%", "xcc=0"),
            row(777, "Busy", 4, 55, "%", "xcc=1"),
            row(12345, "Busy", 0, 11, "%", ""),
            row(12345, "Busy", 4, 22, "%", ""),
            row(12345, "Temp", 4, 33, "C", ""),
        ]
    );
}

#[test]
fn graph_launches_are_regions_and_no_launches_of_kernels() {
    let made = made(&example(1, 4), &Options { version: Some(SchemaVersion::V3_0_5), ..Options::default() });
    let db = Connection::open(&made.path).unwrap();
    let s = suffix_of(&db);
    let sql = format!(
        "INSERT INTO \"rocpd_graph_launch{s}\" (nid, pid, tid, start, \"end\", graph_exec_id, event_id)
         SELECT 1000, 14, 15, 5, 9, 31, min(id) FROM \"rocpd_event{s}\""
    );
    db.execute_batch(&sql).unwrap();
    let sql = format!("SELECT stack_id FROM \"rocpd_event{s}\" ORDER BY id LIMIT 1");
    let stack: i64 = db.query_row(&sql, [], |row| row.get(0)).unwrap();
    drop(db);
    let back = read(&made.path);
    let name = back.strings.find("graph 31").unwrap();
    let row = back.regions.name.iter().position(|n| *n == name).unwrap();
    assert_eq!((back.regions.start[row], back.regions.end[row], back.regions.parent[row]), (5, 9, stack));
    assert!(back.links.from.iter().all(|from| *from != RowRef::region(row)));
    assert_eq!(back.regions.len(), 9);
}

#[test]
fn compressed_json_is_unpacked() {
    let trace = example(1, 20);
    let made = made(&trace, &Options::default());
    let db = Connection::open(&made.path).unwrap();
    let suffix = suffix_of(&db);
    for table in ["rocpd_event", "rocpd_info_agent", "rocpd_hip_event", "rocpd_memory_allocate"] {
        let name = format!("{table}{suffix}");
        let mut rows = db.prepare(&format!("SELECT id, extdata FROM \"{name}\"")).unwrap();
        let rows: Vec<(i64, String)> =
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
        for (id, text) in rows {
            // A frame with one stored block.
            let mut frame = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0];
            frame.extend((text.len() as u32 | 1 << 31).to_le_bytes());
            frame.extend(text.as_bytes());
            frame.extend([0; 4]);
            db.execute(&format!("UPDATE \"{name}\" SET extdata = ?1 WHERE id = ?2"), (frame, id)).unwrap();
        }
    }
    db.execute_batch(&format!(
        "INSERT INTO \"rocpd_metadata{suffix}\"(tag, value) VALUES ('compression', 'lz4-frame-v1');
         UPDATE \"rocpd_metadata{suffix}\" SET value = '4' WHERE tag = 'schema_version'"
    ))
    .unwrap();
    drop(db);
    let back = read(&made.path);
    assert_equal(&said(&back), &said(&trace));
    assert_eq!(problems(&back), [""; 0]);
}
