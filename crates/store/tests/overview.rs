//! What the overview shows, how it is searched, and that it stays correct when things change.

mod common;

use common::{attachment, file, latency, on_both, raw};
use rocm_perf_store::{
    Attachment, Conclusion, Location, OverviewFilter, OverviewOrder, PageRequest, Progress, Status, Store,
};

const STEADY: [f64; 8] = [100.0, 101.0, 99.5, 100.4, 99.8, 100.9, 99.2, 100.1];
const STEP: [f64; 3] = [110.0, 109.4, 110.6];

/// An experiment with one trial per latency.
fn add(store: &mut Store, name: &str, (branch, testbed): (&str, &str), values: &[f64]) {
    store.new_experiment(name, &format!("{name} of a Model")).expect("an experiment");
    for (at, value) in values.iter().enumerate() {
        store
            .attach(&Attachment {
                experiment: name.into(),
                branch: Some(branch.into()),
                testbed: Some(testbed.into()),
                metrics: vec![latency(*value)],
                ..attachment(&format!("t{at}"), vec![file("a.txt", "a")])
            })
            .expect("attached");
    }
}

fn filled(location: &Location) -> Store {
    let mut store = Store::open(location).expect("a store");
    add(&mut store, "steady", ("main", "mi300x"), &STEADY);
    add(&mut store, "worse", ("main", "mi355x"), &[&STEADY[..], &STEP[..]].concat());
    add(&mut store, "young_100%", ("next", "mi300x"), &STEADY[..2]);
    store.new_experiment("Bare", "nothing yet").expect("an experiment");
    store.tag("steady", None, &["nightly".into()], &[]).expect("a tag");
    store
}

fn names(store: &mut Store, filter: &OverviewFilter) -> Vec<String> {
    let page = store.overview(filter, PageRequest::default()).expect("a page");
    assert_eq!(page.total, page.rows.len());
    page.rows.into_iter().map(|row| row.experiment.name).collect()
}

#[test]
fn each_experiment_says_how_it_stands() {
    on_both(|location| {
        let mut store = filled(location);
        let page = store.overview(&OverviewFilter::default(), PageRequest::default()).expect("a page");
        let told: Vec<(&str, Status, usize, i64)> = page
            .rows
            .iter()
            .map(|row| (row.experiment.name.as_str(), row.status, row.open_alerts, row.experiment.trials))
            .collect();
        assert_eq!(
            told,
            [
                ("Bare", Status::Empty, 0, 0),
                ("young_100%", Status::Unjudged, 0, 2),
                ("worse", Status::Regressed, 1, 11),
                ("steady", Status::Passing, 0, 8),
            ]
        );
        let worse = &page.rows[2];
        assert_eq!(worse.summary.trends.len(), 1);
        let trend = &worse.summary.trends[0];
        assert_eq!(trend.points, [&STEADY[..], &STEP[..]].concat());
        assert_eq!((trend.last.value, trend.trial.as_str(), trend.verdict.as_str()), (110.6, "t10", "fail"));
        assert_eq!(worse.experiment.last_trial.as_deref(), Some("t10"));
        assert_eq!(page.rows[3].experiment.tags, ["nightly"]);
        assert_eq!(store.experiment("worse").expect("it"), worse.experiment);
        assert_eq!(store.overview_of("worse").expect("it"), *worse);
    });
}

#[test]
fn filters_and_search_find_what_they_name() {
    on_both(|location| {
        let mut store = filled(location);
        let none = OverviewFilter::default;
        let text = |text: &str| Some(text.to_string());
        let cases: [(OverviewFilter, &[&str]); 9] = [
            (OverviewFilter { search: text("WORSE"), ..none() }, &["worse"]),
            (OverviewFilter { search: text("of a model"), ..none() }, &["young_100%", "worse", "steady"]),
            (OverviewFilter { search: text("g_1"), ..none() }, &["young_100%"]),
            (OverviewFilter { search: text("0%"), ..none() }, &["young_100%"]),
            (OverviewFilter { tag: text("nightly"), ..none() }, &["steady"]),
            (OverviewFilter { branch: text("main"), ..none() }, &["worse", "steady"]),
            (OverviewFilter { branch: text("main"), testbed: text("mi300x"), ..none() }, &["steady"]),
            (OverviewFilter { status: Some(Status::Regressed), ..none() }, &["worse"]),
            (OverviewFilter { running: true, ..none() }, &[]),
        ];
        for (filter, expected) in &cases {
            assert_eq!(names(&mut store, filter), *expected, "{filter:?}");
        }
        let page = |offset, limit, order| PageRequest { offset, limit, order };
        let of = |store: &mut Store, request| {
            let page = store.overview(&none(), request).expect("a page");
            assert_eq!(page.total, 4);
            page.rows.into_iter().map(|row| row.experiment.name).collect::<Vec<_>>()
        };
        assert_eq!(of(&mut store, page(1, 2, OverviewOrder::Changed)), ["young_100%", "worse"]);
        assert_eq!(of(&mut store, page(0, 1, OverviewOrder::Alerts)), ["worse"]);
        assert_eq!(of(&mut store, page(3, 9, OverviewOrder::Trials)), ["Bare"]);
        assert_eq!(of(&mut store, page(9, 9, OverviewOrder::Name)), Vec::<String>::new());
        let choices = store.choices().expect("choices");
        assert_eq!(choices.branches, ["main", "next"]);
        assert_eq!(choices.testbeds, ["mi300x", "mi355x"]);
        assert_eq!(choices.tags, ["nightly"]);
    });
}

