//! The API against a store of its own.

mod common;

use common::{Server, archive, attach, entry, file, metric, printed};
use serde_json::{Value, json};
use store::Progress;

fn kernels() -> Value {
    json!([
        { "name": "gemm", "calls": 3, "total_ns": 500, "share_pct": 50.0 },
        { "name": "norm", "calls": 9, "total_ns": 300, "share_pct": 30.0 },
        { "name": "copy", "calls": 1, "total_ns": null, "share_pct": 20.0, "absent": { "total_ns": "not recorded" } },
    ])
}

fn filled() -> Server {
    Server::open(|store| {
        store.new_experiment("decode", "Qwen3").unwrap();
        store.new_experiment("empty", "").unwrap();
        for trial in 1..=3 {
            let files = vec![
                file("summary.json", printed("summary", "kernels", kernels())),
                file("a/trace.bin", [0, 1, 2]),
            ];
            attach(
                store,
                "decode",
                &format!("t{trial}"),
                files,
                vec![metric("latency", "ms", 12.0 + f64::from(trial))],
            );
        }
        store.tag("decode", None, &["nightly".into()], &[]).unwrap();
    })
}

const TRIAL: &str = "/api/v1/experiments/decode/trials/t1";

#[test]
fn experiments_are_listed_and_filtered() {
    let server = filled();
    let list = server.json("/api/v1/experiments");
    assert_eq!(list["total"], 2);
    let names = |list: &Value| -> Vec<String> {
        list["experiments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["name"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(names(&server.json("/api/v1/experiments?q=DEC")), ["decode"]);
    assert_eq!(names(&server.json("/api/v1/experiments?tag=nightly")), ["decode"]);
    assert_eq!(names(&server.json("/api/v1/experiments?status=empty")), ["empty"]);
    assert_eq!(names(&server.json("/api/v1/experiments?branch=main&testbed=mi300x")), ["decode"]);
    assert_eq!(names(&server.json("/api/v1/experiments?sort=name&limit=1&offset=1")), ["empty"]);
    let trend = &server.json("/api/v1/experiments?q=decode")["experiments"][0]["summary"]["trends"][0];
    assert_eq!(trend["points"], json!([13.0, 14.0, 15.0]));
    let wrong = server.get("/api/v1/experiments?status=fine");
    assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (400, &json!("bad_request")));
}

#[test]
fn an_experiment_is_made_once() {
    let server = filled();
    let make = || {
        let headers = [("Content-Type", "application/json")];
        server.ask("POST", "/api/v1/experiments", &headers, b"{\"name\": \"new\", \"description\": \"d\"}")
    };
    let made = make();
    assert_eq!((made.status, &made.json()["description"]), (201, &json!("d")));
    let again = make();
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &json!("exists")));
}

