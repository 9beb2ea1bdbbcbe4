//! Both databases for a test: a file, and a real PostgreSQL that the tests of a binary share.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use rocm_perf_store::{Attachment, Content, Location, Metric, NewArtifact};
pub use testing::postgresql::Server;

/// Runs a test on each database; on PostgreSQL only if it is installed.
pub fn on_both(test: impl Fn(&Location)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Location::find(folder.path().join("experiments.db").to_str(), None));
    if let Some(server) = Server::shared() {
        test(&new_store(&server));
    }
}

/// An empty store on a server.
pub fn new_store(server: &Server) -> Location {
    let (name, url) = server.new_database();
    Location::PostgreSql { url, artifacts: server.folder().join(format!("files-{name}")) }
}

/// A file with this text.
pub fn file(path: &str, text: &str) -> NewArtifact {
    NewArtifact { path: path.into(), content: Content::Bytes(text.into()), schema: None }
}

/// An attach of these files.
pub fn attachment(trial: &str, artifacts: Vec<NewArtifact>) -> Attachment {
    Attachment { experiment: "serving".into(), trial: trial.into(), artifacts, ..Attachment::default() }
}

/// A time in ms.
pub fn latency(value: f64) -> Metric {
    Metric {
        name: "latency".into(),
        unit: "ms".into(),
        value,
        low: None,
        high: None,
        higher_is_better: false,
    }
}

/// Runs SQL directly on the database.
pub fn raw(location: &Location, sql: &str) {
    match location {
        Location::Sqlite { path, .. } => {
            rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        }
        Location::PostgreSql { url, .. } => {
            postgres::Client::connect(url, postgres::NoTls).unwrap().batch_execute(sql).unwrap();
        }
    }
}

/// Every file below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { vec![entry.path()] })
        .collect()
}
