//! Databases to merge, and what is asked of a merged one.

use std::path::{Path, PathBuf};

use rocm_perf_convert::merge::{Error, Input, Merged, Options, merge};
use rocm_perf_convert::rocpd::{self, BulkWriter, EventRow, KernelRow, RegionRow, SchemaVersion};
use rusqlite::Connection;
use rusqlite::types::Value;

pub const ENVIRONMENT: &str = r#"{"HIP_VISIBLE_DEVICES":"0","HOME":"/home/somebody","HF_TOKEN":"top-secret-1","NCCL_KEY":"top-secret-2"}"#;

/// A database with one recording; `seed` makes its rows unique.
pub struct Maker {
    pub guid: &'static str,
    pub seed: i64,
    pub host: &'static str,
    pub version: SchemaVersion,
    pub views: bool,
}

impl Maker {
    pub fn new(guid: &'static str, seed: i64) -> Self {
        Self { guid, seed, host: "node1", version: SchemaVersion::V3_0_0, views: true }
    }

    pub fn make(&self, path: &Path) -> PathBuf {
        let options =
            rocpd::Options { version: Some(self.version), views: self.views, ..rocpd::Options::default() };
        let mut db = BulkWriter::create(path, &options, &[self.guid.into()]).unwrap();
        let nid = 9 + self.host.len() as i64;
        let node = [
            ("id", nid.into()),
            ("hash", nid.into()),
            ("machine_id", self.host.into()),
            ("hostname", self.host.into()),
        ];
        db.insert(0, "rocpd_info_node", &node);
        let command = "python serve.py --api-key top-secret-3";
        let process = [
            ("id", 14.into()),
            ("nid", nid.into()),
            ("pid", 14.into()),
            ("command", command.into()),
            ("environment", ENVIRONMENT.into()),
        ];
        db.insert(0, "rocpd_info_process", &process);
        let thread = [("id", 15.into()), ("nid", nid.into()), ("pid", 14.into()), ("tid", 15.into())];
        db.insert(0, "rocpd_info_thread", &thread);
        let agent = [
            ("id", 4.into()),
            ("nid", nid.into()),
            ("pid", 14.into()),
            ("type", "GPU".into()),
            ("absolute_index", 4.into()),
            ("extdata", r#"{"cu_count":304,"unheard_of":[1,2]}"#.into()),
        ];
        db.insert(0, "rocpd_info_agent", &agent);
        for table in ["rocpd_info_queue", "rocpd_info_stream"] {
            db.insert(0, table, &[("id", 0.into()), ("nid", nid.into()), ("pid", 14.into())]);
        }
        let object = [("id", 1.into()), ("nid", nid.into()), ("pid", 14.into()), ("agent_id", 4.into())];
        db.insert(0, "rocpd_info_code_object", &object);
        let name = format!("gemm{}", self.seed % 2);
        let symbol = [
            ("id", 1.into()),
            ("nid", nid.into()),
            ("pid", 14.into()),
            ("code_object_id", 1.into()),
            ("kernel_name", "gemm.kd".into()),
            ("display_name", name.as_str().into()),
        ];
        db.insert(0, "rocpd_info_kernel_symbol", &symbol);
        let [category, call] = ["HIP_RUNTIME_API_EXT", "hipLaunchKernel"].map(|text| db.string(0, text));
        for i in 1..=20 + self.seed {
            let event = EventRow { category: Some(category), stack: Some(i), ..EventRow::default() };
            let event_id = Some(db.event(0, &event).unwrap());
            let start = 1_000 * i + self.seed;
            let region = RegionRow {
                nid,
                pid: 14,
                tid: 15,
                start,
                end: start + 50 + i,
                name: call,
                event_id,
                extdata: None,
            };
            db.region(0, &region).unwrap();
            let kernel = KernelRow {
                nid,
                pid: 14,
                tid: Some(15),
                agent_id: 4,
                kernel_id: 1,
                dispatch_id: i,
                start: start + 100,
                end: start + 300 + self.seed,
                workgroup: [64, 1, 1],
                grid: [640, 1, 1],
                region_name_id: Some(1),
                event_id,
                graph_exec_id: 7,
                ..KernelRow::default()
            };
            db.kernel(0, &kernel).unwrap();
        }
        db.finish().unwrap();
        path.to_path_buf()
    }
}

pub fn inputs(paths: &[&PathBuf]) -> Vec<Input> {
    paths.iter().map(|path| Input { path: path.to_path_buf(), rank: None }).collect()
}

pub fn merged(paths: &[&PathBuf], target: &Path) -> Result<Merged, Error> {
    merge(&inputs(paths), target, &Options::default(), &|_| {})
}

pub fn one<T: rusqlite::types::FromSql>(db: &Connection, sql: &str) -> T {
    db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// All rows of a query, unchanged.
pub fn rows(path: &Path, sql: &str) -> Vec<Vec<Value>> {
    let db = Connection::open(path).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect()).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

pub fn assert_sound(path: &Path) {
    let db = Connection::open(path).unwrap();
    assert_eq!(one::<String>(&db, "PRAGMA integrity_check"), "ok");
    let mut broken = db.prepare("PRAGMA foreign_key_check").unwrap();
    assert!(!broken.exists([]).unwrap(), "every reference points at a row");
    let mut views = db.prepare("SELECT name FROM sqlite_master WHERE type = 'view'").unwrap();
    let views: Vec<String> = views.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(views.len() > 40, "{views:?}");
    for view in views {
        one::<i64>(&db, &format!("SELECT count(*) FROM \"{view}\""));
    }
}

pub fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub const GUIDS: [&str; 4] = [
    "0000ddb5-8903-7903-b269-000000000000",
    "0000ddb5-8903-7903-b269-000000000001",
    "0000ddb5-8903-7903-b269-000000000002",
    "0000ddb5-8903-7903-b269-000000000003",
];
