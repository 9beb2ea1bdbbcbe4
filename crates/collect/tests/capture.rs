//! `capture` against the stand-in server, over real HTTP.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use report::Remedy;
use rocm_perf_collect::capture::{
    Captured, Error, Events, Framework, Lengths, Options, Role, Site, Stage, Workload, capture,
};
use serde_json::{Value, json};
use stand_in_serving::{Config, Faults, Framework as ServerKind, StandIn};

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Events for Log {
    fn step(&self, message: &str) {
        self.0.lock().unwrap().push(message.into());
    }

    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push(format!("warning: {message}"));
    }
}

/// Options with short waits and short requests.
fn options(url: &str, folder: &Path) -> Options {
    let site =
        Site { url: url.into(), output_dir: folder.into(), profile_prefix: "run".into(), ..Site::default() };
    Options {
        num_steps: 3,
        warmup_steps: 4,
        probe_delay: Duration::from_millis(1),
        prefill: Lengths { input: 20, output: Some(1) },
        decode: Lengths { input: 1, output: Some(12) },
        timeout: Duration::from_millis(1500),
        retries: 1,
        retry_pause: Duration::from_millis(5),
        poll: Duration::from_millis(10),
        settle: Duration::from_millis(150),
        ..Options::new(site)
    }
}

fn config(kind: ServerKind, folder: &Path) -> Config {
    Config { framework: kind, trace_dir: folder.into(), ..Config::default() }
}

fn run(options: &Options) -> Result<Captured, Error> {
    capture(options, &Log::default())
}

/// Starts a stand-in with faults and captures from it.
fn faulty(kind: ServerKind, faults: Faults) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(Config { faults, ..config(kind, folder.path()) }).unwrap();
    run(&options(&server.url(), folder.path())).unwrap_err()
}

fn annotations(path: &Path) -> Vec<String> {
    let file = std::fs::File::open(path).unwrap();
    let trace: Value = serde_json::from_reader(flate2::read::GzDecoder::new(file)).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let steps = events.iter().filter(|event| event["cat"] == "user_annotation");
    steps.map(|event| event["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn sglang_gives_prefill_and_decode_of_every_rank() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(Config { tp_size: 2, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let captured = run(&options(&server.url(), folder.path())).unwrap();
    let found: Vec<_> = captured.traces.iter().map(|t| (t.role, t.stage, t.rank)).collect();
    let expected = [(Stage::Prefill, 0), (Stage::Prefill, 1), (Stage::Decode, 0), (Stage::Decode, 1)];
    assert_eq!(found, expected.map(|(stage, rank)| (Role::Formal, stage, Some(rank))));
    assert_eq!(captured.warnings, [] as [&str; 0]);
    for trace in &captured.traces {
        assert!(trace.path.starts_with(folder.path().join(trace.stage.name())), "{:?}", trace.path);
        assert_eq!(std::fs::metadata(&trace.path).unwrap().len(), trace.bytes);
    }
    assert_eq!(annotations(&captured.traces[0].path), ["step[EXTEND bs=1 toks=20]"; 3]);
    let decode = annotations(&captured.traces[2].path);
    assert_eq!(decode, ["step[EXTEND bs=1 toks=1]", "step[DECODE bs=1]", "step[DECODE bs=1]"]);
    let (_, facts) = &captured.servers[0];
    assert_eq!((facts.framework, facts.tp_size), (Framework::Sglang, Some(2)));
    assert_eq!(facts.model.as_deref(), Some("stand-in/tiny"));
    let kept: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("server_args.json")).unwrap()).unwrap();
    assert_eq!((&kept["attention_backend"], kept.get("api_key")), (&json!("aiter"), None));
}

