//! A writer that is killed at any moment: what it acknowledged is stored, and nothing is stored by half.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{attachment, file, latency, on_both};
use rocm_perf_store::{Location, Store, sha256};

/// Kills in the test suite, and attaches that must be acknowledged between them.
const KILLS: u64 = 12;
const ATTACHES: usize = 1;
/// Asks for more attaches, with kills until there are as many: `scripts/faults` asks for 1,000.
const MORE_ATTACHES: &str = "ROCM_PERF_ATTACHES";

/// Name of the environment variable that makes this binary the writer.
const WRITER: &str = "ROCM_PERF_TEST_WRITER";

fn files_of(trial: usize) -> Vec<rocm_perf_store::NewArtifact> {
    (0..5).map(|n| file(&format!("{n}.txt"), &format!("{trial} {n} {}", "x".repeat(20_000)))).collect()
}

/// Attaches until it is killed, and prints what was acknowledged.
#[test]
fn writer() {
    let Ok(told) = std::env::var(WRITER) else { return };
    let [database, artifacts, first] = told.split('|').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let mut store = Store::open(&Location::find(Some(database), Some(artifacts.as_ref()))).expect("a store");
    println!("\nready");
    for trial in first.parse::<usize>().expect("a number").. {
        let mut attachment = attachment(&format!("t{trial}"), files_of(trial));
        attachment.metrics.push(latency(trial as f64));
        store.attach(&attachment).expect("attached");
        println!("\nacknowledged {trial}");
    }
}

#[test]
fn a_killed_writer_loses_nothing_acknowledged_and_leaves_no_half() {
    let asked = std::env::var(MORE_ATTACHES).ok().and_then(|n| n.parse().ok());
    let attaches: usize = asked.unwrap_or(ATTACHES);
    on_both(|location| {
        let mut store = Store::open(location).expect("a store");
        store.new_experiment("serving", "").expect("an experiment");
        let database = match location {
            Location::Sqlite { path, .. } => path.to_str().expect("UTF-8"),
            Location::PostgreSql { url, .. } => url,
        };
        let (mut acknowledged, mut next) = (Vec::new(), 0);
        let mut kill = 0;
        while kill < KILLS || acknowledged.len() < attaches {
            assert!(kill < 10_000, "the writers write nothing");
            let told = format!("{database}|{}|{next}", location.artifacts().display());
            let mut child = Command::new(std::env::current_exe().expect("this program"))
                .args(["--exact", "writer", "--nocapture"])
                .env(WRITER, told)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("a writer");
            let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
            assert!(lines.any(|line| line.expect("a line") == "ready"));
            let reader = std::thread::spawn(move || -> Vec<usize> {
                let number = |line: String| line.strip_prefix("acknowledged ")?.parse().ok();
                lines.map_while(Result::ok).filter_map(number).collect()
            });
            std::thread::sleep(Duration::from_millis(1 + kill * 37 % (150 + 5 * kill)));
            child.kill().expect("killed");
            child.wait().expect("gone");
            acknowledged.extend(reader.join().expect("lines"));
            // The attach that was not acknowledged may be stored, whole.
            next = acknowledged.last().map_or(0, |last| last + 2) + kill as usize % 2;
            kill += 1;
        }
        println!("{kill} kills, {} attaches acknowledged", acknowledged.len());
        let trials = store.trials("serving", false).expect("trials");
        for trial in &acknowledged {
            assert!(trials.iter().any(|row| row.name == format!("t{trial}")), "t{trial} is lost");
        }
        for row in &trials {
            let trial = store.trial("serving", &row.name).expect("a trial");
            assert_eq!((trial.artifacts.len(), trial.row.metrics.len()), (5, 1), "half of {}", row.name);
            for artifact in &trial.artifacts {
                assert_eq!(sha256(&store.content(&artifact.sha256).expect("bytes")), artifact.sha256);
            }
        }
        store.collect().expect("what killed writers left is collected");
        let left = common::files_below(location.artifacts());
        assert_eq!(left.len(), trials.len() * 5 + 1, "the files and the lock");
    });
}
