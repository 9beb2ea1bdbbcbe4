//! A real PostgreSQL for tests, on a socket in its own folder.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The user that servers run as when the tests run as root, which PostgreSQL refuses.
const NOBODY: u32 = 65534;

/// Most connections of a server.
const CONNECTIONS: usize = 60;

/// A server; it is stopped and its folder removed when it is dropped.
pub struct Server {
    folder: PathBuf,
    process: Mutex<Option<Child>>,
    next: AtomicUsize,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static NUMBER: AtomicUsize = AtomicUsize::new(0);

impl Server {
    /// The server that all running tests share; without PostgreSQL the calling test is skipped.
    pub fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::start()?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// A separate server.
    pub fn start() -> Option<Self> {
        if ["initdb", "postgres", "pg_isready", "createdb"].iter().any(|name| program(name).is_none()) {
            crate::skip("no PostgreSQL: initdb and postgres are not installed");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("postgresql-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let server = Self { folder, process: Mutex::new(None), next: AtomicUsize::new(0) };
        if is_root() {
            chown(&server.folder, Some(NOBODY), Some(NOBODY)).expect("another owner");
        }
        let mut make = server.command("initdb");
        make.args(["--auth", "trust", "--username", "perf", "--encoding", "UTF8", "--no-sync", "-D"]);
        let made = make.arg(server.folder.join("data")).output().expect("initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.run();
        Some(server)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name).expect("PostgreSQL"));
        command.current_dir(&self.folder).env("LC_ALL", "C");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts it, or restarts it after `kill`.
    pub fn run(&self) {
        let child = self
            .command("postgres")
            .arg("-D")
            .arg(self.folder.join("data"))
            .args(["-c", "listen_addresses=", "-c", &format!("max_connections={CONNECTIONS}"), "-k"])
            .arg(&self.folder)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a server");
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let until = Instant::now() + Duration::from_secs(60);
        while !self.answers() {
            assert!(Instant::now() < until, "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn answers(&self) -> bool {
        let mut ask = self.command("pg_isready");
        ask.arg("--quiet").arg("--host").arg(&self.folder).status().is_ok_and(|status| status.success())
    }

    /// Stops it with all its connections.
    pub fn kill(&self) {
        if let Some(mut child) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The fast way to stop: connections are cut. Killing the parent alone would leave its helpers.
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
            child.wait().expect("it ends");
        }
    }

    /// The folder of the server, for artifact files of a store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// CPU seconds of the server and its connections so far, including connections that ended.
    pub fn cpu_seconds(&self) -> f64 {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(parent) = process.as_ref().map(Child::id) else { return 0.0 };
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let of = |id: u32| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // The name may contain blanks and brackets; what follows its last bracket does not.
            let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
            let ticks: u64 = (11..15).filter_map(|at| fields[at].parse::<u64>().ok()).sum();
            let own: u64 = (11..13).filter_map(|at| fields[at].parse::<u64>().ok()).sum();
            match fields[1].parse::<u32>() {
                _ if id == parent => Some(ticks),
                Ok(of) if parent == of => Some(own),
                _ => None,
            }
        };
        ids.filter_map(of).sum::<u64>() as f64 / 100.0
    }

    /// An empty database: its name and its address.
    pub fn new_database(&self) -> (String, String) {
        let name = format!("store{}", self.next.fetch_add(1, Ordering::Relaxed));
        let mut make = self.command("createdb");
        make.arg("--host").arg(&self.folder).args(["--username", "perf", &name]);
        let made = make.output().expect("createdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let host = self.folder.to_str().expect("UTF-8").replace('/', "%2F");
        let url = format!("postgres://perf@{host}/{name}");
        (name, url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}

/// A PostgreSQL program: in PATH, or where Debian's packages put it.
fn program(name: &str) -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
}
