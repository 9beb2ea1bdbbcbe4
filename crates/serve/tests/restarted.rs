//! A database restart while pages are read and trials uploaded: requests fail cleanly, then work again.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use app::experiment::StoreLocation;
use common::{Server, archive};
use rocm_perf_serve::Tokens;
use store::{Location, Store};

const RESTARTS: usize = 3;
/// How long an answer may take, also while the database is away.
const PATIENCE: Duration = Duration::from_secs(20);

/// The outcomes of the requests of all threads.
#[derive(Default)]
struct Seen {
    answered: AtomicUsize,
    unavailable: AtomicUsize,
}

impl Seen {
    /// Counts an answer: a page, or a clean refusal that says when to retry.
    fn count(&self, answer: &common::Answer, took: Duration, good: &[u16]) -> bool {
        assert!(took < PATIENCE, "{took:?}");
        if good.contains(&answer.status) {
            self.answered.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert!(answer.header("retry-after").is_some());
        self.unavailable.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(10));
        false
    }
}

#[test]
fn a_restart_of_postgresql_fails_requests_cleanly_and_they_recover() {
    let Some(database) = testing::postgresql::Server::start() else { return };
    let (_, url) = database.new_database();
    let folder = tempfile::tempdir().expect("a folder");
    let place = StoreLocation { database: Some(url.clone()), artifacts: Some(folder.path().to_path_buf()) };
    let mut store = Store::open(&Location::find(Some(&url), Some(folder.path()))).expect("a store");
    store.new_experiment("decode", "").expect("an experiment");
    let server = Server::at(place, folder, Tokens::default());
    let (stop, seen) = (AtomicBool::new(false), Seen::default());
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        for path in ["/", "/", "/experiments/decode", "/api/v1/experiments", "/alerts"] {
            let (server, stop, seen) = (&server, &stop, &seen);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    let answer = server.get(path);
                    seen.count(&answer, began.elapsed(), &[200]);
                }
            });
        }
        let sender = scope.spawn(|| {
            let mut done = Vec::new();
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (name, began) = (format!("t{number}"), Instant::now());
                let body = archive(&[("a.txt", name.as_bytes())]);
                let path = format!("/api/v1/experiments/decode/trials/{name}/bundle");
                let answer = server.ask("POST", &path, &[], &body);
                if seen.count(&answer, began.elapsed(), &[200, 201]) {
                    done.push(name);
                }
            }
            done
        });
        for _ in 0..RESTARTS {
            std::thread::sleep(Duration::from_millis(400));
            database.kill();
            std::thread::sleep(Duration::from_millis(300));
            database.run();
        }
        std::thread::sleep(Duration::from_millis(600));
        stop.store(true, Ordering::Relaxed);
        sender.join().expect("it does not panic")
    });
    assert!(seen.unavailable.load(Ordering::Relaxed) > 0, "nobody met a restart");
    assert!(seen.answered.load(Ordering::Relaxed) > 0 && !acknowledged.is_empty());
    // Every connection of the pool works again, or is new.
    for _ in 0..20 {
        assert_eq!(server.get("/").status, 200);
    }
    let trials = store.trials("decode", false).expect("trials");
    for name in &acknowledged {
        let found = trials.iter().find(|row| row.name == *name);
        assert_eq!(found.map(|row| row.artifacts), Some(1), "{name} is lost");
    }
}
