//! Pages show what is stored, and what is missing as missing.

mod common;

use common::{Server, attach, file, metric, printed};
use rocm_perf_serve::{Dashboard, Options, ServeError};
use serde_json::json;
use store::{Attachment, Progress, StoreError};

fn history() -> Server {
    Server::open(|store| {
        store.new_experiment("decode", "Qwen3 on one MI300X").unwrap();
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
    })
}

fn page(server: &Server, path: &str) -> String {
    let answer = server.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    answer.text()
}

#[test]
fn an_empty_store_says_what_to_do() {
    let server = Server::open(|_| {});
    assert!(page(&server, "/").contains("rocm-perf experiment new"));
    assert!(page(&server, "/alerts").contains("Nothing got worse"));
    assert!(page(&server, "/live").contains("Nothing ran"));
    let missing = server.get("/experiments/none");
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("there is no experiment <code>none</code>"), "{}", missing.text());
}

#[test]
fn the_overview_shows_status_trend_and_alerts() {
    let server = history();
    let text = page(&server, "/");
    for part in ["decode", "regressed", "1 open alert", "class=\"spark\"", "16 trials", "no verdict"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(page(&server, "/?q=nothing").contains("No experiment matches"));
    assert!(page(&server, "/?status=regressed&sort=alerts&page=99").contains("of 1"));
}

#[test]
fn an_experiment_shows_its_trials_and_can_be_sorted() {
    let server = history();
    let text = page(&server, "/experiments/decode");
    for part in ["What got worse", "since trial", "Metrics over trials", "<svg", "best so far", "Compare"] {
        assert!(text.contains(part), "{part}");
    }
    let order = |path: &str| {
        let text = page(&server, path);
        let table = text.split("id=\"trials\"").nth(1).unwrap().to_string();
        let links = table.split("/trials/").skip(1).map(|rest| rest.split('"').next().unwrap().to_string());
        links.take(2).collect::<Vec<_>>()
    };
    assert_eq!(order("/experiments/decode"), ["t15", "t14"]);
    assert_eq!(order("/experiments/decode?sort=latency&dir=asc"), ["t9", "t6"]);
    assert_eq!(order("/experiments/decode?sort=name"), ["t0", "t1"]);
    assert_eq!(order("/experiments/decode?q=t12")[0], "t12");
    assert!(page(&server, "/experiments/decode?q=nothing").contains("no trial matches"));
}

#[test]
fn an_alert_is_acknowledged_with_a_form() {
    let server = history();
    let text = page(&server, "/alerts");
    let word = text.split("name=\"word\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let path = "/experiments/decode/alerts/acknowledge";
    let fields = format!("word={word}&first_trial=t10&metric=latency&back=/alerts&reason=");
    assert_eq!(server.ask("POST", path, &[form], fields.as_bytes()).status, 400, "a reason is needed");
    let answer = server.ask("POST", path, &[form], format!("{fields}new+driver").as_bytes());
    assert_eq!((answer.status, answer.header("location")), (303, Some("/alerts")));
    assert!(page(&server, "/alerts").contains("Nothing got worse"));
    assert!(page(&server, "/experiments/decode").contains("new driver"));
}

#[test]
fn a_trial_shows_what_is_attached_and_names_what_is_not() {
    let server = Server::open(|store| {
        store.new_experiment("decode", "").unwrap();
        let rows = json!([{ "name": "gemm", "calls": 3, "total_ns": 1_500_000, "share_pct": 62.4 }]);
        let mut explain: serde_json::Value = serde_json::from_slice(&printed(
            "explain",
            "idle_causes",
            json!([{ "cause": "launching", "idle_ns": 2_000, "share_pct": 1.0 }]),
        ))
        .unwrap();
        explain["verdict"] = json!({ "text": "GPU bound; the GPU works 97.0 %", "arch_match": "exact" });
        explain["findings"] =
            json!([{ "title": "fuse it", "severity": "high", "gain_ceiling_ns": 9_184_696, "evidence": {} }]);
        let mut ops: serde_json::Value = serde_json::from_slice(&printed("ops", "ops", json!([]))).unwrap();
        ops["charts"] = json!([{
            "name": "flame_graph", "title": "Flames", "mark": "bars", "x": {}, "y": {},
            "data": { "series": ["a"], "bars": [{ "label": "x", "values": [1.0] }] },
        }]);
        let attachment = Attachment {
            experiment: "decode".into(),
            trial: "t1".into(),
            metadata: json!({ "gpu_device_ids": [0, 1], "base_image": null, "absent": { "base_image": "no image was given" } })
                .as_object()
                .cloned()
                .unwrap(),
            artifacts: vec![
                file("summary.json", printed("summary", "kernels", rows)),
                file("deep/explain.json", explain.to_string()),
                file("ops.json", ops.to_string()),
                file("run.pftrace", b"x"),
            ],
            metrics: vec![metric("step_time", "ns", 11_048_761.0)],
            ..Attachment::default()
        };
        store.attach(&attachment).unwrap();
    });
    let text = page(&server, "/experiments/decode/trials/t1");
    let parts = [
        "GPU bound; the GPU works 97.0 %",
        "11.05 ms",
        "0, 1",
        "no image was given",
        "fuse it",
        "saves up to <b>9.185 ms</b>",
        "1.500 ms",
        "62.4 %",
        "Idle time by cause",
        "Flames",
        "<code>kernel_table.json</code>",
        "<code>rocm-perf critical-path</code>",
        "data-perfetto=\"run.pftrace\"",
    ];
    for part in parts {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn artifacts_of_newer_programs_are_named_and_others_shown() {
    let server = Server::open(|store| {
        store.new_experiment("decode", "").unwrap();
        let newer = json!({ "schema": 2, "command": "explain", "tables": {}, "verdict": { "text": "from the future" } });
        let summary = printed("summary", "kernels", json!([{ "name": "gemm", "total_ns": 5 }]));
        let files = vec![
            file("explain.json", newer.to_string()),
            file("summary.json", summary),
            file("triage.json", "{ half"),
        ];
        attach(store, "decode", "t1", files, Vec::new());
    });
    let text = page(&server, "/experiments/decode/trials/t1");
    assert!(text.contains("a newer rocm-perf wrote it (schema 2)"), "{text}");
    assert!(text.contains("<code>triage</code>: it is not readable"), "{text}");
    assert!(text.contains("gemm") && !text.contains("from the future"));
}

#[test]
fn a_store_of_a_newer_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { place: common::place(&folder), ..Options::default() };
    drop(Dashboard::open(&options).unwrap());
    let database = rusqlite::Connection::open(common::database(&folder)).unwrap();
    database.execute("UPDATE store SET version = 99", []).unwrap();
    assert!(matches!(Dashboard::open(&options), Err(ServeError::Store(StoreError::Newer { found: 99, .. }))));
}

#[test]
fn a_large_table_is_shown_in_pages() {
    let rows: Vec<serde_json::Value> = (0..20_000)
        .map(|at| json!({ "name": format!("kernel_{at}"), "stage": "decode", "total_ns": (at * 7919) % 20_011, "calls": 1 }))
        .collect();
    let server = Server::open(|store| {
        store.new_experiment("decode", "").unwrap();
        attach(
            store,
            "decode",
            "t1",
            vec![file("summary.json", printed("summary", "kernels", json!(rows)))],
            Vec::new(),
        );
    });
    let path = "/experiments/decode/trials/t1/tables?artifact=summary.json&table=kernels";
    let text = page(&server, &format!("{path}&sort=total_ns&page=2&rows=100"));
    assert!(text.contains("101–200 of 20,000"), "{}", &text[..2000]);
    assert_eq!(text.matches("<tr>").count(), 101, "a head and 100 rows");
    let text = page(&server, &format!("{path}&q=kernel_1999&columns=name&columns=calls"));
    assert!(text.contains("11 of 20,000 rows"), "kernel_1999 and kernel_19990 to kernel_19999");
    assert!(text.contains(">calls<") && !text.contains(">stage</a>"));
    assert!(page(&server, &format!("{path}&q=nothing")).contains("No row matches"));
    assert_eq!(server.get(&format!("{path}&page=x")).status, 400);
}

#[test]
fn live_runs_are_told_as_they_report() {
    use std::io::{BufRead, BufReader, Write};
    let server = history();
    let run = |done: i64| Progress {
        experiment: "decode".into(),
        trial: "tune".into(),
        kind: "autotune".into(),
        done,
        total: Some(10),
        message: "BLOCK_M=64".into(),
        ..Progress::default()
    };
    server.store().set_progress(&run(3)).unwrap();
    let text = page(&server, "/live");
    assert!(
        text.contains("1 run under way") && text.contains("3 of 10") && text.contains("BLOCK_M=64"),
        "{text}"
    );
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    write!(stream, "GET /live/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.to_lowercase() == "content-type: text/event-stream"));
    server.store().set_progress(&run(4)).unwrap();
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_string)).unwrap();
    let event: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(
        (&event["done"], &event["trial"], &event["state"]),
        (&json!(4), &json!("tune"), &json!("running"))
    );
}
