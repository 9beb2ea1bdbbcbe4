//! Changes over trials: alerts, what people say of them, and the gate.

mod common;

use common::{attachment, latency, on_both};
use rocm_perf_store::{AlertState, Limit, Location, SeriesKey, Store, StoreError, Verdict};

/// Trials with these latencies on one branch and testbed.
fn with(location: &Location, branch: &str, values: &[f64]) -> Store {
    let mut store = Store::open(location).expect("a store");
    if !store.has_experiment("serving").expect("asked") {
        store.new_experiment("serving", "").expect("an experiment");
    }
    for (at, value) in values.iter().enumerate() {
        let mut trial = attachment(&format!("{branch}-{at}"), vec![]);
        trial.branch = Some(branch.into());
        trial.testbed = Some("mi300x".into());
        trial.metrics.push(latency(*value));
        store.attach(&trial).expect("attached");
    }
    store
}

fn key(branch: &str) -> SeriesKey {
    SeriesKey { branch: branch.into(), testbed: "mi300x".into(), metric: "latency".into() }
}

const STEADY: [f64; 8] = [100.0, 101.0, 99.5, 100.4, 99.8, 100.9, 99.2, 100.1];
const STEP: [f64; 3] = [110.0, 109.4, 110.6];

fn verdict(store: &mut Store) -> (Verdict, String) {
    let (_, judgements) = store.judge("serving", None, &[]).expect("judged");
    assert_eq!(judgements.len(), 1);
    (judgements[0].verdict, judgements[0].reason.clone())
}

#[test]
fn a_step_is_an_alert_with_its_first_bad_trial_until_somebody_answers() {
    on_both(|location| {
        let mut store = with(location, "main", &[&STEADY[..], &STEP[..]].concat());
        // Another branch is another series.
        with(location, "other", &STEADY[..3]);
        let alerts = store.alerts("serving").expect("alerts");
        assert_eq!(alerts.len(), 1);
        assert_eq!((alerts[0].first_trial.as_str(), &alerts[0].state), ("main-8", &AlertState::Open));
        let by = alerts[0].change.change_pct.expect("a level before");
        assert!((by - 9.8).abs() < 1.0, "{by}");
        let (_, judged) = store.judge("serving", Some("main-10"), &[]).expect("judged");
        assert_eq!((judged[0].verdict, judged[0].first_trial.as_deref()), (Verdict::Fail, Some("main-8")));
        // An earlier trial is judged by what was known at the time.
        let (_, judged) = store.judge("serving", Some("main-7"), &[]).expect("judged");
        assert_eq!(judged[0].verdict, Verdict::Pass);
        assert!(matches!(store.acknowledge("serving", "main-3", None, "x"), Err(StoreError::NoAlert(_))));
        assert_eq!(store.acknowledge("serving", "main-8", None, "new driver").expect("said"), 1);
        let (_, judged) = store.judge("serving", Some("main-10"), &[]).expect("judged");
        assert_eq!(judged[0].verdict, Verdict::Pass);
        assert!(judged[0].reason.contains("new driver"), "{}", judged[0].reason);
    });
}

#[test]
fn a_suppressed_series_raises_nothing_until_it_is_wanted_again() {
    on_both(|location| {
        let mut store = with(location, "main", &[&STEADY[..], &STEP[..]].concat());
        let all = SeriesKey { branch: String::new(), testbed: String::new(), metric: "latency".into() };
        store.suppress("serving", &all, Some("a shared machine")).expect("suppressed");
        assert_eq!(store.alerts("serving").expect("alerts")[0].state.name(), "suppressed");
        assert_eq!(verdict(&mut store).0, Verdict::Pass);
        store.suppress("serving", &all, None).expect("wanted again");
        assert_eq!(verdict(&mut store).0, Verdict::Fail);
    });
}

#[test]
fn nothing_passes_because_nothing_is_known() {
    on_both(|location| {
        let mut store = with(location, "main", &STEADY[..3]);
        let (found, reason) = verdict(&mut store);
        assert_eq!(found, Verdict::CannotJudge, "{reason}");
        let (_, judged) = store.judge("serving", None, &["throughput".into()]).expect("judged");
        assert_eq!(judged[0].verdict, Verdict::CannotJudge);
        let limit = |most| Limit { key: key("main"), least: None, most };
        store.set_limit("serving", &limit(Some(102.0))).expect("a limit");
        assert_eq!(verdict(&mut store).0, Verdict::Pass);
        store.set_limit("serving", &limit(Some(90.0))).expect("a limit");
        assert_eq!(verdict(&mut store).0, Verdict::Fail);
        store.set_limit("serving", &limit(None)).expect("no limit");
        assert_eq!(verdict(&mut store).0, Verdict::CannotJudge);
        // A metric that earlier trials had is missed.
        store
            .attach(&rocm_perf_store::Attachment {
                branch: Some("main".into()),
                testbed: Some("mi300x".into()),
                ..attachment("empty", vec![])
            })
            .expect("attached");
        let (found, reason) = verdict(&mut store);
        assert_eq!((found, reason.as_str()), (Verdict::CannotJudge, "the trial does not have it"));
    });
}

#[test]
fn an_improvement_is_no_alert_and_ends_one() {
    on_both(|location| {
        let back = [&STEADY[..], &STEP[..], &STEP[..], &STEADY[..], &STEADY[..]].concat();
        let mut store = with(location, "main", &back);
        let alerts = store.alerts("serving").expect("alerts");
        assert_eq!(alerts.iter().map(|alert| alert.state.name()).collect::<Vec<_>>(), ["over"]);
        assert_eq!(verdict(&mut store).0, Verdict::Pass);
    });
}
