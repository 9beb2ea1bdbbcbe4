//! A session with a client: every tool once, and everything that can be wrong with a call.

use std::path::{Path, PathBuf};

use app::synth::{GenerateOptions, Options, OutputFormat, scenario};
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use rocm_perf_mcp as mcp;
use serde_json::{Value as Json, json};

/// A client and its server, and the folder that they share.
struct Talk {
    runtime: tokio::runtime::Runtime,
    client: RunningService<RoleClient, ()>,
    folder: tempfile::TempDir,
}

impl Talk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("traces")).unwrap();
        let place = app::experiment::StoreLocation {
            database: Some(folder.path().join("store.db").display().to_string()),
            artifacts: None,
        };
        let server = mcp::Options { roots: vec![folder.path().join("traces")], place }.server().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
            ().serve(ours).await.unwrap()
        });
        Self { runtime, client, folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("traces")
    }

    fn synth(&self, name: &str, made: &str, format: OutputFormat, seed: u64) {
        let options = GenerateOptions {
            options: Options { seed, stacks: false, ..Options::default() },
            ..GenerateOptions::new(scenario(made).unwrap(), self.root().join(name), format)
        };
        app::synth(&options).unwrap();
    }

    fn call(&self, tool: &str, arguments: Json) -> Result<Json, String> {
        let request = CallToolRequestParams::new(tool.to_string())
            .with_arguments(arguments.as_object().cloned().unwrap_or_default());
        let result = self.runtime.block_on(self.client.call_tool(request)).unwrap();
        let text = result.content[0].as_text().unwrap().text.clone();
        assert!(text.len() <= 8_000, "{tool}: {} bytes", text.len());
        if result.is_error == Some(true) { Err(text) } else { Ok(serde_json::from_str(&text).unwrap()) }
    }

    fn ask(&self, tool: &str, arguments: Json) -> Json {
        self.call(tool, arguments.clone()).unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"))
    }

    fn refused(&self, tool: &str, arguments: Json) -> String {
        match self.call(tool, arguments.clone()) {
            Ok(answer) => panic!("{tool} {arguments} gave {answer}"),
            Err(text) => text,
        }
    }
}

/// Every row of every table has a key, and every finding has evidence and says what to do.
fn check_rows(answer: &Json) {
    for (name, table) in answer["tables"].as_object().into_iter().flatten() {
        for row in table["rows"].as_array().unwrap() {
            assert!(row["key"].as_str().unwrap().starts_with(name.as_str()), "{name}: {row}");
        }
    }
    for finding in answer["findings"].as_array().into_iter().flatten() {
        assert!(finding["key"].is_string() && finding["evidence"].is_object(), "{finding}");
        assert!(!finding["recommendation"].as_str().unwrap().is_empty(), "{finding}");
    }
}

#[test]
fn every_tool_answers_with_keys_and_within_its_budget() {
    let talk = Talk::new();
    talk.synth("run", "eager", OutputFormat::Torch, 1);
    talk.synth("after", "eager", OutputFormat::Torch, 2);
    talk.synth("ranks", "straggler", OutputFormat::Torch, 1);
    talk.synth("blocks", "allocation-churn", OutputFormat::Rocpd, 1);
    let mut used =
        vec!["open_trace", "page", "list_traces", "close_trace", "list_experiments", "attach_note"];

    let opened = talk.ask("open_trace", json!({ "path": "run" }));
    assert_eq!(opened["trace"], "t1");
    assert_eq!(opened["verdict"]["bound_by"], "launch");
    assert_eq!(opened["findings"][0]["rule"], "launch-bound");
    assert!(opened["does_not_apply"]["ranks"].as_str().unwrap().contains("one rank"), "{opened}");
    assert_eq!(talk.ask("open_trace", json!({ "path": "run" }))["trace"], "t1", "one handle for one trace");

    let of_run = [
        "health",
        "explain",
        "triage",
        "breakdown",
        "summary",
        "ops",
        "overlap",
        "critical_path",
        "efficiency",
    ];
    for tool in of_run {
        let answer = talk.ask(tool, json!({ "trace": "t1" }));
        assert_eq!(answer["trace"], "t1", "{tool}");
        check_rows(&answer);
        used.push(tool);
    }
    let blocks = talk.ask("open_trace", json!({ "path": "blocks" }));
    check_rows(&talk.ask("memory", json!({ "trace": blocks["trace"] })));
    // What a trace does not record is reported as missing, not made up.
    let _ = talk.call("roofline", json!({ "trace": "t1" })).map(|answer| check_rows(&answer));
    used.extend(["memory", "roofline"]);

    let explained = talk.ask("explain", json!({ "trace": "t1" }));
    let next = &explained["findings"][0]["next"];
    let closer = talk.ask(next["tool"].as_str().unwrap(), next["arguments"].clone());
    assert!(closer["tables"]["what_if"]["rows"][0]["saving_ns"].as_i64().unwrap() > 0, "{closer}");

    let rows = talk.ask("query", json!({ "trace": "t1", "sql": "SELECT name, duration FROM kernels" }));
    used.push("query");
    let total = rows["tables"]["result"]["rows_in_all"].as_u64().unwrap();
    assert!(total > 100, "{rows}");
    let page = talk.ask("page", json!({ "answer": rows["answer"], "offset": total - 2, "limit": 10 }));
    assert_eq!(page["rows"].as_array().unwrap().len(), 2);
    assert!(page["next_offset"].is_null());
    let key = page["rows"][0]["key"].clone();
    let whole = talk.ask("page", json!({ "answer": rows["answer"], "key": key }));
    assert_eq!(whole["found"]["duration"], page["rows"][0]["duration"]);

    let compared = talk.ask("compare", json!({ "base": ["t1"], "candidate": ["after"] }));
    check_rows(&compared);
    used.push("compare");

    let ranks = talk.ask("open_trace", json!({ "path": "ranks" }));
    let ranks = talk.ask("ranks", json!({ "trace": ranks["trace"] }));
    assert_eq!(ranks["tables"]["stragglers"]["rows"][0]["rank"], "2", "{ranks}");
    used.push("ranks");

    app::experiment::new_experiment(&place(&talk), "decode", "a test").unwrap();
    let noted = talk.ask("attach_note", json!({ "experiment": "decode", "text": "launch bound: t1" }));
    assert!(noted.to_string().contains("launch bound: t1"), "{noted}");
    let listed = talk.ask("list_experiments", json!({}));
    assert!(listed.to_string().contains("decode"), "{listed}");
    let shown = talk.ask("list_experiments", json!({ "experiment": "decode" }));
    assert!(shown.to_string().contains("launch bound: t1"), "{shown}");

    assert_eq!(talk.ask("list_traces", json!({}))["traces"].as_array().unwrap().len(), 3);
    assert_eq!(talk.ask("close_trace", json!({ "trace": "t1" }))["closed"], "t1");
    assert!(talk.refused("explain", json!({ "trace": "t1" })).contains("no trace is open"));

    let offered = talk.runtime.block_on(talk.client.list_all_tools()).unwrap();
    let mut offered: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
    offered.sort_unstable();
    used.sort_unstable();
    assert_eq!(offered, used, "the session uses every tool");
}

