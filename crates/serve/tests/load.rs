//! How long pages take in a large store, under load, on SQLite and on PostgreSQL. Run alone, in release:
//! `cargo test --release -p rocm-perf-serve --test load -- --ignored --nocapture --test-threads 1`

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use app::experiment::StoreLocation;
use common::{Server, attach, printed};
use rocm_perf_serve::Tokens;
use serde_json::json;
use store::{Content, Location, NewArtifact, Store};

const EXPERIMENTS: usize = 10_000;

/// Memory that the server may take under load.
const MOST_MB: u64 = 200;

/// A connection that sends requests one after the other, like a browser.
struct Client {
    stream: TcpStream,
    address: SocketAddr,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, address }
    }

    /// Time until the whole page has arrived.
    fn get(&mut self, path: &str) -> Duration {
        let began = Instant::now();
        write!(self.stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).expect("sent");
        let mut bytes = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = self.stream.read(&mut buffer).expect("read");
            assert!(read > 0, "the server closed the connection");
            bytes.extend_from_slice(&buffer[..read]);
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            assert!(head.starts_with("http/1.1 200"), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.trim().parse().ok()).expect("a length");
            if bytes.len() == end + 4 + length {
                return began.elapsed();
            }
        }
    }
}

/// SQL that makes experiments with ten trials of two metrics each. `numbers` counts from 1, `padded` writes two digits.
fn bulk(numbers: &dyn Fn(usize) -> String, padded: &str) -> String {
    let (all, ten) = (numbers(EXPERIMENTS), numbers(10));
    let value = "100 + (t.id * 7919 % 100) / 100.0 + CASE WHEN t.experiment_id % 10 = 0 AND t.name >= 't08' THEN 12 ELSE 0 END";
    format!(
        "BEGIN;
         INSERT INTO experiments (id, name, description, created_ns, changed_ns)
           SELECT i, 'experiment-' || i, 'model ' || (i % 97), i, i FROM {all} AS a;
         INSERT INTO trials (id, experiment_id, name, branch, testbed, created_ns, changed_ns)
           SELECT a.i * 10 + b.i, a.i, {padded}, CASE WHEN a.i % 3 = 0 THEN 'next' ELSE 'main' END,
                  'mi300x-' || (a.i % 20), a.i, a.i FROM {all} AS a, {ten} AS b;
         INSERT INTO metrics (trial_id, name, unit, value, higher_is_better)
           SELECT t.id, 'latency', 'ms', {value}, 0 FROM trials t;
         INSERT INTO metrics (trial_id, name, unit, value, higher_is_better)
           SELECT t.id, 'throughput', 'tok/s', 64000 / ({value}), 1 FROM trials t;
         INSERT INTO tags (experiment_id, trial_id, tag) SELECT i, NULL, 'group-' || (i % 50) FROM {all} AS a;
         COMMIT;"
    )
}

fn fill_file(path: &std::path::Path) {
    let numbers = |to: usize| {
        format!(
            "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {to}) SELECT i FROM n)"
        )
    };
    let database = rusqlite::Connection::open(path).expect("a database");
    database.execute_batch(&bulk(&numbers, "printf('t%02d', b.i)")).expect("filled");
}

fn fill_server(url: &str) {
    let numbers = |to: usize| format!("(SELECT i FROM generate_series(1, {to}) AS g(i))");
    let mut client = postgres::Client::connect(url, postgres::NoTls).expect("a connection");
    let padded = "'t' || lpad(CAST(b.i AS TEXT), 2, '0')";
    client.batch_execute(&bulk(&numbers, padded)).expect("filled");
}

fn told(name: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    println!(
        "{name}: {} pages, p50 {:.1?}, p99 {:.1?}, most {:.1?}",
        times.len(),
        at(50),
        at(99),
        times[times.len() - 1]
    );
    at(99)
}

/// Memory that this process holds now, server and clients together.
fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// CPU seconds of this process so far.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields[11..13].iter().filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Prints the CPU time of a page: a busy machine changes it less than wall time.
fn told_cpu(address: SocketAddr, database: &dyn Fn() -> f64) {
    const ROUNDS: u32 = 100;
    let mut client = Client::new(address);
    for page in PAGES {
        let (own, beside) = (cpu_seconds(), database());
        (0..ROUNDS).for_each(|_| _ = client.get(page));
        let each = |from: f64, to: f64| (to - from) * 1000.0 / f64::from(ROUNDS);
        println!(
            "{page}: {:.1} CPU ms a page (server and client), {:.1} of the database server",
            each(own, cpu_seconds()),
            each(beside, database())
        );
    }
}

const PAGES: [&str; 5] =
    ["/", "/?page=7", "/?q=model+42", "/?status=regressed&sort=alerts", "/?branch=main&testbed=mi300x-3"];