#[test]
fn a_trial_tells_all_that_was_attached() {
    let server = filled();
    let trial = server.json(TRIAL);
    assert_eq!(trial["branch"], "main");
    assert_eq!(trial["metrics"][0]["value"], 13.0);
    let files: Vec<&str> =
        trial["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["a/trace.bin", "summary.json"]);
    assert_eq!(server.get("/api/v1/experiments/decode/trials/none").status, 404);
    assert_eq!(server.get("/api/v1/experiments/none").status, 404);
    let details = server.json("/api/v1/experiments/decode");
    assert_eq!(details["series"][0]["points"].as_array().map(Vec::len), Some(3));
}

#[test]
fn artifacts_are_sent_as_they_are_and_only_to_be_saved() {
    let server = filled();
    let answer = server.get(&format!("{TRIAL}/artifacts/a/trace.bin"));
    assert_eq!((answer.status, answer.body.as_slice()), (200, &[0u8, 1, 2][..]));
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert!(answer.header("content-disposition").unwrap().starts_with("attachment; filename=\"trace.bin\""));
    for path in ["../../team.db", "..%2F..%2Fteam.db", "%2Fetc%2Fpasswd", "a", ""] {
        let answer = server.get(&format!("{TRIAL}/artifacts/{path}"));
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[test]
fn tables_are_sorted_filtered_and_paged_here() {
    let server = filled();
    let table =
        |rest: &str| server.json(&format!("{TRIAL}/tables?artifact=summary.json&table=kernels&{rest}"));
    let names = |table: &Value| -> Vec<String> {
        table["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(names(&table("sort=total_ns&dir=asc")), ["norm", "gemm", "copy"]);
    assert_eq!(names(&table("q=OR")), ["norm"]);
    let second = table("rows=2&page=2");
    assert_eq!(
        (names(&second), &second["pages"], &second["total"]),
        (vec!["copy".to_string()], &json!(2), &json!(3))
    );
    assert_eq!(table("columns=calls,name")["columns"], json!(["calls", "name"]));
    let csv =
        server.get(&format!("{TRIAL}/tables?artifact=summary.json&table=kernels&format=csv&sort=calls"));
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(csv.text(), "name,calls,total_ns,share_pct\nnorm,9,300,30\ngemm,3,500,50\ncopy,1,,20\n");
    assert_eq!(server.get(&format!("{TRIAL}/tables?artifact=summary.json&table=none")).status, 404);
    assert_eq!(server.get(&format!("{TRIAL}/tables?artifact=none.json&table=kernels")).status, 404);
    assert_eq!(server.get(&format!("{TRIAL}/tables?artifact=a/trace.bin&table=kernels")).status, 422);
}

#[test]
fn trials_are_compared_and_alerts_acknowledged() {
    let server = Server::open(|store| {
        store.new_experiment("decode", "").unwrap();
        for trial in 0..16 {
            let level = if trial < 10 { 10.0 } else { 13.0 };
            let noise = 1.0 + 0.002 * f64::from(trial % 3);
            attach(
                store,
                "decode",
                &format!("t{trial}"),
                Vec::new(),
                vec![metric("latency", "ms", level * noise)],
            );
        }
    });
    let compared = server.json("/api/v1/experiments/decode/compare?base=t1&candidate=t15");
    assert!(compared["notes"][0].as_str().unwrap().contains("not comparable"));
    assert_eq!(compared["tables"]["figures"][0]["verdict"], "worse");
    assert_eq!(server.get("/api/v1/experiments/decode/compare?base=t1&candidate=none").status, 404);
    let alerts = server.json("/api/v1/experiments/decode/alerts");
    assert_eq!((&alerts[0]["first_trial"], &alerts[0]["state"]), (&json!("t10"), &json!("open")));
    let said = b"{\"first_trial\": \"t10\", \"reason\": \"new driver\"}";
    let headers = [("Content-Type", "application/json")];
    let path = "/api/v1/experiments/decode/alerts/acknowledge";
    assert_eq!(server.ask("POST", path, &headers, said).json()["acknowledged"], 1);
    let alerts = server.json("/api/v1/experiments/decode/alerts");
    assert_eq!((&alerts[0]["state"], &alerts[0]["reason"]), (&json!("acknowledged"), &json!("new driver")));
    let said = b"{\"metric\": \"latency\", \"reason\": \"shared machine\"}";
    assert_eq!(server.ask("POST", "/api/v1/experiments/decode/alerts/suppress", &headers, said).status, 204);
    assert_eq!(server.audit().len(), 2, "both writes are in the audit log");
}

#[test]
fn an_archive_becomes_a_trial_and_sending_it_again_changes_nothing() {
    let server = filled();
    let facts = json!({
        "branch": "feature", "testbed": "mi355x", "tags": ["remote"], "notes": [{ "text": "from CI" }],
        "metrics": [{ "name": "throughput", "unit": "tok/s", "value": 812.5, "higher_is_better": true }],
        "metadata": { "base_image": "rocm/sgl:1" }, "links": [{ "url": "https://ci.example/1", "text": "job" }],
    });
    let facts = facts.to_string();
    let summary = printed("summary", "kernels", json!([]));
    let long = format!("{}/notes.txt", "folder/".repeat(12).trim_end_matches('/'));
    let mut body = archive(&[("./trial.json", facts.as_bytes()), ("summary.json", &summary)]);
    body.truncate(body.len() - 1024);
    body.extend(entry("folder/", b'5', "", b""));
    body.extend(entry("././@LongLink", b'L', "", format!("{long}\0").as_bytes()));
    body.extend(entry("cut", b'0', "", b"hello"));
    body.extend_from_slice(&[0; 1024]);
    let path = "/api/v1/experiments/pushed/trials/r1/bundle";
    let sent = server.ask("POST", path, &[], &body);
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert_eq!(sent.json()["added"], json!([long, "summary.json"]));
    let trial = server.json("/api/v1/experiments/pushed/trials/r1");
    assert_eq!((&trial["branch"], &trial["metrics"][0]["value"]), (&json!("feature"), &json!(812.5)));
    assert_eq!(
        (&trial["tags"], &trial["metadata"]["base_image"]),
        (&json!(["remote"]), &json!("rocm/sgl:1"))
    );
    assert_eq!(
        (trial["notes"].as_array().map(Vec::len), trial["links"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &body).unwrap();
    let again = server.ask("POST", path, &[], &packed.finish().unwrap());
    assert_eq!((again.status, &again.json()["unchanged"]), (200, &json!([long, "summary.json"])));
    let trial = server.json("/api/v1/experiments/pushed/trials/r1");
    assert_eq!(trial["notes"].as_array().map(Vec::len), Some(1), "a note is not written twice");
    let row = json!([{
        "name": "gemm", "calls": 3, "total_ns": 500, "mean_ns": 167, "median_ns": 160, "min_ns": 140, "max_ns": 200,
        "stddev_ns": 30, "share_pct": 100.0,
    }]);
    let other = archive(&[("summary.json", &printed("summary", "kernels", row))]);
    let differs = server.ask("POST", path, &[], &other);
    assert_eq!(
        (differs.status, &differs.json()["error"]["code"]),
        (409, &json!("differs")),
        "{}",
        differs.text()
    );
    let replaced = server.ask("POST", &format!("{path}?replace=true"), &[], &other);
    assert_eq!(replaced.json()["replaced"], json!(["summary.json"]));
}

#[test]
fn a_malformed_artifact_is_refused_by_file_and_field() {
    let server = filled();
    let body = archive(&[("fine.txt", b"x"), ("kernel_table.json", b"[{\"stage\": 1}]")]);
    let answer = server.ask("POST", "/api/v1/experiments/decode/trials/bad/bundle", &[], &body);
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_string();
    assert!(message.contains("kernel_table.json") && message.contains("/0"), "{message}");
    assert_eq!(server.get("/api/v1/experiments/decode/trials/bad").status, 404, "nothing of it is there");
}

/// An upload that is refused used to leave the experiment that it would have made.
#[test]
fn a_refused_upload_leaves_no_empty_experiment() {
    let server = filled();
    let fine = ("fine.txt", b"x".as_slice());
    let cases: [(&str, &[u8]); 4] = [
        ("kernel_table.json", b"[{\"stage\": 1}]"),
        ("trial.json", b"{\"tags\": [\"fine\", \"not/fine\"]}"),
        ("trial.json", b"{\"links\": [{\"url\": \"javascript:alert(1)\", \"text\": \"\"}]}"),
        ("trial.json", b"{"),
    ];
    for (name, text) in cases {
        let body = archive(&[fine, (name, text)]);
        let answer = server.ask("POST", "/api/v1/experiments/fresh/trials/t/bundle", &[], &body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert_eq!(server.get("/api/v1/experiments/fresh").status, 404, "{}", answer.text());
    }
    let facts = br#"{"tags": ["fast"], "notes": [{"text": "a note"}], "links": [{"url": "https://example.com", "text": "log"}]}"#;
    let body = archive(&[fine, ("trial.json", facts)]);
    for _ in 0..2 {
        let answer = server.ask("POST", "/api/v1/experiments/fresh/trials/t/bundle", &[], &body);
        assert!([200, 201].contains(&answer.status), "{}", answer.text());
        let trial = server.json("/api/v1/experiments/fresh/trials/t");
        assert_eq!(trial["tags"], json!(["fast"]));
        assert_eq!(trial["notes"].as_array().map(Vec::len), Some(1), "sent again, it is not written twice");
        assert_eq!(trial["links"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn runs_under_way_are_told() {
    let server = filled();
    let progress = Progress {
        experiment: "decode".into(),
        trial: "t4".into(),
        kind: "autotune".into(),
        done: 3,
        total: Some(10),
        message: "BLOCK_M=64".into(),
        ..Progress::default()
    };
    server.store().set_progress(&progress).unwrap();
    let runs = server.json("/api/v1/progress");
    assert_eq!((&runs[0]["done"], &runs[0]["state"]), (&json!(3), &json!("running")));
    let since = runs[0]["at_ns"].as_i64().unwrap();
    assert_eq!(server.json(&format!("/api/v1/progress?since_ns={since}")), json!([]));
    assert_eq!(server.json("/api/v1/experiments?running=1")["total"], 1);
}

#[test]
fn the_description_names_every_operation() {
    let server = filled();
    let description = server.json("/api/v1/openapi.json");
    let paths = description["paths"].as_object().unwrap();
    let expected = [
        "/api/v1/experiments",
        "/api/v1/experiments/{name}",
        "/api/v1/experiments/{name}/alerts",
        "/api/v1/experiments/{name}/alerts/acknowledge",
        "/api/v1/experiments/{name}/alerts/suppress",
        "/api/v1/experiments/{name}/compare",
        "/api/v1/experiments/{name}/trials/{trial}",
        "/api/v1/experiments/{name}/trials/{trial}/artifacts/{path}",
        "/api/v1/experiments/{name}/trials/{trial}/bundle",
        "/api/v1/experiments/{name}/trials/{trial}/tables",
        "/api/v1/progress",
    ];
    let mut found: Vec<&str> = paths.keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert!(description["components"]["securitySchemes"]["token"].is_object());
}

#[test]
fn metrics_can_be_scraped() {
    let server = filled();
    server.store().new_experiment("odd \"name\"", "").unwrap();
    let answer = server.get("/metrics");
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = answer.text();
    let expected = "rocm_perf_metric{experiment=\"decode\",metric=\"latency\",unit=\"ms\",branch=\"main\",testbed=\"mi300x\"} 15\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("rocm_perf_open_alerts{experiment=\"odd \\\"name\\\"\"} 0\n"), "{text}");
    assert!(text.ends_with("# EOF\n"));
}