fn place(talk: &Talk) -> app::experiment::StoreLocation {
    let database = talk.folder.path().join("store.db").display().to_string();
    app::experiment::StoreLocation { database: Some(database), artifacts: None }
}

#[test]
fn an_answer_says_the_same_as_the_whole_report_behind_it() {
    let talk = Talk::new();
    talk.synth("run", "idle-gpu", OutputFormat::Rocpd, 3);
    let opened = talk.ask("open_trace", json!({ "path": "run" }));
    let explained = talk.ask("explain", json!({ "trace": opened["trace"] }));
    let uri = format!("rocm-perf://answers/{}", explained["answer"].as_str().unwrap());
    let read = |uri: &str| {
        let request = ReadResourceRequestParams::new(uri);
        let result = talk.runtime.block_on(talk.client.read_resource(request)).unwrap();
        let json = serde_json::to_value(&result.contents[0]).unwrap();
        serde_json::from_str::<Json>(json["text"].as_str().unwrap()).unwrap()
    };
    let whole = read(&uri);
    let input = app::Input::of(vec![talk.root().canonicalize().unwrap().join("run")]);
    let request = app::explain::ExplainRequest { input, ..Default::default() };
    let report = app::explain(&request, &app::Silent).unwrap();
    assert_eq!(
        whole["tables"]["idle_causes"],
        report::render::json_rows(report.table("idle_causes").unwrap())
    );
    assert_eq!(whole["verdict"]["text"], explained["verdict"]["text"]);
    assert_eq!(explained["findings"][0]["gain_ceiling_ns"], json!(report.findings[0].gain_ceiling_ns));
    assert_eq!(read("rocm-perf://schemas/explain")["type"], "object");
    let listed = talk.runtime.block_on(talk.client.list_all_resources()).unwrap();
    assert!(listed.iter().any(|resource| resource.uri == uri));
}

#[test]
fn prompts_come_with_the_path_filled_in() {
    let talk = Talk::new();
    let prompts = talk.runtime.block_on(talk.client.list_all_prompts()).unwrap();
    assert!(prompts.len() >= 5);
    let arguments = json!({ "path": "traces/run7" }).as_object().cloned().unwrap();
    let request = GetPromptRequestParams::new("trust").with_arguments(arguments);
    let prompt = talk.runtime.block_on(talk.client.get_prompt(request)).unwrap();
    let text = serde_json::to_string(&prompt.messages).unwrap();
    assert!(text.contains("traces/run7"), "{text}");
    let missing = GetPromptRequestParams::new("trust");
    assert!(talk.runtime.block_on(talk.client.get_prompt(missing)).is_err());
}