fn measure(address: SocketAddr) {
    let mut first = Client::new(address);
    PAGES.iter().for_each(|page| _ = first.get(page));
    // 50 requests a second for 20 seconds, each on schedule whether or not the one before was answered.
    let times = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let began = Instant::now();
        for client in 0..10 {
            let times = &times;
            scope.spawn(move || {
                let mut connection = Client::new(address);
                for at in 0..100u32 {
                    let due = Duration::from_millis(u64::from(at) * 200 + client * 20);
                    std::thread::sleep(due.saturating_sub(began.elapsed()));
                    let late = began.elapsed().saturating_sub(due);
                    let time = connection.get(PAGES[(at as usize + client as usize) % PAGES.len()]);
                    times.lock().expect("times").push(time + late);
                }
            });
        }
    });
    let p99 = told("overview at 50 requests/s", times.into_inner().expect("times"));
    println!("memory: {} MB (server and clients)", resident_mb());
    let times = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for client in 0..50usize {
            let times = &times;
            scope.spawn(move || {
                let mut connection = Client::new(address);
                let began = Instant::now();
                let mut at = client;
                while began.elapsed() < Duration::from_secs(10) {
                    let time = connection.get(PAGES[at % PAGES.len()]);
                    times.lock().expect("times").push(time);
                    at += 1;
                }
            });
        }
    });
    let closed = told("overview with 50 readers", times.into_inner().expect("times"));
    println!("memory: {} MB (server and clients)", resident_mb());
    assert!(p99 <= Duration::from_millis(50), "{p99:?}");
    assert!(closed <= Duration::from_millis(300), "{closed:?}");
    assert!(resident_mb() <= MOST_MB);
}

#[test]
#[ignore = "takes a minute; measures time"]
fn the_overview_of_ten_thousand_experiments_is_quick_under_load() {
    let server = Server::open(|_| {});
    let began = Instant::now();
    fill_file(&common::database(&server.folder));
    server.store().refresh_overview().expect("written");
    println!("SQLite, filled in {:.1} s, memory {} MB", began.elapsed().as_secs_f64(), resident_mb());
    told_cpu(server.address, &|| 0.0);
    measure(server.address);
}

#[test]
#[ignore = "takes a minute; measures time"]
fn the_overview_on_postgresql_is_quick_under_load() {
    let Some(database) = testing::postgresql::Server::start() else { return };
    let (_, url) = database.new_database();
    let folder = tempfile::tempdir().expect("a folder");
    let place = StoreLocation { database: Some(url.clone()), artifacts: Some(folder.path().to_path_buf()) };
    let location = Location::find(Some(&url), Some(folder.path()));
    let began = Instant::now();
    drop(Store::open(&location).expect("a store"));
    fill_server(&url);
    Store::open(&location).expect("a store").refresh_overview().expect("written");
    // As autovacuum does within minutes.
    let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("a connection");
    client.batch_execute("ANALYZE").expect("analysed");
    println!("PostgreSQL, filled in {:.1} s, memory {} MB", began.elapsed().as_secs_f64(), resident_mb());
    let server = Server::at(place, folder, Tokens::default());
    told_cpu(server.address, &|| database.cpu_seconds());
    measure(server.address);
}

#[test]
#[ignore = "measures time"]
fn a_table_of_100_000_rows_is_quick() {
    // Written row by row: memory used by this test would be counted as the server's.
    let made = tempfile::NamedTempFile::new().expect("a file");
    let mut out = std::io::BufWriter::new(made.as_file());
    let empty = String::from_utf8(printed("summary", "kernels", json!([]))).expect("text");
    let rows_begin = "\"kernels\":[";
    let at = empty.find(rows_begin).expect("a table");
    let (before, after) = empty.split_at(at + rows_begin.len());
    write!(out, "{before}").expect("written");
    for at in 0..100_000u64 {
        let row = json!({
            "stage": if at % 3 == 0 { "prefill" } else { "decode" },
            "kernel_name": format!("Cijk_Ailk_Bljk_BBS_BH_MT128x128x{at}_SE_1LDSB0_APM1_AF0EM8_AMAS3_WS64_WG32_8_1"),
            "category": "gemm", "total_ns": at * 7919 % 100_003, "calls": at % 17, "mean_ns": at % 911,
            "time_share_pct": (at % 1000) as f64 / 10.0, "python_location": format!("model.py({}): forward", at % 400),
        });
        write!(out, "{}{row}", if at == 0 { "" } else { "," }).expect("written");
    }
    write!(out, "{after}").expect("written");
    drop(out);
    let artifact = NewArtifact {
        path: "summary.json".into(),
        content: Content::File(made.path().to_path_buf()),
        schema: None,
    };
    println!("artifact: {} MB", made.as_file().metadata().map_or(0, |facts| facts.len() >> 20));
    let server = Server::open(|store| {
        store.new_experiment("large", "").expect("made");
        attach(store, "large", "t1", vec![artifact], Vec::new());
    });
    let mut client = Client::new(server.address);
    let path = "/experiments/large/trials/t1/tables?artifact=summary.json&table=kernels";
    // Work that the server does only once.
    let _ = client.get("/");
    let began = cpu_seconds();
    let first = client.get(path);
    println!("first page, artifact read: {first:.1?}, {:.0} CPU ms", (cpu_seconds() - began) * 1000.0);
    let cases = [
        "",
        "&sort=total_ns",
        "&sort=kernel_name&dir=desc&page=900",
        "&q=MT128x128x77+decode",
        "&sort=calls&q=forward",
    ];
    let times: Vec<Duration> =
        (0..40).map(|at| client.get(&format!("{path}{}", cases[at % cases.len()]))).collect();
    let p99 = told("table page", times);
    println!("memory: {} MB (server and clients)", resident_mb());
    assert!(p99 <= Duration::from_millis(200), "{p99:?}");
    assert!(first <= Duration::from_millis(200), "{first:?}");
    assert!(resident_mb() <= MOST_MB);
}
