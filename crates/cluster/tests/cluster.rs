//! One scheduler and two executors as processes of this machine: the same answers as in process, and what happens when
//! an executor is killed.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use lake::build::{BuildRequest, Hooks, build};
use lake::rows::{Cell, collect};
use lake::{Address, Engine, Session};
use testing::lake::{KERNELS, RANKS, run_sql_tests, sql_folder, write_ranks};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rocm-perf-cluster");

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A program that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes of a cluster.
struct Cluster {
    port: u16,
    _scheduler: Running,
    executors: Vec<Running>,
    _work: tempfile::TempDir,
}

/// A free port, and the one after it.
fn free_ports() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return port;
        }
    }
}

fn start(arguments: &[&str]) -> Running {
    let child = Command::new(PROGRAM).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Running(child.unwrap())
}

fn await_port(port: u16) {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < PATIENCE, "nobody listens on port {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Cluster {
    fn start(executors: usize) -> Self {
        let (port, work) = (free_ports(), tempfile::tempdir().unwrap());
        let scheduler = start(&["scheduler", "--port", &port.to_string(), "--executor-timeout", "8"]);
        await_port(port);
        let executor = |number: usize| {
            let own = free_ports();
            let folder = work.path().join(number.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            let running = start(&[
                "executor",
                "--scheduler",
                &format!("localhost:{port}"),
                "--port",
                &own.to_string(),
                "--tasks",
                "2",
                "--memory",
                "0.5",
                "--heartbeat",
                "1",
                "--work-dir",
                folder.to_str().unwrap(),
            ]);
            await_port(own);
            running
        };
        let executors = (0..executors).map(executor).collect();
        Cluster { port, _scheduler: scheduler, executors, _work: work }
    }

    fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    fn ask(&self, lake: &Path, sql: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["query", lake.to_str().unwrap(), "--url", &self.url(), "--sql", sql]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn build_lake(folder: &Path) -> Address {
    let (traces, lake) = (folder.join("job"), Address::Folder(folder.join("lake")));
    for (node, name) in write_ranks(&traces).into_iter().zip(["n0", "n1"]) {
        let request = BuildRequest {
            inputs: vec![node],
            lake: lake.clone(),
            run: Some("job".into()),
            node: Some(name.into()),
            rank: None,
            existing: false,
        };
        let hooks = Hooks { progress: &Default::default(), cancelled: &|| false, digests: None };
        build(&request, &hooks).unwrap();
    }
    lake
}

/// The rows of an answer in the format of the SQL test files.
fn rows_of(output: &Output) -> Result<Vec<String>, String> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.pop().unwrap_or_default();
    assert!(lines[0].starts_with("{\"columns\":"), "{text}");
    assert_eq!(last, format!("{{\"rows\":{}}}", lines.len() - 1), "{text}");
    // Cells in our tests have no blanks, commas or quotes that JSON would write differently.
    let cell = |text: &str| match text.strip_prefix("{\"real\":\"") {
        Some(real) => format!("{:?}", real.trim_end_matches("\"}").parse::<f64>().unwrap()),
        None if text == "null" => "NULL".to_string(),
        None => text.trim_matches('"').to_string(),
    };
    let row = |line: &&str| line[1..line.len() - 1].split(',').map(cell).collect::<Vec<_>>().join(" ");
    Ok(lines[1..].iter().map(row).collect())
}

fn rows_here(session: &Session, sql: &str) -> Vec<Vec<Cell>> {
    collect(session as &dyn Engine, sql).unwrap().rows
}

#[test]
fn a_cluster_gives_the_same_rows_as_this_process() {
    let folder = tempfile::tempdir().unwrap();
    build_lake(folder.path());
    let cluster = Cluster::start(2);
    let lake = folder.path().join("lake");
    let run = |sql: &str| rows_of(&cluster.ask(&lake, sql).output().unwrap());
    let count = run_sql_tests(&sql_folder().join("lake.slt"), run);
    assert!(count >= 20, "{count} queries");
}

/// Joins every kernel with all pairs of others: runs long enough to kill an executor during it.
const LONG: &str = "SELECT a.rank, count(*) AS n, sum((a.duration * b.duration + c.start) % 97) AS s \
                    FROM kernels a JOIN kernels b ON a.id <> b.id + 1000 JOIN kernels c ON c.id <> b.id + 1000 \
                    GROUP BY a.rank ORDER BY a.rank";

#[test]
fn a_killed_executor_never_makes_an_answer_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let address = build_lake(folder.path());
    let lake = folder.path().join("lake");
    let session = Session::open(&address).unwrap();
    let wanted: Vec<String> = rows_here(&session, LONG)
        .iter()
        .map(|row| row.iter().map(|cell| cell.int().unwrap().to_string()).collect::<Vec<_>>().join(" "))
        .collect();
    let each = KERNELS * RANKS * KERNELS * RANKS * KERNELS;
    assert!(wanted[0].starts_with(&format!("0 {each} ")), "{wanted:?}");
    let mut cluster = Cluster::start(2);
    // Both executors are up and warm.
    let count = rows_of(&cluster.ask(&lake, "SELECT count(*) FROM kernels").output().unwrap()).unwrap();
    assert_eq!(count, [(KERNELS * RANKS).to_string()]);
    let mut asked = Running(cluster.ask(&lake, LONG).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(1500));
    let early = asked.0.try_wait().unwrap().is_some();
    cluster.executors.remove(0);
    let began = Instant::now();
    let status = loop {
        if let Some(status) = asked.0.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < PATIENCE, "neither an answer nor a failure");
        std::thread::sleep(Duration::from_millis(100));
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    asked.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    asked.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    match rows_of(&Output { status, stdout, stderr }) {
        Ok(rows) => assert_eq!(rows, wanted),
        Err(message) => assert!(message.starts_with("error: "), "{message}"),
    }
    eprintln!("the query {} when its executor was killed", if early { "was over" } else { "ran" });
    // The other executor keeps working.
    let began = Instant::now();
    loop {
        match rows_of(&cluster.ask(&lake, "SELECT count(*) FROM kernels").output().unwrap()) {
            Ok(rows) => break assert_eq!(rows, [(KERNELS * RANKS).to_string()]),
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
    }
}

#[test]
fn a_cluster_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    build_lake(folder.path());
    let port = free_ports();
    let output = Command::new(PROGRAM)
        .args(["query", folder.path().join("lake").to_str().unwrap(), "--sql", "SELECT 1"])
        .args(["--url", &format!("http://localhost:{port}")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("does not answer"), "{error}");
}