#[test]
fn bad_calls_are_refused_with_a_reason_and_the_server_goes_on() {
    let talk = Talk::new();
    talk.synth("run", "eager", OutputFormat::Rocpd, 1);
    std::fs::write(talk.folder.path().join("secret.json"), "{}").unwrap();
    std::os::unix::fs::symlink(talk.folder.path().join("secret.json"), talk.root().join("link.json"))
        .unwrap();
    std::fs::write(talk.root().join("empty.json"), "").unwrap();
    let opened = talk.ask("open_trace", json!({ "path": "run" }));
    let t = &opened["trace"];
    let cases = [
        ("open_trace", json!({ "path": "none.json" }), "there is no"),
        ("open_trace", json!({ "path": "/etc/passwd" }), "outside"),
        ("open_trace", json!({ "path": "../secret.json" }), "outside"),
        ("open_trace", json!({ "path": "link.json" }), "outside"),
        ("open_trace", json!({ "path": "empty.json" }), "empty"),
        ("open_trace", json!({}), "needs the argument `path`"),
        ("explain", json!({ "trace": "t99" }), "no trace is open as `t99`"),
        ("explain", json!({ "trace": t, "mapping": "/etc/hosts" }), "outside"),
        ("explain", json!({ "trace": t, "kernel": "gemm(" }), "regular expression"),
        ("explain", json!({ "trace": t, "rules": ["no-such-rule"] }), "no rule `no-such-rule`"),
        ("explain", json!({ "trace": t, "start": "yesterday" }), "start"),
        ("explain", json!({ "trace": t, "stage": "sleep" }), "stages are"),
        ("explain", json!({ "trace": t, "rank": 77 }), "77"),
        ("explain", json!({ "trace": t, "colour": "red" }), "no argument `colour`"),
        ("explain", json!({ "trace": t, "table": "none" }), "its tables are"),
        ("critical_path", json!({ "trace": t, "what_if": ["gemm"] }), "gemm"),
        ("critical_path", json!({ "trace": t, "what_if": ["no-such-kernel=0.5"] }), "no-such-kernel"),
        ("query", json!({ "trace": t, "sql": "DELETE FROM kernels" }), "cannot modify"),
        ("query", json!({ "trace": t, "sql": "CREATE TABLE mine (x)" }), "not allowed"),
        ("query", json!({ "trace": t, "sql": "ATTACH '/etc/passwd' AS x" }), "not allowed"),
        ("query", json!({ "trace": t, "sql": "SELEC 1" }), "bad SQL"),
        ("page", json!({ "answer": "a99" }), "no answer"),
        ("compare", json!({ "base": ["t99"], "candidate": ["run"] }), "there is no"),
        ("list_experiments", json!({ "experiment": "none" }), "none"),
        ("no_such_tool", json!({}), "no tool"),
    ];
    for (tool, arguments, expected) in cases {
        let refusal = talk.refused(tool, arguments.clone());
        assert!(refusal.contains(expected), "{tool} {arguments}: {refusal}");
    }
    let many =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT i FROM n";
    let refusal = talk.refused("query", json!({ "trace": t, "sql": many }));
    assert!(refusal.contains("more than 10000 rows") && refusal.contains("aggregate"), "{refusal}");
    let counted = talk.ask("query", json!({ "trace": t, "sql": "SELECT count(*) AS n FROM kernels" }));
    assert!(counted["tables"]["result"]["rows"][0]["n"].as_i64().unwrap() > 0, "the server goes on");
}

#[test]
fn a_trace_that_changes_under_its_handle_is_refused_until_it_is_opened_again() {
    let talk = Talk::new();
    talk.synth("run", "eager", OutputFormat::Torch, 1);
    let opened = talk.ask("open_trace", json!({ "path": "run" }));
    let first = talk.ask("explain", json!({ "trace": opened["trace"] }));
    std::fs::remove_dir_all(talk.root().join("run")).unwrap();
    talk.synth("run", "idle-gpu", OutputFormat::Torch, 1);
    for tool in ["explain", "health", "triage"] {
        let refusal = talk.refused(tool, json!({ "trace": opened["trace"] }));
        assert!(refusal.contains("changed since it was opened"), "{tool}: {refusal}");
    }
    let again = talk.ask("open_trace", json!({ "path": "run" }));
    assert_ne!(again["trace"], opened["trace"]);
    assert_ne!(again["findings"][0]["rule"], first["findings"][0]["rule"]);
}

/// Real traces are read in place.
#[test]
fn answers_on_real_traces_stay_within_their_budget() {
    let Some(traces) = testing::data("traces") else { return };
    let files = std::fs::read_dir(Path::new(&traces)).unwrap().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    files.sort_by_key(|path| std::fs::metadata(path).map_or(0, |meta| meta.len()));
    let server = mcp::Options { roots: vec![traces.clone()], ..mcp::Options::default() }.server().unwrap();
    let talk = Talk::new();
    let client = talk.runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
        ().serve(ours).await.unwrap()
    });
    let talk = Talk { client, ..talk };
    let mut opened = 0;
    for path in files.iter().take(6) {
        if let Ok(first) = talk.call("open_trace", json!({ "path": path })) {
            opened += 1;
            for tool in ["health", "explain", "triage", "summary", "critical_path"] {
                let _ = talk
                    .call(tool, json!({ "trace": first["trace"], "limit": 50 }))
                    .map(|answer| check_rows(&answer));
            }
        }
    }
    assert!(opened > 0, "none of {files:?} could be opened");
}