/// What is stored at each change must equal what a rebuild finds.
#[test]
fn what_changes_later_is_told_too() {
    on_both(|location| {
        let mut store = filled(location);
        let one = |store: &mut Store, name: &str| {
            let filter = OverviewFilter { search: Some(name.into()), ..OverviewFilter::default() };
            store.overview(&filter, PageRequest::default()).expect("a page").rows.remove(0)
        };
        store.acknowledge("worse", "t8", None, "new driver").expect("said");
        let row = one(&mut store, "worse");
        assert_eq!((row.status, row.open_alerts), (Status::Passing, 0));
        store.remove("worse", Some("t10")).expect("removed");
        assert_eq!(one(&mut store, "worse").experiment.trials, 10);
        store.restore("worse", Some("t10")).expect("restored");
        assert_eq!(one(&mut store, "worse").experiment.last_trial.as_deref(), Some("t10"));
        let limit = rocm_perf_store::Limit {
            key: rocm_perf_store::SeriesKey {
                branch: String::new(),
                testbed: String::new(),
                metric: "latency".into(),
            },
            least: None,
            most: Some(90.0),
        };
        store.set_limit("steady", &limit).expect("a limit");
        assert_eq!(one(&mut store, "steady").status, Status::Regressed);
        let verdict = Conclusion { verdict: Some("launch bound".into()), ..Conclusion::default() };
        let match_ = Conclusion { arch_match: Some("exact".into()), ..Conclusion::default() };
        for conclusion in [verdict, match_] {
            let conclusion = Some(conclusion);
            let more = Attachment { experiment: "steady".into(), conclusion, ..attachment("t3", vec![]) };
            store.attach(&more).expect("attached");
        }
        let told = one(&mut store, "steady").summary;
        assert_eq!(told.conclusion_trial.as_deref(), Some("t3"));
        let conclusion = told.conclusion.expect("a conclusion");
        assert_eq!(conclusion.verdict.as_deref(), Some("launch bound"));
        assert_eq!(conclusion.arch_match.as_deref(), Some("exact"));
        let all = OverviewFilter::default();
        let before = store.overview(&all, PageRequest::default()).expect("a page");
        drop(store);
        // Turn it into a store of the previous version, with the same trials.
        raw(
            location,
            "DROP TABLE overview; DROP TABLE places; DROP TABLE progress; DROP INDEX experiments_by_change; \
             DROP INDEX experiments_by_alerts; DROP INDEX experiments_by_trials; \
             DROP INDEX tags_by_name; ALTER TABLE experiments DROP COLUMN status; \
             ALTER TABLE experiments DROP COLUMN open_alerts; ALTER TABLE experiments DROP COLUMN trial_count; \
             ALTER TABLE experiments DROP COLUMN artifact_count; ALTER TABLE experiments DROP COLUMN last_trial; \
             UPDATE store SET version = 2;",
        );
        // The conclusions of trials have to survive for the comparison, so their column is put aside.
        raw(location, "ALTER TABLE trials RENAME COLUMN conclusion TO kept;");
        drop(Store::open(location).expect("migrated"));
        raw(location, "UPDATE trials SET conclusion = kept;");
        let mut store = Store::open(location).expect("a store");
        store.suppress("steady", &limit.key, None).expect("the row is written again");
        let after = store.overview(&all, PageRequest::default()).expect("a page");
        assert_eq!(after.rows, before.rows, "a fresh look finds what was written down");
    });
}

#[test]
fn a_run_is_told_of_until_it_ends_or_falls_silent() {
    on_both(|location| {
        let mut store = filled(location);
        let mut progress = Progress {
            experiment: "steady".into(),
            trial: "t9".into(),
            kind: "autotune".into(),
            done: 3,
            total: Some(40),
            message: "measuring".into(),
            ..Progress::default()
        };
        store.set_progress(&progress).expect("said");
        let running = OverviewFilter { running: true, ..OverviewFilter::default() };
        assert_eq!(names(&mut store, &running), ["steady"]);
        let told = store.progress(None, 0).expect("progress");
        assert_eq!((told.len(), told[0].done, told[0].total), (1, 3, Some(40)));
        assert!(told[0].is_running());
        let since = told[0].at_ns;
        assert!(store.progress(Some("steady"), since).expect("progress").is_empty());
        progress.done = 4;
        store.set_progress(&progress).expect("said");
        assert_eq!(store.progress(Some("steady"), since).expect("progress")[0].done, 4);
        assert!(store.progress(Some("worse"), 0).expect("progress").is_empty());
        raw(location, "UPDATE progress SET at_ns = at_ns - 600000000000;");
        assert!(names(&mut store, &running).is_empty(), "it fell silent");
        progress.ended = true;
        store.set_progress(&progress).expect("said");
        assert!(names(&mut store, &running).is_empty(), "it ended");
        assert!(store.progress(None, since).expect("progress")[0].ended);
    });
}