#[test]
fn sglang_is_asked_as_its_own_client_asks() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(config(ServerKind::Sglang, folder.path())).unwrap();
    let options =
        Options { merge_profiles: true, start_step: Some(1), ..options(&server.url(), folder.path()) };
    run(&options).unwrap();
    let starts = server.bodies("/start_profile");
    assert_eq!(starts.len(), 2);
    for (start, prefix) in starts.iter().zip(["run-prefill", "run-decode"]) {
        assert_eq!(start["output_dir"], folder.path().to_str().unwrap());
        assert_eq!((&start["num_steps"], &start["start_step"]), (&json!(3), &json!(1)));
        assert_eq!((&start["profile_by_stage"], &start["merge_profiles"]), (&json!(false), &json!(true)));
        assert_eq!((&start["profile_prefix"], &start["with_stack"]), (&json!(prefix), &json!(true)));
    }
    let requests = server.bodies("/generate");
    let shape = |r: &Value| {
        let words = r["text"].as_str().unwrap().split(' ').count();
        (words, r["sampling_params"]["max_new_tokens"].as_u64().unwrap())
    };
    let shapes: Vec<_> = requests.iter().map(shape).collect();
    assert_eq!(shapes, [[(20, 1); 7].as_slice(), &[(1, 4), (1, 12)]].concat());
    let first_words: HashSet<_> =
        requests.iter().map(|r| r["text"].as_str().unwrap().split(' ').next().unwrap().to_string()).collect();
    assert_eq!(first_words.len(), requests.len(), "no prompt begins like another");
    assert!(requests.iter().all(|r| r["stream"] == false && r["sampling_params"]["temperature"] == 0.0));
    assert_eq!(server.bodies("/stop_profile").len(), 2);
    // The merged file is not a rank's, and stays where the server put it.
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().any(|name| name.to_string_lossy().starts_with("merged-")), "{left:?}");
}

#[test]
fn the_legacy_workload_is_one_profile_by_stage() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(config(ServerKind::Sglang, folder.path())).unwrap();
    let legacy = Options { workload: Workload::Legacy, ..options(&server.url(), folder.path()) };
    let captured = run(&legacy).unwrap();
    let stages: Vec<_> = captured.traces.iter().map(|trace| trace.stage).collect();
    assert_eq!(stages, [Stage::Prefill, Stage::Decode]);
    assert_eq!(annotations(&captured.traces[1].path), ["step[DECODE bs=1]"; 3]);
    let starts = server.bodies("/start_profile");
    assert_eq!((starts.len(), &starts[0]["profile_by_stage"]), (1, &json!(true)));
    assert_eq!(starts[0]["profile_prefix"], "run");
    let together = Options { profile_by_stage: Some(false), ..legacy };
    let captured = run(&together).unwrap();
    assert_eq!(captured.traces.iter().map(|trace| trace.stage).collect::<Vec<_>>(), [Stage::All]);
}

#[test]
fn vllm_gives_worker_traces_and_not_the_frontends() {
    let (folder, server_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server =
        StandIn::start(Config { tp_size: 2, ..config(ServerKind::Vllm, server_folder.path()) }).unwrap();
    let mut options = options(&server.url(), folder.path());
    options.formal.trace_dir = Some(server_folder.path().into());
    options.decode.output = None;
    let captured = run(&options).unwrap();
    let found: Vec<_> = captured.traces.iter().map(|t| (t.stage, t.rank)).collect();
    let expected = [(Stage::Prefill, 0), (Stage::Prefill, 1), (Stage::Decode, 0), (Stage::Decode, 1)];
    assert_eq!(found, expected.map(|(stage, rank)| (stage, Some(rank))));
    assert!(captured.traces.iter().all(|trace| trace.path.starts_with(folder.path())));
    // The prompt, then as many decode steps as asked for.
    assert_eq!(annotations(&captured.traces[2].path).len(), 4);
    let facts = &captured.servers[0].1;
    assert_eq!((facts.framework, facts.version.as_deref()), (Framework::Vllm, Some("0.17.0")));
    let starts = server.bodies("/start_profile");
    assert_eq!(starts, [Value::Null, Value::Null], "vLLM reads no body");
    let chats = server.bodies("/v1/chat/completions");
    assert_eq!((&chats[0]["model"], &chats[0]["max_tokens"]), (&json!("stand-in/tiny"), &json!(1)));
}

#[test]
fn models_without_a_chat_template_get_completions() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults { no_chat: true, ..Faults::default() };
    let server = StandIn::start(Config { faults, ..config(ServerKind::Vllm, folder.path()) }).unwrap();
    let captured = run(&options(&server.url(), folder.path())).unwrap();
    assert_eq!(captured.traces.len(), 2);
    assert_eq!(server.bodies("/v1/chat/completions").len(), 1, "asked once, remembered");
    assert!(server.bodies("/v1/completions").iter().all(|body| body.get("messages").is_none()));
}

