//! Both databases for a test: a file, and a real PostgreSQL that the tests of a binary share.

#![allow(dead_code)]

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use rocm_perf_store::{Attachment, Content, Location, Metric, NewArtifact};

/// The user that servers run as when the tests run as root, which PostgreSQL refuses.
const NOBODY: u32 = 65534;

/// Runs a test on each database; on PostgreSQL only where it is installed.
pub fn on_both(test: impl Fn(&Location)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Location::find(folder.path().join("experiments.db").to_str(), None));
    if let Some(server) = Server::shared() {
        test(&server.new_store());
    }
}

/// A server of PostgreSQL on a socket in a folder of its own.
pub struct Server {
    folder: tempfile::TempDir,
    process: Mutex<Option<Child>>,
    next: AtomicUsize,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server of all tests that run now; without PostgreSQL the calling test is skipped.
    pub fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::start()?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// A server of one's own.
    pub fn start() -> Option<Self> {
        let (Some(_), Some(_)) = (program("initdb"), program("postgres")) else {
            testing::skip("no PostgreSQL: initdb and postgres are not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let server = Self { folder, process: Mutex::new(None), next: AtomicUsize::new(0) };
        if is_root() {
            chown(server.folder.path(), Some(NOBODY), Some(NOBODY)).expect("another owner");
        }
        let made = server
            .command("initdb")
            .args(["--auth", "trust", "--username", "perf", "--encoding", "UTF8", "--no-sync", "-D"])
            .arg(server.folder.path().join("data"))
            .output()
            .expect("initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.run();
        Some(server)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name).expect("PostgreSQL"));
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts it, again after `kill`.
    pub fn run(&self) {
        let child = self
            .command("postgres")
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .args(["-c", "listen_addresses=", "-c", "max_connections=60", "-k"])
            .arg(self.folder.path())
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a server");
        *self.process.lock().unwrap() = Some(child);
        let until = Instant::now() + Duration::from_secs(60);
        while self.try_client().is_none() {
            assert!(Instant::now() < until, "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it as a crash does.
    pub fn kill(&self) {
        if let Some(mut child) = self.process.lock().unwrap().take() {
            // The fast way to stop: connections are cut. Killing the parent alone would leave its helpers.
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
            child.wait().expect("it ends");
        }
    }

    fn try_client(&self) -> Option<postgres::Client> {
        postgres::Client::connect(&self.url("postgres"), postgres::NoTls).ok()
    }

    fn url(&self, database: &str) -> String {
        let host = self.folder.path().to_str().expect("UTF-8").replace('/', "%2F");
        format!("postgres://perf@{host}/{database}")
    }

    /// An empty database with a folder for its files.
    pub fn new_store(&self) -> Location {
        let name = format!("store{}", self.next.fetch_add(1, Ordering::Relaxed));
        let mut client = self.try_client().expect("a connection");
        client.batch_execute(&format!("CREATE DATABASE {name}")).expect("a database");
        Location::PostgreSql {
            url: self.url(&name),
            artifacts: self.folder.path().join(format!("files-{name}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| std::os::unix::fs::MetadataExt::uid(&facts) == 0)
}

/// A program of PostgreSQL: on the path, or where Debian's packages put it.
fn program(name: &str) -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
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

/// Runs SQL beside the store.
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
