//! How long a page of the overview takes in a large store. Run alone, in release:
//! `cargo test --release -p rocm-perf-store --test overview_scale -- --ignored --nocapture`

mod common;

use std::time::{Duration, Instant};

use common::{on_both, raw};
use rocm_perf_store::{Location, OverviewFilter, OverviewOrder, PageRequest, Status, Store};

/// A series of numbers in each database's SQL.
fn numbers(location: &Location, to: usize) -> String {
    match location {
        Location::Sqlite { .. } => {
            format!(
                "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {to}) SELECT i FROM n)"
            )
        }
        Location::PostgreSql { .. } => format!("(SELECT i FROM generate_series(1, {to}) AS g(i))"),
    }
}

/// Experiments with ten trials of two metrics each, a tenth of them regressed, written in bulk.
fn fill(location: &Location, experiments: usize) -> Store {
    const TRIALS: usize = 10;
    drop(Store::open(location).expect("a store"));
    let (all, ten) = (numbers(location, experiments), numbers(location, TRIALS));
    // The last three trials of every tenth experiment are slower.
    let value = "100 + (t.id * 7919 % 100) / 100.0 + CASE WHEN t.experiment_id % 10 = 0 AND t.name >= 't08' THEN 12 ELSE 0 END";
    let padded = match location {
        Location::Sqlite { .. } => "printf('t%02d', b.i)",
        Location::PostgreSql { .. } => "'t' || lpad(CAST(b.i AS TEXT), 2, '0')",
    };
    raw(
        location,
        &format!(
            "BEGIN;
             INSERT INTO experiments (id, name, description, created_ns, changed_ns)
               SELECT i, 'experiment-' || i, 'model ' || (i % 97), i, i FROM {all} AS a;
             INSERT INTO trials (id, experiment_id, name, branch, testbed, created_ns, changed_ns)
               SELECT a.i * {TRIALS} + b.i, a.i, {padded}, CASE WHEN a.i % 3 = 0 THEN 'next' ELSE 'main' END,
                      'mi300x-' || (a.i % 20), a.i, a.i FROM {all} AS a, {ten} AS b;
             INSERT INTO metrics (trial_id, name, unit, value, higher_is_better)
               SELECT t.id, 'latency', 'ms', {value}, 0 FROM trials t;
             INSERT INTO metrics (trial_id, name, unit, value, higher_is_better)
               SELECT t.id, 'throughput', 'tok/s', 64000 / ({value}), 1 FROM trials t;
             INSERT INTO tags (experiment_id, trial_id, tag)
               SELECT i, NULL, 'group-' || (i % 50) FROM {all} AS a;
             COMMIT;"
        ),
    );
    let mut store = Store::open(location).expect("a store");
    store.refresh_overview().expect("written");
    // As autovacuum does within minutes.
    raw(location, "ANALYZE");
    store
}

fn cases() -> Vec<(&'static str, OverviewFilter, PageRequest)> {
    let text = |text: &str| Some(text.to_string());
    let (none, first) = (OverviewFilter::default, PageRequest::default);
    vec![
        ("first page", none(), first()),
        ("last page", none(), PageRequest { offset: 9_950, ..first() }),
        ("by name", none(), PageRequest { order: OverviewOrder::Name, ..first() }),
        ("most alerts", none(), PageRequest { order: OverviewOrder::Alerts, ..first() }),
        ("search", OverviewFilter { search: text("model 42"), ..none() }, first()),
        ("search, nothing", OverviewFilter { search: text("no such thing"), ..none() }, first()),
        ("tag", OverviewFilter { tag: text("group-7"), ..none() }, first()),
        ("branch", OverviewFilter { branch: text("main"), ..none() }, first()),
        ("testbed", OverviewFilter { testbed: text("mi300x-3"), ..none() }, first()),
        ("regressed", OverviewFilter { status: Some(Status::Regressed), ..none() }, first()),
    ]
}

/// A small version of the same store: checks that it is filled as the cases expect.
#[test]
fn a_bulk_of_experiments_is_found_again() {
    on_both(|location| {
        let mut store = fill(location, 120);
        let mut total = |filter: OverviewFilter| {
            let page = store.overview(&filter, PageRequest::default()).expect("a page");
            assert!(page.rows.len() == 50.min(page.total));
            page.total
        };
        assert_eq!(total(OverviewFilter::default()), 120);
        assert_eq!(total(OverviewFilter { branch: Some("next".into()), ..OverviewFilter::default() }), 40);
        assert_eq!(
            total(OverviewFilter { testbed: Some("mi300x-3".into()), ..OverviewFilter::default() }),
            6
        );
        let regressed = OverviewFilter { status: Some(Status::Regressed), ..OverviewFilter::default() };
        assert_eq!(total(regressed), 12);
    });
}

#[test]
#[ignore = "takes a minute; measures time"]
fn a_page_of_ten_thousand_experiments_takes_twenty_milliseconds() {
    const EXPERIMENTS: usize = 10_000;
    const CALLS: u32 = 40;
    on_both(|location| {
        let began = Instant::now();
        let mut store = fill(location, EXPERIMENTS);
        let kind = if matches!(location, Location::Sqlite { .. }) { "SQLite" } else { "PostgreSQL" };
        println!("{kind}: filled in {:.1} s", began.elapsed().as_secs_f64());
        let mut worst = Duration::ZERO;
        for (name, filter, page) in cases() {
            let mut times: Vec<Duration> = (0..CALLS)
                .map(|_| {
                    let began = Instant::now();
                    store.overview(&filter, page).expect("a page");
                    began.elapsed()
                })
                .collect();
            times.sort_unstable();
            let (median, most) = (times[times.len() / 2], times[times.len() * 95 / 100]);
            println!("{kind}: {name}: median {median:.2?}, p95 {most:.2?}");
            worst = worst.max(median);
        }
        let began = Instant::now();
        store.choices().expect("choices");
        println!("{kind}: choices {:.2?}", began.elapsed());
        assert!(worst <= Duration::from_millis(20), "{kind}: {worst:?}");
    });
}
