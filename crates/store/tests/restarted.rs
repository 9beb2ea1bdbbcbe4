//! A PostgreSQL server that is restarted while others read and write: they fail cleanly, then work again.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use common::{Server, attachment, file, latency, new_store};
use rocm_perf_store::{OverviewFilter, PageRequest, Store, StoreError};

const WRITERS: usize = 3;
const READERS: usize = 2;
const RESTARTS: usize = 3;

#[test]
fn a_restart_under_load_loses_nothing_acknowledged_and_is_over_at_once() {
    let Some(server) = Server::start() else { return };
    let location = new_store(&server);
    let mut store = Store::open(&location).expect("a store");
    store.new_experiment("serving", "").expect("an experiment");
    let (stop, failures, reads) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (location, stop, failures) = (&location, &stop, &failures);
                scope.spawn(move || {
                    let mut store = Store::open(location).expect("a store");
                    let mut done = Vec::new();
                    for number in 0.. {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let name = format!("{writer}-{number}");
                        let mut trial = attachment(&name, vec![file("a", &name), file("b", "common")]);
                        trial.metrics.push(latency(1.0));
                        match store.attach(&trial) {
                            Ok(_) => done.push(name),
                            Err(error) => clean(&error, failures),
                        }
                    }
                    done
                })
            })
            .collect();
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut store = Store::open(&location).expect("a store");
                while !stop.load(Ordering::Relaxed) {
                    match store.overview(&OverviewFilter::default(), PageRequest::default()) {
                        Ok(page) => {
                            assert_eq!(page.total, 1);
                            reads.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => clean(&error, &failures),
                    }
                }
            });
        }
        for _ in 0..RESTARTS {
            std::thread::sleep(Duration::from_millis(300));
            server.kill();
            std::thread::sleep(Duration::from_millis(100));
            server.run();
        }
        std::thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().expect("it does not panic")).collect()
    });
    assert!(failures.load(Ordering::Relaxed) > 0, "nobody met a restart");
    assert!(reads.load(Ordering::Relaxed) > 0 && !acknowledged.is_empty());
    let trials = store.trials("serving", false).expect("the store is used again");
    for name in &acknowledged {
        assert!(trials.iter().any(|row| row.name == *name), "{name} is lost");
    }
    for row in &trials {
        assert_eq!((row.artifacts, row.metrics.len()), (2, 1), "half of {}", row.name);
    }
    let page = store.overview(&OverviewFilter::default(), PageRequest::default()).expect("a page");
    assert_eq!(page.rows[0].experiment.trials, trials.len() as i64, "the overview misses none");
}

fn clean(error: &StoreError, failures: &AtomicUsize) {
    assert!(matches!(error, StoreError::Unreachable(_) | StoreError::Database(_)), "{error}");
    failures.fetch_add(1, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(10));
}