#[test]
fn a_pair_of_servers_gives_both_roles() {
    let folder = tempfile::tempdir().unwrap();
    let (formal, mapping) = (folder.path().join("out"), folder.path().join("out/mapping"));
    let first = StandIn::start(config(ServerKind::Sglang, &formal)).unwrap();
    let second = StandIn::start(config(ServerKind::Sglang, &mapping)).unwrap();
    let site = Site {
        role: Role::Mapping,
        url: second.url(),
        output_dir: mapping.clone(),
        profile_prefix: "map".into(),
        ..Site::default()
    };
    let options = Options { mapping: Some(site), ..options(&first.url(), &formal) };
    let captured = run(&options).unwrap();
    let roles: Vec<_> = captured.traces.iter().map(|trace| (trace.role, trace.stage)).collect();
    let (f, m) = (Role::Formal, Role::Mapping);
    assert_eq!(roles, [(f, Stage::Prefill), (f, Stage::Decode), (m, Stage::Prefill), (m, Stage::Decode)]);
    assert!(captured.traces[3].path.starts_with(mapping.join("decode")));
    assert_eq!(captured.servers.len(), 2);
}

#[test]
fn keys_are_sent_and_never_kept() {
    let folder = tempfile::tempdir().unwrap();
    let key = Some("s3cret".to_string());
    let server =
        StandIn::start(Config { api_key: key.clone(), ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let without = options(&server.url(), folder.path());
    let error = run(&without).unwrap_err();
    assert!(matches!(error, Error::Forbidden { status: 401, key_sent: false, .. }), "{error}");
    assert_eq!(error.help(), Some(Remedy::ServerKey));
    let wrong = Options { api_key: Some("x".into()), ..without.clone() };
    assert!(matches!(run(&wrong).unwrap_err(), Error::Forbidden { key_sent: true, .. }));
    run(&Options { api_key: key, ..without }).unwrap();
    let kept = std::fs::read_to_string(folder.path().join("server_args.json")).unwrap();
    assert!(!kept.contains("s3cret"));
}

#[test]
fn a_busy_server_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults { busy_for: 3, ..Faults::default() };
    let server = StandIn::start(Config { faults, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let options = Options { retries: 5, ..options(&server.url(), folder.path()) };
    assert_eq!(run(&options).unwrap().traces.len(), 2);
}

#[test]
fn nobody_there_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(config(ServerKind::Sglang, folder.path())).unwrap();
    let url = server.url();
    drop(server);
    let began = Instant::now();
    let error = run(&options(&url, folder.path())).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert_eq!(error.to_string(), format!("cannot reach a server at `{url}`: connection refused"));
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[test]
fn profiling_that_is_off_names_the_flag_of_the_release() {
    let cases = [
        ("0.11.2", "VLLM_TORCH_PROFILER_DIR", "--profiler-config"),
        ("0.17.0", "--profiler-config", "VLLM_TORCH_PROFILER_DIR"),
    ];
    for (version, named, not_named) in cases {
        let folder = tempfile::tempdir().unwrap();
        let off =
            Config { profiling: false, version: version.into(), ..config(ServerKind::Vllm, folder.path()) };
        let server = StandIn::start(off).unwrap();
        let error = run(&options(&server.url(), folder.path())).unwrap_err();
        assert!(matches!(error, Error::ProfilingOff { .. }), "{error}");
        let Some(Remedy::Advice(help)) = error.help() else { panic!("no advice: {error}") };
        assert!(help.contains(named) && !help.contains(not_named), "{version}: {help}");
    }
}

#[test]
fn failures_of_start_are_told_apart() {
    let error = faulty(ServerKind::Sglang, Faults { start_fails: true, ..Faults::default() });
    assert!(matches!(error, Error::Failed { status: 500, .. }), "{error}");
    let running = Faults { already_profiling: true, ..Faults::default() };
    let error = faulty(ServerKind::Sglang, running.clone());
    assert!(matches!(error, Error::AlreadyRunning { .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let server =
        StandIn::start(Config { faults: running, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let options = Options { stop_first: true, ..options(&server.url(), folder.path()) };
    assert_eq!(run(&options).unwrap().traces.len(), 2);
}

#[test]
fn a_stop_that_hangs_ends_with_the_timeout() {
    let began = Instant::now();
    let hangs = Some(Duration::from_secs(30));
    let error = faulty(ServerKind::Vllm, Faults { stop_hangs: hangs, ..Faults::default() });
    assert!(matches!(&error, Error::Timeout { path, .. } if path == "/stop_profile"), "{error}");
    assert_eq!(error.help(), Some(Remedy::TimeoutOrFewerSteps));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn no_file_and_a_wrong_folder_are_told_apart() {
    let error = faulty(ServerKind::Sglang, Faults { no_file: true, ..Faults::default() });
    assert!(matches!(error, Error::NoFiles { .. }), "{error}");
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let faults = Faults { wrong_dir: Some(elsewhere.path().into()), ..Faults::default() };
    let server = StandIn::start(Config { faults, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let mut options = options(&server.url(), folder.path());
    options.formal.trace_dir = Some(folder.path().into());
    options.formal.server_dir = Some(elsewhere.path().display().to_string());
    let error = run(&options).unwrap_err();
    let Some(Remedy::ServerFolder(Some(wrote))) = error.help() else { panic!("no folder: {error}") };
    assert!(wrote.contains(elsewhere.path().to_str().unwrap()), "{wrote}");
}

#[test]
fn a_container_writes_to_a_folder_of_another_name() {
    let (folder, mounted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let faults = Faults { wrong_dir: Some(mounted.path().into()), ..Faults::default() };
    let server = StandIn::start(Config { faults, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let mut options = options(&server.url(), folder.path());
    options.formal.trace_dir = Some(mounted.path().into());
    options.formal.server_dir = Some("/inside/traces".into());
    let captured = run(&options).unwrap();
    assert_eq!(server.bodies("/start_profile")[0]["output_dir"], "/inside/traces");
    assert!(captured.traces.iter().all(|trace| trace.path.starts_with(folder.path())));
}

#[test]
fn a_rank_that_writes_nothing_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults { only_rank: Some(1), ..Faults::default() };
    let server =
        StandIn::start(Config { tp_size: 2, faults, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let captured = run(&options(&server.url(), folder.path())).unwrap();
    assert_eq!(captured.traces.iter().map(|trace| trace.rank).collect::<Vec<_>>(), [Some(1); 2]);
    assert_eq!(captured.warnings[0], "prefill: 1 of 2 ranks wrote a trace");
}

#[test]
fn a_file_that_stays_half_written_is_named() {
    for kind in [ServerKind::Sglang, ServerKind::Vllm] {
        let error = faulty(kind, Faults { truncated: true, ..Faults::default() });
        assert!(matches!(error, Error::Truncated { .. }), "{error}");
        assert!(error.to_string().contains("the compressed data is cut off"), "{error}");
    }
}

#[test]
fn a_server_that_dies_is_noticed_whenever_it_does() {
    // During the warm-up, during the profile, and while it writes.
    for at in [2, 6] {
        let error = faulty(ServerKind::Sglang, Faults { dies_at_request: Some(at), ..Faults::default() });
        assert!(matches!(&error, Error::Died { path, .. } if path == "/generate"), "{error}");
    }
    for kind in [ServerKind::Sglang, ServerKind::Vllm] {
        let error = faulty(kind, Faults { dies_in_export: true, ..Faults::default() });
        assert!(matches!(error, Error::Died { .. }), "{error}");
    }
}

#[test]
fn a_refused_request_is_told_in_the_servers_words_and_the_profile_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults { longest_prompt: Some(3), ..Faults::default() };
    let server = StandIn::start(Config { faults, ..config(ServerKind::Sglang, folder.path()) }).unwrap();
    let options = Options { warmup_steps: 0, ..options(&server.url(), folder.path()) };
    let error = run(&options).unwrap_err();
    assert!(error.to_string().contains("context length"), "{error}");
    assert_eq!(error.help(), Some(Remedy::RequestLengths));
    assert_eq!(server.bodies("/stop_profile").len(), 1);
}

#[test]
fn what_cannot_be_meant_is_bad_usage() {
    let folder = tempfile::tempdir().unwrap();
    let server = StandIn::start(config(ServerKind::Vllm, folder.path())).unwrap();
    let fine = options(&server.url(), folder.path());
    let with_url = |url: &str| options(url, folder.path());
    let mut nowhere = fine.clone();
    nowhere.formal.trace_dir = Some(folder.path().join("absent"));
    let cases = [
        (Options { num_steps: 0, ..fine.clone() }, "at least one step"),
        (Options { probe_requests: 0, ..fine.clone() }, "at least one request"),
        (Options { start_step: Some(3), ..fine.clone() }, "a first step to profile only works with SGLang"),
        (
            Options { profile_by_stage: Some(true), ..fine.clone() },
            "a trace for each stage only works with SGLang",
        ),
        (Options { mapping: Some(fine.formal.clone()), ..fine.clone() }, "are the same"),
        (with_url("localhost:30000"), "is not an address"),
        (
            Options { certificates: Some(folder.path().join("none.pem")), ..with_url("https://localhost:1") },
            "trusted",
        ),
        (nowhere, "no such folder"),
    ];
    for (options, message) in cases {
        let error = run(&options).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(message), "{error}");
    }
    let sglang = Options { framework: Some(Framework::Sglang), ..fine };
    assert!(matches!(run(&sglang).unwrap_err(), Error::Unknown { .. }));
    assert_eq!(server.bodies("/start_profile").len(), 0);
}
